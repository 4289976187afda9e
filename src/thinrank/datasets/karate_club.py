"""Zachary's karate club."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from thinrank.core.imports import import_optional, is_installed
from thinrank.datasets.bunches import AsFrame

_MEMBERS = 34

# Later members of each member's links, numbered from 1 as in the publication.
_LINKS = {
    1: (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32),
    2: (3, 4, 8, 14, 18, 20, 22, 31),
    3: (4, 8, 9, 10, 14, 28, 29, 33),
    4: (8, 13, 14),
    5: (7, 11),
    6: (7, 11, 17),
    7: (17,),
    9: (31, 33, 34),
    10: (34,),
    14: (34,),
    15: (33, 34),
    16: (33, 34),
    19: (33, 34),
    20: (34,),
    21: (33, 34),
    23: (33, 34),
    24: (26, 28, 30, 33, 34),
    25: (26, 28, 32),
    26: (32,),
    27: (30, 34),
    28: (34,),
    29: (32, 34),
    30: (33, 34),
    31: (33, 34),
    32: (33, 34),
    33: (34,),
}
# Members of the club that the instructor founded after the conflict.
_WITH_INSTRUCTOR = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22)

_DESCRIPTION = """\
Zachary's karate club
---------------------

Number of nodes: 34 members of a karate club at a university
Number of links: 78
Missing values: none

Two members are linked if they met outside the club. During the study a conflict between the
instructor (member 1) and the administrator (member 34) divided the club in two; the faction is the
club that a member joined afterwards.

Source: W. W. Zachary, An information flow model for conflict and fission in small groups, Journal
of Anthropological Research 33 (1977), 452-473, figures 2 and 3 and table 1.

Licence: the links are facts, which are in the public domain.

Reference: as the source.
"""


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
    if as_frame not in (True, False, "auto"):
        raise ValueError(f"as_frame must be True, False or 'auto', got {as_frame!r}")
    adjacency: Any = np.zeros((_MEMBERS, _MEMBERS))
    for member, others in _LINKS.items():
        for other in others:
            adjacency[member - 1, other - 1] = adjacency[other - 1, member - 1] = 1.0
    faction = np.ones(_MEMBERS, dtype=int)
    faction[np.array(_WITH_INSTRUCTOR) - 1] = 0
    names = [f"member {k}" for k in range(1, _MEMBERS + 1)]
    if as_frame is True or (as_frame == "auto" and is_installed("pandas")):
        pandas = import_optional("pandas")
        adjacency = pandas.DataFrame(adjacency, index=names, columns=names)
    return Bunch(adjacency=adjacency, faction=faction, names=names, DESCR=_DESCRIPTION)
