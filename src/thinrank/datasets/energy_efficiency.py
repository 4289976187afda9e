"""The energy efficiency of buildings."""

from __future__ import annotations

from typing import Any, Literal, overload

from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.shipped_files import read_shipped

_PREDICTORS = 8

_DESCRIPTION = """\
Energy efficiency of buildings
------------------------------

Number of samples: 768, simulated buildings of equal volume: 12 shapes, with different windows and
orientations
Number of predictors: 8
Number of responses: 2
Missing values: none

Predictors
    relative compactness    compares the surface with that of a cube of the same volume
    surface area            m2
    wall area               m2
    roof area               m2
    overall height          m; 3.5 or 7
    orientation             a code: 2 north, 3 east, 4 south, 5 west
    glazing area            share of the floor area: 0, 0.10, 0.25 or 0.40
    glazing distribution    a code: 0 no glazing, 1 uniform, 2 north, 3 east, 4 south, 5 west
Responses
    heating load            kWh/m2
    cooling load            kWh/m2

The surface area is the wall area plus twice the roof area. Orientation and glazing distribution
are categories: encode them (for example with pandas.get_dummies) before a linear model.

Source: A. Tsanas and A. Xifara, Energy Efficiency, UCI Machine Learning Repository (2012),
https://doi.org/10.24432/C51307. The columns, X1 to X8, Y1 and Y2 there, are named in words; the
numbers are unchanged.

Licence: Creative Commons Attribution 4.0 International (CC BY 4.0),
https://creativecommons.org/licenses/by/4.0/

Reference: A. Tsanas and A. Xifara, Accurate quantitative estimation of energy performance of
residential buildings using statistical machine learning tools, Energy and Buildings 49 (2012).
"""


@overload
def load_energy_efficiency(
    *, return_X_y: Literal[False] = False, as_frame: AsFrame = "auto"
) -> Bunch: ...


@overload
def load_energy_efficiency(
    *, return_X_y: Literal[True], as_frame: AsFrame = "auto"
) -> tuple[Any, Any]: ...


def load_energy_efficiency(
    *, return_X_y: bool = False, as_frame: AsFrame = "auto"
) -> Bunch | tuple[Any, Any]:
    """Load the energy efficiency data (shapes of buildings, heating and cooling load).

    768 simulated buildings, 8 predictors that describe shape, orientation and windows, and 2
    responses: heating load and cooling load. Two of the predictors, ``orientation`` and
    ``glazing distribution``, are codes of categories. The data are part of this package; nothing
    is downloaded.

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

        data : DataFrame or ndarray of shape (768, 8)
            The predictors X.
        target : DataFrame or ndarray of shape (768, 2)
            The responses Y.
        frame : DataFrame of shape (768, 10) or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        DESCR : str
            A description of the data, with units, source, licence and reference.

    References
    ----------
    A. Tsanas and A. Xifara, Energy Efficiency, UCI Machine Learning Repository (2012),
    https://doi.org/10.24432/C51307, licence CC BY 4.0.

    Examples
    --------
    >>> import thinrank as tr
    >>> energy = tr.datasets.load_energy_efficiency()
    >>> energy.data.shape, energy.target_names
    ((768, 8), ['heating load', 'cooling load'])
    """
    names, table = read_shipped("energy_efficiency.csv")
    bunch = make_bunch(
        table[:, :_PREDICTORS].copy(),
        table[:, _PREDICTORS:].copy(),
        names[:_PREDICTORS],
        names[_PREDICTORS:],
        _DESCRIPTION,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
