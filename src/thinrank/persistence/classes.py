"""The classes that a model file may contain, and what is stored of their objects.

A file names a class by the place where it can be imported, as in "solvers.GDT" for
:class:`thinrank.solvers.GDT`. Nothing but the places in this table is ever imported because of
what a file says. Of an estimator, parameters and fitted attributes are stored; of another object,
the arguments of its constructor, which are attributes, too. A model says in ``_stored_shapes()``
which shapes its fitted attributes must have.
"""

from __future__ import annotations

import inspect
import re
import warnings
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator

from thinrank.core.factors import Factors
from thinrank.estimators.base import FactorModel
from thinrank.losses.families import Family
from thinrank.persistence.files import ModelFileError, as_model_file_error

# Storable classes by module of thinrank. None: all that the package exports.
_CLASSES = {
    "": "Factors Solution SparseLowRankGraph SparseMatrixCompletion SparsePCA SparseReducedRankGLM "
    "SparseReducedRankClassifier SparseReducedRankRegressor SparseReducedRankRegressorCV SparseSVD",
    "baselines": None,
    "calcium": "CalciumImaging Fluorescence Neurons Quality",
    "core.result": "History Outcome Record Status",
    "losses.families": None,
    "rl": "CommonPart Fourier Identity Lookup MultiTaskFQI QHistory QRecord Tabular",
    "rl.action_values": "LinearValues",
    "selection": "Criterion Sizes",
    "solvers": None,
    "starts": None,
}
# This argument is stored under the name of its attribute: ``step`` is a method.
_ATTRIBUTES = {"solvers.GDT": {"step": "step_rule"}}
# Fitted attributes end or begin with an underscore; this one is a setting of scikit-learn.
_FITTED = re.compile(r"(?!_metadata_request$)([A-Za-z]\w*_|_[A-Za-z]\w*)", re.ASCII)


@cache  # a history has thousands of records
def name_of(cls: Any) -> str | None:
    """The name of a class in model files; None for a class that cannot be stored."""
    for module, names in _CLASSES.items():
        inside = cls.__module__.startswith(f"thinrank.{module}.")
        if inside if names is None else cls.__name__ in names.split():
            name = f"{module}.{cls.__name__}".lstrip(".")
            if _found(name) is cls:
                return name
    return None


def class_of(name: Any) -> Any:
    """The class that a file names."""
    cls = _found(name) if isinstance(name, str) else None
    if cls is None:
        raise ModelFileError(f"the class {str(name)[:80]!r} is not one that thinrank stores")
    return cls


@cache
def _found(name: str) -> type | None:
    module, _, own = name.rpartition(".")
    if module not in _CLASSES:
        return None
    names = _CLASSES[module]
    package = import_module(f"thinrank.{module}".rstrip("."))
    if own not in (package.__all__ if names is None else names.split()):
        return None
    cls = getattr(package, own)
    return cls if isinstance(cls, type) and not inspect.isabstract(cls) else None


def is_estimator(cls: Any) -> bool:
    """Whether parameters and fitted attributes are stored, not the arguments of the constructor."""
    return issubclass(cls, BaseEstimator)


def is_model(cls: Any) -> bool:
    """Whether objects of a class can be saved by themselves."""
    name = name_of(cls)
    return name is not None and (is_estimator(cls) or name in ("Factors", "Solution"))


def is_fitted_attribute(cls: Any, name: str) -> bool:
    """Whether an attribute can be a result of ``fit``: no parameter, method or property."""
    if not _FITTED.fullmatch(name) or name in cls._get_param_names():
        return False
    return not hasattr(inspect.getattr_static(cls, name, None), "__get__")


@cache
def arguments(cls: Any) -> dict[str, str]:
    """The attributes that are stored, each with the argument of the constructor that it is for."""
    renamed = _ATTRIBUTES.get(name_of(cls) or "", {})
    return {renamed.get(name, name): name for name in inspect.signature(cls).parameters}


def fields_of(value: Any) -> dict[str, Any]:
    """What is stored of an object that is not an estimator."""
    fields = {name: getattr(value, name) for name in arguments(type(value))}  # type: ignore[arg-type]
    if isinstance(value, Family):  # a fitted one still says that its parameters are to be estimated
        fields["has_parameters"] = value.has_parameters
    return fields


def from_fields(cls: Any, fields: dict[str, Any]) -> Any:
    """The object with these fields; those that an older file lacks have their defaults."""
    given, known = dict(fields), arguments(cls)
    estimated = given.pop("has_parameters", None) if issubclass(cls, Family) else None
    unknown = set(given) - set(known)
    if unknown:
        raise ModelFileError(f"{name_of(cls)} has no field {min(unknown)[:80]!r}")
    built = cls(**{known[name]: value for name, value in given.items()})
    if estimated is not None:
        built.has_parameters = estimated
    if isinstance(built, Factors):
        for name, array in (("U", built.U), ("V", built.V)):
            if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
                raise ModelFileError(f"{name} of the factors must be a matrix of floats")
    return built


def check_model(model: Any) -> None:
    """Raise a ModelFileError if the parts of a model do not fit together.

    In a file that was made by hand, arrays may have the wrong shape.
    """
    fitted = vars(model) if is_estimator(type(model)) else {}
    if not any(name.endswith("_") for name in fitted) or not hasattr(model, "_stored_shapes"):
        return
    if "factors_" in fitted and not isinstance(fitted["factors_"], Factors):
        raise ModelFileError("factors_ must be Factors")
    with as_model_file_error("its parts do not fit together"):
        for name, shape in model._stored_shapes().items():
            _check_shape(name, attrgetter(name)(model), shape)
        if "feature_names_in_" in fitted:
            shape = (model.n_features_in_,)
            if np.shape(fitted["feature_names_in_"]) != shape:
                raise ModelFileError(f"feature_names_in_ must have the shape {shape}")
        if isinstance(model, FactorModel):
            row = scipy.sparse.csr_array((1, model.n_features_in_), dtype=np.float64)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # zeros have no names of predictors
                model.predict(row)
                model.transform(row)


def _check_shape(name: str, value: Any, shape: Any) -> None:
    if isinstance(shape, int):  # a number, or the length of a list
        if shape != (value if isinstance(value, int) else len(value)):
            raise ModelFileError(f"{name} must be {shape}, or have this length")
        return
    is_array = isinstance(value, (np.ndarray, float, Factors)) or scipy.sparse.issparse(value)
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    if not is_array or getattr(value, "shape", ()) != shape or kind not in "bif":
        raise ModelFileError(f"{name} must have the shape {shape}, and real numbers as entries")
