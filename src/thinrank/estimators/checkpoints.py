"""Fits that can be resumed after an interruption, to the same result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.sparse.linalg import LinearOperator

from thinrank import arrays
from thinrank.core.contracts import is_design
from thinrank.core.journal import Journal, is_recording, recording
from thinrank.designs import as_design
from thinrank.estimators.input_types import lazy_rows, without_mask

# Parameters that do not change the result.
_WITHOUT_EFFECT = ("callback", "verbose")

PATH: ContextVar[Path | None] = ContextVar("checkpoint", default=None)


@contextmanager
def checkpoint(path: str | Path) -> Iterator[None]:
    """A block in which a fit stores its progress, and continues from what is stored.

    Models of a search for sizes and iterations of a fit are written to a file when they have been
    computed. If the process ends before the fit, by Ctrl-C, for lack of memory or because the
    machine was switched off, the same fit with the same file continues where it ended. The result
    is the same, to the last bit, as that of a fit without interruption on the same machine with the
    same number of threads.

    Parameters
    ----------
    path : path
        The file, in an existing folder. It belongs to one fit: data and parameters other than
        ``verbose`` and ``callback`` are compared with those of the file, and an error says which of
        them differ. Delete it when the fit is done.

    Raises
    ------
    ValueError
        By the fit, if the file belongs to another fit or is no checkpoint.

    Notes
    -----
    All estimators and baselines can be used, with NumPy arrays, sparse matrices, data frames and
    operators. The file is a text file in JSON, without pickled objects; its size is that of the
    models that were compared. Callbacks are called again for models that are read from the file,
    not for iterations of a fit.

    Examples
    --------
    >>> import os, tempfile, thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(30, 10, 5, 1, 2, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tr.checkpoint(os.path.join(folder, "fit.checkpoint")):
    ...         est = tr.SparseReducedRankRegressor().fit(X, Y)  # this may take hours
    >>> est.rank_
    1
    """
    token = PATH.set(Path(path))
    try:
        yield
    finally:
        PATH.reset(token)


def recorded(path: Path, estimator: Any, arguments: dict[str, Any]) -> Any:
    """A context in which a fit is stored."""
    if is_recording():  # a fit within a fit is part of it
        return nullcontext()
    parameters = estimator.get_params(deep=False)
    known = {**arguments, **{k: v for k, v in parameters.items() if k not in _WITHOUT_EFFECT}}
    identity = {name: _fingerprint(name, value) for name, value in known.items()}
    identity["the estimator"] = type(estimator).__qualname__
    identity["the version of thinrank"] = version("thinrank")
    return recording(Journal(path, identity))


def _fingerprint(name: str, value: Any) -> str:
    """A text that is the same for equal values, in any process, and hardly for others."""
    value = without_mask(lazy_rows(name, value))
    if isinstance(value, Iterator):
        raise ValueError(
            f"{name} cannot be compared with that of a checkpoint: pass a list instead of an "
            "iterator"
        )
    if isinstance(value, LinearOperator) or is_design(value):
        # products with three vectors, since the entries may not be known
        design = as_design(value)
        probes = np.random.default_rng(0).standard_normal((design.shape[1], 3))
        value = design @ arrays.from_numpy(probes, design.prototype)
    if arrays.is_array(value):
        value = arrays.to_numpy(value)
    try:
        return str(joblib.hash(value))
    except Exception as error:  # whatever an object raises that cannot be pickled
        raise ValueError(f"{name} cannot be compared with that of a checkpoint: {error}") from error
