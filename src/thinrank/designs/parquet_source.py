"""Rows of Parquet files, read a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional

# The name that pandas gives to columns that hold row names.
_ROW_NAMES = "__index_level_"


class ParquetRows:
    """One Parquet file, or all in a folder in the order of their names."""

    scans = 0

    def __init__(self, path: Path) -> None:
        self.label = str(path)
        self._files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        rows, heights = 0, []
        first: list[tuple[str, str]] | None = None
        for file in self._files:
            reader = self._reader(file)
            columns = [
                (field.name, str(field.type))
                for field in reader.schema_arrow
                if not field.name.startswith(_ROW_NAMES)
            ]
            first = columns if first is None else first
            if columns != first:
                raise ValueError(
                    f"{file} has other columns than {self._files[0]}: {_difference(first, columns)}"
                )
            rows += reader.metadata.num_rows
            heights += [
                reader.metadata.row_group(i).num_rows for i in range(reader.metadata.num_row_groups)
            ]
        assert first is not None
        if not first or not rows:
            raise ValueError(f"{path} has {rows} rows and {len(first)} columns of data")
        bad = [f"{name!r} ({kind})" for name, kind in first if not _is_number(kind)]
        if bad:
            raise ValueError(f"{path} must hold numbers only; other columns: {', '.join(bad[:5])}")
        self.names: np.ndarray | None = np.array([name for name, _ in first], dtype=object)
        self.shape = rows, len(first)
        self.dtype = np.dtype(
            np.float32 if all(kind == "float" for _, kind in first) else np.float64
        )
        self.chunk_rows: int | None = max(heights)

    def _reader(self, file: Path) -> Any:
        parquet = import_optional("pyarrow.parquet")
        try:
            return parquet.ParquetFile(file)
        except (OSError, ValueError) as error:  # includes errors of pyarrow
            raise ValueError(f"{file} cannot be read as a Parquet file: {error}") from error

    def blocks(self, height: int) -> Iterator[np.ndarray]:
        """Batches of rows; missing numbers are NaN."""
        assert self.names is not None
        columns = self.names.tolist()
        for file in self._files:
            reader = self._reader(file)
            for batch in reader.iter_batches(batch_size=height, columns=columns):
                block = np.empty((batch.num_rows, len(columns)), dtype=self.dtype)
                for j, name in enumerate(columns):
                    block[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
                yield block


def _is_number(kind: str) -> bool:
    return kind.startswith(("int", "uint")) or kind in ("float", "double", "halffloat", "bool")


def _difference(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> str:
    """What differs between two lists of names and types, in words."""
    if len(one) != len(other):
        return f"{len(other)} instead of {len(one)}"
    names = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    (name, kind), (other_name, other_kind) = names[0]
    return f"{other_name!r} ({other_kind}) in the place of {name!r} ({kind})"
