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
    assert tr.theory.prediction_rate(*sizes, noise=3) == pytest.approx(9 * 13 * (2 + log(100)))
    inside = 13 * 2 + 5 * log(math.e * 100 / 5) + 8 * log(math.e * 60 / 8)
    assert tr.theory.minimax_rate(*sizes) == pytest.approx(math.sqrt(inside / 400))
    rows_only = 60 * 2 + 5 * (2 + log(100))
    assert tr.theory.prediction_rate(400, 100, 60, 2, 5) == pytest.approx(rows_only)
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
        ((9, 5, 5, 6), "rank must be an integer from 1 to 5, got 6"),
        ((9, 5, 5, 1, 7), "row_sparsity must be an integer from 1 to 5, got 7"),
        ((6, 5, 5, 1), r"n_samples must be at least row_sparsity \+ 2 = 7, got 6"),
    ],
)
def test_wrong_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        tr.theory.sample_size_advice(*arguments)


def error(n, rank, size, seed):
    """‖Θ̂ − Θ*‖² of gradient descent on a strong signal, with the true sizes."""
    rng = np.random.default_rng(seed)
    p = k = 60
    factors = np.zeros((2, p, rank))
    for part in factors:
        part[rng.permutation(p)[:size]] = np.linalg.qr(rng.standard_normal((size, rank)))[0]
    theta = 200 * factors[0] @ factors[1].T
    X = rng.standard_normal((n, p))
    loss = tr.losses.LeastSquares(X, X @ theta + rng.standard_normal((n, k)))
    found = tr.minimize(
        loss,
        rank=rank,
        row_sparsity=size,
        column_sparsity=size,
        start="screening",
        solver=tr.solvers.GDT(tol=1e-6),
    )
    return np.sum((found.factors.theta - theta) ** 2)


def test_slopes_of_the_corollary_and_the_advice():
    """A small version of benchmarks/theory_slopes.py: −½ in n, ½ in s and in r."""
    base = 800, 2, 16

    def errors(settings):
        return [math.sqrt(np.mean([error(*s, 30000 + i) for i in range(8)])) for s in settings]

    def slope(x, y):
        return np.polyfit(np.log(x), np.log(y), 1)[0]

    over_n = errors([(400, 2, 16), base, (1600, 2, 16)])
    assert slope([400, 800, 1600], over_n) == pytest.approx(-0.5, rel=0.1)
    over_s = errors([(800, 2, 8), base, (800, 2, 32)])
    assert slope([8, 16, 32], over_s) == pytest.approx(0.5, rel=0.1)
    over_r = errors([(800, 1, 40), (800, 2, 40), (800, 4, 40)])
    assert slope([1, 2, 4], over_r) == pytest.approx(0.5, rel=0.1)
    expected = tr.theory.sample_size_advice(800, 60, 60, 4, 40, 40).expected_error
    assert over_r[-1] == pytest.approx(expected, rel=0.1)
