"""Records of runs in a file, so that a benchmark can be continued."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


class StoredRecords:
    """Records by the name of the run; those that are in the file are not computed again."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[str, dict[str, Any]] = {}
        if file is not None and file.is_file():
            self._known = json.loads(file.read_text())

    def run(
        self, name: str, work: Callable[[int], dict[str, Any]], numbers: Iterable[int]
    ) -> list[dict[str, Any]]:
        """The records of ``work(number)`` for all numbers: seeds or folds."""
        found = []
        for number in numbers:
            key = f"{name} {number}"
            if key not in self._known:
                began = time.perf_counter()
                self._known[key] = work(number)
                print(f"{key}: {time.perf_counter() - began:.1f} s", flush=True)
                self._write()
            found.append(self._known[key])
        return found

    def _write(self) -> None:
        if self._file is not None:
            part = self._file.with_name(self._file.name + ".part")
            part.write_text(json.dumps(self._known, indent=0))
            part.replace(self._file)
