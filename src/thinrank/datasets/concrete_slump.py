"""The concrete slump test."""

from __future__ import annotations

from typing import Any, Literal, overload

from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.shipped_files import read_shipped

_PREDICTORS = 7

_DESCRIPTION = """\
Concrete slump test
-------------------

Number of samples: 103 mixes of concrete
Number of predictors: 7
Number of responses: 3
Missing values: none

Predictors, in kg per cubic metre of concrete
    cement, slag, fly ash, water, superplasticizer, coarse aggregate, fine aggregate
Responses
    slump                   cm
    flow                    cm
    compressive strength    MPa, after 28 days

Slump and flow, measured on the fresh concrete, describe how easily it can be worked. The amounts of
the seven components are constrained, since together they fill one cubic metre.

Source: I-C. Yeh, Concrete Slump Test, UCI Machine Learning Repository (2009),
https://doi.org/10.24432/C5FG7D. The column of row numbers is left out; the other numbers are
unchanged.

Licence: Creative Commons Attribution 4.0 International (CC BY 4.0),
https://creativecommons.org/licenses/by/4.0/

Reference: I-C. Yeh, Modeling slump flow of concrete using second-order regressions and artificial
neural networks, Cement and Concrete Composites 29 (2007).
"""


@overload
def load_concrete_slump(
    *, return_X_y: Literal[False] = False, as_frame: AsFrame = "auto"
) -> Bunch: ...


@overload
def load_concrete_slump(
    *, return_X_y: Literal[True], as_frame: AsFrame = "auto"
) -> tuple[Any, Any]: ...


def load_concrete_slump(
    *, return_X_y: bool = False, as_frame: AsFrame = "auto"
) -> Bunch | tuple[Any, Any]:
    """Load the concrete slump test (mixes of concrete, their workability and strength).

    103 mixes of concrete, 7 predictors, the amounts of the components, and 3 responses: slump,
    flow and compressive strength. The data are part of this package; nothing is downloaded.

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

        data : DataFrame or ndarray of shape (103, 7)
            The predictors X.
        target : DataFrame or ndarray of shape (103, 3)
            The responses Y.
        frame : DataFrame of shape (103, 10) or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        DESCR : str
            A description of the data, with units, source, licence and reference.

    References
    ----------
    I-C. Yeh, Concrete Slump Test, UCI Machine Learning Repository (2009),
    https://doi.org/10.24432/C5FG7D, licence CC BY 4.0.

    Examples
    --------
    >>> import thinrank as tr
    >>> concrete = tr.datasets.load_concrete_slump()
    >>> concrete.data.shape, concrete.target_names
    ((103, 7), ['slump', 'flow', 'compressive strength'])
    """
    names, table = read_shipped("concrete_slump.csv")
    bunch = make_bunch(
        table[:, :_PREDICTORS].copy(),
        table[:, _PREDICTORS:].copy(),
        names[:_PREDICTORS],
        names[_PREDICTORS:],
        _DESCRIPTION,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
