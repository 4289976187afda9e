"""Fitted Q-iteration for several tasks: Algorithm 2 of the paper."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from thinrank.core.checks import check_callback, check_number, is_list, positive_integer
from thinrank.core.factors import Factors
from thinrank.core.progress import with_progress_bar
from thinrank.core.result import RecordList
from thinrank.minimize import seed_from
from thinrank.rl.action_values import ActionValues, GreedyPolicy, LinearValues
from thinrank.rl.features import Features, default_features
from thinrank.rl.gym import is_environment, log_episodes
from thinrank.rl.minari import from_minari, is_minari
from thinrank.rl.regression import as_regression
from thinrank.rl.targets import LARGEST, GenerativeTargets, Targets, logged_targets
from thinrank.rl.tasks import check_discounts
from thinrank.rl.transitions import Transitions


@dataclass(frozen=True, eq=False)
class QRecord:
    """One iteration t of fitted Q-iteration, from Q^{t−1} to Q^t.

    All errors are root mean squares over the design pairs.

    Attributes
    ----------
    iteration : int
        Number of the iteration, counted from 1.
    bellman_residual : float
        Root mean square of y^t − Q^{t−1}: the distance of Q^{t−1} from its Bellman update,
        including the noise of the samples.
    bellman_residuals : ndarray of shape (n_tasks,)
        The same for each task.
    misfit : float
        Root mean square of y^t − Q^t, the residuals of the regression.
    change : float
        Root mean square of Q^t − Q^{t−1}.
    rows, rank : int or None
        Number of active features (out of A·p_s) and rank of Θ^t; None if Q is not linear.
    row_support : ndarray of int, or None
        The active features: sorted indices of the non-zero rows of Θ^t.
    seconds_targets : float
        Time for the targets: sampling, and the values of the next states.
    seconds_regression : float
        Time for the regression.
    seconds : float
        Time since the fit began.
    """

    iteration: int
    bellman_residual: float
    bellman_residuals: np.ndarray
    misfit: float
    change: float
    rows: int | None
    rank: int | None
    row_support: np.ndarray | None
    seconds_targets: float
    seconds_regression: float
    seconds: float


class QHistory(RecordList[QRecord]):
    """The records of a fit, in order: one :class:`~thinrank.rl.QRecord` per iteration."""

    @property
    def bellman_residuals(self) -> list[float]:
        """The Bellman residual of every iteration."""
        return [record.bellman_residual for record in self]


QCallback = Callable[[QRecord], object]
"""Called after every iteration; returning True stops the fit."""


@dataclass(eq=False, repr=False)
class MultiTaskFQI(BaseEstimator):
    """Learn the action values Q of several related tasks together, by fitted Q-iteration.

    Let φ(s, a) consist of the features φ(s) in the block of action a and zeros elsewhere. The
    values of task t are Q(s, a) = ⟨φ(s, a), θₜ⟩. Starting from Q = 0, each iteration computes the
    targets y = r + γ·max_b Q(s′, b) of all tasks at the design pairs (y = r if the episode ends),
    and fits Θ = [θ₁ … θ_k] to them. If few features matter and the θₜ are linear combinations of a
    few vectors, Θ has few non-zero rows and low rank, and every task benefits from the data of the
    others.

    Parameters
    ----------
    features : callable, default=None
        ``features(states)`` returns an array or scipy sparse matrix of shape
        (n_states, n_features); see :mod:`thinrank.rl.features`. If None, a :class:`Fourier` basis
        in the range of 99 % of the states (with at most two coordinates per function and 150
        functions), or indicators of states that are integers.
    n_actions : int, default=None
        Number of actions A. Actions are 0 to A − 1 in all tasks. If None, those in the logs, or
        the attribute ``n_actions`` of the first task.
    discount : float or sequence of float, default=0.99
        The discount γ in (0, 1], one for all tasks or one per task; 1 only for episodic tasks.
    regressor : regressor, default=None
        Fits Θ to the targets. If None, :class:`~thinrank.rl.CommonPart` with automatic sizes. Any
        estimator or baseline of thinrank and any regressor of scikit-learn is allowed; see Notes.
    n_iterations : int, default=50
        Largest number of iterations.
    pooled : bool, default=False
        Whether to treat all tasks as the same task.
    expectation : bool, default=False
        Whether to use expectations (``expect`` of the tasks) instead of samples.
    episodic : bool or sequence of bool, default=None
        Whether every episode ends, for all tasks or per task. If None, the attribute ``episodic``
        of each task, or False if there is none.
    tune_at : "every", "doubling" or collection of int, default="every"
        The iterations in which automatic parameters of the regressor are chosen; the others use
        the last choice. "doubling" means iterations 1, 2, 4, 8 and so on. Only for regressors with
        ``best_params_``; the default regressor chooses once, before the iterations.
    warm_start : bool, default=True
        Whether a regression with ``start="auto"`` starts from the last solution.
    tol : float, default=0.0
        Stop when the relative change of Q (root mean square at the design pairs) is below this;
        with new samples in every iteration it does not fall below their noise.
    random_state : int, RandomState, Generator or None, default=None
        Seed of samples and folds; None for a fixed seed.
    verbose : int, default=0
        Whether to show a progress bar on standard error.
    callback : callable, default=None
        Called with the :class:`~thinrank.rl.QRecord` of each iteration; True stops the fit.

    Attributes
    ----------
    factors_ : Factors
        Factors of Θ; not if the regressor is not linear.
    theta_ : ndarray of shape (n_actions * n_features, n_tasks)
        Θ as a dense array; the rows are ordered action by action.
    intercept_ : ndarray of shape (n_actions, n_tasks)
        Zero unless the regressor fits an intercept.
    values_ : LinearValues or PredictedValues
        The action values Q; PredictedValues if the regressor is not linear.
    history_ : QHistory
        One record per iteration: Bellman residual, change of Q, rows, rank, seconds.
    n_iterations_, n_tasks_ : int
        Numbers of iterations and tasks.
    n_features_, n_actions_ : int
        Numbers of features of a state and of actions.
    best_params_ : dict or None
        Sizes and penalties that the default regressor chose; None with other regressors.

    Notes
    -----
    Estimators of thinrank are fitted to all tasks and actions at once; if their ``cv`` is an
    integer, it holds out states with all their actions. Baselines of thinrank are fitted once per
    action, since their penalties separate over actions. Regressors of scikit-learn are fitted once
    per task and action.

    References
    ----------
    M. Yu, V. Gupta and M. Kolar, Recovery of simultaneous low rank and two-way sparse coefficient
    matrices, a nonconvex approach, Electronic Journal of Statistics 14 (2020), Algorithm 2.
    D. Calandriello, A. Lazaric and M. Restelli, Sparse multi-task reinforcement learning, NIPS
    2014.

    Examples
    --------
    Two tasks on a ring of three states, with rewards for different states:

    >>> import numpy as np, thinrank as tr
    >>> class Ring:
    ...     def __init__(self, goal):
    ...         self.goal = goal
    ...     def sample(self, states, action, rng):
    ...         following = (states + (1 if action else -1)) % 3
    ...         return (following == self.goal) * 1.0, following, np.zeros(len(states), bool)
    >>> exact = tr.SparseReducedRankRegressor(2, None, None, standardize=False, fit_intercept=False)
    >>> fqi = tr.rl.MultiTaskFQI(tr.rl.Tabular(3), 2, 0.5, exact, n_iterations=30)
    >>> fqi = fqi.fit([Ring(0), Ring(1)], np.arange(3))
    >>> fqi.policy(0)(np.array([1, 2]))
    array([0, 1])
    >>> fqi.q_values(1, np.array([0])).round(3)
    array([[0.667, 1.333]])
    """

    features: Features | None = None
    n_actions: int | None = None
    discount: float | Sequence[float] = 0.99
    regressor: Any = None
    _: KW_ONLY
    n_iterations: int = 50
    pooled: bool = False
    expectation: bool = False
    episodic: bool | Sequence[bool] | None = None
    tune_at: str | Collection[int] = "every"
    warm_start: bool = True
    tol: float = 0.0
    random_state: Any = None
    verbose: int = 0
    callback: QCallback | None = None

    def _stored_shapes(self) -> dict[str, Any]:
        """Shapes of the fitted attributes, which ``tr.load`` checks."""
        # earlier versions did not save the number of actions
        actions: int = getattr(self, "n_actions_", None) or self.n_actions or 0
        return {
            "values_.factors": (actions * self.n_features_, self.n_tasks_),
            "values_.intercept": (actions, self.n_tasks_),
        }

    def fit(
        self, tasks: Sequence[Any], states: Any = None, *, n_episodes: int = 100
    ) -> MultiTaskFQI:
        """Learn from generative models, with new samples in every iteration, or environments.

        Parameters
        ----------
        tasks : sequence of GenerativeTask, or of Gymnasium environments or their names
            Objects with a method ``sample(states, action, rng)`` that returns rewards, next states
            and whether the episode ended. Environments cannot be sampled in given states: logs of
            random actions are collected, as by :func:`thinrank.rl.gym.log_episodes`.
        states : array of shape (n_states, ...), default=None
            Design states, in which every action is taken; None for environments.
        n_episodes : int, default=100
            Number of episodes that are logged in each environment.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _check_parameters(self.get_params(deep=False))
        tasks = list(tasks) if is_list(tasks) and not _is_log(tasks) else [tasks]
        if not tasks:
            raise ValueError("tasks must contain at least one task, but it is empty")
        if all(is_environment(task) for task in tasks):
            if states is not None:
                raise ValueError(
                    "states must be left out for environments, which cannot be sampled in given "
                    "states: fit(environments, n_episodes=...) logs random actions, and "
                    "fit_batch([log_episodes(env, policy), ...]) learns from other logs"
                )
            seeds = range(seed := seed_from(self.random_state), seed + len(tasks))
            each = zip(tasks, seeds, strict=True)
            return self.fit_batch([log_episodes(e, None, n_episodes, s) for e, s in each])
        for number, task in enumerate(tasks):
            if _is_log(task):
                raise TypeError(
                    f"tasks must have a method sample(states, action, rng), task {number} is a log "
                    f"of transitions ({type(task).__name__}): use fit_batch(transitions)"
                )
        if states is None:
            raise ValueError(
                "states must be given: the design states, at which the tasks are sampled"
            )
        n_actions = self.n_actions or getattr(tasks[0], "n_actions", None)
        if n_actions is None:
            raise ValueError("n_actions must be given, because the tasks have no such attribute")
        ends = [bool(getattr(task, "episodic", False)) for task in tasks]
        discounts = check_discounts(self.discount, self.episodic, ends)
        seed = seed_from(self.random_state)
        design = np.asarray(states)
        if design.ndim == 0 or len(design) == 0:
            raise ValueError("states must contain at least one state, but there is none")
        features = self.features
        if features is None:
            known = getattr(tasks[0], "n_states", None)
            features = default_features(design, known)
        targets = GenerativeTargets(
            tasks, design, n_actions, features, discounts, self.expectation, seed
        )
        return self._iterate(targets, features, seed, design.shape[1:])

    def fit_batch(self, transitions: Any) -> MultiTaskFQI:
        """Learn from logged data, the same in every iteration.

        If tasks have transitions at different states, the default regressor, regressors of
        scikit-learn and, with ``pooled=True``, all regressors can be fitted. For
        SparseReducedRankRegressor and SparseReducedRankRegressorCV the loss is then
        :class:`thinrank.losses.PerTask`, which needs ``standardize=False`` and
        ``fit_intercept=False``; sizes that are "auto" are chosen by the loss on held-out
        episodes, whatever the criterion.

        Parameters
        ----------
        transitions : Transitions, minari.MinariDataset, str, or list of them
            The logged data of all tasks, or one log per task. A name is that of a dataset of
            Minari.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _check_parameters(self.get_params(deep=False))
        log = _as_transitions(transitions)
        if self.expectation:
            raise ValueError(
                "expectation=True needs tasks; expectations cannot be computed from logged data"
            )
        discounts = check_discounts(self.discount, self.episodic, [False] * log.n_tasks)
        features = self.features
        if features is None:
            following = log.next_states
            if following.dtype.kind == "f":  # after an end it may be anything
                following = following[~log.terminated]
            features = default_features(np.concatenate([log.states, following]))
        n_actions = self.n_actions or int(log.actions.max()) + 1
        targets = logged_targets(log, features, n_actions, discounts)
        seed = seed_from(self.random_state)
        return self._iterate(targets, features, seed, log.states.shape[1:])

    def q_values(self, task: int, states: Any) -> np.ndarray:
        """Action values Q(s, ·) of a task in several states, of shape (n_states, n_actions)."""
        check_is_fitted(self, "values_")
        return self.values_.values(self._task(task), np.asarray(states))

    def policy(self, task: int) -> GreedyPolicy:
        """The greedy policy of a task: the actions of several states, or that of one."""
        check_is_fitted(self, "values_")
        shape = getattr(self, "state_shape_", None)  # earlier versions did not save it
        return GreedyPolicy(self.values_, self._task(task), shape)

    @property
    def factors_(self) -> Factors:
        """Factors of Θ."""
        return self._linear().factors

    @property
    def theta_(self) -> np.ndarray:
        """Θ as a dense array of shape (n_actions * n_features, n_tasks)."""
        return self._linear().factors.theta

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of shape (n_actions, n_tasks)."""
        return self._linear().intercept

    def _iterate(
        self, targets: Targets, features: Features, seed: int, state_shape: tuple[int, ...]
    ) -> MultiTaskFQI:
        """Alternate between computing targets and fitting a regression."""
        rows = targets.rows
        regression = as_regression(
            self.regressor, features, targets, self.pooled, self.warm_start, seed
        )
        self.best_params_: dict[str, Any] | None = getattr(regression, "best_params", None)
        values: ActionValues = LinearValues.zero(features, rows.shape)
        fitted, history, began = rows.values(values), QHistory(), time.perf_counter()
        shown = "fitted Q-iteration", self.n_iterations
        show: dict[str, Any] = {"show": self.verbose > 0, "time_left": True}
        with with_progress_bar(self.callback, _describe, *shown, **show) as callback:
            for iteration in range(1, self.n_iterations + 1):
                start = time.perf_counter()
                y = targets.under(values)
                _check_size(y, iteration)
                sampled = time.perf_counter()
                values = regression.fit(y, _tunes(self.tune_at, iteration))
                before, fitted = fitted, rows.values(values)
                squares, ones = (y - before) ** 2, np.ones_like(y)
                end = time.perf_counter()
                support = rank = None
                if isinstance(values, LinearValues):
                    support = np.asarray(values.factors.row_support)
                    rank = values.factors.rank
                record = QRecord(
                    iteration=iteration,
                    bellman_residual=_root_mean_square(y - before),
                    bellman_residuals=np.sqrt(rows.task_sums(squares) / rows.task_sums(ones)),
                    misfit=_root_mean_square(y - fitted),
                    change=_root_mean_square(fitted - before),
                    rows=None if support is None else len(support),
                    rank=rank,
                    row_support=support,
                    seconds_targets=sampled - start,
                    seconds_regression=end - sampled,
                    seconds=end - began,
                )
                history.append(record)
                stop = callback is not None and callback(record)
                if stop or record.change < self.tol * _root_mean_square(fitted):
                    break
        _warn_of_failure(history, float(np.abs(fitted).max()))
        self.values_: ActionValues = values
        self.history_ = history
        self.n_iterations_, self.state_shape_ = len(history), tuple(state_shape)
        self.n_actions_, self.n_features_, self.n_tasks_ = rows.shape
        return self

    def _task(self, task: Any) -> int:
        if isinstance(task, Integral) and 0 <= int(task) < self.n_tasks_:
            return int(task)
        raise ValueError(f"task must be an integer from 0 to {self.n_tasks_ - 1}, got {task!r}")

    def _linear(self) -> LinearValues:
        check_is_fitted(self, "values_")
        if not isinstance(self.values_, LinearValues):
            raise AttributeError(
                f"{self.regressor!r} is not linear in the features: there are no coefficients"
            )
        return self.values_


def _describe(record: QRecord) -> str:
    """What the progress bar says about an iteration."""
    rows = "" if record.rows is None else f"  rows {record.rows}"
    return f"Bellman residual {record.bellman_residual:.3g}{rows}"


def _warn_of_failure(history: QHistory, size: float) -> None:
    """Warn if the result is useless; ``size`` is the largest value of Q at the design pairs."""
    first, last = history[0], history[-1]
    if last.rank == 0 and last.misfit > 1e-6 * size:  # more than rounding errors
        warnings.warn(
            "no feature is in use: the last regression chose rank 0, although its targets have a "
            f"root mean square of {last.misfit:.3g}. Use more design states, other features, or "
            "fixed values of rank and row_sparsity",
            UserWarning,
            stacklevel=4,
        )
    largest = max(history.bellman_residuals)
    if largest > 1e6 * first.bellman_residual > 0:  # a rule of thumb
        warnings.warn(
            f"values seem to diverge: the Bellman residual grew from {first.bellman_residual:.3g} "
            f"to {largest:.3g}",
            UserWarning,
            stacklevel=4,
        )


def _check_size(y: np.ndarray, iteration: int) -> None:
    largest = float(np.abs(y).max())
    if not largest <= LARGEST:
        raise ValueError(
            f"values diverge: targets in iteration {iteration} are as large as {largest:.2g}; try "
            "other features, more design states, a regressor with a penalty or a smaller discount"
        )


def _root_mean_square(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def _check_parameters(parameters: dict[str, Any]) -> None:
    """Raise an error that names a parameter of MultiTaskFQI with an invalid value."""
    tune_at, tol = parameters["tune_at"], parameters["tol"]
    if parameters["n_actions"] is not None:
        positive_integer("n_actions", parameters["n_actions"])
    positive_integer("n_iterations", parameters["n_iterations"])
    if parameters["features"] is not None and not callable(parameters["features"]):
        raise TypeError(
            "features must be a function of states, such as tr.rl.Identity(), or None, got "
            f"{type(parameters['features']).__name__}"
        )
    words = isinstance(tune_at, str)
    if not isinstance(tune_at, Collection) or (words and tune_at not in ("every", "doubling")):
        raise ValueError(
            f'tune_at must be "every", "doubling" or a list of iterations, got {tune_at!r}'
        )
    check_number("tol", tol)
    check_callback(parameters["callback"])


def _tunes(tune_at: str | Collection[int], iteration: int) -> bool:
    """Whether automatic parameters are chosen in an iteration."""
    if isinstance(tune_at, str):
        return tune_at == "every" or iteration & (iteration - 1) == 0
    return iteration in tune_at or iteration == 1


def _as_transitions(logs: Any) -> Transitions:
    """A log of several tasks, from one log, one per task, or datasets of Minari or their names."""
    if isinstance(logs, Transitions):
        return logs
    each = list(logs) if isinstance(logs, (list, tuple)) else [logs]
    for task, log in enumerate(each):
        if not isinstance(log, Transitions) and not is_minari(log):
            raise TypeError(
                "transitions must be tr.rl.Transitions, a dataset of Minari or its name, or a list "
                f"with one of them per task; that of task {task} is {type(log).__name__}"
            )
    if not each:
        raise TypeError("transitions must be the log of at least one task, got an empty list")
    return Transitions.of_tasks(
        [log if isinstance(log, Transitions) else from_minari(log) for log in each]
    )


def _is_log(task: Any) -> bool:
    return isinstance(task, Transitions) or hasattr(task, "iterate_episodes")
