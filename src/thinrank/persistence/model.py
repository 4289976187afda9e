"""Saving and loading of a model.

The files have a format of our own. That of skops.io, the alternative to pickle for scikit-learn,
has nodes for functions, methods and operators, by which files made by hand ran code when they were
loaded (CVE-2024-37065, CVE-2025-54412, CVE-2025-54413); it names classes by the modules that define
them, so that a file is lost when a class is moved; and models of thinrank 0.1.0 have to be read.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thinrank.core.files import atomic_folder, current_folder
from thinrank.persistence.classes import check_model
from thinrank.persistence.files import (
    ARRAYS,
    DOCUMENT,
    ModelFileError,
    adopt_others,
    check_free,
    read_arrays,
    read_document,
    write_files,
)
from thinrank.persistence.values import Decoder, Encoder


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    extra: dict[str, Any] | None = None,
) -> None:
    """Save a model as a folder.

    The folder has two files: ``model.json`` with parameters and fitted attributes, and
    ``arrays.npz`` with the arrays. Nothing is pickled. The folder is written under another name
    and renamed, so that it is complete or absent, whatever happens.

    Parameters
    ----------
    estimator : estimator, Factors or Solution
        An estimator or baseline of thinrank, :class:`thinrank.rl.MultiTaskFQI`,
        :class:`thinrank.calcium.CalciumImaging`, :class:`thinrank.Factors` or
        :class:`thinrank.Solution`. Arrays of PyTorch and other libraries are stored as NumPy
        arrays.
    path : str or path
        The folder. Parent folders are created if they do not exist.
    overwrite : bool, default=False
        Whether to replace a model that is there. Other files in its folder are kept. A folder that
        is not a model is never replaced.
    extra : dict, default=None
        Further information to store with the model: None, Booleans, numbers, strings, lists and
        dictionaries. :func:`read_extra` returns it.

    Raises
    ------
    FileExistsError
        If ``path`` exists and must not be replaced.
    TypeError
        If the object, or something that a fit stored in it, cannot be stored without pickle.

    Warns
    -----
    UserWarning
        If parameters cannot be stored, such as a callback or a splitter. The loaded model has
        their defaults; its predictions are the same.

    Examples
    --------
    >>> import tempfile, thinrank as tr
    >>> X, Y, _ = tr.datasets.make_two_way_sparse(random_state=0)
    >>> est = tr.SparseReducedRankRegressor(3, 10, 10).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tr.save(est, f"{folder}/model")
    ...     loaded = tr.load(f"{folder}/model")
    >>> bool((loaded.predict(X) == est.predict(X)).all())
    True
    """
    if extra is not None and type(extra) is not dict:
        raise TypeError(f"extra must be a dict or None, got {type(extra).__name__}")
    target = Path(os.path.realpath(path))  # a link to a folder stays a link
    check_free(target, overwrite)
    try:
        more = json.loads(json.dumps(extra or {}, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise type(error)(f"extra must be plain JSON: {error}") from error
    encoder = Encoder()
    contents = encoder.model(estimator)
    with atomic_folder(target, adopt_others) as folder:
        write_files(folder, contents, encoder.arrays, more)
        check_free(target, overwrite)  # another process may have been faster
    if encoder.omitted:
        warnings.warn(
            f"parameters that cannot be stored were left out: {', '.join(encoder.omitted)}. The "
            "loaded model has their defaults; its predictions are the same.",
            UserWarning,
            stacklevel=2,
        )


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that :func:`save` wrote.

    The files are checked before anything is made of them: checksums, sizes, types, and whether the
    arrays fit together. No code in them is run, so models of others can be loaded safely.

    Parameters
    ----------
    path : str or path
        The folder.

    Returns
    -------
    estimator, Factors or Solution
        The model, with the parameters and fitted attributes that were saved. All arrays are NumPy
        arrays.

    Raises
    ------
    FileNotFoundError
        If there is nothing at ``path``.
    ModelFileError
        If the files are damaged, incomplete or unsafe, or were made by a newer version of
        thinrank. It is a ValueError.

    See Also
    --------
    save : With an example.
    """
    return _read(path, _model)


def read_extra(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what was stored with a model as ``extra``, without loading the model.

    Parameters
    ----------
    path : str or path
        The folder.

    Returns
    -------
    dict
        Empty if nothing was stored.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`load`.

    Examples
    --------
    >>> import tempfile, numpy as np, thinrank as tr
    >>> theta = tr.Factors.from_theta(np.eye(3), rank=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tr.save(theta, f"{folder}/theta", extra={"made by": "me"})
    ...     tr.persistence.read_extra(f"{folder}/theta")
    {'made by': 'me'}
    """
    return _read(path, lambda folder: read_document(folder)["extra"])


def _model(folder: Path) -> Any:
    document = read_document(folder)
    arrays = read_arrays(folder, document["arrays"])
    decoder = Decoder(arrays)
    model = decoder.model(document)
    check_model(model)
    if decoder.used != set(arrays):
        raise ModelFileError(f"{ARRAYS} has arrays that the model does not use")
    return model


def _read(path: str | os.PathLike[str], read: Callable[[Path], Any]) -> Any:
    """Read a folder, again if another process replaced it meanwhile; errors name the folder."""
    target = Path(os.path.realpath(path))
    while True:
        folder = current_folder(target)
        before = _identity(folder)
        try:
            if before is None:
                raise FileNotFoundError(f"there is no model at {path}")
            if not folder.is_dir():
                raise ModelFileError(f"it is a file; a model is a folder with {DOCUMENT} in it")
            return read(folder)
        except Exception as error:
            now = current_folder(target)
            if now != folder or _identity(now) != before:
                continue
            if isinstance(error, OSError):
                raise
            reason = str(error) or type(error).__name__
            cause = error.__cause__ if isinstance(error, ModelFileError) else error
            raise ModelFileError(f"cannot load {path}: {reason}") from cause


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from one that replaces it; None if there is nothing."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns
