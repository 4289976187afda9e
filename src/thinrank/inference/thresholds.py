"""From statistics to a selection: Benjamini–Hochberg, the +1 threshold, inclusion rates."""

from __future__ import annotations

import numpy as np

# p-values above this one are taken for those of predictors without effect (Storey 2002).
_LARGE = 0.5


def adjusted_p_values(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values of Benjamini and Hochberg.

    Those of at most q are the selection with false discovery rate q.

    Shapes: ``p_values`` (n,), result (n,).
    """
    order = np.argsort(p_values, kind="stable")[::-1]
    ranks = np.arange(len(p_values), 0, -1)
    adjusted = np.minimum.accumulate(p_values[order] * len(p_values) / ranks)
    result = np.empty(len(p_values))
    result[order] = np.minimum(adjusted, 1.0)
    return result


def weighted_p_values(p_values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """p-values over their weights, times the estimated weight of predictors without effect.

    The procedure of Benjamini and Hochberg with these is the adaptive one with prior weights
    (Genovese, Roeder and Wasserman 2006; Storey, Taylor and Siegmund 2004).

    Shapes: ``p_values`` (n,), ``weights`` (n,), result (n,).
    """
    if len(p_values) == 0:
        return p_values
    without = (weights.max() + weights[p_values > _LARGE].sum()) / (1 - _LARGE)
    scaled: np.ndarray = p_values / weights * min(without / len(p_values), 1.0)
    return np.minimum(scaled, 1.0)


def false_discovery_proportion(statistics: np.ndarray, threshold: float) -> float:
    """Estimated proportion of false discoveries: (1 + #{W ≤ −t}) / #{W ≥ t}.

    Shapes: ``statistics`` (n,).
    """
    chosen = int(np.count_nonzero(statistics >= threshold))
    return (1 + int(np.count_nonzero(statistics <= -threshold))) / chosen if chosen else np.inf


def sign_threshold(statistics: np.ndarray, fdr: float) -> float:
    """The smallest t > 0 with (1 + #{W ≤ −t}) / #{W ≥ t} ≤ fdr.

    Shapes: ``statistics`` (n,).
    """
    sizes = np.unique(np.abs(statistics[statistics != 0]))
    ordered = np.sort(statistics)
    above = len(ordered) - np.searchsorted(ordered, sizes, side="left")
    below = np.searchsorted(ordered, -sizes, side="right")
    good = np.flatnonzero((1 + below) <= fdr * above)
    return float(sizes[good[0]]) if len(good) else np.inf


def rates_cut(rates: np.ndarray, fdr: float) -> float:
    """The inclusion rate from which predictors are selected, over many splits.

    The smallest rates that sum to at most ``fdr`` belong to predictors that are left out.

    Shapes: ``rates`` (n,).
    """
    values, counts = np.unique(rates[rates > 0], return_counts=True)
    # equal rates stay together, as in a single split, where all are the same
    left = int(np.searchsorted(np.cumsum(values * counts), fdr * (1 + 1e-12), side="right"))
    return float(values[left]) if left < len(values) else np.inf
