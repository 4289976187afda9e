"""The contents of a page, independent of its format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
class Points:
    """A list of sentences, shown literally because they may contain names from data.

    Parameters
    ----------
    items : tuple of str
        The sentences.
    caution : bool, default=False
        Whether they are warnings.
    """

    items: tuple[str, ...]
    caution: bool = False


@dataclass(frozen=True)
class Link:
    """A link to another page of the same folder, for example in a table cell.

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
class Number:
    """A table cell with a number, which is shown rounded and sorts by its exact value.

    Parameters
    ----------
    value : float
        The number; NaN for a missing one, which is shown as an empty cell.
    text : str
        What is shown.
    """

    value: float
    text: str


@dataclass(frozen=True)
class Verdict:
    """A table cell with the outcome of a check, marked by a sign and not by colour alone.

    Parameters
    ----------
    text : str
        The outcome in words.
    good : bool or None
        Whether it is as hoped; None if it is not known.
    """

    text: str
    good: bool | None

    @property
    def mark(self) -> str:
        """The sign before the text."""
        return {True: "✓", False: "✗", None: "–"}[self.good]


@dataclass(frozen=True)
class Choice:
    """A table cell with a box that the reader can tick.

    Parameters
    ----------
    label : str
        What is chosen, for readers who do not see the table.
    chosen : bool
        Whether the box is ticked at first.
    about : dict
        What :class:`Choices` saves with it, of texts and numbers.
    """

    label: str
    chosen: bool
    about: dict[str, str | int | float]


Cell = str | Link | Number | Verdict | Choice


@dataclass(frozen=True)
class Table:
    """A table; its first ``left`` columns hold text, the others numbers.

    Parameters
    ----------
    header : tuple of str
        Names of the columns.
    rows : list of tuple
        Cells: strings, links, numbers or verdicts.
    left : int, default=1
        Number of leading columns that are left-aligned.
    caption : str, default=""
        What the table shows; required if it is sortable.
    note : str, default=""
        A remark below the table.
    sortable : bool, default=False
        Whether the HTML page lets the reader sort and filter the rows.
    literal : bool, default=False
        Whether text is shown as it is, for names from data; otherwise backticks enclose code.
    """

    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    left: int = 1
    caption: str = ""
    note: str = ""
    sortable: bool = False
    literal: bool = False


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
        Caption, and alternative text if there is no other.
    alternative : str, default=""
        Alternative text for readers who do not see the plot.
    table : Table, default=None
        The plotted numbers, which the HTML page shows on demand.
    literal : bool, default=False
        Whether the caption is shown as it is; otherwise backticks enclose code.
    """

    name: str
    figure: Figure
    description: str
    alternative: str = ""
    table: Table | None = None
    literal: bool = False


@dataclass(frozen=True)
class Choices:
    """Buttons that tick all boxes of the page or none, and save the choices as a JSON file.

    Parameters
    ----------
    file_name : str
        Name of the file.
    entry : str
        Name of the list of choices in the file.
    key : str
        Name of the entry of each choice that is true if its box is ticked.
    about : dict
        Other entries of the file, of texts and numbers.
    """

    file_name: str
    entry: str
    key: str
    about: dict[str, str | int | float]


Block = Text | Points | Section | Table | Picture | Choices


@dataclass
class Page:
    """A title and its blocks, from top to bottom.

    Parameters
    ----------
    title : str
        The title.
    blocks : list of Block, default=[]
        The contents.
    up : Link, default=None
        The page that lists this one.
    contents : bool, default=False
        Whether the HTML page begins with links to its sections.
    """

    title: str
    blocks: list[Block] = field(default_factory=list)
    up: Link | None = None
    contents: bool = False

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
