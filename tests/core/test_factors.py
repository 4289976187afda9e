"""Θ = UVᵀ as a pair of thin factors."""

import copy
import pickle

import numpy as np
import pytest

from thinrank import Factors

TOL = {"float32": 1e-5, "float64": 1e-12}


def random_pair(rng, m1=7, m2=5, rank=3):
    U, V = rng.standard_normal((m1, rank)), rng.standard_normal((m2, rank))
    U[[1, 4]] = 0
    V[2] = 0
    return U, V


def factors_of(library, U, V, dtype="float64"):
    return Factors(library.array(U, dtype), library.array(V, dtype))


@pytest.mark.parametrize(("u", "v"), [((3,), (2, 3)), ((3, 2), (4, 3)), ((3, 2, 1), (4, 2))])
def test_shapes_must_agree(u, v):
    with pytest.raises(ValueError, match="same number of columns"):
        Factors(np.zeros(u), np.zeros(v))


def test_what_factors_know(library, dtype, rng):
    U, V = random_pair(rng)
    factors = factors_of(library, U, V, dtype)
    library.check(factors.theta, factors.singular_values(), dtype=dtype)
    assert factors.shape == (7, 5)
    assert factors.rank == 3
    np.testing.assert_array_equal(library.numpy(factors.row_support), [0, 2, 3, 5, 6])
    np.testing.assert_array_equal(library.numpy(factors.column_support), [0, 1, 3, 4])
    np.testing.assert_allclose(library.numpy(factors.theta), U @ V.T, atol=TOL[dtype] * 10)
    assert type(factors.norm()) is float
    assert factors.norm() == pytest.approx(np.linalg.norm(U @ V.T), rel=TOL[dtype])
    values = np.linalg.svd(U @ V.T, compute_uv=False)[:3]
    np.testing.assert_allclose(
        library.numpy(factors.singular_values()), values, rtol=10 * TOL[dtype]
    )


DEFICIENT = {
    "full": lambda U, V: (U, V, 3),
    "repeated column": lambda U, V: (U[:, [0, 1, 1]], V, 2),
    "zero column": lambda U, V: (U * [1, 0, 1], V, 2),
    "one row": lambda U, V: (U * (np.arange(len(U)) == 0)[:, None], V, 1),
    "zero": lambda U, V: (U * 0, V, 0),
    "rank 0": lambda U, V: (U[:, :0], V[:, :0], 0),
    "wide": lambda U, V: (np.tile(U, 3), np.tile(V, 3), 3),
}


@pytest.mark.parametrize("case", DEFICIENT)
def test_balanced(library, dtype, rng, case):
    U, V, rank = DEFICIENT[case](*random_pair(rng))
    balanced = factors_of(library, U, V, dtype).balanced()
    library.check(balanced.U, balanced.V, dtype=dtype)
    assert balanced.rank == rank
    np.testing.assert_allclose(library.numpy(balanced.theta), U @ V.T, atol=30 * TOL[dtype])
    left, right = library.numpy(balanced.U), library.numpy(balanced.V)
    values = np.linalg.svd(U @ V.T, compute_uv=False)[:rank]
    for gram in (left.T @ left, right.T @ right):
        np.testing.assert_allclose(gram, np.diag(values), atol=30 * TOL[dtype])
    # rows of zeros stay exactly zero
    assert not np.any(left[~np.any(U, axis=1)])
    assert not np.any(right[~np.any(V, axis=1)])


def test_units_of_rows_leave_the_small_ones_precise(rng):
    U, V, units = rng.standard_normal((3, 2)), rng.standard_normal((4, 2)), [1e-12, 1.0, 1e12]
    found = Factors(U, V).with_units(np.array(units)).theta
    np.testing.assert_allclose(found, np.array(units)[:, None] * (U @ V.T), rtol=1e-12)
    assert Factors(U, V).with_units(None).theta.shape == (3, 4)


def test_scaled(library, dtype, rng):
    U, V = random_pair(rng)
    rows = rng.uniform(0.5, 2.0, 7)
    rows[0] = 0
    out = factors_of(library, U, V, dtype).scaled(rows=library.array(rows, dtype), factor=3.0)
    library.check(out.U, out.V, dtype=dtype)
    expected = 3.0 * rows[:, None] * (U @ V.T)
    np.testing.assert_allclose(library.numpy(out.theta), expected, atol=50 * TOL[dtype])
    assert 0 not in library.numpy(out.row_support)
    left, right = library.numpy(out.U), library.numpy(out.V)
    np.testing.assert_allclose(left.T @ left, right.T @ right, atol=100 * TOL[dtype])


@pytest.mark.parametrize("rank", [2, 5])
def test_from_theta_is_the_best_approximation(library, dtype, rng, rank):
    U, V = random_pair(rng)
    theta = U @ V.T
    out = Factors.from_theta(library.array(theta, dtype), rank)
    library.check(out.U, out.V, dtype=dtype)
    assert out.rank == min(rank, 3)
    left, values, right = np.linalg.svd(theta)
    best = (left[:, :rank] * values[:rank]) @ right[:rank]
    np.testing.assert_allclose(library.numpy(out.theta), best, atol=30 * TOL[dtype])
    np.testing.assert_array_equal(library.numpy(out.row_support), [0, 2, 3, 5, 6])
    np.testing.assert_array_equal(library.numpy(out.column_support), [0, 1, 3, 4])


def test_rank_zero(library, dtype):
    zero = Factors.zero((4, 3), library.array(np.zeros(0), dtype), rank=0)
    for out in (
        zero,
        zero.balanced(),
        Factors.from_theta(library.array(np.zeros((4, 3)), dtype), 2),
    ):
        library.check(out.U, out.V, out.theta, dtype=dtype)
        assert (out.U.shape, out.V.shape) == ((4, 0), (3, 0))
        assert (out.rank, out.norm()) == (0, 0.0)
        assert tuple(out.singular_values().shape) == (0,)
        assert out.row_support.shape == out.column_support.shape == (0,)
        np.testing.assert_array_equal(library.numpy(out.theta), np.zeros((4, 3)))


# --------------------------------------------------------------------------- distance


def distance_by_search(Z, W, rank):
    """min over orthogonal O of ‖Z − WO‖, by exhausting O: signs, or angles and reflections."""
    if rank == 1:
        return min(np.linalg.norm(Z - W), np.linalg.norm(Z + W))
    angles = np.linspace(0, 2 * np.pi, 20_001)
    c, s = np.cos(angles), np.sin(angles)
    rotations = np.moveaxis(np.array([[c, -s], [s, c]]), 2, 0)
    every = np.concatenate([rotations, rotations @ np.diag([1.0, -1.0])])
    cross = np.einsum("ij,nij->n", W.T @ Z, every)
    return np.sqrt(np.sum(Z**2) + np.sum(W**2) - 2 * cross.max())


@pytest.mark.parametrize("rank", [1, 2])
def test_distance_is_the_least_over_rotations(library, rng, rank):
    pairs = [random_pair(rng, rank=rank) for _ in range(2)]
    one, other = (factors_of(library, *pair) for pair in pairs)
    expected = distance_by_search(np.vstack(pairs[0]), np.vstack(pairs[1]), rank)
    assert type(one.distance(other)) is float
    assert one.distance(other) == pytest.approx(expected, rel=1e-7)
    assert other.distance(one) == pytest.approx(expected, rel=1e-7)


def test_distance_pads_the_lower_rank(library, rng):
    U, V = random_pair(rng)
    full, low = factors_of(library, U, V), factors_of(library, U[:, :2], V[:, :2])
    padded = factors_of(library, U * [1, 1, 0], V * [1, 1, 0])
    assert full.distance(low) == pytest.approx(full.distance(padded), rel=1e-12)
    zero = Factors.zero((7, 5), like=full.U)
    size = np.sqrt(np.sum(U**2) + np.sum(V**2))
    assert full.distance(zero) == pytest.approx(size)
    assert zero.distance(full) == pytest.approx(size)
    assert zero.distance(zero) == 0.0


def test_distance_needs_equal_shapes():
    one, other = (Factors(np.ones((size, 1)), np.ones((3, 1))) for size in (4, 5))
    with pytest.raises(ValueError, match=r"same shape, got .*\(4, 3\)"):
        one.distance(other)


@pytest.mark.parametrize(("rows", "columns"), [([2], [1]), ([2], [0, 3]), ([0, 4], [1])])
def test_a_theta_of_few_rows_or_columns(rows, columns):
    theta = np.zeros((5, 4))
    theta[np.ix_(rows, columns)] = 2.5
    found = Factors.from_theta(theta, 2)
    np.testing.assert_allclose(found.theta, theta, atol=1e-12)
    assert found.row_support.tolist() == rows
    assert found.column_support.tolist() == columns


def test_units_of_columns(rng):
    U = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]])
    V = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.5], [0.0, 4.0]])
    factors = Factors.on_rows(U, np.array([1, 4, 6]), 8, V)
    units = np.array([2.0, 3.0, 0.5, 1.0])
    found = factors.with_column_units(units)
    whole = np.zeros((8, 2))
    whole[[1, 4, 6]] = U
    np.testing.assert_array_equal(found.U, whole)
    np.testing.assert_allclose(found.theta, factors.theta * units)
    assert found.row_support.tolist() == [1, 6]
    assert found.column_support.tolist() == [1, 2, 3]
    for each in (pickle.loads(pickle.dumps(factors)), copy.copy(factors)):
        np.testing.assert_array_equal(each.theta, factors.theta)
