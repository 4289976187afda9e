"""Fits that can be resumed after an interruption, to the same result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import Any

from thinrank.core.journal import Journal, is_recording, recording
from thinrank.estimators.fingerprint import fingerprint

# Parameters that do not change the result.
_WITHOUT_EFFECT = ("callback", "verbose")

_PATH: ContextVar[Path | None] = ContextVar("checkpoint", default=None)


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
    token = _PATH.set(Path(path))
    try:
        yield
    finally:
        _PATH.reset(token)


def recorded(estimator: Any, arguments: dict[str, Any]) -> Any:
    """A context in which a fit is stored, if it is in the block of a checkpoint."""
    path = _PATH.get()
    if path is None or is_recording():  # a fit within a fit is part of it
        return nullcontext()
    parameters = estimator.get_params(deep=False)
    known = {**arguments, **{k: v for k, v in parameters.items() if k not in _WITHOUT_EFFECT}}
    identity = {name: fingerprint(name, value) for name, value in known.items()}
    identity["the estimator"] = type(estimator).__qualname__
    identity["the version of thinrank"] = version("thinrank")
    return recording(Journal(path, identity))
