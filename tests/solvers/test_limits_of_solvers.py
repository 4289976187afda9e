"""Solvers on both sides of their limits, and what they do where nothing is left to do."""

import math
from dataclasses import replace

import numpy as np
import pytest

from thinrank import Factors
from thinrank.losses import Denoising, GeneralizedLinear, LeastSquares, PerTask
from thinrank.losses.families import Bernoulli, Gaussian, Poisson
from thinrank.solvers import GDT, exchanges, gauss_newton, group_lasso, loss_fits, neighbours
from thinrank.solvers.exchanges import descending, promising
from thinrank.solvers.filled_pursuit import FilledPursuit, _same
from thinrank.solvers.fits import as_fit
from thinrank.solvers.pursuit import Pursuit

N, P, K = 40, 9, 6


def data(seed=30_401, p=P):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, p)) + rng.standard_normal((N, 1))
    return X, X[:, :3] @ rng.standard_normal((3, K)) + rng.standard_normal((N, K))


def fitted(rows=(0, 2, 5), rank=2, columns=K, **options):
    X, Y = data()
    form = LeastSquares(X, Y).quadratic()
    solver = Pursuit(**options).sized(rank, len(rows), columns)
    rows = np.array(rows)
    return solver, form, solver._fit_form(form, rows, np.arange(K), form.cross_rows(rows).T)


# --------------------------------------------------------------------------- neighbours


@pytest.mark.parametrize(
    ("work", "most", "expected"),
    [
        (81 * 84, 84, 84),  # all sets of 3 of 9 rows
        (81 * 84, 83, 18),  # all exchanges
        (81 * 84 - 1, 84, 18),
        (81 * 18, 256, 18),
        (81 * 18 - 1, 256, 17),  # the best ones
        (81 * 5, 256, 5),
        (81 * 18, 4, 4),
        (81, 256, 1),
        (80, 256, 0),  # none is evaluated
    ],
)
def test_as_many_supports_as_the_work_allows(monkeypatch, work, most, expected):
    """A support of 3 rows takes 3²·(3 + 6) = 81 multiplications."""
    solver, form, fit = fitted()
    monkeypatch.setattr(neighbours, "_MAX_WORK", work)
    monkeypatch.setattr(neighbours, "_MAX_SUPPORTS", most)
    monkeypatch.setattr(neighbours, "MAX_COST_RATIO", 1e9)
    tried = []
    original = neighbours._best
    monkeypatch.setattr(
        neighbours, "_best", lambda *args: tried.append(len(args[3])) or original(*args)
    )
    prospects = solver.prospects(form, fit)
    found = neighbours.next_rows(form, fit, prospects, 2, K, 0.0)
    assert tried == ([expected] if expected else [])
    nets = prospects.of_pairs(fit)
    if expected == 0:
        i, j = np.unravel_index(np.argmax(nets), nets.shape)
        assert sorted(found.rows) == sorted([*np.delete(fit.rows, i), prospects.candidates[j]])
        assert found.exchanged == 1
        margin = nets.max() / 2
        assert neighbours.next_rows(form, fit, prospects, 2, K, margin) is None
        assert neighbours.next_rows(form, fit, prospects, 2, K, 0.999 * margin) is not None


def test_no_candidates_no_neighbours(monkeypatch):
    solver, form, fit = fitted()
    prospects = solver.prospects(form, fit)
    nothing = replace(prospects, exact=prospects.exact[:0])
    monkeypatch.setattr(neighbours, "_MAX_SUPPORTS", 10)
    assert neighbours.next_rows(form, fit, nothing, 2, K, 0.0) is None
    one = replace(
        prospects, exact=prospects.exact[:1], slopes=prospects.slopes[:1],
        curvature=prospects.curvature[:1], left_over=prospects.left_over[:1],
        whitened=prospects.whitened[:, :1],
    )  # fmt: skip
    found = neighbours.next_rows(form, fit, one, 2, K, 0.0)
    assert prospects.candidates[prospects.exact[0]] in found.rows


@pytest.mark.parametrize("margin", [0.0, 0.02, 0.5, 50.0])
def test_every_exchanged_row_costs_the_margin(margin):
    """The set of least objective plus margins, of all sets."""
    solver, form, fit = fitted()
    found = neighbours.next_rows(form, fit, solver.prospects(form, fit), 2, K, margin)
    best = math.inf
    for place in range(2**P):
        rows = [i for i in range(P) if place >> i & 1]
        if len(rows) == 3:
            other = solver._fit_form(form, np.array(rows), np.arange(K), fit.Q)
            new = len(set(rows) - set(fit.rows.tolist()))
            if other.objective + margin * new < best - 1e-12:
                best, expected = other.objective + margin * new, (rows, new)
    assert (found.rows.tolist(), found.exchanged) == expected


def test_dependent_rows_have_finite_directions():
    """A row twice: the pseudo-inverse counts it once."""
    X, Y = data()
    X[:, 1] = X[:, 0]
    H, C = X.T @ X / N, X.T @ Y / N
    index = np.array([[0, 1, 2], [0, 2, 3]])
    whitened = neighbours.whitened_crosses(H, C, index)
    assert np.isfinite(whitened).all()
    for rows, part in zip(index, whitened, strict=True):
        explained = C[rows].T @ np.linalg.pinv(H[np.ix_(rows, rows)]) @ C[rows]
        np.testing.assert_allclose(part.T @ part, explained, atol=1e-9)


@pytest.mark.parametrize("columns", [1, 3, K])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_best_columns_and_directions(rank, columns):
    """Never better than all sets of columns, and a fixed point of the alternation."""
    rng = np.random.default_rng(columns)
    whitened = rng.standard_normal((4, 3, K))
    values, weights = neighbours.explained_squares(whitened, rank, columns, None)
    assert values.shape == (4,)
    assert weights.shape == (4, K)
    for i in range(4):
        kept = np.sort(np.argsort(-weights[i])[:columns])
        assert values[i] == pytest.approx(np.sum(np.sort(weights[i])[-columns:]))
        squares = np.linalg.svd(whitened[i][:, kept], compute_uv=False)[:rank] ** 2
        assert values[i] <= np.sum(squares) + 1e-9
        assert np.sum(squares) == pytest.approx(values[i], rel=0.05)


def test_columns_after_single_exchanges(monkeypatch):
    _, _, fit = fitted(columns=3)
    found = neighbours.next_columns(fit, 2, 3)
    assert found.exchanged == 0
    assert found.rows is fit.rows
    assert len(found.columns) == 3
    assert neighbours.next_columns(fit, 3, 3) is None  # of full rank the norms decide
    assert neighbours.next_columns(fit, 2, K) is None
    assert neighbours.next_columns(fit, 2, 4) is None
    for work, supports, there in ((81 * 9, 9, True), (81 * 9 - 1, 9, False), (81 * 9, 8, False)):
        monkeypatch.setattr(neighbours, "_MAX_WORK", work)
        monkeypatch.setattr(neighbours, "_MAX_SUPPORTS", supports)
        assert (neighbours.next_columns(fit, 2, 3) is not None) == there


# --------------------------------------------------------------------------- exchanges


@pytest.mark.parametrize("count", [None, 0, 1, 2, 3, 5, 16, 39, 40, 50])
def test_largest_values_whether_sorted_or_parted(count):
    values = np.round(np.random.default_rng(3).standard_normal(40), 1)
    order = np.lexsort((np.arange(40), -values))
    expected = order if count is None else order[:count]
    np.testing.assert_array_equal(descending(values, count), expected)
    most = 40 if count is None else count
    np.testing.assert_array_equal(
        exchanges._largest(values, most), np.sort(values)[::-1][: max(most, 0)]
        if exchanges._pays_to_part(values, most) else np.sort(values)[::-1]
    )  # fmt: skip
    assert exchanges._pays_to_part(values, most) == (0 < most < 5)


@pytest.mark.parametrize("free", [0, 1, 2, 9])
@pytest.mark.parametrize("margin", [0.0, 0.4])
def test_number_of_promising_exchanges(free, margin):
    rng = np.random.default_rng(int(10 * margin) + free)
    for _ in range(20):
        costs, gains = rng.exponential(size=4), np.maximum(rng.normal(size=6), 0)
        ordered, cheap = np.sort(gains)[::-1], np.sort(costs)
        room = min(free, 6)
        entering = int(np.sum(ordered[:room] > 0))
        expected = entering
        if entering == room:
            pairs = zip(ordered[room:], cheap, strict=False)
            expected += sum(gain > cost + 2 * margin for gain, cost in pairs)
        assert promising(costs, gains, free, margin) == expected


def test_supports_are_compared():
    a = np.array([1, 4, 6])
    assert _same(a, a.copy())
    assert not _same(a, np.array([1, 4, 7]))
    assert not _same(a, a[:2])


# --------------------------------------------------------------------------- fits


def test_fits_without_their_largest_arrays():
    _, _, fit = fitted()
    alone = fit.without_root()
    assert alone.root.shape == alone.whitened.shape == (0, 0)
    assert alone.rows is fit.rows
    assert alone.U is fit.U
    assert alone.Q is fit.Q
    thick = replace(fit, root=fit.root[:1])
    alone = thick.without_root()
    assert [x.shape for x in (alone.root, alone.whitened, alone.U, alone.Q)] == 4 * [(0, 0)]
    assert alone.rows is fit.rows
    scaled = replace(thick, column_scale=np.ones(K)).without_root()
    assert scaled.root.shape == scaled.whitened.shape == (0, 0)
    assert scaled.U is fit.U
    assert scaled.Q is fit.Q
    fresh = type(fit)(*[getattr(fit, name) for name in (
        "rows", "columns", "root", "whitened", "U", "Q", "objective", "shape")])  # fmt: skip
    assert (fresh.column_scale, fresh.completed, fresh.final) == (None, None, False)
    assert fresh.change == math.inf


def test_factors_as_a_fit_of_a_form():
    X, Y = data()
    loss = GeneralizedLinear(X, Y, Gaussian(), unit=np.linspace(1, 2, K))
    rng = np.random.default_rng(1)
    U, V = np.zeros((P, 2)), np.zeros((K, 2))
    rows, columns = np.array([1, 4, 8]), np.array([0, 3])
    U[rows], V[columns] = rng.standard_normal((3, 2)), rng.standard_normal((2, 2))
    form = loss.majorizer(Factors(U, V))
    fit = as_fit(form, rows, columns, Factors(U, V), 2.5)
    np.testing.assert_allclose(fit.factors.theta, U @ V.T, atol=1e-12)
    np.testing.assert_allclose(fit.Q.T @ fit.Q, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(fit.root.T @ fit.root @ form.gram(rows), np.eye(3), atol=1e-9)
    assert fit.objective == 2.5
    assert as_fit(form, rows, columns, Factors(U, V)).objective == 0.0
    np.testing.assert_array_equal(fit.row_support, rows)
    np.testing.assert_array_equal(fit.column_support, columns)


# --------------------------------------------------------------------------- pursuit


def losses():
    X, Y = data()
    yield LeastSquares(X, Y)
    yield GeneralizedLinear(X, (Y > 0) * 1.0, Bernoulli(), free=np.ones((N, 1)), ridge=0.1)
    yield GeneralizedLinear(X, np.round(np.exp(0.2 * Y)), Poisson())
    yield PerTask(X, Y[:, 0], np.arange(N) % K)
    yield Denoising(Y)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        *((Pursuit(), loss) for loss in losses()),
        # for losses with a family
        *((FilledPursuit(), loss) for loss in losses() if isinstance(loss, GeneralizedLinear)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_changes_are_relative_decreases(solver, loss):
    """Whatever the steps: change = (before − after)/before, or 0 at the end."""
    solver = solver.sized(1, 3, 4)
    rng = np.random.default_rng(2)
    m1, m2 = loss.shape
    state = solver.init(loss, Factors(rng.standard_normal((m1, 1)), rng.standard_normal((m2, 1))))
    for _ in range(30):
        after = solver.step(loss, state)
        assert after.objective <= state.objective * (1 + 1e-12)
        assert after.rows.shape == (3,)
        if after.final:
            assert after.change == 0.0
            break
        ratio = (state.objective - after.objective) / state.objective
        assert after.change == pytest.approx(ratio, rel=1e-6, abs=1e-15)
        state = after
    assert solver.done(after)
    value = loss.value_and_gradient(after.factors)[0]
    assert value == pytest.approx(after.objective, rel=1e-8)


def test_nothing_to_fit_has_rank_zero():
    """Responses of zeros: no columns, no rank, objective 0."""
    X, _ = data()
    form = LeastSquares(X, np.zeros((N, K))).quadratic()
    solver = Pursuit().sized(2, 3, 4)
    rows = np.arange(3)
    fit = solver._fit_form(form, rows, np.arange(4), np.ones((K, 1)))
    assert fit.U.shape == (3, 0)
    assert fit.columns.shape == (0,)
    assert fit.objective == 0.0
    done = FilledPursuit().sized(2, 3, 4).step(None, fit)
    assert (done.change, done.final) == (0.0, True)


@pytest.mark.parametrize("bound", [True, False])
def test_margins_of_exchanges(bound):
    solver, form, fit = fitted(exchange_penalty=3.0, tol=1e-4)
    form = form.with_ridge(0.0)
    form.is_bound = bound
    expected = max(1e-4, 3.0 * 2 / (N * K)) if bound else 1e-4
    assert solver._margin(form, fit) == pytest.approx(expected * fit.objective)
    noise = exchanges.largest_noise(P, 2) / 2
    expected = max(1e-4, 3.0 * max(2, noise) / (N * K)) if bound else 1e-4
    assert solver._margin(form, fit, best_of=P) == pytest.approx(expected * fit.objective)


# --------------------------------------------------------------------------- Gauss-Newton


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("family", [Gaussian(), Bernoulli(), Poisson()], ids=lambda f: f.name)
def test_gauss_newton_steps_solve_their_equations(family, ridge, free):
    """The step has the matrix of the products as its Hessian; it is a direction of descent."""
    X, Y = data(p=4)
    Y = {"gaussian": Y, "bernoulli": (Y > 0) * 1.0}.get(family.name, np.round(np.abs(Y)))
    options = {"free": np.ones((N, 1))} if free else {}
    unit = np.linspace(0.5, 2, K)
    loss = GeneralizedLinear(X, Y, family, ridge=ridge, unit=unit, **options)
    rng = np.random.default_rng(4)
    factors = Factors(0.1 * rng.standard_normal((4, 2)), 0.1 * rng.standard_normal((K, 2)))
    model = gauss_newton._Model(loss, factors)
    np.testing.assert_allclose(model.moved(model._gradient, 0.0).theta, factors.theta, atol=1e-12)
    step, slope = model.step()
    assert slope < 0
    image = model._product(step)
    residual = model._gradient.plus(1.0, image)
    assert residual.dot(residual) < 1e-2 * model._gradient.dot(model._gradient)
    # the slope is the derivative of the loss along the step
    h = 1e-6
    ahead, behind = (
        loss.value(Factors(model._U + s * step.U, model._V + s * step.V)) for s in (h, -h)
    )
    assert (ahead - behind) / (2 * h) == pytest.approx(slope, rel=1e-3, abs=1e-8)
    change = np.max(np.abs(model._linear_change(step)))
    quadratic = family.quadratic
    assert model.longest(step, 0.5 * change) == pytest.approx(1.0 if quadratic else 0.5)
    assert model.longest(step, change) == 1.0
    other = step.plus(2.0, step)
    assert other.dot(step) == pytest.approx(3 * step.dot(step))


@pytest.mark.parametrize("unit", [1.0, 1e-8, 1e8])
def test_refined_factors_do_not_depend_on_the_units(unit):
    X, Y = data(p=4)
    rng = np.random.default_rng(4)
    factors = Factors(rng.standard_normal((4, 2)), rng.standard_normal((K, 2)))
    first = LeastSquares(X, Y)
    loss = GeneralizedLinear(X, unit * Y, Gaussian())
    scaled = Factors(factors.U, unit * factors.V)
    found, value = gauss_newton.refined(loss, scaled, 1e-14)
    fit = np.linalg.lstsq(X, Y, rcond=None)[0]
    left = np.linalg.svd(X @ fit, compute_uv=False)[2:]
    best = first.value_and_gradient(Factors(fit, np.eye(K)))[0] + np.sum(left**2) / (2 * N)
    assert value == pytest.approx(unit**2 * best, rel=1e-6)
    assert found.rank == 2
    assert loss.value(found) == pytest.approx(value)


# --------------------------------------------------------------------------- the rest


def test_starts_worse_than_zero_are_shrunk():
    X, Y = data(p=4)
    loss = GeneralizedLinear(X, (Y > 0) * 1.0, Bernoulli())
    form = loss.majorizer(Factors.zero(loss.shape, loss.prototype, rank=1))
    rng = np.random.default_rng(1)
    U, V = 50 * rng.standard_normal((4, 2)), rng.standard_normal((K, 2))
    fit = as_fit(form, np.arange(4), np.arange(K), Factors(U, V))
    inner = loss.restrict(fit.rows, fit.columns)
    start = loss_fits._lowest(inner, fit, form)
    value = inner.value(start)
    assert value <= inner.magnitude < inner.value(Factors(start.U, 2 * start.V))
    ratio = np.linalg.norm(U @ V.T) / start.norm()
    assert math.log2(ratio) == pytest.approx(round(math.log2(ratio)))


@pytest.mark.parametrize("momentum", [0.0, 0.25, 0.9])
def test_extrapolation(momentum):
    rng = np.random.default_rng(1)
    before, here = (Factors(rng.standard_normal((4, 2)), rng.standard_normal((3, 2))) for _ in "ab")
    expected = here.theta + momentum * (here.theta - before.theta)
    found = loss_fits._extrapolated(before, here, momentum)
    np.testing.assert_allclose(found.theta, expected, atol=1e-13)


@pytest.mark.parametrize("small", [0, 100])
@pytest.mark.parametrize("penalty", [0.05, 0.3, 100.0])
def test_group_lasso_is_optimal_with_and_without_a_working_set(monkeypatch, small, penalty):
    """Rows in use have the slope of the penalty, the others a smaller one."""
    monkeypatch.setattr(group_lasso, "_SMALL", small)
    X, Y = data(p=30)
    B = group_lasso.group_lasso(X, Y, penalty, tol=1e-10)
    slopes = X.T @ (Y - X @ B) / N
    norms = np.linalg.norm(B, axis=1)
    used = norms > 0
    np.testing.assert_allclose(slopes[used], penalty * B[used] / norms[used, None], atol=1e-4)
    assert (np.linalg.norm(slopes[~used], axis=1) <= penalty * (1 + 1e-3)).all()
    assert used.any() == (penalty < 100)
    again = group_lasso.group_lasso(X, Y, penalty, start=B, tol=1e-10)
    np.testing.assert_allclose(again, B, atol=1e-4)


@pytest.mark.parametrize("iterations", [1, 2, 7, 250])
def test_parts_of_a_run_are_stored_by_their_iterations(tmp_path, monkeypatch, iterations):
    """Every part has a name of its own, from its first to its last iteration."""
    names = []

    def noted(name, work, keep=None):
        names.append(name)
        return work()

    from thinrank.solvers import loop

    monkeypatch.setattr(loop, "recalled", noted)
    monkeypatch.setattr(loop, "is_recording", lambda: True)
    monkeypatch.setattr(loop, "_PARTS", 100)
    X, Y = data()
    solver = GDT(max_iter=iterations, tol=0.0).sized(1, P, K)
    start = Factors(np.ones((P, 1)) / P, np.ones((K, 1)) / K)
    _, history, status = loop.run(solver, LeastSquares(X, Y), start)
    several = max(1, iterations // 100)
    firsts = range(1, iterations + 1, several)
    expected = [f"iterations {i} to {min(i + several - 1, iterations)} of " for i in firsts]
    assert [name[: len(other)] for name, other in zip(names, expected, strict=True)] == expected
    assert [record.iteration for record in history] == list(range(1, iterations + 1))
    assert "limit" in status.message
    assert f"{iterations} iteration" in status.message
