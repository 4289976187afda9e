"""The default regressor of fitted Q-iteration: a common part, and deviations of low rank.

For given sizes, deviations D = [d₁ … d_k] of any rank are a closed form. For a low rank,
[c U][1 V]ᵀ is a matrix of low rank with the direction 1 forced into its right factor: V are the
leading right singular vectors of that D, and c and U are fitted again. Only XₜᵀXₜ and Xₜᵀyₜ are
needed, for every action: a fit takes milliseconds, that of :class:`thinrank.losses.PerTask` by
pursuit three seconds (12 tasks, 8,500 rows, 332 pairs of action and feature), and the choice of
sizes makes hundreds.

Settings that fit given targets best may lead to values that grow from iteration to iteration.
Therefore a trial runs fitted Q-iteration with a setting, and measures how well the setting then
predicts its own next targets in held-out episodes, relative to their variance within the tasks:
the relative held-out Bellman error.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from math import inf
from numbers import Integral, Real
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dposv
from scipy.stats import chi2
from sklearn.base import BaseEstimator

from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.rl.action_values import LinearValues
from thinrank.rl.features import Features
from thinrank.rl.targets import LARGEST, MAX_CELLS, FixedTargets, Rows, Targets

# Iterations of the pilot run, and of a trial from its values.
_PILOT, _TRIAL = 20, 12
# The penalties to choose from, in units of the rows of a task and action.
_ALPHAS, _BETAS = np.geomspace(1e-3, 10, 9).round(3).tolist(), [0.01, 0.1, 1.0, 10.0]
# Ranks of the deviations that compete with the pooled model; None is any rank.
_RANKS = (1, 2, 4, None)
# Deviations from the common part are used if they lower the error by this number of standard
# errors of the difference between episodes.
_EVIDENCE = 2.0
# A penalty of the common part may have an error of single steps that is larger than the least one
# by this factor. With 2 Acrobot (see there) returned −75 twice; with 1.25 pooled MountainCar (10
# episodes, seed 50004) −34 in place of −30.
_MOST_ERROR = 1.5
# Relative size of rounding errors: columns that vary less are constants, and the diagonals of
# linear systems are raised by as much, because columns may be equal.
_ROUNDING = 1e-10
# Tests of features: part of a feature's variance that counts at least as not explained by those in
# use, least number of rows of an action for every feature in use, and how many features are in use
# for every one that enters in a step.
_LEAST_NEW, _ROWS_PER_FEATURE, _BATCH = 0.05, 3, 4


@dataclass(eq=False, repr=False)
class CommonPart(BaseEstimator):
    """Regressor of :class:`MultiTaskFQI`: all tasks have a common part and deviate from it.

    The coefficients of task t are θₜ = c + dₜ, on a few rows. The deviations D = [d₁ … d_k] have a
    low rank. The fit minimizes ::

        Σₜ ½‖yₜ − Xₜ(c + dₜ)‖² + α/2·‖c‖² + β/2·Σₜ‖dₜ‖²

    with features in standard units and intercepts. Tasks are shrunk towards their common part and
    not towards zero. A single model for all tasks (rank 0) and separate ridge regressions (α = ∞
    and any rank) are special cases, which compete in the automatic choice.

    Parameters
    ----------
    rank : int, "auto" or None, default="auto"
        Rank of the deviations: 0 for the same coefficients in all tasks, None for any rank.
    row_sparsity : int, "auto" or None, default="auto"
        Largest number of rows, which are pairs of an action and a feature. A feature is used for
        all actions or for none. If "auto", a feature is used if it is significant given those in
        use already. None for all features.
    ridge : float or "auto", default="auto"
        β, in units of the mean number of rows of a task and action.
    common_ridge : float or "auto", default="auto"
        α, in the same unit. ``float("inf")`` for no common part beside the intercepts.
    noise_level : float, default=0.1
        Level of the tests that select features. A feature is used if its p-value, given those in
        use, is below this divided by the number of features.
    cv : int, default=5
        Number of folds of the choice. A fold holds out whole episodes, or states.

    Notes
    -----
    Sizes are chosen before the iterations begin, on one sample of transitions: a pilot run selects
    the rows, then trial runs compare ranks and penalties by errors in held-out episodes.

    See Also
    --------
    MultiTaskFQI : Fitted Q-iteration, whose default regressor this is.

    Examples
    --------
    >>> import thinrank as tr
    >>> tr.rl.CommonPart(rank=1)
    CommonPart(rank=1)
    """

    rank: int | str | None = "auto"
    row_sparsity: int | str | None = "auto"
    ridge: float | str = "auto"
    common_ridge: float | str = "auto"
    _: KW_ONLY
    noise_level: float = 0.1
    cv: int = 5

    def check(self) -> None:
        """Raise a ValueError that names a parameter with an invalid value."""
        for name, least in (("rank", 0), ("row_sparsity", 1)):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not (value is None or is_auto(value) or (whole and int(value) >= least)):
                raise ValueError(
                    f'{name} must be an integer of at least {least}, "auto" or None, got {value!r}'
                )
        for name in ("ridge", "common_ridge"):
            value = getattr(self, name)
            if not is_auto(value) and not (isinstance(value, Real) and float(value) > 0):
                raise ValueError(f'{name} must be a positive number or "auto", got {value!r}')
        if self.ridge == self.common_ridge == inf:
            raise ValueError("ridge and common_ridge must not both be infinite")
        if not (isinstance(self.noise_level, Real) and 0 < float(self.noise_level) < 1):
            raise ValueError(f"noise_level must be between 0 and 1, got {self.noise_level!r}")
        if not isinstance(self.cv, Integral) or int(self.cv) < 2:
            raise ValueError(f"cv must be an integer of at least 2, got {self.cv!r}")


class CommonPartRegression:
    """Fits with features, rank and penalties that trial iterations choose at first."""

    def __init__(
        self, given: CommonPart, features: Features, targets: Targets, pooled: bool, seed: int
    ) -> None:
        given.check()
        self._given, self._features = given, features
        fixed, cv = targets.fixed(), int(given.cv)
        rows = TaskRows(fixed.rows, cv, seed)
        used, begin = self._pilot(rows, fixed)
        setting = Trials(rows.restricted(used), fixed, begin).search(
            (0,) if pooled else self._ranks(rows.n_tasks),
            _ALPHAS if is_auto(given.common_ridge) else (float(given.common_ridge),),
            _BETAS if is_auto(given.ridge) else (float(given.ridge),),
        )
        if fixed.rows is not targets.rows:
            rows = TaskRows(targets.rows, cv, seed)
        self._rows = rows.restricted(used)
        self._fit = TaskFit(self._rows, setting)
        self.best_params: dict[str, Any] = {
            "rank": setting.rank,
            "row_sparsity": len(rows.actions) * len(used),
            "ridge": setting.beta,
            "common_ridge": setting.alpha,
        }

    def fit(self, targets: np.ndarray, tune: bool) -> LinearValues:
        """Fit to targets, with the chosen sizes."""
        return linear_values(self._rows, self._fit, targets, self._features)

    def _ranks(self, n_tasks: int) -> tuple[int | None, ...]:
        given = self._given.rank
        if n_tasks == 1 or given == 0 or self._given.ridge == inf:
            return (0,)
        if is_auto(given):
            return (0, *(rank for rank in _RANKS if rank is None or rank < n_tasks - 1))
        return (None,) if given is None or int(given) >= n_tasks else (int(given),)

    def _pilot(self, rows: TaskRows, targets: FixedTargets) -> tuple[np.ndarray, LinearValues]:
        """Select features while the values of a first fitted Q-iteration grow."""
        values = LinearValues.zero(self._features, rows.rows.shape)
        setting = Setting(None if rows.n_tasks > 1 else 0, 1.0, 1.0)
        for iteration in range(1, _PILOT + 1):
            y = targets.under(values)
            # Q changes quickly at first
            if iteration & (iteration - 1) == 0 or iteration == _PILOT:
                used = self._select(rows, y)
                some = rows.restricted(used)
                fit = TaskFit(some, setting)
            values = linear_values(some, fit, y, self._features)
        return used, values

    def _select(self, rows: TaskRows, targets: np.ndarray) -> np.ndarray:
        size = self._given.row_sparsity
        if size is None:
            return np.flatnonzero(rows.varying)
        if is_auto(size):
            return select_features(rows, targets, float(self._given.noise_level), None)
        return select_features(rows, targets, inf, int(size))


@dataclass(frozen=True)
class Setting:
    """Rank of the deviations and penalties."""

    rank: int | None  # the rank; 0 for none, None for any rank
    # penalties of the common part and of the deviations, in units of the mean number of rows of a
    # task and action; infinity for no common part, or no deviations
    alpha: float
    beta: float


class Trials:
    """Runs of settings and their errors."""

    def __init__(self, rows: TaskRows, targets: FixedTargets, begin: LinearValues) -> None:
        self._rows, self._targets, self._begin = rows, targets, begin
        self._without = rows.grams_without_folds()
        # targets by which all settings are judged, beside their own, and their variation
        self._reference: tuple[np.ndarray, float] | None = None
        # error of each episode or state, as a part of the variation
        self.errors: dict[Setting, np.ndarray] = {}
        self._own: dict[Setting, np.ndarray | None] = {}

    def search(
        self, ranks: Sequence[int | None], alphas: Sequence[float], betas: Sequence[float]
    ) -> Setting:
        """The pooled model, or deviations from it that held-out episodes show."""
        low = [rank for rank in ranks if rank != 0]
        if 0 in ranks:
            self.run(Setting(0, alpha, inf) for alpha in alphas)
        else:
            self.run(Setting(low[0], *penalties) for penalties in product(alphas[::2], betas))
        pooled = self._best()
        if (y := self._own[pooled]) is not None:
            self._reference, self.errors = (y, _variation(self._rows.rows, y)), {}
            self.run(list(self._own))
            pooled = self._best()
        self.run(Setting(rank, pooled.alpha, beta) for rank, beta in product(low, betas))
        best = self._best()
        if 0 in ranks and not clearly_smaller(self.errors[best], self.errors[pooled]):
            best = pooled
        return self._harmless_penalty(best, alphas)

    def run(self, settings: Iterable[Setting]) -> None:
        """Measure the errors of settings that are not known yet."""
        for setting in settings:
            if setting not in self.errors:
                self.errors[setting] = self._errors(setting)

    def _best(self) -> Setting:
        return min(self.errors, key=lambda setting: self.errors[setting].sum())

    def _harmless_penalty(self, best: Setting, alphas: Sequence[float]) -> Setting:
        """The largest α whose residuals add up along episodes, within one standard error, least.

        A large α makes values smooth where the log has few transitions, and policies then see
        further than the log. But its bias adds up over the iterations. Unlike noise, it has the
        same sign in successive steps, which the errors of single steps do not tell: by these
        MountainCar (10 episodes, seeds 4 and 6) stayed at the lowest return, −50; by the sums it
        returns −36 and −35, and pooled ridge regression −40 and −39. The standard error of a
        difference that one episode makes is as large as the difference. So the error of single
        steps has a limit, without which Acrobot (10 episodes, seeds 40001 and 50000) returned −78
        and −100 in place of −60 and −56.
        """
        settings = [replace(best, alpha=alpha) for alpha in alphas]
        self.run(settings)
        sums = {}
        for setting in settings:
            if (y := self._led_to(setting)) is not None:
                residuals = self._targets.to_the_end(self._residuals(setting, y))
                sums[setting] = self._squares(residuals) / _variation(self._rows.rows, y)
        least = min(sums, key=lambda setting: sums[setting].sum(), default=best)
        limit = _MOST_ERROR * min(self.errors[setting].sum() for setting in settings)
        as_good = [
            setting
            for setting, error in sums.items()
            if self.errors[setting].sum() <= limit and not clearly_smaller(sums[least], error, 1.0)
        ]
        return max(as_good, key=lambda setting: setting.alpha, default=least)

    def _errors(self, setting: Setting) -> np.ndarray:
        """Mean of the relative errors at the own targets and at those of the reference.

        Values can be arbitrary and still predict themselves, because next states are similar to
        states. So the variation of the own targets counts at most as much as that of the reference.
        Without the reference Acrobot (even seeds, some tasks reversed) returned −100, −100 and −92
        in place of −80, −76 and −89.
        """
        y = self._led_to(setting)
        if y is None:
            return np.full(int(self._rows.rows.groups.max()) + 1, inf)
        own, size = self._squares(self._residuals(setting, y)), _variation(self._rows.rows, y)
        if self._reference is None:
            return own / size
        target, scale = self._reference
        other = self._squares(self._residuals(setting, target))
        return 0.5 * (own / min(size, scale) + other / scale)

    def _led_to(self, setting: Setting) -> np.ndarray | None:
        """The targets that a setting leads to; None if its values diverge."""
        if setting not in self._own:
            self._own[setting] = self._trial(setting)
        return self._own[setting]

    def _trial(self, setting: Setting) -> np.ndarray | None:
        values, fit = self._begin, TaskFit(self._rows, setting)
        for _ in range(_TRIAL):
            y = self._targets.under(values)
            values = linear_values(self._rows, fit, y, values.features)
            if not np.abs(values.factors.U).max(initial=0.0) < LARGEST:
                return None
        return self._targets.under(values)

    def _squares(self, residuals: np.ndarray) -> np.ndarray:
        """Sums of squares over the rows of every episode or state."""
        squares = residuals**2 if residuals.ndim == 1 else np.sum(residuals**2, axis=1)
        return np.bincount(self._rows.rows.groups, squares)

    def _residuals(self, setting: Setting, targets: np.ndarray) -> np.ndarray:
        """Residuals of episodes, or states, when they are held out; shaped as the targets."""
        rows, residuals = self._rows, targets.copy()
        products = rows.products(targets)
        others = products.sum(axis=0) - products
        for fold, (gram, b) in enumerate(zip(self._without, others, strict=True)):
            rows.subtract(residuals, TaskFit(rows, setting, gram).theta(b), fold)
        return residuals


def clearly_smaller(errors: np.ndarray, others: np.ndarray, evidence: float = _EVIDENCE) -> bool:
    """Whether errors of episodes are smaller by some standard errors of the difference."""
    gain = others - errors
    if not np.isfinite(gain).all():
        return bool(np.isfinite(errors).all())
    return float(gain.sum()) > evidence * float(gain.std()) * len(gain) ** 0.5


def _variation(rows: Rows, y: np.ndarray) -> float:
    """Sum of squares of targets within the tasks."""
    means = rows.task_sums(y) / np.maximum(rows.task_sums(np.ones_like(y)), 1)
    return max(float(np.sum((y - (means if y.ndim > 1 else means[rows.owner])) ** 2)), 1e-300)


@dataclass(frozen=True, eq=False)
class ActionRows:
    """The rows of one action, sorted by task and fold."""

    # (n_rows, q) a constant, and features of mean 0 and variance 1
    X: np.ndarray
    # (n_rows,) places of the rows among the targets of the action
    order: np.ndarray
    # the rows of every fold, for each task, or for all tasks if they have the same rows
    folds: list[list[slice]]


class TaskRows:
    """The rows of all actions in standard units, and their moments.

    Arrays have an axis for the actions and one for the tasks. In Gram matrices of rows that all
    tasks share, its length is 1.
    """

    def __init__(self, rows: Rows, n_folds: int, seed: int) -> None:
        self.rows, self.n_tasks, self._n_folds = rows, rows.n_tasks, n_folds
        owners = 1 if rows.owner is None else rows.n_tasks
        key = rows.fold_labels(n_folds, seed)
        if rows.owner is not None:
            key = rows.owner * n_folds + key
        self.actions, means, scales, counts = [], [], [], []
        for block, where in zip(rows.blocks, rows.ranges, strict=True):
            X, mean, scale = _standard(block)
            order = np.argsort(key[where], kind="stable")
            sizes = np.bincount(key[where], minlength=owners * n_folds)
            ends = np.append(0, np.cumsum(sizes)).tolist()
            slices = list(map(slice, ends[:-1], ends[1:]))
            folds = [slices[i * n_folds : (i + 1) * n_folds] for i in range(owners)]
            self.actions.append(ActionRows(X[order], order, folds))
            means.append(mean)
            scales.append(scale)
            counts.append(np.broadcast_to(sizes.reshape(owners, n_folds).sum(axis=1), self.n_tasks))
        self._mean, self._scale, self.counts = map(np.stack, (means, scales, counts))
        # mean number of rows of a task and action, the unit of the ridge
        self.unit = float(np.mean(self.counts))
        self.varying = np.any(self._scale > 0, axis=0)
        self._used = np.arange(rows.n_features)
        # of shape (n_actions, 1 or n_tasks, q, q)
        self.gram = self._grams(lambda folds: slice(folds[0].start, folds[-1].stop))

    def restricted(self, used: np.ndarray) -> TaskRows:
        """The constant and some features only."""
        index, some = np.append(0, used + 1), copy.copy(self)
        some._used = used
        some.actions = [replace(action, X=action.X[:, index]) for action in self.actions]
        some.gram = self.gram[..., index, :][..., index]
        return some

    def grams_without_folds(self) -> list[np.ndarray]:
        """XᵀX of the rows outside each fold."""
        return [self.gram - self._grams(itemgetter(fold)) for fold in range(self._n_folds)]

    def _grams(self, part: Callable[[list[slice]], slice]) -> np.ndarray:
        """XᵀX of a part of the rows of every task."""
        each = [[action.X[part(own)] for own in action.folds] for action in self.actions]
        return np.stack([[X.T @ X for X in parts] for parts in each])

    def products(self, targets: np.ndarray) -> np.ndarray:
        """Xᵀy in every fold, of shape (n_folds, n_actions, n_tasks, q)."""
        sizes = self._n_folds, len(self.actions), self.n_tasks, self.gram.shape[-1]
        found = np.empty(sizes)
        for number, (action, where) in enumerate(zip(self.actions, self.rows.ranges, strict=True)):
            y = targets[where][action.order]
            for task, folds in enumerate(action.folds):
                own = slice(None) if self.rows.owner is None else task
                for fold, part in enumerate(folds):
                    found[fold, number, own] = y[part].T @ action.X[part]
        return found

    def subtract(self, residuals: np.ndarray, theta: np.ndarray, fold: int) -> None:
        """Subtract the values at the rows of a fold; ``theta`` is (n_actions, q, n_tasks)."""
        for action, where, values in zip(self.actions, self.rows.ranges, theta, strict=True):
            for task, folds in enumerate(action.folds):
                own = slice(None) if self.rows.owner is None else task
                places = where.start + action.order[folds[fold]]
                residuals[places] -= action.X[folds[fold]] @ values[:, own]

    def original_units(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of all features as given, and intercepts.

        Shapes: ``theta`` (n_actions, q, r), result (n_actions * n_features, r), (n_actions, r).
        """
        scale = self._scale[:, self._used, None]
        coefficients = np.zeros((*self._scale.shape, theta.shape[2]))
        coefficients[:, self._used] = theta[:, 1:] / np.where(scale > 0, scale, inf)
        level = theta[:, 0] - np.einsum("af,afr->ar", self._mean, coefficients)
        return coefficients.reshape(-1, theta.shape[2]), level


def _standard(block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A constant and the features in standard units; means, and scales that are 0 for constants."""
    n, p = block.shape
    if n * p > MAX_CELLS:
        raise ValueError(
            f"an action has {n} rows with {p} features, more than the default regressor can "
            "hold in memory; give regressor=SparseReducedRankRegressor(...) or fewer features"
        )
    X = block.toarray() if sparse.issparse(block) else block
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > _ROUNDING * np.abs(X).max(axis=0), scale, 0.0)
    standard = np.ones((n, p + 1))
    standard[:, 1:] = (X - mean) / np.where(scale > 0, scale, inf)
    return standard, mean, scale


def linear_values(
    rows: TaskRows, fit: TaskFit, targets: np.ndarray, features: Features
) -> LinearValues:
    """Action values with the coefficients [c U][1 V]ᵀ that a fit has for targets."""
    common, loadings, V = fit.solve(rows.products(targets).sum(axis=0))
    U, levels = rows.original_units(np.concatenate([common[..., None], loadings], axis=2))
    mixing = np.column_stack([np.ones(len(V)), V])
    if mixing.shape[1] > min(len(U), len(mixing)):
        theta = U @ mixing.T
        factors = Factors.from_theta(theta, rank=min(theta.shape))
    elif not U.any():
        factors = Factors.zero((len(U), len(mixing)), like=np.zeros(0))
    else:
        factors = Factors(U, mixing)
    return LinearValues(features, factors, levels @ mixing.T)


class TaskFit:
    """Fits with one setting to several targets; inverses are computed once."""

    def __init__(self, rows: TaskRows, setting: Setting, gram: np.ndarray | None = None) -> None:
        gram = rows.gram if gram is None else gram
        self._k, self._rank, eye = rows.n_tasks, setting.rank, np.eye(gram.shape[-1])
        # infinite penalties are large ones
        self._alpha, self._beta = (
            rows.unit * min(penalty, 1e6) for penalty in (setting.alpha, setting.beta)
        )
        jitter = _ROUNDING * max(float(gram.max(initial=0.0)), 1e-300) * eye
        each = self._gram = gram + jitter
        self._inverse: np.ndarray | None = None
        if not (setting.rank == 0 or setting.beta == inf):
            self._inverse = np.linalg.inv(each + self._beta * eye)
            each = each - each @ self._inverse @ each
        penalty = np.full(len(eye), self._alpha)
        penalty[0] = 0.0
        # the system for c without the deviations, Σ(G − G(G + β)⁻¹G) + α
        system = each.sum(axis=1) * (self._k / gram.shape[1]) + jitter + np.diag(penalty)
        self._common = np.linalg.inv(system)

    def theta(self, products: np.ndarray) -> np.ndarray:
        """The coefficients of all tasks, of shape (n_actions, q, n_tasks)."""
        common, loadings, V = self.solve(products)
        return common[..., None] + loadings @ V.T

    def solve(self, products: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Common parts c, loadings U and V with θₜ = c + Uvₜ.

        Shapes: ``products`` (n_actions, n_tasks, q), result (n_actions, q), (n_actions, q, r) and
        (n_tasks, r).
        """
        if self._inverse is None:
            common = np.einsum("aij,aj->ai", self._common, products.sum(axis=1))
            return common, np.zeros((*common.shape, 0)), np.zeros((self._k, 0))
        # dₜ = (Gₜ + β)⁻¹(bₜ − Gₜc)
        shrunk = products - _applied(self._gram, _applied(self._inverse, products))
        common = np.einsum("aij,aj->ai", self._common, shrunk.sum(axis=1))
        left = products - (self._gram @ common[:, None, :, None])[..., 0]
        deviations = _applied(self._inverse, left)
        if self._rank is None or self._rank >= self._k:
            return common, deviations.swapaxes(1, 2), np.eye(self._k)
        joined = deviations.swapaxes(0, 1).reshape(self._k, -1)
        V = np.linalg.svd(joined, full_matrices=False)[0][:, : self._rank]
        return *self._loadings(products, V), V

    def _loadings(self, products: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c and U for given V."""
        weights = np.column_stack([np.ones(len(V)), V])
        (n_actions, tasks, q, _), width = self._gram.shape, weights.shape[1]
        pairs = (weights[:, :, None] * weights[:, None, :]).reshape(len(V), -1)
        pairs = pairs.sum(axis=0, keepdims=True) if tasks == 1 else pairs
        systems = (pairs.T @ self._gram.reshape(n_actions, tasks, -1)).reshape(
            -1, width, width, q, q
        )
        systems = systems.swapaxes(2, 3).reshape(n_actions, width * q, -1)
        penalty = np.full((width, q), self._beta)
        penalty[0] = self._alpha
        penalty[0, 0] = 0.0
        systems += np.diag(penalty.ravel())
        right = (weights.T @ products).reshape(n_actions, -1)
        # LAPACK is called directly: checks would take most of the time
        solved = [dposv(system, b)[1] for system, b in zip(systems, right, strict=True)]
        found = np.reshape(solved, (n_actions, width, q))
        return found[:, 0], found[:, 1:].swapaxes(1, 2)


def _applied(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """One symmetric matrix per task, or the same for all, times one vector per task."""
    if matrices.shape[1] == 1:
        return vectors @ matrices[:, 0]
    return (matrices @ vectors[..., None])[..., 0]


def select_features(
    rows: TaskRows, targets: np.ndarray, level: float, most: int | None
) -> np.ndarray:
    """Features in use, by forward selection.

    A feature is in use for all actions or for none: greedy actions depend on differences between
    actions, which would be biased by a feature that only some of them use. The score of a feature
    in a task is its covariance with the residuals. For noise, the squared sum of the scores over
    the tasks (a common effect), and the sum of their squares (effects that differ), have χ²
    distributions. Features enter, most significant first, while their p-value is below ``level``
    divided by the number of features.
    """
    products = rows.products(targets).sum(axis=0)
    squares = np.stack([rows.rows.task_sums(targets[at] ** 2, at) for at in rows.rows.ranges])
    remaining, total = rows.varying.copy(), int(rows.varying.sum())
    fewest = min(len(action.order) for action in rows.actions)
    limit = min(total, max(fewest // _ROWS_PER_FEATURE, 1))
    if most is not None:
        limit = min(max(most // len(rows.actions), 1), total)
    used = np.zeros(0, dtype=np.int64)
    while len(used) < limit:
        p = np.where(remaining, _p_values(rows, products, squares, used), 1.0)
        order = np.argsort(p, kind="stable")[: max(1, len(used) // _BATCH)]
        order = order[: limit - len(used)]
        chosen = order[(p[order] <= level / total) & remaining[order]]
        if not len(chosen):
            break
        remaining[chosen] = False
        used = np.append(used, chosen)
    return np.sort(used)


def _p_values(
    rows: TaskRows, products: np.ndarray, squares: np.ndarray, used: np.ndarray
) -> np.ndarray:
    """P-values of all features given those in use; ``squares`` are sums of squares of targets."""
    index, many = np.append(0, used + 1), rows.n_tasks > 1
    # penalties only have to leave residuals with little signal of the features in use
    setting = Setting(None if many else 0, 1e-3, 0.3)
    inner = rows.gram[..., index, :][..., index]
    theta = TaskFit(rows, setting, inner).theta(products[..., index]).swapaxes(1, 2)
    scores = products - (rows.gram[..., index] @ theta[..., None])[..., 0]
    # sums of squares of the residuals; tasks without rows of an action say nothing about it
    left = squares - np.sum((products + scores)[..., index] * theta, axis=2)
    least = np.maximum(squares.max(axis=1, keepdims=True) * 1e-12, 1e-200)
    left, scores = np.maximum(left, least), scores[..., 1:]
    new = np.maximum(_new_variance(rows, index), _LEAST_NEW)[:, 1:]
    same = np.sum(scores.sum(axis=1) ** 2 / (left.sum(axis=1)[:, None] * new), axis=0)
    p = chi2.sf(same, len(rows.actions))
    if many:
        each = np.sum(np.sum(scores**2 / left[..., None], axis=1) / new, axis=0)
        p = 2 * np.minimum(p, chi2.sf(each, np.count_nonzero(rows.counts)))
    return np.minimum(p, 1.0)


def _new_variance(rows: TaskRows, index: np.ndarray) -> np.ndarray:
    """The part of every column's variance that the columns in use do not explain."""
    total = rows.gram.sum(axis=1)
    total = total / np.maximum(total[:, :1, :1], 1.0)
    cross = total[:, index]
    inner = cross[..., index] + _ROUNDING * np.eye(len(index))
    explained = np.sum(cross * np.linalg.solve(inner, cross), axis=1)
    # columns in use explain a part of any column by chance, which is no reason to expect less
    n = np.array([len(action.order) for action in rows.actions])
    chance = n / np.maximum(n - len(index), 1)
    return (np.diagonal(total, axis1=1, axis2=2) - explained) * chance[:, None]
