"""``thinrank report``: a page about a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinrank.cli.options import FitX, FitY, Folder, Overwrite, check_output_file, option_error
from thinrank.cli.running import JsonOutput, Output
from thinrank.core.imports import import_optional

if TYPE_CHECKING:
    from thinrank.cli.models import SavedModel, TrainingData


def report(
    model: Folder,
    x: FitX = None,
    y: FitY = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File.", show_default="report.html in the folder, replaced"
        ),
    ] = None,
    overwrite: Overwrite = False,
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    graphml: Annotated[
        Path | None,
        typer.Option("--graphml", help="Also write the network to this file, for Cytoscape."),
    ] = None,
    *,
    output: JsonOutput,
) -> dict[str, Any]:
    """Write a page about a model: what was found, tables, figures, and what to distrust."""
    from thinrank.cli.models import check_not_data, load_model, read_stability

    saved = load_model(model)
    page = model / "report.html" if out is None else out
    check_output_file(page, overwrite or out is None)
    check_not_data(page, saved, x, y)
    if graphml is not None:
        check_output_file(graphml, overwrite, "--graphml")
        if graphml.absolute() == page.absolute():
            raise option_error("--graphml", "is the file of the page")
        check_not_data(graphml, saved, x, y)
    import_optional("matplotlib")
    from thinrank import report
    from thinrank.tables.columns import text_columns
    from thinrank.tables.encoding import encoded_frame

    data = _data(saved, x, y, output)
    table = read_stability(model)
    if isinstance(table, str):
        remedy = f"so the report leaves it out; run thinrank stability {model} again"
        output.note(f"{table}, {remedy}")
        table = None
    command = None if saved.record is None else saved.record["command"]
    files = [x or getattr(saved.request, "x", None), y or getattr(saved.request, "y", None)]
    report.write(
        saved.estimator,
        page,
        # frames of many columns are checked for half a second each time
        X=None if data is None else encoded_frame(data.X)[0].to_numpy(),
        Y=None if data is None or text_columns(data.Y) else data.Y.to_numpy(),
        stability=table,
        command=command,
        title=title,
        data_files={Path(each).name: saved.estimator.n_samples_ for each in files if each},
        sample_names=None if data is None else data.sample_names,
    )
    output.show(f"The report is in {page}; open it in a browser")
    if graphml is not None:
        report.write_graphml(saved.estimator, graphml)
        output.show(f"The network is in {graphml}")
    return {"report": str(page), "with_data": data is not None, "with_stability": table is not None}


def _data(model: SavedModel, x: Path | None, y: Path | None, output: Output) -> TrainingData | None:
    """The data of the fit; None with a note if they are not there or have changed."""
    from thinrank.cli.models import reread_data

    data = reread_data(model, x, y)
    if not isinstance(data, str):
        return data
    if model.record is not None:
        output.note(
            f"{data}, so the report has no figures of the data; give the files: thinrank report "
            f"{model.folder} X Y"
        )
    elif x is not None:
        output.note(f"{data}, so the data are not used")
    return None
