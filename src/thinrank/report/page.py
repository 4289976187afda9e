"""What a page is made of, before it is Markdown or HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Block", "Link", "Page", "Picture", "Section", "Table", "Text"]


@dataclass(frozen=True)
class Text:
    """A paragraph. Back-ticks enclose code, everything else is literal.

    Parameters
    ----------
    text : str
        The words.
    stress : bool, default=False
        Whether this is the sentence to read if only one is read.
    """

    text: str
    stress: bool = False


@dataclass(frozen=True)
class Section:
    """A heading of the second level."""

    title: str


@dataclass(frozen=True)
class Link:
    """A cell that leads to another page of the same folder.

    Parameters
    ----------
    text : str
        What is shown.
    target : str
        Path of the page without its suffix, such as ``"table1/page"``.
    """

    text: str
    target: str


@dataclass(frozen=True)
class Table:
    """A table; its first ``left`` columns are words, the others numbers.

    Parameters
    ----------
    header : tuple of str
        Names of the columns.
    rows : list of tuple
        Cells, strings or links.
    left : int, default=1
        Number of leading columns that are aligned to the left.
    """

    header: tuple[str, ...]
    rows: list[tuple[str | Link, ...]]
    left: int = 1


@dataclass(frozen=True)
class Picture:
    """A plot, stored as ``name.png`` and ``name.svg`` beside the page.

    Parameters
    ----------
    name : str
        File name without suffix.
    figure : matplotlib.figure.Figure
        The plot.
    description : str
        What it shows, in words, for those who cannot see it and as its caption.
    """

    name: str
    figure: Figure
    description: str


Block = Text | Section | Table | Picture


@dataclass
class Page:
    """A title and its blocks, from top to bottom."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    @property
    def pictures(self) -> list[Picture]:
        """The plots on the page."""
        return [block for block in self.blocks if isinstance(block, Picture)]
