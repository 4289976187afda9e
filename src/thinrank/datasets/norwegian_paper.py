"""The Norwegian paper quality data."""

from __future__ import annotations

from typing import Any, Literal, overload

from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.shipped_files import read_shipped

# Layout of the file: the responses come first, then the predictors, which it calls X1 to X9.
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
thirteen responses from the control variables; many of the responses are strongly correlated. The
sources do not say what the variables measure.

Source: StatLib (lib.stat.cmu.edu/datasets), through the data set norwaypaper1 of the R package
MMST 0.6-1.1, whose predictors X4 to X9 are X1^2, X2^2, X3^2, X1*X2, X1*X3 and X2*X3.

Licence: none is stated. The numbers were published with the articles below; MMST is distributed
under the GPL.

References: M. Aldrin, Moderate projection pursuit regression for multivariate response data,
Computational Statistics & Data Analysis 21 (1996). A. J. Izenman, Modern Multivariate Statistical
Techniques, Springer (2008).
"""


@overload
def load_norwegian_paper(
    *, return_X_y: Literal[False] = False, as_frame: AsFrame = "auto"
) -> Bunch: ...


@overload
def load_norwegian_paper(
    *, return_X_y: Literal[True], as_frame: AsFrame = "auto"
) -> tuple[Any, Any]: ...


def load_norwegian_paper(
    *, return_X_y: bool = False, as_frame: AsFrame = "auto"
) -> Bunch | tuple[Any, Any]:
    """Load the Norwegian paper quality data (regression with several responses).

    29 samples of paper, 13 measures of their quality, and 9 predictors: three control variables
    of the paper machine, their squares and their products. The data are part of this package;
    nothing is downloaded.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool or "auto", default="auto"
        Whether to return pandas data frames in place of arrays; "auto" if pandas is installed.

    Returns
    -------
    data : Bunch or tuple of (data, target)
        A dictionary whose values are also attributes:

        data : DataFrame or ndarray of shape (29, 9)
            The predictors X.
        target : DataFrame or ndarray of shape (29, 13)
            The responses Y.
        frame : DataFrame of shape (29, 22) or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        DESCR : str
            A description of the data, with source, licence and references.

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
    names, table = read_shipped("norway_paper.csv")
    bunch = make_bunch(
        table[:, _RESPONSES:].copy(),
        table[:, :_RESPONSES].copy(),
        _PREDICTORS,
        names[:_RESPONSES],
        _DESCRIPTION,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
