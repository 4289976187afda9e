"""The data sets of the package: complete, named, licensed, in the forms of scikit-learn."""

from importlib import resources

import numpy as np
import pytest

from thinrank.datasets import (
    load_concrete_slump,
    load_energy_efficiency,
    load_karate_club,
    load_norwegian_paper,
)

LOADERS = {
    load_norwegian_paper: (29, 9, 13),
    load_energy_efficiency: (768, 8, 2),
    load_concrete_slump: (103, 7, 3),
}
every = pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)


@every
def test_arrays(load):
    n, p, k = LOADERS[load]
    found = load(as_frame=False)
    assert isinstance(found.data, np.ndarray)
    assert found.data.shape == (n, p)
    assert found.target.shape == (n, k)
    assert len(set(found.feature_names)) == p
    assert len(set(found.target_names)) == k
    assert found.frame is None
    assert np.isfinite(np.hstack([found.data, found.target])).all()
    for part in ("Source:", "License:", "Reference", str(n)):
        assert part in found.DESCR


@every
def test_frames(load):
    arrays, frames = load(as_frame=False), load(as_frame=True)
    names = arrays.feature_names, arrays.target_names
    assert (list(frames.data), list(frames.target)) == names
    assert list(frames.frame) == [*names[0], *names[1]]
    X, Y = load(return_X_y=True)  # "auto" gives frames
    assert X.equals(frames.data)
    assert Y.equals(frames.target)
    X, Y = load(return_X_y=True, as_frame=False)
    for same, frame in ((X, frames.data), (Y, frames.target)):
        np.testing.assert_array_equal(same, frame)


@every
def test_calls_share_no_memory(load):
    first = load(as_frame=False).data
    largest = first.max()
    first[:] = largest + 1
    assert load(as_frame=False).data.max() == largest


def test_every_file_has_a_licence():
    folder = resources.files("thinrank.datasets").joinpath("data")
    text = folder.joinpath("README.md").read_text(encoding="utf-8")
    files = [file.name for file in folder.iterdir() if file.name.endswith(".csv")]
    assert len(files) == len(LOADERS)
    for name in files:
        assert f"| `{name}` |" in text


# --------------------------------------------------------------------------- Norwegian paper


def test_norwegian_paper_first_row():
    paper = load_norwegian_paper(as_frame=False)
    assert paper.target_names == [f"Y{i}" for i in range(1, 14)]
    np.testing.assert_array_equal(paper.data[0], [1, 0, -1, 1, 0, 1, 0, -1, 0])
    np.testing.assert_array_equal(paper.target[0, [0, 12]], [33.8792, 24.8111])


def test_norwegian_predictors_are_what_their_names_say():
    paper = load_norwegian_paper(as_frame=False)
    column = dict(zip(paper.feature_names, paper.data.T, strict=True))
    assert set(np.unique(paper.data[:, :3])) == {-1, 0, 1}
    for a in ("X1", "X2", "X3"):
        np.testing.assert_array_equal(column[f"{a}^2"], column[a] ** 2)
    for a, b in (("X1", "X2"), ("X1", "X3"), ("X2", "X3")):
        np.testing.assert_array_equal(column[f"{a}*{b}"], column[a] * column[b])


# --------------------------------------------------------------------------- from UCI


def test_surface_is_walls_plus_roof_and_floor():
    """The columns have the right names: a relation that only these four fulfil."""
    data = load_energy_efficiency().data
    np.testing.assert_array_equal(data["surface area"], data["wall area"] + 2 * data["roof area"])
    assert set(data["overall height"]) == {3.5, 7}
    assert set(data["orientation"]) == {2, 3, 4, 5}
    assert set(data["glazing area"]) == {0, 0.1, 0.25, 0.4}
    unglazed = data["glazing area"] == 0
    assert set(data["glazing distribution"][unglazed]) == {0}
    assert set(data["glazing distribution"][~unglazed]) == {1, 2, 3, 4, 5}


def test_concrete_fills_a_cubic_metre():
    """The columns are amounts in kg per cubic metre: they add up to the density of concrete."""
    concrete = load_concrete_slump()
    total = concrete.data.sum(axis=1)
    assert total.between(2100, 2400).all()
    assert np.corrcoef(concrete.target["slump"], concrete.target["flow"])[0, 1] > 0.9
    assert concrete.target["compressive strength"].between(17, 59).all()


@pytest.mark.parametrize(
    ("load", "file"), [(load_energy_efficiency, "enb"), (load_concrete_slump, "slump")]
)
def test_the_numbers_are_those_of_the_source(load, file, data_dir):
    source = np.load(data_dir / "real" / f"{file}.npz")
    found = load(as_frame=False)
    np.testing.assert_array_equal(found.data, source["X"])
    np.testing.assert_array_equal(found.target, source["Y"])


# --------------------------------------------------------------------------- Zachary


def test_karate_club_is_the_published_graph():
    club = load_karate_club(as_frame=False)
    S = club.adjacency
    assert np.array_equal(S, S.T)
    assert S.sum() == 2 * 78
    assert not np.any(np.diag(S))
    # degrees of the instructor, the administrator and the least linked member
    assert (S[0].sum(), S[33].sum(), S[11].sum()) == (16, 17, 1)
    assert np.bincount(club.faction).tolist() == [17, 17]
    assert "Zachary" in club.DESCR
    assert load_karate_club(as_frame=True).adjacency.loc["member 1", "member 2"] == 1
    with pytest.raises(ValueError, match="as_frame must be"):
        load_karate_club(as_frame="yes")
