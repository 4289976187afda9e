"""The classes that a model file may contain.

A file names classes by the names in this table, or by the package that exports them. Nothing else
is ever imported because of what a file says. A class that is moved keeps its name here, so that
older files stay readable.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

from thinrank.losses.families import Family
from thinrank.persistence.errors import ModelFileError

# Packages whose exported classes can all be stored, as in "solvers.GDT".
_PACKAGES = ("baselines", "losses.families", "solvers", "starts")

# Other classes: estimators, results, and values of parameters.
_MODULES = {
    "SparseMatrixCompletion": "thinrank.matrices.matrix_completion",
    "SparseReducedRankRegressor": "thinrank.estimators.regressor",
    "SparseReducedRankRegressorCV": "thinrank.estimators.cross_validated",
    "SparseReducedRankGLM": "thinrank.estimators.glm",
    "SparseReducedRankClassifier": "thinrank.estimators.classifier",
    "SparseSVD": "thinrank.matrices.sparse_svd",
    "SparseLowRankGraph": "thinrank.matrices.low_rank_graph",
    "SparsePCA": "thinrank.matrices.sparse_pca",
    "baselines.refitted.RefittedGroupLasso": "thinrank.baselines.refitted",
    "baselines.refitted.RefittedLassos": "thinrank.baselines.refitted",
    "baselines.refitted.ShortPathGroupLasso": "thinrank.baselines.refitted",
    "baselines.refitted.ShortPathLassos": "thinrank.baselines.refitted",
    "baselines.compact_lassos.CompactGroupLasso": "thinrank.baselines.compact_lassos",
    "baselines.compact_lassos.CompactLassos": "thinrank.baselines.compact_lassos",
    "rl.CommonPart": "thinrank.rl.common_part_regression",
    "rl.MultiTaskFQI": "thinrank.rl.fqi",
    "calcium.CalciumImaging": "thinrank.calcium.imaging",
    "Factors": "thinrank.core.factors",
    "Solution": "thinrank.core.result",
    "core.result.History": "thinrank.core.result",
    "core.result.Outcome": "thinrank.core.result",
    "core.result.Record": "thinrank.core.result",
    "core.result.Status": "thinrank.core.result",
    "selection.Criterion": "thinrank.selection.criteria",
    "selection.Sizes": "thinrank.core.result",
    "calcium.Fluorescence": "thinrank.calcium.fluorescence",
    "calcium.Quality": "thinrank.calcium.quality",
    "rl.Fourier": "thinrank.rl.features",
    "rl.Identity": "thinrank.rl.features",
    "rl.Lookup": "thinrank.rl.features",
    "rl.QHistory": "thinrank.rl.history",
    "rl.QRecord": "thinrank.rl.history",
    "rl.RadialBasis": "thinrank.rl.features",
    "rl.Tabular": "thinrank.rl.features",
    "rl.action_values.LinearValues": "thinrank.rl.action_values",
}

# Constructor arguments of classes that do not declare them, or not under the attribute's name.
_ARGUMENTS: dict[str, dict[str, str]] = {
    "rl.action_values.LinearValues": {
        "features": "features",
        "factors": "factors",
        "intercept": "intercept",
    },
    "solvers.GDT": {
        "step_rule": "step",
        "update": "update",
        "balance": "balance",
        "max_iter": "max_iter",
        "tol": "tol",
    },
}

# What a fit stores has a name that ends or begins with an underscore.
_FITTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_|_[A-Za-z][A-Za-z0-9_]*")
# Attributes of scikit-learn that are settings and not results: requests for metadata.
_SETTINGS = frozenset({"_metadata_request"})

_NAMES = {(module, name.rpartition(".")[2]): name for name, module in _MODULES.items()}


@dataclass(frozen=True)
class Storable:
    """A class that can be stored."""

    name: str  # its name in model files
    cls: type  # the class

    @cached_property
    def is_estimator(self) -> bool:
        """Whether it has parameters and fitted attributes, not a fixed list of attributes."""
        return issubclass(self.cls, BaseEstimator)

    @property
    def is_model(self) -> bool:
        """Whether its objects can be saved by themselves."""
        return self.is_estimator or self.name in ("Factors", "Solution")

    @cached_property
    def is_list(self) -> bool:
        """Whether its objects are lists."""
        return issubclass(self.cls, list)

    @cached_property
    def is_enum(self) -> bool:
        """Whether its objects are members of an enumeration."""
        return issubclass(self.cls, Enum)

    @cached_property
    def arguments(self) -> dict[str, str]:
        """The attributes that are stored, each with the argument of the constructor it is for."""
        if self.name in _ARGUMENTS:
            return _ARGUMENTS[self.name]
        if is_dataclass(self.cls):
            return {field.name: field.name for field in fields(self.cls)}
        names = self.cls.parameters if self._is_family else self.cls._fields  # type: ignore[attr-defined]
        return {name: name for name in names}

    @cached_property
    def state(self) -> tuple[str, ...]:
        """The attributes that are stored and are not arguments of the constructor."""
        # a fitted family has estimated parameters, and still says that they are to be estimated
        return ("has_parameters",) if self._is_family else ()

    @property
    def _is_family(self) -> bool:
        return issubclass(self.cls, Family)

    def build(self, values: dict[str, Any]) -> Any:
        """An object with the stored attributes; those that an older file lacks have defaults."""
        arguments, state = self.arguments, self.state
        built = self.cls(**{arguments[name]: values[name] for name in arguments if name in values})
        for name in state:
            if name in values:
                setattr(built, name, values[name])
        return built


def name_of(cls: type) -> str | None:
    """The name of a class in model files; None for a class that cannot be stored."""
    package = cls.__module__.removeprefix("thinrank.").rpartition(".")[0]
    name = f"{package}.{cls.__qualname__}"
    if package in _PACKAGES and _exported(package).get(name) is cls:
        return name
    return _NAMES.get((cls.__module__, cls.__qualname__))


def find_class(name: Any) -> Storable:
    """The class that a file names."""
    storable = _imported(name) if isinstance(name, str) else None
    if storable is None:
        raise ModelFileError(f"the class {str(name)[:80]!r} is not one that thinrank stores")
    return storable


@cache  # a history has thousands of records
def _imported(name: str) -> Storable | None:
    package, _, own = name.rpartition(".")
    if name in _MODULES:
        return Storable(name, getattr(import_module(_MODULES[name]), own))
    cls = _exported(package).get(name) if package in _PACKAGES else None
    return None if cls is None else Storable(name, cls)


@cache
def _exported(package: str) -> dict[str, type]:
    """The classes that a package exports, by their names in model files."""
    module = import_module(f"thinrank.{package}")
    members = {f"{package}.{name}": getattr(module, name) for name in module.__all__}
    return {
        name: each
        for name, each in members.items()
        if isinstance(each, type) and not inspect.isabstract(each)
    }


def is_fitted_attribute(cls: Any, name: str) -> bool:
    """Whether an attribute of an estimator can be a result of ``fit``.

    Parameters, methods and properties of the class are not, so that a file cannot replace them.
    """
    if not _FITTED.fullmatch(name) or name in _SETTINGS or name in cls._get_param_names():
        return False
    return not hasattr(inspect.getattr_static(cls, name, None), "__get__")
