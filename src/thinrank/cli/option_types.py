"""Arguments and options that several commands have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

CORES = os.cpu_count() or 1

READING = "Reading of files"
MODEL = "Model"
SAID = "Messages"

Folder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of the model.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object, also for errors.", rich_help_panel=SAID),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only.", rich_help_panel=SAID)
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show where an error occurred.", rich_help_panel=SAID)
]
Index = Annotated[
    str | None,
    typer.Option(
        help="Column with the names of the rows.", show_default="found", rich_help_panel=READING
    ),
]
NoIndex = Annotated[
    bool,
    typer.Option("--no-index", help="Rows have no names.", rich_help_panel=READING),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row has the names of the columns.",
        show_default="found",
        rich_help_panel=READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Comma, semicolon, tab or pipe.", show_default="found", rich_help_panel=READING
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal separator: point or comma.", show_default="found", rich_help_panel=READING
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of text files, such as latin-1.",
        show_default="UTF-8",
        rich_help_panel=READING,
    ),
]
FitX = Annotated[
    Path | None,
    typer.Argument(
        metavar="[X]",
        help="Predictors of the fit, if the file is not where it was.",
        show_default=False,
    ),
]
FitY = Annotated[
    Path | None,
    typer.Argument(metavar="[Y]", help="Responses of the fit.", show_default=False),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of random choices.", rich_help_panel=MODEL)]
Jobs = Annotated[
    int,
    typer.Option(
        min=1, help="Number of threads.", show_default="number of cores", rich_help_panel=MODEL
    ),
]
