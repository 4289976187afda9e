"""What all benchmarks do with the text that they made."""

from __future__ import annotations

from pathlib import Path


def publish(text: str, markdown: Path | None) -> None:
    """Print it, and write it to the file that --markdown names."""
    print(text)
    if markdown:
        markdown.write_text(text)
