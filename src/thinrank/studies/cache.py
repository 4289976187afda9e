"""One JSON file a finished job, written so that a reader sees all of it or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from thinrank.studies.spec import Job, Record

__all__ = ["Cache", "write_atomically"]


class Cache:
    """The records of a study's finished jobs, on disk.

    Parameters
    ----------
    folder : Path
        OUT/<study>; the files lie in its subfolder ``records``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "records"

    def path(self, key: str) -> Path:
        """File of the job with a key."""
        return self.folder / f"{key}.json"

    def load(self, key: str) -> list[Record] | None:
        """Records of a finished job; None when there are none, or the file is torn or foreign."""
        try:
            content = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(content, dict) or content.get("key") != key:
            return None
        records = content.get("records")
        if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
            return None
        return records

    def store(self, job: Job, records: list[Record]) -> None:
        """Write the records of a finished job."""
        content = {"key": job.key, "job": job.as_dict(), "records": records}
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
        write_atomically(self.path(job.key), text + "\n")

    def keys(self) -> list[str]:
        """Keys of all files, sound or not, sorted."""
        return sorted(path.stem for path in self.folder.glob("*.json"))


def write_atomically(path: Path, text: str) -> None:
    """Write a file under another name, bring it to the disk, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Bring a rename to the disk, where the system lets a folder be opened."""
    flags: Any = getattr(os, "O_DIRECTORY", None)
    if flags is None:
        return
    handle = os.open(folder, os.O_RDONLY | flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
