"""Options: those that several commands have, their values, and their names in messages."""

from __future__ import annotations

import csv
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from thinrank.tables import ReadOptions

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
CORES = os.cpu_count() or 1

reading_option = partial(typer.Option, rich_help_panel="Reading of files")
model_option = partial(typer.Option, rich_help_panel="Model")
message_option = partial(typer.Option, rich_help_panel="Messages")
found_option = partial(reading_option, show_default="found")


Folder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of the model.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
FitX = Annotated[
    Path | None,
    typer.Argument(
        metavar="[X]",
        help="Predictors of the fit, if the file is not where it was.",
        show_default=False,
    ),
]
FitY = Annotated[
    Path | None, typer.Argument(metavar="[Y]", help="Responses of the fit.", show_default=False)
]
Seed = Annotated[int, model_option(min=0, help="Seed of random choices.")]
Jobs = Annotated[
    int, model_option(min=1, help="Number of threads.", show_default="number of cores")
]


def option_error(option: str, message: str) -> typer.BadParameter:
    """The error about a value of an option that cannot be used."""
    return typer.BadParameter(message, param_hint=option)


def number(text: str, kind: type, words: tuple[str, ...], option: str) -> object:
    """Parse an option that is a number or one of some words."""
    if text in words:
        return text
    try:
        return kind(text)
    except ValueError as error:
        expected = " or ".join(("a whole number" if kind is int else "a number", *words))
        raise option_error(option, f"must be {expected}, not {text!r}") from error


def size(text: str, option: str, *, unlimited: bool = True) -> int | str | None:
    """Parse a size of the model: a positive whole number, "auto", or "all" for no limit."""
    value = number(text, int, ("auto", "all") if unlimited else ("auto",), option)
    if isinstance(value, int) and value < 1:
        raise option_error(option, f"must be at least 1, got {value}")
    return None if value == "all" else value  # type: ignore[return-value]


def names_of(texts: list[str] | None) -> list[str]:
    """Parse names that are separated by commas; a name with a comma is put in quotes."""
    cells = [cell for record in csv.reader(texts or [], skipinitialspace=True) for cell in record]
    return list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))


@dataclass
class Reading:
    """How files are read: the options of fit and predict."""

    missing: Annotated[
        list[str] | None,
        reading_option(
            help="More marks of missing cells: -999,unknown.", show_default="NA and others"
        ),
    ] = None
    index: Annotated[str | None, found_option(help="Column with the names of the rows.")] = None
    no_index: Annotated[
        bool, reading_option("--no-index", help="Rows of X and Y are in the same order.")
    ] = False
    header: Annotated[
        bool | None,
        found_option(
            "--header/--no-header", help="Whether the first row has the names of the columns."
        ),
    ] = None
    delimiter: Annotated[str | None, found_option(help="Comma, semicolon, tab or pipe.")] = None
    decimal: Annotated[
        str | None,
        found_option(help="Decimal mark: point or comma. The other one may separate thousands."),
    ] = None
    encoding: Annotated[
        str | None,
        reading_option(
            help="Encoding of text files, such as latin-1; of X and of Y: latin-1,utf-8.",
            show_default="UTF-8",
        ),
    ] = None

    def options(self, **more: Any) -> ReadOptions:
        """What the tables are read with."""
        from thinrank.tables import ReadOptions

        if self.index is not None and self.no_index:
            raise option_error("--index", "give either --index or --no-index")
        return ReadOptions(
            header=self.header,
            index=False if self.no_index else self.index,
            missing=names_of(self.missing),
            delimiter=_mark(self.delimiter, _DELIMITERS, "--delimiter"),
            decimal=_mark(self.decimal, {"point": ".", "comma": ","}, "--decimal"),
            encoding=self.encoding,
            **more,
        )


def _mark(name: str | None, marks: dict[str, str], option: str) -> str | None:
    """The character that a word stands for."""
    if name is not None and name not in (*marks, *marks.values()):
        raise option_error(option, f"must be one of {', '.join(marks)}, got {name!r}")
    return name if name is None else marks.get(name, name)


def typed_command() -> str:
    """The command as the user typed it."""
    return shlex.join(["thinrank", *sys.argv[1:]])


def check_output_folder(folder: Path, option: str = "--out") -> None:
    """Raise a usage error unless files can be written to a folder, which need not exist."""
    place = folder.absolute()
    place = next((each for each in (place, *place.parents) if each.exists()), place)
    if not place.is_dir():
        raise option_error(option, f"{place} is a file, not a folder")
    try:
        # asks the file system, which may be read-only whatever the permissions say
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise option_error(option, f"cannot write to {place}: {error.strerror}") from error


def check_output_file(path: Path, overwrite: bool = True, option: str = "--out") -> None:
    """Raise a usage error unless a file can be written, or replaced if it exists."""
    if path.is_dir():
        raise option_error(option, f"{path} is a folder, expected a file")
    if not path.absolute().parent.is_dir():
        raise option_error(option, f"there is no folder {path.parent}")
    check_output_folder(path.absolute().parent, option)
    if path.exists() and not overwrite:
        raise option_error(option, f"{path} exists; use --overwrite to replace it")


def check_before_fit(check: Callable[[Path, bool], None], out: Path, overwrite: bool) -> None:
    """Raise a usage error before a fit, which may take long, if a folder cannot be written."""
    try:
        check(out, overwrite)
    except OSError as error:
        text = str(error).replace("use overwrite=True", "use --overwrite")
        raise option_error("--out", text) from None
    check_output_folder(out.absolute().parent)


_OPTIONS = {
    "row_sparsity": "--predictors",
    "column_sparsity": "--responses",
    "always_keep": "--keep",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "n_resamples": "--resamples",
}
_PHRASES = {
    "an integer": "a whole number",
    "the number of rows of Θ (predictors)": "the number of predictors",
    "the number of columns of Θ (responses)": "the number of responses",
    "rows of X": "samples",
    '; or "auto", or None for no limit': "; or auto, or all for no limit",
    '; or "auto"': "; or auto",
}
_KNOWN = re.compile(rf"(?<![\w./-])({'|'.join(_OPTIONS)})(?!\w)")
_GIVEN = re.compile(r"(--[\w-]+)=[\"'](\w+)[\"']")
# Parameters that are also words of sentences are options where a message begins with them.
_FIRST = re.compile(r"^[a-z_]+(?= must )")


def in_options(message: str, command: str = "") -> str:
    """A message with the options in place of the parameters of the estimators."""
    movie = {"row_sparsity": "--rows", "column_sparsity": "--columns"}
    names = _OPTIONS | movie if command.endswith("calcium") else _OPTIONS
    told = _KNOWN.sub(lambda found: names[found[1]], message)
    told = _GIVEN.sub(r"\1 \2", told)
    told = _FIRST.sub(lambda found: f"--{found[0].replace('_', '-')}", told)
    if told != message:
        for phrase, plain in _PHRASES.items():
            told = told.replace(phrase, plain)
    return told
