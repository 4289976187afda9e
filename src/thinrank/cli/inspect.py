"""``thinrank inspect``: what is in the folder of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinrank.cli.options import Folder, in_options
from thinrank.cli.running import JsonOutput

if TYPE_CHECKING:
    from thinrank.cli.models import SavedModel


def inspect(model: Folder, output: JsonOutput) -> dict[str, Any]:
    """Show what a model found, and which data and options it was fitted with."""
    from thinrank.cli.models import as_json, load_model

    saved = load_model(model)
    output.show(in_options(f"{saved.estimator.summary()}\n"))
    for line in _origin(saved):
        output.show(line)
    origin = {}
    if saved.record is not None:
        impute = saved.estimator.impute
        origin["fit"] = saved.record | {"categories": saved.categories, "impute": impute}
    return {"model": str(model), **as_json(saved.estimator), **origin}


def _origin(model: SavedModel) -> list[str]:
    """Lines about the command, the files and the encoding."""
    from thinrank.tables.errors import counted, listed

    if model.record is None:
        return [f"{type(model.estimator).__name__}, saved by tr.save"]
    record, checksums = model.record, model.record["data"]["sha256"]
    lines = [f"command     {record['command']}", f"version     thinrank {record['thinrank']}"]
    for what, name in (("predictors", "x"), ("responses ", "y")):
        if checksums[name] is not None:
            file, here = Path(getattr(model.request, name)), Path.cwd()
            shown = file.relative_to(here) if file.is_relative_to(here) else file
            lines.append(f"{what}  {shown} (sha256 {checksums[name][:12]}…)")
    lines += [f"rows        {record['pairing']}", *_choice(model.estimator)]
    families = set(record["families"].values())
    lines.append(f"families    {', '.join(sorted(families))}")
    missing = record["missing_entries"]
    if missing:
        cells = counted(sum(missing.values()), "cell")
        lines.append(f"missing     {cells} of responses, left out: {listed(missing)}")
    for name, categories in model.categories.items():
        others = listed(categories[1:])
        lines.append(f"categories  {name}: {others} compared with {categories[0]!r}")
    if model.estimator.impute is not None:
        cells = counted(record["imputed_cells"], "cell")
        lines.append(f"imputation  missing predictors are replaced by means ({cells} in the fit)")
    return lines


def _choice(estimator: Any) -> list[str]:
    """Lines about the ridge, and how it and the sizes were chosen."""
    given = estimator.get_params(deep=False)
    words = {"row_sparsity": "predictors", "column_sparsity": "responses"}
    names = ("rank", *words, "ridge")
    chosen = [words.get(name, name) for name in names if isinstance(given[name], str)]
    ridge = estimator.best_params_.get("ridge")
    lines = [] if ridge is None else [f"ridge       {ridge:.3g}"]
    if not chosen:
        return [*lines, "chosen      nothing: rank, predictors, responses and ridge were given"]
    how = f"criterion {given['criterion']}, rule {given['refit_rule']}"
    return [*lines, f"chosen      {', '.join(chosen)}: {how}"]
