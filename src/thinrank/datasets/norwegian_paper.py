"""The Norwegian paper quality data."""

from __future__ import annotations

from importlib import resources
from typing import Any, Literal, overload

import numpy as np
from sklearn.utils import Bunch

from thinrank.core.extras import import_optional

__all__ = ["load_norwegian_paper"]

# Layout of the file: the responses come first, then the predictors.
_RESPONSES = 13
_PREDICTORS = ("X1", "X2", "X3", "X1^2", "X2^2", "X3^2", "X1*X2", "X1*X3", "X2*X3")

_DESCRIPTION = """\
Norwegian paper quality data
----------------------------

Number of samples: 29
Number of responses: 13, variables that describe the quality of the paper (Y1 to Y13)
Number of predictors: 9, computed from three control variables of the machine: X1, X2 and X3, which
take the values -1, 0 and 1, their squares and their products
Missing values: none

The data come from a designed experiment at a paper factory in Norway. The task is to predict the
thirteen responses from the control variables; many of the responses are strongly correlated.

Source: the data set norwaypaper1 of the R package MMST 0.6-1.1, whose predictors X4 to X9 are
X1^2, X2^2, X3^2, X1*X2, X1*X3 and X2*X3.

References: M. Aldrin, Moderate projection pursuit regression for multivariate response data,
Computational Statistics & Data Analysis 21 (1996). A. J. Izenman, Modern Multivariate Statistical
Techniques, Springer (2008).
"""


@overload
def load_norwegian_paper(
    *, return_X_y: Literal[False] = False, as_frame: bool = False
) -> Bunch: ...


@overload
def load_norwegian_paper(
    *, return_X_y: Literal[True], as_frame: bool = False
) -> tuple[Any, Any]: ...


def load_norwegian_paper(
    *, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, Any]:
    """Load the Norwegian paper quality data (regression with several responses).

    29 samples of paper, 13 measures of their quality, and 9 predictors: three control variables
    of the paper machine, their squares and their products. The data are part of this package;
    nothing is downloaded.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether to return pandas data frames. Requires pandas.

    Returns
    -------
    data : Bunch or tuple of (data, target)
        A dictionary whose values are also attributes:

        data : ndarray or DataFrame of shape (29, 9)
            The predictors X.
        target : ndarray or DataFrame of shape (29, 13)
            The responses Y.
        frame : DataFrame of shape (29, 22) or None
            Predictors and responses in one frame, if ``as_frame=True``.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        DESCR : str
            A description of the data, with references.

    References
    ----------
    M. Aldrin, Moderate projection pursuit regression for multivariate response data,
    Computational Statistics & Data Analysis 21 (1996). A. J. Izenman, Modern Multivariate
    Statistical Techniques, Springer (2008).

    Examples
    --------
    >>> import thinrank as tr
    >>> paper = tr.datasets.load_norwegian_paper()
    >>> paper.data.shape, paper.target.shape
    ((29, 9), (29, 13))
    >>> est = tr.SparseReducedRankRegressor(3, 6, None).fit(paper.data, paper.target)
    >>> [paper.feature_names[i] for i in est.row_support_]
    ['X1', 'X2', 'X3', 'X2^2', 'X3^2', 'X1*X3']
    """
    file = resources.files("thinrank.datasets").joinpath("data", "norway_paper.csv")
    with file.open(encoding="utf-8") as lines:
        table = np.loadtxt(lines, delimiter=",", skiprows=1)
    target, data = table[:, :_RESPONSES].copy(), table[:, _RESPONSES:].copy()
    predictors = list(_PREDICTORS)
    responses = [f"Y{i}" for i in range(1, _RESPONSES + 1)]
    frame = None
    if as_frame:
        pandas = import_optional("pandas")
        data = pandas.DataFrame(data, columns=predictors)
        target = pandas.DataFrame(target, columns=responses)
        frame = pandas.concat([data, target], axis=1)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=predictors,
        target_names=responses,
        DESCR=_DESCRIPTION,
    )
