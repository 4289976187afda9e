"""The data of a model's fit, read again from the files."""

from __future__ import annotations

from pathlib import Path

from thinrank.cli.saved_model import SavedModel
from thinrank.cli.training_data import DataRequest, TrainingData, load_data
from thinrank.tables import TableError, checksum


def reread_data(model: SavedModel, x: Path | None, y: Path | None) -> TrainingData | str:
    """The data that a model was fitted to."""
    if model.record is None:
        return "the model was not fitted by thinrank fit"
    stored = model.record["data"]
    request = DataRequest.from_json(stored, model.folder)
    if x is not None:
        files = {"x": str(x), "y": None if y is None else str(y)}
        request = DataRequest(**{**request.__dict__, **files})
    else:
        reason = _changed(request, stored["sha256"])
        if reason is not None:
            return reason
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
