"""Which exchanges of rows are promising, by costs and gains with the row space held fixed."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from scipy.stats import chi2

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.solvers.fits import Fit, Prospects

# An exchange is not tried if its cost exceeds this number times its gain. A rule of thumb: with the
# row space held fixed the gain underestimates the effect.
MAX_COST_RATIO = 4.0
# Single exchanges tried if the form is a majorizer, for which gains are underestimated.
_MAX_EXCHANGES = 16


def exchanged(rows: Array, leaving: int, new: Array, entering: int) -> Array:
    """Sorted rows with one at a position replaced by one of new rows."""
    xp, new = arrays.namespace(rows), new[entering : entering + 1]
    return xp.sort(xp.concat([rows[:leaving], rows[leaving + 1 :], new]), stable=False)


@functools.lru_cache(maxsize=256)
def largest_noise(count: int, degrees: int) -> float:
    """Typical size of the largest of ``count`` χ² variables."""
    return float(chi2.isf(1 / max(count, 2), max(degrees, 1)))


def promising(costs: Array, gains: Array, free: int, margin: float) -> int:
    """The number of exchanges whose gain exceeds their cost: largest gains for smallest costs.

    ``free`` rows may be added without removing others. Costs and gains are twice the changes of
    the objective, hence twice the margin.
    """
    xp = arrays.namespace(costs)
    free = min(free, gains.shape[0])
    costs = xp.sort(costs, stable=False)
    if type(gains) is np.ndarray and free == 0 and len(costs):  # to sort all takes longer
        gains = gains[gains > costs[0] + 2 * margin]
    gains = _largest(gains, free + costs.shape[0])
    if free:
        entering = int(xp.count_nonzero(gains[:free] > 0))
        if entering < free:
            return entering
    pairs = min(costs.shape[0], gains.shape[0] - free)
    return free + int(xp.count_nonzero(gains[free : free + pairs] > costs[:pairs] + 2 * margin))


def best_exchanges(
    fit: Fit, prospects: Prospects, max_ratio: float = float("inf")
) -> Iterator[Array]:
    """Rows after the single exchanges with the largest net gains, the best first.

    Exchanges that cost more than ``max_ratio`` times their gain are left out.
    """
    if prospects.exact.shape[0] == 0:
        return
    xp = arrays.namespace(fit.rows)
    nets = arrays.half_the_digits(prospects.of_pairs(fit))
    width = nets.shape[1]
    entering = arrays.take_rows(prospects.candidates, prospects.exact)
    hopeless = arrays.to_numpy(nets < (1 / max_ratio - 1) * fit.costs[:, None])
    best = descending(xp.reshape(nets, (-1,)), _MAX_EXCHANGES)
    for place in arrays.to_numpy(best).tolist():
        i, j = divmod(place, width)
        if hopeless[i, j]:
            continue
        yield exchanged(fit.rows, i, entering, j)


def outside(rows: Array, size: int) -> Array:
    """The numbers below ``size`` that are not among sorted ``rows``, sorted."""
    inside = arrays.scatter_rows(arrays.namespace(rows).ones_like(rows), rows, size)
    return arrays.true_positions(inside == 0)


def ascending(values: Array) -> Array:
    """Positions in ascending order of values; values are compared to half of their digits."""
    return arrays.namespace(values).argsort(arrays.half_the_digits(values))


def descending(values: Array, count: int | None = None) -> Array:
    """Positions in descending order of values, all or the first ``count`` of them.

    Values are compared to half of their digits; of equal ones the first position comes first.
    """
    count = values.shape[0] if count is None else min(count, values.shape[0])
    if not _pays_to_part(values, count):
        return ascending(-values if count else values[:0])[:count]
    keys = arrays.half_the_digits(-values)
    last = np.partition(keys, count - 1)[count - 1]
    places = np.flatnonzero(~(keys > last))
    return places[np.argsort(keys[places], kind="stable")][:count]


def _largest(values: Array, count: int) -> Array:
    """The ``count`` largest values, in descending order; all if there are fewer."""
    if _pays_to_part(values, count):
        values = np.partition(values, values.shape[0] - count)[values.shape[0] - count :]
    # a stable sort of numbers alone has the same result, in ten times the time
    return -arrays.namespace(values).sort(-values, stable=False)


def _pays_to_part(values: Array, count: int) -> bool:
    """Whether a few of many values are wanted: to sort all of them would take far longer."""
    return isinstance(values, np.ndarray) and 0 < 8 * count < values.shape[0]
