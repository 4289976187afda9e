"""How a model was chosen: the models that were tried, in words and as a table."""

from __future__ import annotations

import math
from typing import Any

from thinrank.core.result import Record
from thinrank.estimators.findings import score_name
from thinrank.report.model_tables import MOST_ROWS, as_cell
from thinrank.report.page import Cell, Table
from thinrank.selection.choice import last_search, standard_error

_RUNNERS_UP = 3


def chosen_words(est: Any) -> list[str]:
    """Sentences about the criterion, the models tried, the chosen sizes and the runners-up."""
    sizes = _size_words(est.best_params_)
    tried = [r for r in getattr(est, "search_", []) if r.sizes is not None]
    if not tried:
        return [f"All sizes were given, so nothing was compared: {sizes}."]
    score = score_name(est)
    words = [
        f"{len(tried):,} models were compared by their {score}; less is better.",
        f"Chosen: {sizes}.",
    ]
    rule = getattr(est, "refit_rule", "best")
    if rule != "best":
        words.append(f"The rule for the choice was refit_rule={rule!r}.")
    records = last_search(tried)
    if len({r.search_round for r in tried}) > 1:
        words.append(
            f"{len(records):,} of them belong to the last search, whose scores can be compared: "
            "the noise in the responses was estimated again before it."
        )
    others = [r for r in _ordered(records) if not is_chosen(r, est.best_params_)][:_RUNNERS_UP]
    if others:
        best = min(r.objective for r in records)
        words.append(
            "Runners-up: " + "; ".join(f"{_record_words(r)} ({_above(r, best)})" for r in others)
        )
        words[-1] += "."
    return words


def search_table(est: Any, most: int = MOST_ROWS, *, sortable: bool = True) -> Table:
    """The models of the last search, the best first."""
    records = _ordered(last_search(getattr(est, "search_", [])))
    best = records[0].objective if records else math.nan
    rows: list[tuple[Cell, ...]] = []
    for record in records[:most]:
        assert record.sizes is not None
        rows.append(
            (
                "chosen" if is_chosen(record, est.best_params_) else "",
                as_cell(record.sizes.rank),
                as_cell(record.sizes.rows),
                as_cell(record.sizes.columns),
                as_cell(record.sizes.ridge),
                as_cell(record.objective, 5),
                as_cell(standard_error(record)),
                as_cell(record.objective - best),
            )
        )
    header = ("choice", "rank", "predictors", "responses", "ridge", "score", "standard error")
    note = "" if len(rows) == len(records) else f"The best {len(rows):,} of {len(records):,}."
    caption = f"Models that were compared; score: {score_name(est)}"
    return Table((*header, "above the least"), rows, 1, caption, note, sortable, literal=True)


def is_chosen(record: Record, params: dict[str, Any]) -> bool:
    """Whether a record is that of the model that was fitted to all rows."""
    names = ("rank", "row_sparsity", "column_sparsity", "ridge", "exchange")
    wanted = [params.get(name) for name in names]
    return record.sizes is not None and all(
        want is None or math.isclose(have, want, rel_tol=1e-9)
        for have, want in zip(record.sizes, wanted, strict=True)
    )


def _ordered(records: list[Record]) -> list[Record]:
    return sorted((r for r in records if r.sizes is not None), key=lambda r: r.objective)


def _size_words(params: dict[str, Any]) -> str:
    rank, rows, columns = (params.get(n) for n in ("rank", "row_sparsity", "column_sparsity"))
    if rank == 0:
        return "rank 0, no predictor"
    parts = [
        f"rank {rank}",
        "all predictors" if rows is None else f"at most {rows:,} predictors",
        "all responses" if columns is None else f"at most {columns:,} responses",
    ]
    if params.get("ridge") is not None:
        parts.append(f"ridge {params['ridge']:.3g}")
    return ", ".join(parts)


def _record_words(record: Record) -> str:
    assert record.sizes is not None
    rank, rows, columns, ridge, exchange = record.sizes
    if rank == 0:
        return "no predictor"
    how = "" if exchange else ", without exchanges"
    return f"rank {rank}, {rows:,} predictors, {columns:,} responses, ridge {ridge:.3g}{how}"


def _above(record: Record, best: float) -> str:
    if record.objective <= best:
        return "the least score"
    if best > 0:
        return f"{100 * (record.objective / best - 1):.2g} % above the least score"
    return f"{record.objective - best:.2g} above the least score"
