"""Moments of row blocks, and the forms and losses made of them, against the whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from thinrank import Factors
from thinrank.designs import Blocks
from thinrank.forms import block_moments
from thinrank.forms.block_form import BlockForm
from thinrank.forms.block_moments import BlockMoments
from thinrank.losses import LeastSquares
from thinrank.losses.block_least_squares import BlockLeastSquares

N, P, K = 60, 9, 4
ROWS = np.arange(N)
SPLITS = {
    "none": [],
    "folds": [(ROWS[i != ROWS % 3], ROWS[i == ROWS % 3]) for i in range(3)],
    "some rows": [(ROWS[10:40], ROWS[:10]), (ROWS[:30], ROWS[40:50])],
    "overlapping": [(ROWS[20:], ROWS[:20]), (ROWS[:40], ROWS[30:])],
    "one for all": [(ROWS[:45], ROWS[45:]), (ROWS[:45], ROWS[45:50])],
}


@pytest.fixture(params=[True, False], ids=["all at once", "in passes"])
def few(request, monkeypatch):
    """Whether the first pass computes XᵀX; otherwise each pass computes two rows more."""
    if not request.param:
        monkeypatch.setattr(block_moments, "_CHEAP_GRAM", 0)
        monkeypatch.setattr(block_moments, "_GRAM_PER_TARGET", 0)
        monkeypatch.setattr(block_moments, "_FURTHER", 2)
    return not request.param


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, P)) * np.linspace(0.5, 4, P) + np.linspace(-2, 3, P)
    Y = X[:, :K] @ rng.standard_normal((K, K)) + rng.standard_normal((N, K)) + 4
    X[:, 6] = 2.5  # constant
    return X, Y, np.where(ROWS % 7 == 0, 0.0, rng.uniform(0.5, 2, N))


def moments_of(data, center, scale, weighted, splits="none", dtype=np.float64):
    X, Y, weight = data
    X = X.astype(dtype)
    blocks = Blocks([X[:13], X[13:40], X[40:]], block_rows=16)
    return BlockMoments(
        blocks, Y, weight if weighted else None,
        center=center, scale=scale, splits=SPLITS[splits],
    )  # fmt: skip


def prepared(X, Y, weight, center, scale, like=None):
    """X and Y about their means and in the scales of X, or in those of other rows."""
    rows, w = (X, Y), weight
    (x, y), v = (rows, w) if like is None else (like[:2], like[2])
    mean_x, mean_y = np.average(x, axis=0, weights=v), np.average(y, axis=0, weights=v)
    if not center:
        mean_x, mean_y = 0 * mean_x, 0 * mean_y
    size = np.sqrt(np.average((x - mean_x) ** 2, axis=0, weights=v)) if scale else np.ones(P)
    inverse = np.where(size > 1e-12, 1 / np.maximum(size, 1e-300), 0.0)
    return (X - mean_x) * inverse, Y - mean_y


CASES = pytest.mark.parametrize(
    ("center", "scale", "weighted"),
    [(c, s, w) for c in (True, False) for s in (True, False) for w in (True, False)],
)


def weights(data, weighted):
    return data[2] if weighted else np.ones(N)


@CASES
def test_the_form_of_all_rows(data, few, center, scale, weighted):
    w = weights(data, weighted)
    moments = moments_of(data, center, scale, weighted)
    X, Y = prepared(data[0], data[1], w, center, scale)
    targets, multiplied = np.array([0, 2, 3]), np.array([1.0, 0.5, 2.0])
    form = BlockForm(moments, moments.whole, targets, multiplied, 0.3)
    live = moments.whole.live
    assert live.tolist() == ([0, 1, 2, 3, 4, 5, 7, 8] if scale and center else list(range(P)))
    X, Y = X[:, live], Y[:, targets] * multiplied
    H = X.T @ (w[:, None] * X) / w.sum() + 0.3 * np.eye(len(live))
    C = X.T @ (w[:, None] * Y) / w.sum()
    assert form.constant == pytest.approx(np.sum(w[:, None] * Y**2) / w.sum())
    np.testing.assert_allclose(form.cross_rows(np.arange(len(live))), C, atol=1e-10)
    np.testing.assert_allclose(form.diagonal(), np.diag(H), atol=1e-10)
    rng = np.random.default_rng(0)
    rows, others = np.array([5, 1, 4]), np.array([0, 5])
    U, V = rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
    np.testing.assert_allclose(form.gram(rows), H[np.ix_(rows, rows)], atol=1e-10)
    outside = np.array([0, 7])
    np.testing.assert_allclose(
        form.gram_between(rows, outside), H[np.ix_(rows, outside)], atol=1e-10
    )
    np.testing.assert_allclose(
        form.gram_between(outside, rows), H[np.ix_(outside, rows)], atol=1e-10
    )
    np.testing.assert_allclose(form.gradient(rows, U, V), H[:, rows] @ U - C @ V, atol=1e-9)
    np.testing.assert_allclose(form.gram(others), H[np.ix_(others, others)], atol=1e-10)


@pytest.mark.parametrize("splits", [name for name in SPLITS if name != "none"])
@CASES
def test_training_and_held_out_rows(data, few, center, scale, weighted, splits):
    w = weights(data, weighted)
    moments = moments_of(data, center, scale, weighted, splits)
    assert len(moments.training) == len(SPLITS[splits])
    live = moments.whole.live
    rows, targets = np.array([3, 0, 5]), np.arange(K)
    columns = live[rows]
    for (train, test), part, held in zip(
        SPLITS[splits], moments.training, moments.held_out, strict=True
    ):
        own = data[0][train], data[1][train], w[train]
        X, Y = prepared(*own, center, scale)
        form = BlockForm(moments, part, targets, np.ones(K))
        assert part.weight == pytest.approx(own[2].sum())
        np.testing.assert_allclose(
            form.gram(rows),
            X[:, columns].T @ (own[2][:, None] * X[:, columns]) / own[2].sum(),
            atol=1e-10,
        )
        np.testing.assert_allclose(
            form.cross_rows(rows), X[:, columns].T @ (own[2][:, None] * Y) / own[2].sum(),
            atol=1e-10,
        )  # fmt: skip
        left = np.zeros(N)
        left[train] = w[train]
        given = moments.weights_of(part)
        np.testing.assert_allclose(np.where(data[2] > 0, given, 0), np.where(data[2] > 0, left, 0))
        out = w[test][:, None]
        X, Y = prepared(data[0][test], data[1][test], w[test], center, scale, own)
        X = X[:, columns]
        assert held.weight == pytest.approx(w[test].sum())
        places = moments.known(columns, part)
        np.testing.assert_allclose(held.gram(columns, places), X.T @ (out * X), atol=1e-9)
        np.testing.assert_allclose(held.cross(columns, targets), X.T @ (out * Y), atol=1e-9)
        np.testing.assert_allclose(held.squares_y, np.sum(out * Y**2, axis=0), atol=1e-9)


def test_passes_are_for_predictors_that_are_not_known(data, few):
    """In passes: those asked for and as many others, the most promising ones."""
    moments = moments_of(data, True, True, False)
    form = BlockForm(moments, moments.whole, np.arange(K), np.ones(K))
    everything = np.arange(P)
    assert len(moments.unknown(everything)) == (P if few else 0)
    before = moments.X.n_passes
    form.gram(np.array([2]))
    unknown = moments.unknown(moments.whole.live)
    assert len(unknown) == (8 - 3 if few else 0)
    assert moments.X.n_passes == before + few
    if few:
        cross = form.cross_rows(np.arange(8))
        promising = np.argsort(-np.sum(cross**2, axis=1), kind="stable")
        expected = [j for j in promising if j != 2][:2]
        assert set(unknown) == set(moments.whole.live) - set(
            moments.whole.live[[2, *expected]].tolist()
        )
    form.gram(np.array([2]))
    assert moments.X.n_passes == before + few
    form.gram(np.arange(4))  # asks for at least one that is not known yet, or none
    assert len(moments.unknown(moments.whole.live[:4])) == 0


def test_the_same_splits_are_not_read_again(data):
    moments = moments_of(data, True, True, True, "folds")
    assert moments.of_splits(SPLITS["folds"]) is moments
    other = moments.of_splits(SPLITS["overlapping"])
    assert other is not moments
    assert (other.center, other.scale) == (True, True)
    np.testing.assert_array_equal(other.weight, moments.weight)
    assert len(other.training) == 2
    assert len(other.unknown(np.arange(P))) == 0  # all of XᵀX is known, here and there
    plain = moments_of(data, False, False, False)
    assert plain.of_splits(SPLITS["folds"]) is not plain
    assert (plain.of_splits(SPLITS["folds"]).center, plain.scale) == (False, False)


def test_splits_without_rows_are_refused(data):
    X, Y, _ = data
    weight = np.where(ROWS < 20, 0.0, 1.0)
    blocks = Blocks([X], block_rows=20)
    for train, test, words in ((ROWS[:20], ROWS[20:], "training"), (ROWS[20:], ROWS[:20], "held")):
        with pytest.raises(ValueError, match=f"no {words}.*positive weight"):
            BlockMoments(blocks, Y, weight, center=True, scale=True, splits=[(train, test)])


def test_columns_that_are_constant_up_to_rounding_errors_are_not_alive(data):
    X, Y, weight = data
    X[:, 4] = 1e8 + 5e-7 * np.random.default_rng(0).standard_normal(N)
    X[:, 5] = 1e8 + 1e-3 * X[:, 5]
    for dtype, expected in ((np.float64, [4, 6]), (np.float32, [4, 5, 6])):
        moments = moments_of((X, Y, weight), True, True, False, dtype=dtype)
        assert np.setdiff1d(np.arange(P), moments.whole.live).tolist() == expected
        assert moments.whole.diagonal().dtype == dtype


@CASES
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_the_loss_is_that_of_the_whole_matrix(data, center, scale, weighted, many, monkeypatch):
    if many:  # X is multiplied twice instead of computing XᵀX
        monkeypatch.setattr(block_moments, "_MOST_PREDICTORS", 2)
        monkeypatch.setattr(block_moments, "_CHEAP_GRAM", 0)
        monkeypatch.setattr(block_moments, "_GRAM_PER_TARGET", 0)
    w = weights(data, weighted)
    moments = moments_of(data, center, scale, weighted)
    targets, divided = np.array([3, 1]), np.array([2.0, 5.0])
    block = BlockLeastSquares(moments, targets, divided, 0.2)
    X, Y = prepared(data[0], data[1], w, center, scale)
    live = moments.whole.live
    X, Y = X[:, live], Y[:, targets] / divided
    whole = LeastSquares(X, Y, sample_weight=w, ridge=0.2)
    rng = np.random.default_rng(1)
    U = rng.standard_normal((len(live), 2))
    U[[0, 2]] = 0
    for V in (rng.standard_normal((2, 2)), np.zeros((2, 2))):
        factors = Factors(U, V)
        found, expected = block.value_and_gradient(factors), whole.value_and_gradient(factors)
        assert found[0] == pytest.approx(expected[0], rel=1e-9)
        for one, other in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    residuals = np.sum(w[:, None] * (Y - X @ factors.theta) ** 2, axis=0)
    np.testing.assert_allclose(block.residual_squares(factors), residuals, rtol=1e-9)
    rows = np.array([1, 3, 4])
    np.testing.assert_allclose(block.curvature(rows), whole.curvature(rows), rtol=1e-9)
    other = block.with_ridge(0.7)
    assert (other.ridge, block.ridge) == (0.7, 0.2)
    assert other.value_and_gradient(factors)[0] == pytest.approx(
        block.value_and_gradient(factors)[0] + 0.25 * np.sum(factors.theta**2)
    )
    scaled = block.with_target_scale(np.array([3.0, 0.0]))
    assert scaled.target_scale.tolist() == [6.0, 0.0]
    assert scaled.inverse_scale.tolist() == [1 / 6, 0.0]


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_noise_is_that_of_the_whole_matrix(data, center, weighted):
    w = weights(data, weighted)
    moments = moments_of(data, center, True, weighted, "folds")
    block = BlockLeastSquares(moments, np.arange(K), np.linspace(1, 3, K))
    X, Y = prepared(data[0], data[1], w, center, True)
    whole = LeastSquares(X, Y / np.linspace(1, 3, K), sample_weight=w)
    assert block.noise() == pytest.approx(whole.noise())
    train = SPLITS["folds"][0][0]
    own = data[0][train], data[1][train], w[train]
    X, Y = prepared(*own, center, True)
    part = LeastSquares(X, Y / np.linspace(1, 3, K), sample_weight=own[2])
    assert block.noise_of(moments, moments.training[0]) == pytest.approx(part.noise())
