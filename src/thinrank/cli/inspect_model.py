"""``thinrank inspect``: what is in the folder of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thinrank.cli.exit_codes import Output
from thinrank.cli.findings import as_json
from thinrank.cli.saved_model import SavedModel, load_model
from thinrank.tables.errors import listed

__all__ = ["run_inspect"]


def run_inspect(folder: Path, output: Output) -> dict[str, Any]:
    """Show what a model found and where it comes from, and return what ``--json`` prints.

    Parameters
    ----------
    folder : Path
        The model.
    output : Output
        Where to write.

    Returns
    -------
    dict
    """
    model = load_model(folder)
    output.show(f"{model.estimator.summary()}\n")
    for line in _origin(model):
        output.show(line)
    origin = {} if model.record is None else {"fit": _short(model.record)}
    return {"model": str(folder), **as_json(model.estimator), **origin}


def _origin(model: SavedModel) -> list[str]:
    """Lines about the command, the files and the encoding."""
    if model.record is None:
        return [f"{type(model.estimator).__name__}, saved by tr.save"]
    record, data = model.record, model.record["data"]
    lines = [
        f"command     {record['command']}",
        f"version     thinrank {record['thinrank']}",
        f"predictors  {data['x']} (sha256 {data['sha256']['x'][:12]}…)",
    ]
    if data["y"] is not None:
        lines.append(f"responses   {data['y']} (sha256 {data['sha256']['y'][:12]}…)")
    families = set(record["families"].values())
    lines.append(f"families    {', '.join(sorted(families))}")
    for name, categories in model.encoding.categories.items():
        others = listed(categories[1:])
        lines.append(f"categories  {name}: {others} compared with {categories[0]!r}")
    if model.encoding.means is not None:
        cells = record["imputed_cells"]
        lines.append(f"imputation  missing predictors are replaced by means ({cells} in the fit)")
    return lines


def _short(record: dict[str, Any]) -> dict[str, Any]:
    """The record without the lists that are as long as the table is wide."""
    encoding = record["encoding"]
    short = {name: value for name, value in record.items() if name != "encoding"}
    short["categories"] = encoding["categories"]
    short["impute"] = None if encoding["means"] is None else "mean"
    return short
