"""Samples of row blocks, which know inner products of rows only, against samples in memory."""

from __future__ import annotations

import numpy as np
import pytest

from thinrank.core.sizes import Sizes
from thinrank.designs import Blocks
from thinrank.forms.block_moments import BlockMoments
from thinrank.losses import LeastSquares
from thinrank.losses.block_least_squares import BlockLeastSquares
from thinrank.selection import block_errors
from thinrank.selection.block_samples import block_samples, stack_of
from thinrank.selection.splits import held_out_samples
from thinrank.solvers.pursuit import Pursuit

N, P, K = 90, 8, 5
ROWS = np.arange(N)
FOLDS = [(ROWS[i != ROWS % 3], ROWS[i == ROWS % 3]) for i in range(3)]
OVERLAPPING = [(ROWS[40:], ROWS[:30]), (ROWS[:60], ROWS[20:30])]  # some rows are never held out
SIZES = Sizes(2, 4, 3, 0.0)


def data(weighted):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, P)) * np.linspace(1, 3, P) + 2
    Y = X[:, :3] @ rng.standard_normal((3, K)) + 2 * rng.standard_normal((N, K)) + 1
    return X, Y, np.where(ROWS % 5 == 0, 0.0, rng.uniform(0.5, 2, N)) if weighted else None


def both(weighted=False, center=True, scale=True, splits=FOLDS):
    """Samples of the same loss, in memory and in blocks."""
    X, Y, weight = data(weighted)
    divided = np.linspace(1, 2, K)
    mean_x = np.average(X, axis=0, weights=weight) if center else np.zeros(P)
    mean_y = np.average(Y, axis=0, weights=weight) if center else np.zeros(K)
    size = np.sqrt(np.average((X - mean_x) ** 2, axis=0, weights=weight)) if scale else np.ones(P)
    whole = LeastSquares((X - mean_x) / size, (Y - mean_y) / divided, sample_weight=weight)
    options = {"center": center, "scale": scale}
    blocks = Blocks([X[:40], X[40:]], block_rows=25)
    moments = BlockMoments(blocks, Y, weight, splits=splits, **options)
    loss = BlockLeastSquares(moments, np.arange(K), divided)
    return held_out_samples(whole, splits, **options), block_samples(loss, splits)


CASES = pytest.mark.parametrize(
    ("weighted", "center", "scale", "splits"),
    [
        (False, True, True, FOLDS),
        (True, True, True, FOLDS),
        (False, False, True, FOLDS),
        (True, True, False, OVERLAPPING),
        (False, True, True, OVERLAPPING),
    ],
)


def fitted(samples, sizes=SIZES):
    return [sample.fit(sizes, Pursuit(tol=1e-12).sized(*sizes[:3])) for sample in samples]


@CASES
@pytest.mark.parametrize("most", [100, 1], ids=["one by one", "in order"])
def test_scores_errors_and_forecasts(weighted, center, scale, splits, most, monkeypatch):
    monkeypatch.setattr("thinrank.selection.elimination.MOST_FORECAST", most)
    ours, theirs = both(weighted, center, scale, splits)
    fits, others = fitted(ours), fitted(theirs)
    for a, b, fit, other in zip(ours, theirs, fits, others, strict=True):
        np.testing.assert_array_equal(a.index, b.index)
        assert b.weight == pytest.approx(a.weight)
        assert b.entries == pytest.approx(a.entries)
        assert b.null() == pytest.approx(a.null())
        np.testing.assert_array_equal(fit.rows, other.rows)
        assert b.score(other, SIZES) == pytest.approx(a.score(fit, SIZES))
        assert b.score(None, SIZES) == pytest.approx(a.null())
        assert b.score_of(b.errors(other)) == pytest.approx(a.score(fit, SIZES))
        for one, two in ((fit, other), (None, None)):
            np.testing.assert_allclose(b.errors(two).responses, a.errors(one).responses)
        np.testing.assert_allclose(b.null_errors(), a.null_errors())
        np.testing.assert_allclose(b.total_errors, a.total_errors)
        counts = np.arange(1, P + 1)
        np.testing.assert_allclose(
            b.rows_forecast(other, SIZES, counts), a.rows_forecast(fit, SIZES, counts), rtol=1e-7
        )
    for table, expected in zip(
        stack_of(theirs, others).tables(4), stack_of(ours, fits).tables(4), strict=True
    ):
        np.testing.assert_allclose(table, expected, rtol=1e-7)


@CASES
@pytest.mark.parametrize("few", [True, False])
def test_errors_of_rows_and_their_standard_errors(
    weighted, center, scale, splits, few, monkeypatch
):
    """Few rows: an array, minus the errors of the training means. Many: comparisons alone."""
    monkeypatch.setattr(block_errors, "partitions_of", lambda count: 3 if few else 1)
    ours, theirs = both(weighted, center, scale, splits)
    weight = data(weighted)[2]
    errors, found = [], []
    ledger = theirs[0].ledger
    for sizes in (SIZES, Sizes(1, 2, 5, 0.0), Sizes(1, 3, 2, 0.0)):
        total, times = np.zeros(N), np.zeros(N)
        for a, fit, (_, test) in zip(ours, fitted(ours, sizes), splits, strict=True):
            # the score is a mean over splits of means over rows
            change = a.row_errors(fit) - a.row_errors(None)
            held = 1.0 if weight is None else weight[test]
            total[test] += len(test) / (np.sum(held * np.ones(len(test))) * K) * change
            times[test] += 1
        with np.errstate(invalid="ignore"):
            errors.append(total / times)
        predictions = [
            b.errors(fit).rows for b, fit in zip(theirs, fitted(theirs, sizes), strict=True)
        ]
        found.append(ledger.added(predictions))
    if few:
        for one, other in zip(found, errors, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)
        return
    known = np.isfinite(errors[0])
    for i, j in ((0, 1), (2, 0), (1, 1)):
        assert len(found[i]) == N
        difference = (errors[i] - errors[j])[known]
        expected = np.std(difference, ddof=1) / np.sqrt(known.sum())
        assert found[i].standard_error(found[j]) == pytest.approx(expected, abs=1e-12)
