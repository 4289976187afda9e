"""What to distrust about a fitted model, in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.report.model_tables import ModelTables, listed, shown_name

__all__ = ["cautions"]

_NAMED = 8  # names in a sentence


def cautions(est: Any, summary: Any, tables: ModelTables, stability: Any) -> list[str]:
    """Return what to distrust: the cautions of the summary, and those from stability selection.

    Parameters
    ----------
    est : estimator
        The fitted estimator.
    summary : Summary
        Its summary.
    tables : ModelTables
        Its tables.
    stability : DataFrame or None
        From :func:`thinrank.selection.stability`.

    Returns
    -------
    sentences : list of str
        Never empty: what has not been checked is said too.
    """
    found = [*summary.cautions, *_unstable(tables, stability)]
    if stability is None and len(tables.selected[0]):
        found.append(
            "Whether other samples would select the same predictors was not checked; "
            "tr.selection.stability does that."
        )
    found.append(
        "Coefficients are shrunk and selected with the same data, and a predictor may stand for "
        "others that it is correlated with; they are not effects of interventions."
    )
    return list(dict.fromkeys(found))


def _unstable(tables: ModelTables, stability: Any) -> list[str]:
    """Return sentences about selected predictors that half-samples often do not select."""
    if stability is None:
        return []
    part = stability[stability["axis"] == "row"]
    stable = part["stable"].to_numpy(dtype=bool)
    frequency = part["frequency"].to_numpy(dtype=float)
    rows = tables.selected[0]
    doubtful = rows[~stable[rows]]
    doubtful = doubtful[np.argsort(frequency[doubtful], kind="stable")]
    sentences = []
    if len(doubtful):
        named = [
            f"{shown_name(tables.model.predictors[i])} ({frequency[i]:.2f})"
            for i in doubtful[:_NAMED]
        ]
        verb = "is" if len(doubtful) == 1 else "are"
        sentences.append(
            f"{len(doubtful):,} of {len(rows):,} selected predictors {verb} not stable: random "
            "halves of the data often do not select them (with the frequency): "
            f"{listed(named, len(doubtful))}."
        )
    count = int(np.count_nonzero(stable))
    if "bound" in part and count and float(part["bound"].iloc[0]) >= count:
        sentences.append(
            f"The bound on wrong selections among the {count:,} stable predictors, "
            f"{float(part['bound'].iloc[0]):.2g}, is no less than their number, so it says nothing."
        )
    return sentences
