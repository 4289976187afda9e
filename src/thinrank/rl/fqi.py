"""Fitted Q-iteration for several tasks: Algorithm 2 of the paper."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from thinrank.core.factors import Factors
from thinrank.core.progress import with_progress_bar
from thinrank.minimize import seed_from
from thinrank.rl import fqi_inputs
from thinrank.rl.action_values import ActionValues, LinearValues
from thinrank.rl.episodes import is_environment
from thinrank.rl.estimates import PolicyValue, evaluate
from thinrank.rl.features import Features
from thinrank.rl.greedy_policy import GreedyPolicy
from thinrank.rl.gym import log_episodes
from thinrank.rl.history import QCallback, QHistory, describe, warn_of_failure
from thinrank.rl.iteration import iterate
from thinrank.rl.regression import as_regression
from thinrank.rl.targets import GenerativeTargets, LoggedTargets, Targets


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
    features : callable
        ``features(states)`` returns an array or scipy sparse matrix of shape
        (n_states, n_features); see :mod:`thinrank.rl.features`.
    n_actions : int
        Number of actions A. Actions are 0 to A − 1 in all tasks.
    discount : float or sequence of float
        The discount γ in (0, 1], one for all tasks or one per task; 1 only for episodic tasks.
    regressor : regressor, default=None
        Fits Θ to the targets. If None, :class:`~thinrank.rl.CommonPart` with automatic sizes. Any
        estimator or baseline of thinrank is allowed, and any regressor of scikit-learn, which is
        fitted separately for each task and action; see Notes.
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
        The iterations in which automatic parameters of the regressor are chosen; the other
        iterations use the last choice. "doubling" means iterations 1, 2, 4, 8 and so on. Only for
        regressors with ``best_params_``; the default regressor chooses once, before the iterations.
    warm_start : bool, default=True
        Whether a regression with ``start="auto"`` starts from the last solution.
    tol : float, default=0.0
        Stop when the relative change of Q (root mean square at the design pairs) is below this.
        With new samples in every iteration, the change does not fall below their noise.
    random_state : int, RandomState, Generator or None, default=None
        Seed of samples and folds; None for a fixed seed.
    verbose : int, default=0
        Whether to show a progress bar on standard error.
    callback : callable, default=None
        Called with the :class:`~thinrank.rl.QRecord` of each iteration; returning True stops the
        fit.

    Attributes
    ----------
    factors_ : Factors
        Factors of Θ.
    theta_ : ndarray of shape (n_actions * n_features, n_tasks)
        Θ as a dense array; the rows are ordered action by action.
    coef_ : ndarray of shape (n_tasks, n_actions * n_features)
        The transpose of ``theta_``.
    intercept_ : ndarray of shape (n_actions, n_tasks)
        Zero unless the regressor fits an intercept.
    values_ : LinearValues or PredictedValues
        The action values Q. PredictedValues if the regressor is not linear; then there are no
        ``factors_``.
    history_ : QHistory
        One record per iteration: Bellman residual, change of Q, rows, rank, seconds.
    n_iterations_, n_tasks_ : int
        Numbers of iterations and tasks.
    n_features_ : int
        Number of features of a state.
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
    state_shape_: tuple[int, ...]
    best_params_: dict[str, Any] | None

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
        states : array of shape (n_states, ...), or list of such arrays, default=None
            Design states, for all actions or one array per action; None for environments.
        n_episodes : int, default=100
            Number of episodes that are logged in each environment.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        fqi_inputs.check_parameters(self.get_params(deep=False))
        tasks = list(tasks)
        if not tasks:
            raise ValueError("tasks must contain at least one task, but it is empty")
        if all(is_environment(task) for task in tasks):
            return self._fit_environments(tasks, states, n_episodes)
        fqi_inputs.check_generative(tasks)
        if states is None:
            raise ValueError(
                "states must be given: the design states, at which the tasks are sampled"
            )
        ends = [bool(getattr(task, "episodic", False)) for task in tasks]
        discounts = fqi_inputs.discounts_of(self.discount, self.episodic, ends)
        seed = seed_from(self.random_state)
        design = fqi_inputs.design_states(states, self.n_actions)
        targets = GenerativeTargets(tasks, design, self.features, discounts, self.expectation, seed)
        return self._iterate(targets, seed, design[0].shape[1:])

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
        fqi_inputs.check_parameters(self.get_params(deep=False))
        log = fqi_inputs.as_transitions(transitions)
        if self.expectation:
            raise ValueError(
                "expectation=True needs tasks; expectations cannot be computed from logged data"
            )
        discounts = fqi_inputs.discounts_of(self.discount, self.episodic, [False] * log.n_tasks)
        targets = LoggedTargets(log, self.features, self.n_actions, discounts)
        return self._iterate(targets, seed_from(self.random_state), log.states.shape[1:])

    def q_values(self, task: int, states: Any) -> np.ndarray:
        """Action values Q(s, ·) of a task.

        Parameters
        ----------
        task : int
            Number of the task.
        states : array of shape (n_states, ...)
            The states.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
        """
        check_is_fitted(self, "values_")
        return self.values_.values(self._task(task), np.asarray(states))

    def policy(self, task: int) -> GreedyPolicy:
        """The greedy policy of a task.

        Parameters
        ----------
        task : int
            Number of the task.

        Returns
        -------
        GreedyPolicy
            ``policy(states)`` returns the actions, an array of shape (n_states,), and
            ``policy(state)`` the action of one state.
        """
        check_is_fitted(self, "values_")
        shape = getattr(self, "state_shape_", None)  # earlier versions did not save it
        return GreedyPolicy(self.values_, self._task(task), shape)

    def evaluate(
        self,
        env: Any,
        n_episodes: int = 100,
        *,
        task: int = 0,
        discount: float = 1.0,
        level: float = 0.95,
        seed: int = 0,
    ) -> PolicyValue:
        """Play episodes with the greedy policy of a task, and estimate its mean return.

        Parameters
        ----------
        env : str, gymnasium.Env or gymnasium.vector.VectorEnv
            The environment.
        n_episodes : int, default=100
            Number of episodes.
        task : int, default=0
            Number of the task.
        discount, level, seed
            As for :func:`thinrank.rl.evaluate`.

        Returns
        -------
        PolicyValue
            The mean return with an interval.
        """
        policy = self.policy(task)
        return evaluate(env, policy, n_episodes, discount=discount, level=level, seed=seed)

    @property
    def factors_(self) -> Factors:
        """Factors of Θ."""
        return self._linear().factors

    @property
    def theta_(self) -> np.ndarray:
        """Θ as a dense array of shape (n_actions * n_features, n_tasks)."""
        return self._linear().factors.theta

    @property
    def coef_(self) -> np.ndarray:
        """Θᵀ as a dense array of shape (n_tasks, n_actions * n_features)."""
        return self.theta_.T

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of shape (n_actions, n_tasks)."""
        return self._linear().intercept

    def _fit_environments(
        self, environments: Sequence[Any], states: Any, n_episodes: int
    ) -> MultiTaskFQI:
        """Learn from logs of random actions."""
        if states is not None:
            raise ValueError(
                "states must be left out for environments, which cannot be sampled in given "
                "states: fit(environments, n_episodes=...) logs random actions, and "
                "fit_batch([log_episodes(env, policy), ...]) learns from other logs"
            )
        seed = seed_from(self.random_state)
        logs = [
            log_episodes(env, n_episodes=n_episodes, seed=seed + number)
            for number, env in enumerate(environments)
        ]
        return self.fit_batch(logs)

    def _iterate(self, targets: Targets, seed: int, state_shape: tuple[int, ...]) -> MultiTaskFQI:
        regression = as_regression(
            self.regressor,
            self.features,
            pooled=self.pooled,
            warm_start=self.warm_start,
            seed=seed,
        )
        prepare = getattr(regression, "prepare", None)
        if prepare is not None:
            prepare(targets)
        self.best_params_ = getattr(regression, "best_params", None)
        zero = LinearValues.zero(self.features, targets.rows)
        with with_progress_bar(
            self.callback,
            describe,
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
                tunes=partial(fqi_inputs.tunes, self.tune_at),
                tol=self.tol,
                callback=callback,
            )
        warn_of_failure(self.history_, float(np.abs(self.values_.at(targets.rows)).max()))
        self.n_iterations_, self.state_shape_ = len(self.history_), tuple(state_shape)
        self.n_tasks_, self.n_features_ = targets.rows.n_tasks, targets.rows.n_features
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
