"""One JSON file per finished job, written atomically."""

from __future__ import annotations

import json
from pathlib import Path

from paper.studies.spec import Job, StudyRecord
from thinrank.core.files import write_text


class Cache:
    """Records of the finished jobs of a study, on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "records"

    def path(self, key: str) -> Path:
        """Return the path of the file of a job."""
        return self.folder / f"{key}.json"

    def load(self, key: str) -> list[StudyRecord] | None:
        """Return the records of a finished job, or None if there is no valid file."""
        try:
            content = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(content, dict) or content.get("key") != key:
            return None
        records = content.get("records")
        if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
            return None
        return records

    def store(self, job: Job, records: list[StudyRecord]) -> None:
        """Write the records of a finished job to disk."""
        content = {"key": job.key, "job": job.as_dict(), "records": records}
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
        write_text(self.path(job.key), text + "\n")

    def keys(self) -> list[str]:
        """Return the sorted keys of all files, including invalid ones."""
        return sorted(path.stem for path in self.folder.glob("*.json"))
