"""The form in which all data sets are returned, and what their documentation has in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.utils import Bunch

from thinrank.core.imports import import_optional

AsFrame = bool | Literal["auto"]
Loader = TypeVar("Loader", bound=Callable[..., Any])

FOLDER = resources.files("thinrank.datasets").joinpath("data")
"""Data that are part of the package, descriptions of all sets, and the table of sources."""

_AS_FRAME = """\
as_frame : bool or "auto", default="auto"
    Whether to return pandas data frames in place of arrays; "auto" is True.
"""
_PARTS = """
    A dictionary whose values are also attributes:

    data : DataFrame or ndarray of shape {data}
        The predictors X.
    target : DataFrame or ndarray of shape {target}
        The responses Y.
    frame : DataFrame or None
        Predictors and responses in one frame; None for arrays.
    feature_names, target_names : list of str
        Names of the predictors and of the responses.
{more}    DESCR : str
        A description of the data, with source, license and references.

"""
LOADED = f"""\
Parameters
----------
return_X_y : bool, default=False
    Whether to return ``(data, target)`` instead of a Bunch.
{_AS_FRAME}
Returns
-------
data : Bunch or tuple of (data, target){_PARTS}"""
FETCHED = f"""\
Parameters
----------
data_home : str or path-like, default=None
    Folder of downloaded files; see :func:`thinrank.datasets.get_data_home`.
download_if_missing : bool, default=True
    Whether the file may be downloaded if it is not in that folder.
{_AS_FRAME}
Returns
-------
Bunch{_PARTS}Raises
------
DownloadError
    If the file cannot be downloaded. The message says what to do without a network.

"""


def documented(common: str, data: str, target: str, **more: str) -> Callable[[Loader], Loader]:
    """Add the parameters and the result, of these shapes, to a docstring with references."""

    def add(load: Loader) -> Loader:
        if load.__doc__ is not None:  # python -OO removes it
            head, references = inspect.cleandoc(load.__doc__).split("References\n", 1)
            parts = "".join(
                f"    {name} : list of str\n        {text}\n" for name, text in more.items()
            )
            result = common.format(data=data, target=target, more=parts)
            load.__doc__ = f"{head}{result}References\n{references}"
        return load

    return add


def description(name: str) -> str:
    """What is known about a data set."""
    return FOLDER.joinpath(f"{name}.rst").read_text(encoding="utf-8")


def wants_frame(as_frame: AsFrame) -> bool:
    """Whether to return data frames."""
    if as_frame not in (True, False, "auto"):
        raise ValueError(f"as_frame must be True, False or 'auto', got {as_frame!r}")
    return as_frame is not False


def make_bunch(
    name: str,
    data: np.ndarray,
    target: np.ndarray,
    feature_names: Sequence[str],
    target_names: Sequence[str],
    as_frame: AsFrame,
    index: Sequence[str] | None = None,
    **more: Any,
) -> Bunch:
    """Put the predictors and responses of a data set, their names and its description together."""
    framed = wants_frame(as_frame)
    features, targets = [str(name) for name in feature_names], [str(name) for name in target_names]
    bunch = Bunch(
        data=data,
        target=target,
        frame=None,
        feature_names=features,
        target_names=targets,
        DESCR=description(name),
        **more,
    )
    if framed:
        pandas = import_optional("pandas")
        bunch.data = pandas.DataFrame(data, columns=features, index=index)
        bunch.target = pandas.DataFrame(target, columns=targets, index=index)
        bunch.frame = pandas.concat([bunch.data, bunch.target], axis=1)
    return bunch
