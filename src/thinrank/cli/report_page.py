"""``thinrank report``: a page about a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thinrank.cli.exit_codes import Output
from thinrank.cli.predict import check_new_file
from thinrank.cli.saved_model import SavedModel, load_model
from thinrank.cli.training_data import DataRequest, TrainingData, load_data
from thinrank.core.extras import import_optional
from thinrank.tables import TableError, checksum

__all__ = ["run_report"]


def run_report(
    folder: Path,
    x: Path | None,
    y: Path | None,
    out: Path | None,
    overwrite: bool,
    output: Output,
) -> dict[str, Any]:
    """Write the page, and return what ``--json`` prints.

    Parameters
    ----------
    folder : Path
        The model.
    x, y : Path or None
        The data of the fit, if they are not where they were.
    out : Path or None
        The page; None for ``report.html`` in the folder of the model.
    overwrite : bool
        Whether to replace it.
    output : Output
        Where to write messages.

    Returns
    -------
    dict
    """
    model = load_model(folder)
    page = folder / "report.html" if out is None else out
    check_new_file(page, overwrite or out is None)
    for library in ("jinja2", "matplotlib"):
        import_optional(library)
    from thinrank import report

    data = _data(model, x, y, output)
    command = None if model.record is None else model.record["command"]
    report.write(
        model.estimator,
        page,
        X=None if data is None else data.X,
        Y=data.Y if data is not None and isinstance(data.Y, np.ndarray) else None,
        command=command,
    )
    output.show(f"The report is in {page}; open it in a browser")
    return {"report": str(page), "with_data": data is not None}


def _data(model: SavedModel, x: Path | None, y: Path | None, output: Output) -> TrainingData | None:
    """The data of the fit; None with a note if they are not there or have changed."""
    if model.record is None:
        if x is not None:
            output.note("the model was not fitted by thinrank fit, so the data are not used")
        return None
    stored = model.record["data"]
    request = DataRequest.from_json(stored, model.folder)
    given = x is not None
    if x is not None:
        files = {"x": str(x), "y": None if y is None else str(y)}
        request = DataRequest(**{**request.__dict__, **files})
    reason = None if given else _changed(request, stored["sha256"])
    if reason is not None:
        output.note(
            f"{reason}, so the report has no figures of the data; give the files: thinrank report "
            f"{model.folder} X Y"
        )
        return None
    data = load_data(request, lambda text: None)
    if (
        data.encoding.names != model.encoding.names
        or data.response_names != model.record["responses"]
    ):
        raise TableError("has other columns than the data of the fit", file=request.x)
    return data


def _changed(request: DataRequest, checksums: dict[str, str | None]) -> str | None:
    """Why the files are not those of the fit; None if they are."""
    for path, known in ((request.x, checksums["x"]), (request.y, checksums["y"])):
        if path is None:
            continue
        if not Path(path).is_file():
            return f"{Path(path).name} is not where it was"
        if checksum(path) != known:
            return f"{Path(path).name} has changed since the fit"
    return None
