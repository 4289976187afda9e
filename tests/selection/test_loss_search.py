"""The search for sizes by held-out loss, for losses that are not least squares on common rows."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.losses import Denoising, GeneralizedLinear, PerTask
from thinrank.losses.families import Gaussian
from thinrank.selection.loss_sample import has_many_missing
from thinrank.selection.loss_search import _STEPS, LossSearch, _around
from thinrank.selection.space import make_space
from thinrank.solvers import GDT, Pursuit
from thinrank.starts import as_start

P, TASKS, ROWS = 15, 8, 20


def data(seed=0, signal=1.0):
    rng = np.random.default_rng(seed)
    U = np.zeros((P, 2))
    U[:4] = rng.standard_normal((4, 2))
    theta = signal * U @ rng.standard_normal((2, TASKS))
    X = rng.standard_normal((TASKS * ROWS, P))
    task = rng.permutation(np.arange(TASKS * ROWS) % TASKS)
    y = np.sum(X * theta.T[task], axis=1) + 0.3 * rng.standard_normal(len(X))
    return PerTask(X, y, task)


def search_of(loss, solver=None, callback=None, **axes):
    axes = {"ranks": None, "rows": None, "columns": [None], "ridges": [0.0, 0.01, 0.1, 1.0]} | axes
    space = make_space(loss.shape, 0.8 * ROWS, thick=True, **axes)
    solver = Pursuit() if solver is None else solver
    start = as_start("auto", solver.exchanges_rows)
    return LossSearch(loss, space, solver, start, folds=3, callback=callback)


@pytest.mark.parametrize("solver", [Pursuit(), GDT(tol=1e-4, max_iter=300)])
def test_it_finds_the_sizes(solver):
    search = search_of(data(), solver)
    best = search.run()
    assert best.sizes.rank == 2
    assert 4 <= best.sizes.rows <= 6
    assert best is search.best
    assert best.score == min(e.score for e in search.evaluations)
    assert len(search.records) == len(search.evaluations)
    assert all(record.stage == "search" for record in search.records)
    assert search.chosen("thinnest").sizes.rows <= best.sizes.rows


def test_scores_are_losses_of_the_held_out_folds():
    loss = data()
    search = search_of(loss, ranks=[1], rows=[4], ridges=[0.1])
    best = search.run()
    expected = []
    for training, held_out in loss.folds(3, 0):
        fit = tr.minimize(
            training.with_ridge(0.1), rank=1, row_sparsity=4, solver=Pursuit(tol=1e-4)
        )
        expected.append(held_out.value_and_gradient(fit.factors)[0])
    np.testing.assert_allclose(best.parts, expected, rtol=1e-9)


def test_without_signal_rank_zero_wins():
    ranks = []
    for seed in range(3):
        search = search_of(data(seed, signal=0.0), rows=[1, 4, P], ridges=[0.0, 0.1])
        ranks.append(search.run().sizes.rank)
    assert ranks.count(0) >= 2


def test_a_small_grid_is_tried_in_full():
    search = search_of(data(), ranks=[1, 2], rows=[2, 4], ridges=[0.0, 0.1])
    search.run()
    assert len(search.evaluations) == 8


def test_a_callback_ends_it():
    search = search_of(data(), callback=lambda record: record.iteration == 3)
    best = search.run()
    assert search.stopped
    assert len(search.records) == 3
    assert search.evaluations[0].sizes == Sizes(0, 0, 0, 0.0)
    assert best.score == min(record.objective for record in search.records)


def test_what_a_loss_needs_is_named():
    space = make_space((4, 3), 4, ranks=None, rows=None, columns=None, ridges=[0.0])
    with pytest.raises(TypeError, match="a search for sizes needs a loss with the capability"):
        LossSearch(Denoising(np.ones((4, 3))), space, Pursuit(), as_start("auto", True))


@pytest.mark.parametrize(("missing", "many"), [(0.0, False), (0.15, False), (0.5, True)])
def test_what_counts_as_many_missing_entries(missing, many):
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((40, 5)), rng.standard_normal((40, 10))
    known = np.ones((40, 10))
    known.flat[rng.permutation(known.size)[: round(missing * known.size)]] = 0
    assert has_many_missing(GeneralizedLinear(X, Y, Gaussian(), entry_weight=known)) == many


@pytest.mark.parametrize(
    ("here", "expected"), [(1, [2]), (2, [4, 1]), (8, [16, 4]), (40, [16]), (16, [40, 8])]
)
def test_values_around_another_end_with_the_grid(here, expected):
    assert _around(np.array([1, 2, 4, 8, 16, 40]), here, 2.0) == expected


def test_no_move_from_the_best_sizes_is_left_untried():
    rng = np.random.default_rng(3)
    X, task = rng.standard_normal((60, 6)), np.arange(60) % 3
    y = X[:, 0] * (1 + task) + 0.5 * rng.standard_normal(60)
    search = search_of(PerTask(X, y, task), ridges=[0.0])
    best = search.run()
    moves = list(search._moves(best.sizes, *_STEPS[-1]))
    assert moves
    assert all(sizes in search._known for sizes in moves)
