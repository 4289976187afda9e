"""Rates by hand, the advice against simulations, and the slopes of the corollary."""

import math

import numpy as np
import pytest

import thinrank as tr


def test_rates_by_hand():
    sizes = 400, 100, 60, 2, 5, 8
    log = math.log
    assert tr.theory.corollary_rate(*sizes, noise=3) == pytest.approx(
        3 * math.sqrt(13 * (2 + log(100)) / 400)
    )
    inside = 13 * 2 + 5 * log(math.e * 100 / 5) + 8 * log(math.e * 60 / 8)
    assert tr.theory.minimax_rate(*sizes) == pytest.approx(math.sqrt(inside / 400))
    rows_only = 60 * 2 + 5 * (2 + log(100))
    assert tr.theory.corollary_rate(400, 100, 60, 2, 5, 60) == pytest.approx(
        math.sqrt(rows_only / 400)
    )
    assert tr.theory.minimax_rate(400, 100, 60, 2, 5) == pytest.approx(
        math.sqrt((65 * 2 + 5 * log(math.e * 20)) / 400)
    )


def test_advice_in_words_and_its_sample_size():
    advice = tr.theory.sample_size_advice(200, 100, 50, 3, 10, 12, noise=2.0)
    square = 10 * 3 / 189 + 9 * 3 / 196
    assert advice.expected_error == pytest.approx(2 * math.sqrt(square))
    later = tr.theory.sample_size_advice(advice.samples_for_half, 100, 50, 3, 10, 12, noise=2.0)
    assert later.expected_error <= advice.expected_error / 2
    before = tr.theory.sample_size_advice(
        advice.samples_for_half - 1, 100, 50, 3, 10, 12, noise=2.0
    )
    assert before.expected_error > advice.expected_error / 2
    assert advice.expected_error < advice.error_with_search < advice.corollary
    text = str(advice)
    assert "With 200 samples, 100 predictors, 50 responses" in text
    assert f"{advice.expected_error:.3g} if the right predictors" in text
    assert tr.theory.sample_size_advice(50, 5, 5, 1, noise=0.0).samples_for_half == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 5, 1), "n_samples must be a positive integer, got 0"),
        ((9, 5, 5, 6), r"rank must be an integer from 1 to 5 .*got 6"),
        ((9, 5, 5, 1, 7), r"row_sparsity must be an integer from 1 to 5 .*got 7"),
        ((6, 5, 5, 1), r"n_samples must be at least row_sparsity \+ 2 = 7, got 6"),
    ],
)
def test_wrong_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        tr.theory.sample_size_advice(*arguments)


def test_the_advice_agrees_with_simulations():
    """‖Θ̂ − Θ*‖ on a strong signal with the true sizes; benchmarks/theory_slopes.py has more."""
    n, p, rank, size = 400, 60, 2, 16
    squares = []
    for seed in range(30000, 30010):
        rng = np.random.default_rng(seed)
        U, V = np.zeros((2, p, rank))
        for part in (U, V):
            part[rng.permutation(p)[:size]] = np.linalg.qr(rng.standard_normal((size, rank)))[0]
        theta = 200 * U @ V.T
        X = rng.standard_normal((n, p))
        loss = tr.losses.LeastSquares(X, X @ theta + rng.standard_normal((n, p)))
        found = tr.minimize(loss, rank=rank, row_sparsity=size, column_sparsity=size)
        squares.append(np.sum((found.factors.theta - theta) ** 2))
    expected = tr.theory.sample_size_advice(n, p, p, rank, size, size).expected_error
    assert math.sqrt(np.mean(squares)) == pytest.approx(expected, rel=0.1)
