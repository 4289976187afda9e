"""What to distrust about a fitted model, in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.report.model_search import is_chosen
from thinrank.report.model_tables import ModelTables, shown_name
from thinrank.selection.choice import last_search
from thinrank.selection.stability import AxisSummary, remark, unstable_sentences


def cautions(tables: ModelTables, stability: Any) -> list[str]:
    """Return what to distrust: the cautions of the summary, and those that need more than a fit.

    The summary has the warnings of the fit, such as sizes at the edge of the space that was
    searched, responses that are predicted worse than by their means, and many predictors for few
    samples.
    """
    found = [
        *tables.summary.cautions,
        *_no_better_than_nothing(tables.est),
        *_unstable(tables, stability),
    ]
    said = any("selection.stability" in sentence for sentence in found)
    if stability is None and not said and len(tables.selected[0]):
        found.append(
            "Whether other samples would select the same predictors was not checked; "
            "tr.selection.stability does that, or thinrank stability on the command line."
        )
    found.append(
        "Coefficients are shrunk and selected with the same data, and a predictor may stand for "
        "others that it is correlated with; they are not effects of interventions."
    )
    return list(dict.fromkeys(found))


def _no_better_than_nothing(est: Any) -> list[str]:
    """Return a sentence if a model without predictors scores about as well as the chosen one."""
    records = last_search(getattr(est, "search_", []))
    null = next((r for r in records if r.sizes is not None and r.sizes.rank == 0), None)
    chosen = [r for r in records if is_chosen(r, est.best_params_)]
    if null is None or not chosen or null in chosen:
        return []
    # the chosen model may have scores on further splits
    common = min(len(null.split_scores), len(chosen[0].split_scores))
    if common < 2:
        return []
    first, second = (np.asarray(r.split_scores[:common]) for r in (null, chosen[0]))
    gains = first - second  # by split: what is common to both models cancels
    error = float(np.std(gains, ddof=1)) / len(gains) ** 0.5
    if gains.mean() > error:
        return []
    return [
        f"The score without predictors, {null.objective:.3g}, is within one standard error "
        f"({error:.2g}) of that of the chosen model, {chosen[0].objective:.3g}: the model may be "
        "no better than the mean."
    ]


def _unstable(tables: ModelTables, stability: Any) -> list[str]:
    """Return sentences about predictors of the model that half-samples often do not select."""
    if stability is None:
        return []
    sentences = unstable_sentences(stability, tables.selected[0], shown_name)
    summary = AxisSummary.of_table(stability, "row")
    if summary.says_nothing:
        sentences.append(remark(summary))
    return sentences
