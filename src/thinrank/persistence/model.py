"""Saving and loading of a model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thinrank.persistence.array_file import ArrayFile, sha256_of, write_arrays
from thinrank.persistence.consistency import check_consistency
from thinrank.persistence.decode import Decoder
from thinrank.persistence.document import MOST_BYTES, checked_json, read_document, write_document
from thinrank.persistence.encode import Encoder
from thinrank.persistence.errors import ModelFileError
from thinrank.persistence.folder import (
    ARRAYS,
    DOCUMENT,
    check_free,
    opened,
    replaced_folder,
    write_file,
)


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

    See Also
    --------
    load : The inverse.

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
    more = checked_json({} if extra is None else extra, "extra")
    encoder = Encoder()
    contents = encoder.model(estimator)
    with replaced_folder(target) as folder:
        write_file(folder / ARRAYS, lambda file: write_arrays(file, encoder.arrays))
        with opened(folder, ARRAYS) as (file, size):
            about = {"file": ARRAYS, "sha256": sha256_of(file), "bytes": size}
        text = write_document(contents, about, more)
        write_file(folder / DOCUMENT, lambda file: file.write(text))
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

    Examples
    --------
    >>> import tempfile, numpy as np, thinrank as tr
    >>> theta = tr.Factors.from_theta(np.eye(3), rank=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tr.save(theta, f"{folder}/theta")
    ...     tr.load(f"{folder}/theta").shape
    (3, 3)
    """
    folder = _existing(path)
    with _reading(folder):
        document = _read_document(folder)
        about = document["arrays"]
        if about.get("file") != ARRAYS:
            raise ModelFileError(f"model.json names another file than {ARRAYS}")
        with opened(folder, ARRAYS) as (file, size):
            if size != about.get("bytes") or sha256_of(file) != about.get("sha256"):
                raise ModelFileError(
                    f"{ARRAYS} does not match its checksum: it is damaged, incomplete or belongs "
                    "to another model"
                )
            arrays = ArrayFile(file, size)
            model = Decoder(arrays).model(document)
        check_consistency(model)
        if arrays.unread:
            raise ModelFileError(f"{ARRAYS} has arrays that the model does not use")
    return model


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
    folder = _existing(path)
    with _reading(folder):
        return _read_document(folder)["extra"]


def _existing(path: str | os.PathLike[str]) -> Path:
    folder = Path(path)
    if not folder.exists():
        raise FileNotFoundError(f"there is no model at {folder}")
    if not folder.is_dir():
        raise ModelFileError(f"{folder} is a file; a model is a folder with {DOCUMENT} in it")
    return folder


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Errors about the files name the folder; those of the file system stay as they are."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        cause = error.__cause__ if isinstance(error, ModelFileError) else error
        raise ModelFileError(f"cannot load {folder}: {reason}") from cause


def _read_document(folder: Path) -> dict[str, Any]:
    with opened(folder, DOCUMENT) as (file, size):
        if size > MOST_BYTES:
            raise ModelFileError(f"{DOCUMENT} has {size} bytes, more than any model has")
        return read_document(file.read(MOST_BYTES + 1))
