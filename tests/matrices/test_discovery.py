import numpy as np
import pytest
import scipy.sparse as sp

from thinrank.designs import Operator, as_design
from thinrank.matrices.discovery import discover, joint_supports, refitted, without
from thinrank.matrices.held_out import evidence, submatrix
from thinrank.matrices.layer import Side, find_layer

AUTO = Side()


def two_blocks(seed=0, value=60.0):
    """Two disjoint blocks of the same singular value, whose singular vectors are mixed."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((200, 150))
    blocks = [(np.arange(15), np.arange(10)), (np.arange(100, 115), np.arange(100, 110))]
    for rows, columns in blocks:
        A[np.ix_(rows, columns)] += value / 150**0.5 * rng.choice([-1, 1], (15, 1))
    return A, blocks


def test_equal_blocks_are_separate_layers():
    A, blocks = two_blocks()
    found = discover(as_design(A), AUTO, AUTO)
    supports = sorted(
        (np.flatnonzero(layer.left).tolist(), np.flatnonzero(layer.right).tolist())
        for layer in found.layers
    )
    assert supports == [(r.tolist(), c.tolist()) for r, c in blocks]
    rows, columns = joint_supports(as_design(A), found.layers, AUTO, AUTO)
    assert np.count_nonzero(rows) == 30
    assert np.count_nonzero(columns) == 20


@pytest.mark.parametrize("kind", [sp.csr_array, "operator"])
def test_other_designs_find_the_same(kind):
    A, _ = two_blocks()
    design = Operator(sp.linalg.aslinearoperator(A)) if kind == "operator" else as_design(kind(A))
    dense, other = discover(as_design(A), AUTO, AUTO), discover(design, AUTO, AUTO)
    assert len(dense.layers) == len(other.layers)
    for one, two in zip(dense.layers, other.layers, strict=True):
        np.testing.assert_allclose(one.left, two.left, atol=1e-8)
        np.testing.assert_allclose(one.right, two.right, atol=1e-8)


def test_layers_are_the_same_in_other_units_and_for_the_transpose():
    A, _ = two_blocks()
    layer = find_layer(as_design(A), AUTO, AUTO)
    scaled = find_layer(as_design(1e-9 * A), AUTO, AUTO)
    np.testing.assert_allclose(scaled.left, layer.left, atol=1e-8)
    assert scaled.value == pytest.approx(1e-9 * layer.value)
    across = find_layer(as_design(A.T.copy()), AUTO, AUTO)
    assert {len(np.flatnonzero(across.right)), len(np.flatnonzero(across.left))} == {10, 15}


def factor_noise(rng, rows, columns):
    return rng.standard_normal((rows, columns)) + rng.standard_normal((rows, 1))


def neighbours(rng, rows, columns):
    E = rng.standard_normal((rows, columns))
    for j in range(1, columns):
        E[:, j] = 0.9 * E[:, j - 1] + 0.19**0.5 * E[:, j]
    return E


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("noise", [factor_noise, neighbours])
def test_noise_with_correlated_columns_or_rows_has_no_layer(noise, transpose):
    for seed in range(3):
        A = noise(np.random.default_rng(seed), 80, 50)
        assert not discover(as_design(A.T.copy() if transpose else A), AUTO, AUTO).layers


def test_each_test_recognises_its_kind_of_noise():
    """A factor in a few columns and all rows fails by its rows, and by nothing else."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((200, 150))
    A[:, :10] += 2 * rng.standard_normal((200, 1))
    kept_rows = Side(everything=True)
    accepted = evidence(as_design(A), kept_rows, AUTO)
    assert accepted.accepted
    assert np.isnan(accepted.rows)
    assert accepted.columns < 1e-6
    rejected = evidence(as_design(A), AUTO, AUTO)
    assert not rejected.accepted
    assert rejected.rows > 0.005


def test_a_block_is_found_under_a_dense_factor():
    rng = np.random.default_rng(5)
    A = factor_noise(rng, 200, 150)  # the first singular vectors are those of the factor
    A[:20, :15] += 4
    found = discover(as_design(A), AUTO, AUTO)
    assert len(found.layers) == 1
    assert np.flatnonzero(found.layers[0].left).tolist() == list(range(20))
    assert np.flatnonzero(found.layers[0].right).tolist() == list(range(15))


def test_refit_of_overlapping_layers_is_least_squares():
    rng = np.random.default_rng(6)
    A = 0.1 * rng.standard_normal((60, 50))
    A[:10, :10] += 4
    A[5:15, 5:15] += np.outer(rng.choice([-1, 1], 10), rng.choice([-1, 1], 10)) * 3
    design = as_design(A)
    layers = refitted(design, discover(design, AUTO, AUTO, rank=2).layers)
    rest = without(design, layers) @ np.eye(50)
    for layer in layers:
        rows, columns = np.flatnonzero(layer.left), np.flatnonzero(layer.right)
        inner = rest[np.ix_(rows, columns)]
        # what is left of the matrix is orthogonal to changes of either vector
        assert np.abs(inner @ layer.right[columns]).max() < 1e-3 * layer.value
        assert np.abs(inner.T @ layer.left[rows]).max() < 1e-3 * layer.value


def test_submatrix_of_every_kind():
    A, _ = two_blocks()
    rows, columns = np.arange(200) % 3 == 0, np.arange(150) % 2 == 0
    design = without(as_design(A), discover(as_design(A), AUTO, AUTO).layers)
    expected = (design @ np.eye(150))[np.ix_(rows, columns)]
    for kind in (design, Operator(sp.linalg.aslinearoperator(design @ np.eye(150)))):
        block = submatrix(kind, rows, columns)
        np.testing.assert_allclose(block @ np.eye(75), expected, atol=1e-12)
