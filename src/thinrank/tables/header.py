"""The first row of a text file: whether it has the names of the columns, and which."""

from __future__ import annotations

from collections import defaultdict

from thinrank.tables.cells import number_of
from thinrank.tables.errors import TableError

_SHOWN = 3  # duplicate names in a message


def is_header(record: list[str], delimiter: str) -> bool:
    """Whether a first row has names: a text in it, or the numbers 0, 1, 2, … that pandas writes."""
    cells = record[1:] if not record[0].strip() else record
    numbers = [number_of(cell, ".") for cell in cells]
    if delimiter != ",":
        numbers = [
            number_of(cell, ",") if number is None else number
            for cell, number in zip(cells, numbers, strict=True)
        ]
    if any(number is None for number in numbers):
        return True
    count = len(numbers)
    return count > 2 and numbers in ([*range(count)], [*range(1, count + 1)])


def column_names(record: list[str], width: int, file: str, row: int) -> list[str]:
    """The names in a header, which may be one shorter than the other rows, as R writes it."""
    names = [cell.strip() for cell in record]
    if len(names) == width - 1:
        names.insert(0, "")
    if len(names) != width:
        raise TableError(
            f"has {len(names)} names, but the next row has {width} cells", file=file, row=row
        )
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names, start=1):
        if name:
            places[name].append(place)
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    if repeated:
        shown = [
            f"{name!r} is in columns {', '.join(map(str, found[:-1]))} and {found[-1]}"
            for name, found in list(repeated.items())[:_SHOWN]
        ]
        more = f", and {len(repeated) - _SHOWN} more" if len(repeated) > _SHOWN else ""
        raise TableError(
            f"names of columns must be different: {'; '.join(shown)}{more}", file=file, row=row
        )
    return names


def made_up_names(count: int, prefix: str) -> list[str]:
    """Names of columns of a file without header, such as x0 and x1."""
    return [f"{prefix}{j}" for j in range(count)]
