"""The data sets that are part of the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from thinrank.core.imports import import_optional
from thinrank.datasets.bunches import (
    FOLDER,
    LOADED,
    AsFrame,
    description,
    documented,
    make_bunch,
    wants_frame,
)

# The predictors of the Norwegian paper data, which the file calls X1 to X9.
_POWERS = ("X1", "X2", "X3", "X1^2", "X2^2", "X3^2", "X1*X2", "X1*X3", "X2*X3")


@documented(LOADED, "(103, 7)", "(103, 3)")
def load_concrete_slump(*, return_X_y: bool = False, as_frame: AsFrame = "auto") -> Any:
    """Load the concrete slump test (mixes of concrete, their workability and strength).

    103 mixes of concrete, 7 predictors, the amounts of the components, and 3 responses: slump,
    flow and compressive strength. The data are part of this package; nothing is downloaded.

    References
    ----------
    I-C. Yeh, Concrete Slump Test, UCI Machine Learning Repository (2009),
    https://doi.org/10.24432/C5FG7D, license CC BY 4.0.

    Examples
    --------
    >>> import thinrank as tr
    >>> concrete = tr.datasets.load_concrete_slump()
    >>> concrete.data.shape, concrete.target_names
    ((103, 7), ['slump', 'flow', 'compressive strength'])
    """
    names, table = _read("concrete_slump")
    X, Y = table[:, :7].copy(), table[:, 7:].copy()
    bunch = make_bunch("concrete_slump", X, Y, names[:7], names[7:], as_frame)
    return (bunch.data, bunch.target) if return_X_y else bunch


@documented(LOADED, "(768, 8)", "(768, 2)")
def load_energy_efficiency(*, return_X_y: bool = False, as_frame: AsFrame = "auto") -> Any:
    """Load the energy efficiency data (shapes of buildings, heating and cooling load).

    768 simulated buildings, 8 predictors that describe shape, orientation and windows, and 2
    responses: heating load and cooling load. Two of the predictors, ``orientation`` and
    ``glazing distribution``, are codes of categories. The data are part of this package; nothing
    is downloaded.

    References
    ----------
    A. Tsanas and A. Xifara, Energy Efficiency, UCI Machine Learning Repository (2012),
    https://doi.org/10.24432/C51307, license CC BY 4.0.

    Examples
    --------
    >>> import thinrank as tr
    >>> energy = tr.datasets.load_energy_efficiency()
    >>> energy.data.shape, energy.target_names
    ((768, 8), ['heating load', 'cooling load'])
    """
    names, table = _read("energy_efficiency")
    X, Y = table[:, :8].copy(), table[:, 8:].copy()
    bunch = make_bunch("energy_efficiency", X, Y, names[:8], names[8:], as_frame)
    return (bunch.data, bunch.target) if return_X_y else bunch


@documented(LOADED, "(29, 9)", "(29, 13)")
def load_norwegian_paper(*, return_X_y: bool = False, as_frame: AsFrame = "auto") -> Any:
    """Load the Norwegian paper quality data (regression with several responses).

    29 samples of paper, 13 measures of their quality, and 9 predictors: three control variables
    of the paper machine, their squares and their products. The data are part of this package;
    nothing is downloaded.

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
    names, table = _read("norway_paper")  # the responses come first
    X, Y = table[:, 13:].copy(), table[:, :13].copy()
    bunch = make_bunch("norway_paper", X, Y, _POWERS, names[:13], as_frame)
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_karate_club(*, as_frame: AsFrame = "auto") -> Bunch:
    """Load Zachary's karate club, a graph of 34 members and 78 links.

    The data are part of this package; nothing is downloaded.

    Parameters
    ----------
    as_frame : bool or "auto", default="auto"
        Whether the adjacency matrix is a pandas data frame with the names of the members; "auto" if
        pandas is installed.

    Returns
    -------
    data : Bunch
        A dictionary whose values are also attributes:

        adjacency : DataFrame or ndarray of shape (34, 34)
            1 for two members who are linked, 0 otherwise.
        faction : ndarray of shape (34,)
            The club that each member joined after the conflict: 0 for the instructor's, 1 for the
            administrator's.
        names : list of str
            "member 1" to "member 34".
        DESCR : str
            A description of the data with their source.

    References
    ----------
    W. W. Zachary, An information flow model for conflict and fission in small groups, Journal of
    Anthropological Research 33 (1977), 452-473.

    Examples
    --------
    >>> import thinrank as tr
    >>> club = tr.datasets.load_karate_club(as_frame=False)
    >>> club.adjacency.shape, int(club.adjacency.sum()) // 2
    ((34, 34), 78)
    """
    framed = wants_frame(as_frame)
    links, faction = (
        np.loadtxt(FOLDER.joinpath(file).read_text("utf-8").splitlines(), dtype=int)
        for file in ("karate_club.txt", "karate_club_factions.txt")
    )
    i, j = links.T - 1
    names = [f"member {k}" for k in range(1, 35)]
    adjacency: Any = np.zeros((len(names), len(names)))
    adjacency[i, j] = adjacency[j, i] = 1.0
    if framed:
        pandas = import_optional("pandas")
        adjacency = pandas.DataFrame(adjacency, index=names, columns=names)
    return Bunch(
        adjacency=adjacency, faction=faction, names=names, DESCR=description("karate_club")
    )


def _read(name: str) -> tuple[list[str], np.ndarray]:
    """Names and values of the columns of a CSV file."""
    with FOLDER.joinpath(f"{name}.csv").open(encoding="utf-8") as lines:
        names = lines.readline().strip().split(",")
        return names, np.loadtxt(lines, delimiter=",")
