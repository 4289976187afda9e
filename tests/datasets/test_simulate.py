"""The simulated data are what they say."""

import numpy as np
import pytest

import thinrank as tr


def test_defaults_are_the_papers_setting():
    X, Y, truth = tr.datasets.make_two_way_sparse()
    assert X.shape == (50, 100)
    assert Y.shape == (50, 50)
    assert truth.rank == np.linalg.matrix_rank(truth.theta) == 8
    assert len(truth.row_support) == len(truth.column_support) == 10
    np.testing.assert_allclose(truth.U.T @ truth.U, truth.V.T @ truth.V, atol=1e-10)


def test_reproducible_and_supports_vary():
    first, again, other = (tr.datasets.make_two_way_sparse(random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first[1], again[1])
    assert set(first[2].row_support) != set(other[2].row_support)


def test_signal_noise_and_correlation():
    X, Y, truth = tr.datasets.make_two_way_sparse(
        n_samples=20_000, noise=0.5, correlation=0.8, random_state=0
    )
    assert np.std(Y - X @ truth.theta) == pytest.approx(0.5, rel=0.01)
    sample = np.corrcoef(X[:, :4], rowvar=False)
    expected = 0.8 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    np.testing.assert_allclose(sample, expected, atol=0.02)
    weak = tr.datasets.make_two_way_sparse(signal=0.2, random_state=7)[2]
    strong = tr.datasets.make_two_way_sparse(signal=1.0, random_state=7)[2]
    np.testing.assert_allclose(weak.theta, 0.2 * strong.theta, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer at least 1, got 0"),
        ({"row_sparsity": 101}, "row_sparsity must be an integer from 1 to 100, got 101"),
        ({"rank": 11}, "rank must be an integer from 1 to 10, got 11"),
        ({"rank": 2.5}, "rank must be an integer"),
        ({"correlation": 1.0}, "correlation must be between"),
        ({"noise": -1}, "noise must be"),
        ({"signal": np.nan}, "signal must be finite"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        tr.datasets.make_two_way_sparse(**change)
