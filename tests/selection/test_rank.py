"""Rank rules: as printed, exact where they must be, and clear about bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr
from thinrank.selection import estimate_rank


def low_rank(n, p, k, rank, seed, strength=2.0):
    """σ_r(XΘ*) is strength·√(2σ²(k + q)), σ = 1, and all directions are as strong as the last."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    q = min(n, p)
    basis = np.linalg.svd(X, full_matrices=False)[0]
    left = basis @ np.linalg.qr(rng.standard_normal((q, rank)))[0]
    right = np.linalg.qr(rng.standard_normal((k, rank)))[0]
    signal = strength * np.sqrt(2 * (k + q)) * left @ right.T
    return X, signal + rng.standard_normal((n, k))


def exact(shape, rank, runs, **options):
    found = [estimate_rank(*low_rank(*shape, rank, seed), **options) for seed in range(runs)]
    return np.mean([r == rank for r in found])


# --------------------------------------------------------------------------- as printed


@pytest.mark.parametrize("shape", [(60, 20, 8), (50, 10, 30)])
@pytest.mark.parametrize("deficient", [False, True])
def test_rsc_is_the_printed_count(shape, deficient):
    """By hand: σ²(P_X Y) ≥ 2S²(k + q), S² the mean square of the residuals."""
    n, p, k = shape
    counts = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, p))
        if deficient:
            X[:, 0] = X[:, 1] - X[:, 2]
        strength = rng.uniform(0, 3.5)
        Y = strength * X[:, :4] @ rng.standard_normal((4, 4)) @ rng.standard_normal((4, k)) / 4
        Y += rng.standard_normal((n, k))
        q = p - deficient
        fitted = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
        S2 = np.sum((Y - fitted) ** 2) / (n * k - q * k)
        squares = np.linalg.svd(fitted, compute_uv=False) ** 2
        count = np.count_nonzero(squares >= 2 * S2 * (k + q))
        assert estimate_rank(X, Y) == count
        counts.add(count)
    assert len(counts) > 2  # not always the same


@pytest.mark.parametrize("shape", [(50, 100, 50), (60, 20, 8)])
def test_the_authors_rule_is_a_count(shape):
    n, p, k = shape
    counts = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, p))
        Y = rng.uniform(0, 2) * X[:, :5] @ rng.standard_normal((5, k)) / 2
        Y += rng.standard_normal((n, k))
        basis = np.linalg.svd(X, full_matrices=False)[0]
        values = np.linalg.svd(basis @ (basis.T @ Y), compute_uv=False)
        median = np.median(np.linalg.svd(Y, compute_uv=False))
        width = np.sqrt(2 * k) + np.sqrt(2 * min(n, p))
        count = np.count_nonzero(values > width * median / np.sqrt(max(n, k)) / 1.5)
        assert estimate_rank(X, Y, "authors") == count
        counts.add(count)
    assert len(counts) > 1


# --------------------------------------------------------------------------- simulations


@pytest.mark.parametrize("rank", [1, 5])
@pytest.mark.parametrize(
    ("shape", "printed"),
    [
        ((100, 20, 40), 0.95),  # q ≤ k/2
        ((100, 60, 30), 0.95),  # q ≥ 2k
        ((100, 40, 40), 0.88),  # q ≈ k: the threshold is on the edge of the noise
        ((50, 100, 50), 0.88),  # p > n: no residuals, the noise is estimated
    ],
)
def test_exact_in_simulations(shape, printed, rank):
    runs = 20
    assert exact(shape, rank, runs) >= printed - 0.1
    assert exact(shape, rank, runs, level=0.01) >= 0.9


@pytest.mark.parametrize("shape", [(100, 30, 20), (40, 90, 40), (40, 90, 15)])
def test_noise_has_rank_zero(shape):
    n, p, k = shape
    zeros = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((n, p)), 7.0 * rng.standard_normal((n, k))
        zeros += estimate_rank(X, Y, level=0.01) == 0
    assert zeros >= 9


def test_units_of_the_responses_do_not_matter():
    for shape in ((100, 40, 40), (50, 100, 50)):
        X, Y = low_rank(*shape, 3, 0)
        for method in ("rsc", "authors", "bcv"):
            assert estimate_rank(X, 1e-6 * Y, method) == estimate_rank(X, 1e6 * Y, method)


@pytest.mark.parametrize("shape", [(100, 40, 30), (50, 100, 50)])
def test_bi_cross_validation_finds_a_strong_rank(shape):
    found = [estimate_rank(*low_rank(*shape, 3, seed, 4.0), "bcv") for seed in range(5)]
    assert np.mean([r == 3 for r in found]) >= 0.8
    X, Y = low_rank(*shape, 3, 0, 4.0)
    assert estimate_rank(X, Y, "bcv", random_state=4) == 3


# --------------------------------------------------------------------------- input


def test_one_dimensional_response():
    X, Y = low_rank(200, 10, 1, 1, 0)
    assert estimate_rank(X, Y[:, 0]) == estimate_rank(X, Y) == 1
    for method in ("rsc", "authors", "bcv"):
        assert estimate_rank(X, np.zeros(200), method) == 0


def test_a_mean_is_a_direction_unless_it_is_taken_out():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((80, 10)) + 5, rng.standard_normal((80, 12)) + 5
    assert estimate_rank(X, Y) == 1
    assert estimate_rank(X, Y, fit_intercept=True) == 0


@pytest.mark.parametrize("method", ["rsc", "authors", "bcv"])
def test_means_of_the_data_do_not_matter(method):
    X, Y, _ = tr.datasets.make_two_way_sparse(80, 12, 10, 3, 12, 10, random_state=4)
    options = {"method": method, "fit_intercept": True, "random_state": 0}
    found = estimate_rank(X, Y, **options)
    assert found == estimate_rank(X + 7, Y - 50, **options) > 0


def test_no_noise_at_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 10))
    Y = X @ rng.standard_normal((10, 3)) @ rng.standard_normal((3, 20))
    assert estimate_rank(X, Y, "authors") == 3
    wide = rng.standard_normal((30, 60))
    for method in ("rsc", "authors", "bcv"):
        assert estimate_rank(wide, np.zeros((30, 20)), method) == 0


@pytest.mark.parametrize("wrap", [sparse.csr_array, aslinearoperator, tr.designs.as_design, list])
def test_every_design(wrap):
    X, Y = low_rank(60, 20, 15, 2, 0)
    assert estimate_rank(wrap(X), Y) == 2


def test_every_library(library):
    X, Y = low_rank(60, 20, 15, 2, 0)
    for method in ("rsc", "authors", "bcv"):
        assert estimate_rank(library.array(X), library.array(Y), method) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "aic"}, r'method must be "rsc", "authors" or "bcv", got \'aic\''),
        ({"level": 0.0}, r"level must be a probability .*level=0.0"),
        ({"level": 1.0}, r"level must be a probability .*level=1.0"),
        ({"level": 0.1, "method": "authors"}, r'"rsc" only.*method=\'authors\''),
        ({"level": 0.1, "method": "bcv"}, r'"rsc" only.*method=\'bcv\''),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        estimate_rank(*low_rank(20, 5, 4, 1, 0), **options)


def test_bad_data():
    X, Y = low_rank(20, 5, 4, 1, 0)
    with pytest.raises(ValueError, match=r"Y must be a matrix with 20 rows.*\(19, 4\)"):
        estimate_rank(X, Y[:-1])
    with pytest.raises(ValueError, match="Y must be a matrix"):
        estimate_rank(X, Y[None])
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[2, 3] = bad
        with pytest.raises(ValueError, match="X must be finite"):
            estimate_rank(broken, Y)
        broken = Y.copy()
        broken[2, 3] = bad
        with pytest.raises(ValueError, match="Y must be finite"):
            estimate_rank(X, broken)


def test_means_far_above_the_deviations_make_no_directions():
    """Subtracting them leaves rounding errors, which would count as directions of X."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 4)) + 1e6
    X[:, 3] = X[:, 2] + np.resize([1e-10, 0.0], 30)  # the same, up to the last digit
    Y = rng.standard_normal((30, 5))
    for Z in (Y, X[:, :1] @ np.full((1, 5), 10.0) + Y):
        found, plain = (
            estimate_rank(design, Z, fit_intercept=True) for design in (X, X[:, :3] - 1e6)
        )
        assert found == plain
