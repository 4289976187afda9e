"""Zachary's karate club."""

import numpy as np
import pytest

from thinrank.datasets import load_karate_club


def test_it_is_the_published_graph():
    club = load_karate_club(as_frame=False)
    S = club.adjacency
    assert np.array_equal(S, S.T)
    assert S.sum() == 2 * 78
    assert not np.any(np.diag(S))
    # degrees of the instructor, the administrator and the least linked member
    assert (S[0].sum(), S[33].sum(), S[11].sum()) == (16, 17, 1)
    assert np.bincount(club.faction).tolist() == [17, 17]
    assert "Zachary" in club.DESCR


def test_it_has_names_as_a_frame():
    frame = load_karate_club(as_frame=True).adjacency
    assert frame.loc["member 1", "member 2"] == 1
    with pytest.raises(ValueError, match="as_frame must be"):
        load_karate_club(as_frame="yes")
