"""Arguments of constructors, ``fit`` and ``predict`` of every public estimator."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from fuzz_data import fingerprint, matrix, presented, responses, weights
from fuzz_trial import Attempt, Trial, WrongError

import thinrank as tr

_COUNTS = ("SparseReducedRankGLM",)
_LABELS = ("SparseReducedRankClassifier",)
_SYMMETRIC = ("SparseLowRankGraph",)  # takes the weights of a graph

# Values that suit a parameter; sizes are given, so that a fit takes milliseconds.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "rank": (1, 2),
    "row_sparsity": (2, 3, None),
    "column_sparsity": (2, None),
    "ranks": ([1], [1, 2], range(1, 3)),
    "row_sparsities": ([2], [1, None]),
    "column_sparsities": ([2], [None]),
    "ridges": ([0.0], [0.1, 1.0]),
    "penalty": (0.1, 1.0, 0.0),
    "column_threshold": (0.1, 0.0),
    "row_threshold": (0.1, 0.0),
    "n_penalties": (2, 3),
    "n_thresholds": (2,),
    "n_ridges": (2,),
    "family": ("gaussian", "poisson", "bernoulli", "negative_binomial", "multinomial", "huber"),
    "loss": ("squared", "squared", "huber"),
    "solver": ("auto", "pursuit", "gdt"),
    "start": ("auto", "screening", "spectral", "lasso", "group_lasso", "proximal"),
    "criterion": ("auto", "cv", "pic", "bic", "gcv"),
    "cv": (2, 3),
    "refit_rule": ("best", "one_se", "thinnest"),
    "ridge": (0.0, 0.1, 10.0),
    "standardize": (True, False),
    "fit_intercept": (True, False),
    "always_keep": (None, [0], [1, 0]),
    "max_iter": (1, 20),
    "tol": (1e-3, 1e-7),
    "random_state": (None, 0, np.random.RandomState(1)),
    "layers": (False, True),
    "background": ("auto", 0, 1),
    "gamma": (0.0, 0.5),
}
# Sizes that a search chooses are left to it in some cases; the others are always given.
_SIZES = ("rank", "row_sparsity", "column_sparsity", "ranks", "row_sparsities", "column_sparsities",
          "ridges", "penalty", "column_threshold", "row_threshold", "family", "n_penalties",
          "n_thresholds", "n_ridges")  # fmt: skip
_ODD: tuple[Any, ...] = (
    None, -1, 0, 1, 1.5, np.nan, np.inf, -np.inf, "text", "", "auto", [], [0], [-1], [99], {}, (),
    True, False, 2.0, "1", b"x", 1j, np.int64(2), np.float32(0.5), np.array([1, 2]), np.array(2),
    object(), ["a"], [None], [[0]], [1.5], print, int, 1e-300, 1e300, [1, 1],
    np.array([True, False]),
)  # fmt: skip
_HUGE = 10**12
_WORK = ("n_", "max_iter", "cv")  # parameters whose huge values rightly take long
_SILENT = ("verbose", "n_jobs")  # nothing about the data


def estimator_names() -> list[str]:
    """All public estimators of matrices."""
    own = [name for name in tr.__all__ if name.startswith("Sparse")]
    return own + list(tr.baselines.__all__)


def attempt_of(name: str) -> Attempt:
    """The attempt for an estimator."""

    def attempt(trial: Trial) -> None:
        kind = getattr(tr, name, None) or getattr(tr.baselines, name)
        _fit_and_use(trial, kind)

    return attempt


def _fit_and_use(trial: Trial, kind: Any) -> None:
    estimator = kind(**_parameters(trial, kind))
    trial.note(repr(estimator))
    few = trial.chance(0.2)
    n = trial.number(1 if few else 6, 12)
    p, k = trial.number(1 if few else 3, 8), trial.number(1 if few else 2, 5)
    numbers = matrix(trial, n, p)
    if kind.__name__ in _SYMMETRIC and trial.chance(0.9):
        square = matrix(trial, n, n)
        numbers = np.abs(square + square.T)
        np.fill_diagonal(numbers, 0.0)
    suited = {**dict.fromkeys(_COUNTS, "counts"), **dict.fromkeys(_LABELS, "labels")}
    Y = responses(trial, suited.get(kind.__name__, "numbers"), numbers.copy(), k)
    X = presented(trial, numbers)
    given = _more_arguments(trial, kind, n, k)
    for name, value in {"X": X, "y": Y, **given}.items():
        trial.note(f"{name}: {type(value).__name__} {value!r}")
    if trial.chance(0.02):
        _use(trial, estimator, X, Y)  # not fitted
    before = [fingerprint(each) for each in (X, Y, *given.values())]
    try:
        estimator.fit(X, Y, **given)
    finally:
        if [fingerprint(each) for each in (X, Y, *given.values())] != before:
            raise WrongError("fit modified its input")
    _check_finite(estimator)
    _use(trial, estimator, X, Y)


def _parameters(trial: Trial, kind: Any) -> dict[str, Any]:
    names = [name for name in inspect.signature(kind).parameters if name not in _SILENT]
    automatic = trial.chance(0.05)
    chosen = {}
    for name in names:
        if name in _PLAIN and (trial.chance(0.15) or (name in _SIZES and not automatic)):
            chosen[name] = trial.choice(_PLAIN[name])
    if "max_iter" in names:  # GDT on separable classes rightly goes to the limit of 10,000
        chosen.setdefault("max_iter", trial.choice((200, 20, 1)))
    if trial.chance(0.3):
        for _ in range(trial.number(1, 2)):
            name = trial.choice(names)
            few = name.startswith(_WORK)
            chosen[name] = trial.choice(_ODD if few else (*_ODD, _HUGE))
    return chosen


def _more_arguments(trial: Trial, kind: Any, n: int, k: int) -> dict[str, Any]:
    """Weights, offsets and groups, for estimators that take them."""
    shapes = {"sample_weight": (n,), "entry_weight": (n, k), "offset": (n, k), "groups": (n,)}
    names = inspect.signature(kind.fit).parameters
    return {
        name: weights(trial, shape)
        for name, shape in shapes.items()
        if name in names and trial.chance(0.08)
    }


def _check_finite(estimator: Any) -> None:
    for name in ("coef_", "intercept_", "components_"):
        value = getattr(estimator, name, None)
        if value is not None and not np.all(np.isfinite(np.asarray(value, dtype=float))):
            raise WrongError(f"{name} is not finite")


def _use(trial: Trial, estimator: Any, X: Any, Y: Any) -> None:
    """Apply the estimator to the same or to odd data."""
    known = ("predict", "transform", "score", "predict_proba", "summary")
    methods = [name for name in known if hasattr(type(estimator), name)]
    if not methods:
        return
    method = trial.choice([*methods, methods[0]])
    if trial.chance(0.25):
        X = presented(trial, matrix(trial, trial.number(0, 4), trial.number(0, 8)))
    trial.note(f"{method}: {type(X).__name__} {X!r}")
    before = fingerprint(X)
    if method == "summary":
        str(estimator.summary())
    elif method == "score":
        estimator.score(X, Y)
    else:
        getattr(estimator, method)(X)
    if fingerprint(X) != before:
        raise WrongError(f"{method} modified its input")
