"""The contents of a page, independent of its format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Block", "Link", "Page", "Picture", "Section", "Table", "Text"]


@dataclass(frozen=True)
class Text:
    """A paragraph. Backticks enclose code; everything else is literal.

    Parameters
    ----------
    text : str
        The text.
    stress : bool, default=False
        Whether to emphasise it as the main result of the page.
    """

    text: str
    stress: bool = False


@dataclass(frozen=True)
class Section:
    """A heading of the second level."""

    title: str


@dataclass(frozen=True)
class Link:
    """A table cell that links to another page of the same folder.

    Parameters
    ----------
    text : str
        Text of the link.
    target : str
        Path of the page without its suffix, such as ``"table1/page"``.
    """

    text: str
    target: str


@dataclass(frozen=True)
class Table:
    """A table; its first ``left`` columns hold text, the others numbers.

    Parameters
    ----------
    header : tuple of str
        Names of the columns.
    rows : list of tuple
        Cells, strings or links.
    left : int, default=1
        Number of leading columns that are left-aligned.
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
        Caption and alternative text.
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
