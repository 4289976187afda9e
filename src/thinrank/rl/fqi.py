"""Fitted Q-iteration for several tasks at once: Algorithm 2 of the paper."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from thinrank.core.factors import Factors
from thinrank.core.progress import with_progress_bar
from thinrank.minimize import check_size, seed_from
from thinrank.rl.action_values import ActionValues, LinearValues
from thinrank.rl.features import Features
from thinrank.rl.history import QCallback, QHistory, QRecord
from thinrank.rl.iteration import iterate
from thinrank.rl.regression import as_regression
from thinrank.rl.targets import GenerativeTargets, LoggedTargets, Targets
from thinrank.rl.tasks import check_discounts
from thinrank.rl.transitions import Transitions

__all__ = ["MultiTaskFQI"]

Policy = Callable[[Any], np.ndarray]
"""``policy(states) -> (n,)`` actions."""

# A misfit below this part of the values is rounding.
_ROUNDING = 1e-6
# How much larger than at first the Bellman residual may become without a warning.
_GROWTH = 1e6


class MultiTaskFQI(BaseEstimator):
    """Learn the action values Q of k related tasks together, by regression after regression.

    With φ(s, a) the features φ(s) in the block of action a and zeros elsewhere, the values of task
    t are Q(s, a) = ⟨φ(s, a), θₜ⟩. From Q = 0 each iteration computes the targets
    y = r + γ·max_b Q(s′, b) of all tasks at the design pairs (y = r where an episode ends), and
    fits Θ = [θ₁ … θ_k] to them. If few features matter and the tasks are mixtures of few ones, Θ
    has few non-zero rows and low rank, and the tasks help one another.

    Parameters
    ----------
    features : callable
        ``features(states) -> (n, p_s)``, dense or scipy sparse; see :mod:`thinrank.rl.features`.
    n_actions : int
        A; actions are 0 to A − 1 in all tasks.
    discount : float or sequence of k floats
        γ in (0, 1]; 1 for episodic tasks only.
    regressor : regressor, optional
        :class:`~thinrank.SparseReducedRankRegressor` with rows sparse and columns not, all sizes
        chosen, when missing. Any estimator or baseline of thinrank will do, and any regressor
        of scikit-learn, which is then fitted for each task and action; see the notes.
    n_iterations : int
        T.
    pooled : bool
        Whether to take all tasks for one and the same.
    expectation : bool
        Whether to ask tasks for expectations (``expect``) in place of samples.
    episodic : bool or sequence of k bools, optional
        Whether every episode ends. None: what the tasks' attribute ``episodic`` says, and False
        where there is none.
    tune_at : "every", "doubling" or collection of int
        In which iterations parameters that are left to the regressor are chosen; in the others
        the last choice stays. "doubling" is 1, 2, 4, 8 and so on. For regressors with
        ``best_params_``.
    warm_start : bool
        Whether a regression with start="auto" begins where the last one ended.
    tol : float
        Stop when Q changes less than this part of itself (root mean square at the design
        pairs). With fresh samples it never settles beyond their noise.
    random_state : int, RandomState, Generator or None
        Of samples and folds; None gives the same answer every time.
    verbose : int
        Whether to show a progress bar on standard error.
    callback : callable, optional
        Called with the :class:`~thinrank.rl.QRecord` of each iteration; returning True stops.

    Attributes
    ----------
    factors_ : Factors
        Of Θ; ``theta_`` is the same as an array of shape (A·p_s, k), action by action, and
        ``coef_`` its transpose.
    intercept_ : ndarray of shape (A, k)
        Zero unless the regressor has one.
    values_ : LinearValues or PredictedValues
        Q itself; of the second kind, without ``factors_``, for regressors that are not linear.
    history_ : QHistory
        One record an iteration: Bellman residual, change of Q, rows, rank, seconds.
    n_iterations_, n_tasks_ : int
    n_features_ : int
        p_s.

    Notes
    -----
    Estimators of thinrank are fitted to all tasks and actions at once, and an integer ``cv`` of
    theirs holds out states with all their actions. Baselines of thinrank are fitted once an
    action, since their penalties separate; regressors of scikit-learn once a task and action.

    References
    ----------
    M. Yu, V. Gupta and M. Kolar, Recovery of simultaneous low rank and two-way sparse coefficient
    matrices, a nonconvex approach, Electronic Journal of Statistics 14 (2020), Algorithm 2.
    D. Calandriello, A. Lazaric and M. Restelli, Sparse multi-task reinforcement learning, NIPS
    2014.

    Examples
    --------
    Two tasks on three states in a ring, which pay for different states:

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

    def __init__(
        self,
        features: Features,
        n_actions: int,
        discount: float | Sequence[float],
        regressor: Any = None,
        *,
        n_iterations: int = 50,
        pooled: bool = False,
        expectation: bool = False,
        episodic: bool | Sequence[bool] | None = None,
        tune_at: str | Collection[int] = "every",
        warm_start: bool = True,
        tol: float = 0.0,
        random_state: Any = None,
        verbose: int = 0,
        callback: QCallback | None = None,
    ) -> None:
        self.features = features
        self.n_actions = n_actions
        self.discount = discount
        self.regressor = regressor
        self.n_iterations = n_iterations
        self.pooled = pooled
        self.expectation = expectation
        self.episodic = episodic
        self.tune_at = tune_at
        self.warm_start = warm_start
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    values_: ActionValues
    history_: QHistory
    n_iterations_: int
    n_tasks_: int
    n_features_: int

    def fit(self, tasks: Sequence[Any], states: Any) -> MultiTaskFQI:
        """Learn from generative models, with fresh samples in every iteration.

        Parameters
        ----------
        tasks : sequence of GenerativeTask
            Anything with ``sample(states, action, rng) -> rewards, next_states, terminated``.
        states : array of shape (n, ...), or list of A such arrays
            Design states: for all actions, or for each.

        Returns
        -------
        self
        """
        self._check()
        tasks = list(tasks)
        if not tasks:
            raise ValueError("tasks must hold at least one task, it is empty")
        ends = [bool(getattr(task, "episodic", False)) for task in tasks]
        discounts = self._discounts(ends)
        seed = seed_from(self.random_state)
        targets = GenerativeTargets(
            tasks, self._design_states(states), self.features, discounts, self.expectation, seed
        )
        return self._iterate(targets, seed)

    def fit_batch(self, transitions: Transitions) -> MultiTaskFQI:
        """Learn from logged data, the same in every iteration.

        Where tasks have transitions at states of their own the loss is
        :class:`thinrank.losses.PerTask`: for gradient descent with given sizes, for regressors
        of scikit-learn, and with ``pooled`` for all.

        Parameters
        ----------
        transitions : Transitions

        Returns
        -------
        self
        """
        self._check()
        if not isinstance(transitions, Transitions):
            raise TypeError(
                f"transitions must be tr.rl.Transitions, got {type(transitions).__name__}"
            )
        if self.expectation:
            raise ValueError("expectation=True needs tasks: logged data have no expectations")
        discounts = self._discounts([False] * transitions.n_tasks)
        targets = LoggedTargets(transitions, self.features, self.n_actions, discounts)
        return self._iterate(targets, seed_from(self.random_state))

    def q_values(self, task: int, states: Any) -> np.ndarray:
        """Q(s, ·) of a task, of shape (n, A)."""
        check_is_fitted(self, "values_")
        return self.values_.values(self._task(task), np.asarray(states))

    def policy(self, task: int) -> Policy:
        """The greedy policy of a task: ``policy(states) -> (n,)`` actions."""
        check_is_fitted(self, "values_")
        values, index = self.values_, self._task(task)

        def greedy(states: Any) -> np.ndarray:
            return np.argmax(values.values(index, np.asarray(states)), axis=1)

        return greedy

    @property
    def factors_(self) -> Factors:
        """Θ as factors."""
        return self._linear().factors

    @property
    def theta_(self) -> np.ndarray:
        """Θ of shape (A·p_s, k)."""
        return self._linear().factors.theta

    @property
    def coef_(self) -> np.ndarray:
        """Θᵀ of shape (k, A·p_s)."""
        return self.theta_.T

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of shape (A, k)."""
        return self._linear().intercept

    def _iterate(self, targets: Targets, seed: int) -> MultiTaskFQI:
        regression = as_regression(
            self.regressor,
            self.features,
            pooled=self.pooled,
            warm_start=self.warm_start,
            seed=seed,
        )
        zero = LinearValues.zero(self.features, targets.rows)
        with with_progress_bar(
            self.callback,
            _describe,
            "fitted Q-iteration",
            self.n_iterations,
            show=self.verbose > 0,
            time_left=True,
        ) as callback:
            self.values_, self.history_ = iterate(
                targets,
                regression,
                zero,
                n_iterations=self.n_iterations,
                tunes=self._tunes,
                tol=self.tol,
                callback=callback,
            )
        _warn_of_failure(self.history_, float(np.abs(self.values_.at(targets.rows)).max()))
        self.n_iterations_ = len(self.history_)
        self.n_tasks_, self.n_features_ = targets.rows.n_tasks, targets.rows.n_features
        return self

    def _tunes(self, iteration: int) -> bool:
        if isinstance(self.tune_at, str):
            return self.tune_at == "every" or iteration & (iteration - 1) == 0
        return iteration in self.tune_at or iteration == 1

    def _check(self) -> None:
        check_size("n_actions", self.n_actions, 10**9, "actions")
        check_size("n_iterations", self.n_iterations, 10**9, "iterations")
        if not callable(self.features):
            raise TypeError(
                "features must be a function of states, such as tr.rl.Identity(), got "
                f"{type(self.features).__name__}"
            )
        if isinstance(self.tune_at, str) and self.tune_at not in ("every", "doubling"):
            raise ValueError(
                f'tune_at must be "every", "doubling" or iterations, got {self.tune_at!r}'
            )
        if not isinstance(self.tune_at, Collection):
            raise ValueError(
                'tune_at must be "every", "doubling" or a collection of iterations, such as '
                f"[{self.tune_at!r}]; got {self.tune_at!r}"
            )
        if not 0 <= self.tol < float("inf"):
            raise ValueError(f"tol must be at least 0 and finite, got {self.tol!r}")

    def _discounts(self, declared: list[bool]) -> np.ndarray:
        episodic = declared
        if self.episodic is not None:
            given = np.asarray(self.episodic)
            if given.dtype != np.bool_ or given.shape not in ((), (len(declared),)):
                raise ValueError(
                    f"episodic must be a bool or {len(declared)} bools, one for each task, got "
                    f"{self.episodic!r}"
                )
            episodic = np.broadcast_to(given, (len(declared),)).tolist()
        return check_discounts(self.discount, episodic)

    def _design_states(self, states: Any) -> list[np.ndarray]:
        """Design states of each action; one array in all places when they are the same."""
        listed = isinstance(states, list) and all(isinstance(s, np.ndarray) for s in states)
        each = states if listed and states else [np.asarray(states)] * self.n_actions
        if len(each) != self.n_actions:
            raise ValueError(
                f"states must be one array, or a list of {self.n_actions} arrays, one for each "
                f"action; got a list of {len(each)}"
            )
        for action, array in enumerate(each):
            if array.ndim == 0 or len(array) == 0:
                raise ValueError(f"states must hold at least one state; action {action} has none")
        return each

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
    """Warn of answers without use; ``size`` is the largest value of Q at the design pairs."""
    first, last = history[0], history[-1]
    if last.rank == 0 and last.misfit > _ROUNDING * size:
        warnings.warn(
            "no feature is in use: the last regression chose rank 0, although its targets are "
            f"{last.misfit:.3g} away (root mean square). Give it more design states, other "
            "features, or numbers for rank and rows",
            UserWarning,
            stacklevel=4,
        )
    largest = max(history.bellman_residuals)
    if largest > _GROWTH * first.bellman_residual > 0:
        warnings.warn(
            f"values seem to diverge: the Bellman residual grew from {first.bellman_residual:.3g} "
            f"to {largest:.3g}",
            UserWarning,
            stacklevel=4,
        )
