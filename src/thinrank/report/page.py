"""The contents of a page, independent of its format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Text:
    """A paragraph. Backticks enclose code; everything else is literal."""

    text: str  # the text
    stress: bool = False  # whether to emphasise it as the main result of the page


@dataclass(frozen=True)
class Section:
    """A heading of the second level."""

    title: str


@dataclass(frozen=True)
class Points:
    """A list of sentences, shown literally because they may contain names from data."""

    items: tuple[str, ...]  # the sentences
    caution: bool = False  # whether they are warnings


@dataclass(frozen=True)
class Link:
    """A link to another page of the same folder, for example in a table cell."""

    text: str  # text of the link
    target: str  # path of the page without its suffix, such as ``"table1/page"``


@dataclass(frozen=True)
class Number:
    """A table cell with a number, which is shown rounded and sorts by its exact value."""

    value: float  # the number; NaN for a missing one, which is shown as an empty cell
    text: str  # what is shown


@dataclass(frozen=True)
class Verdict:
    """A table cell with the outcome of a check, marked by a sign and not by colour alone."""

    text: str  # the outcome in words
    good: bool | None  # whether it is as hoped; None if it is not known

    @property
    def mark(self) -> str:
        """The sign before the text."""
        return {True: "✓", False: "✗", None: "–"}[self.good]


@dataclass(frozen=True)
class Choice:
    """A table cell with a box that the reader can tick."""

    label: str  # what is chosen, for readers who do not see the table
    chosen: bool  # whether the box is ticked at first
    about: dict[str, str | int | float]  # what :class:`Choices` saves with it, of texts and numbers


Cell = str | Link | Number | Verdict | Choice


@dataclass(frozen=True)
class Table:
    """A table; its first ``left`` columns hold text, the others numbers."""

    header: tuple[str, ...]  # names of the columns
    rows: list[tuple[Cell, ...]]  # cells: strings, links, numbers or verdicts
    left: int = 1  # number of leading columns that are left-aligned
    caption: str = ""  # what the table shows; required if it is sortable
    note: str = ""  # A remark below the table
    sortable: bool = False  # whether the HTML page lets the reader sort and filter the rows
    # whether text is shown as it is, for names from data; otherwise backticks enclose code
    literal: bool = False


@dataclass(frozen=True)
class Picture:
    """A plot, stored as ``name.png`` and ``name.svg`` beside the page."""

    name: str  # file name without suffix
    figure: Figure  # the plot
    description: str  # caption, and alternative text if there is no other
    alternative: str = ""  # alternative text for readers who do not see the plot
    table: Table | None = None  # the plotted numbers, which the HTML page shows on demand
    literal: bool = False  # whether the caption is shown as it is; otherwise backticks enclose code


@dataclass(frozen=True)
class Choices:
    """Buttons that tick all boxes of the page or none, and save the choices as a JSON file."""

    file_name: str  # name of the file
    entry: str  # name of the list of choices in the file
    key: str  # name of the entry of each choice that is true if its box is ticked
    about: dict[str, str | int | float]  # other entries of the file, of texts and numbers


Block = Text | Points | Section | Table | Picture | Choices


@dataclass
class Page:
    """A title and its blocks, from top to bottom."""

    title: str  # the title
    blocks: list[Block] = field(default_factory=list)  # the contents
    up: Link | None = None  # the page that lists this one
    contents: bool = False  # whether the HTML page begins with links to its sections

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    @property
    def pictures(self) -> list[Picture]:
        """The plots on the page."""
        return [block for block in self.blocks if isinstance(block, Picture)]

    @property
    def is_sortable(self) -> bool:
        """Whether a table of the page can be sorted."""
        tables = [block for block in self.blocks if isinstance(block, Table)]
        tables += [picture.table for picture in self.pictures if picture.table]
        return any(table.sortable for table in tables)

    @property
    def has_choices(self) -> bool:
        """Whether the reader can save choices."""
        return any(isinstance(block, Choices) for block in self.blocks)
