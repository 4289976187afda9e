"""Hostile files of arrays give a ModelFileError, and nothing in them runs."""

import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from files_by_hand import change_arrays, document_of, header, members, npy, write

import thinrank as tr
from thinrank.persistence import ModelFileError

GOLDEN = Path(__file__).parent / "golden" / "0.1"
RAN = []


class Payload:
    """Records that it was unpickled."""

    def __reduce__(self):
        return RAN.append, ("ran",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(np.array([Payload()], dtype=object), allow_pickle=True), "pickled Python objects"),
        (pickle.dumps(Payload()), "cannot be read"),
        (b"", "cannot be read"),
        (header("<f8", (10**12,)), r"declares the shape \(1000000000000,\)"),
        (header("<f8", (2**62, 2**62)), "declares the shape"),
        (header("<f8", (10**18, 0)), "too large"),
        (header("<f8", (-1, -8), b"\x00" * 64), "not valid"),
        (header("<f8", (3,), b"\x00" * 25), "declares the shape"),
        (header("<f8", (3,), b"\x00" * 23), "declares the shape"),
        (header("<f16", (1,), b"\x00" * 16), "not supported"),
        (header([("a", "<f8")], (1,), b"\x00" * 8), "not supported"),
        (header("<U0", (10**18,)), "cannot be read"),
        (header("|b1", (2,), b"\x00\x02"), "Booleans"),
        (header("<U1", (1,), b"\xff" * 4), "characters"),
        (npy(np.zeros(3)).replace(b"\x01\x00", b"\x09\x00", 1), "NPY"),
    ],
    ids=range(15),
)
def test_members_made_by_hand(folder, data, message):
    change_arrays(folder, lambda contents: contents.update({"intercept_.npy": data}))
    with pytest.raises(ModelFileError, match=message):
        tr.load(folder)
    assert not RAN


@pytest.mark.parametrize(
    "name",
    ["../escaped.npy", "/tmp/escaped.npy", "..\\escaped.npy", "a.npy/", "a.txt", "ü.npy"],
)
def test_unsafe_names_of_members(folder, name):
    """Nothing is extracted, and a model uses no array of such a name."""
    change_arrays(folder, lambda contents: contents.update({name: npy(np.zeros(1))}))
    with pytest.raises(ModelFileError, match="arrays that the model does not use"):
        tr.load(folder)
    assert sorted(each.name for each in folder.iterdir()) == ["arrays.npz", "model.json"]
    assert [each.name for each in folder.parent.iterdir()] == ["model"]


def test_a_zip_bomb(folder):
    bomb = header("<f8", (10**6,), b"\x00" * 8 * 10**6)
    change_arrays(folder, lambda contents: contents.update({"x.npy": bomb}), zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="compressed member"):
        tr.load(folder)


def test_members_that_overlap(folder):
    """Many members share the same data: the directory lists one member several times."""
    with zipfile.ZipFile(folder / "arrays.npz", "w") as archive:
        archive.writestr("a.npy", header("<f8", (1000,), b"\x00" * 8000))
        first = archive.infolist()[0]
        for i in range(100):
            again = zipfile.ZipInfo(f"a{i}.npy")
            for name in ("header_offset", "CRC", "file_size", "compress_size"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
    write(folder, document_of(folder))
    with pytest.raises(ModelFileError, match="more data than it has"):
        tr.load(folder)


def test_two_members_of_one_name(folder):
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(folder / "arrays.npz", "a") as archive,
    ):
        archive.writestr("intercept_.npy", npy(np.ones(4)))
    write(folder, document_of(folder))
    with pytest.raises(ModelFileError, match="two members of the same name"):
        tr.load(folder)


def test_an_array_that_is_missing_and_one_too_many(folder):
    change_arrays(folder, lambda contents: contents.update({"more.npy": npy(np.zeros(1))}))
    with pytest.raises(ModelFileError, match="arrays that the model does not use"):
        tr.load(folder)
    change_arrays(folder, lambda contents: [contents.pop("more.npy"), contents.pop("kept_.npy")])
    with pytest.raises(ModelFileError, match="no array 'kept_'"):
        tr.load(folder)


def test_arrays_of_another_model(folder, tmp_path):
    tr.save(tr.Factors.from_theta(np.eye(3), 1), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "arrays.npz", folder)
    with pytest.raises(ModelFileError, match="belongs to another model"):
        tr.load(folder)


@pytest.mark.parametrize(
    ("example", "name", "array", "message"),
    [
        ("named_regressor", "intercept_", np.zeros(3), "intercept_ must have"),
        ("named_regressor", "intercept_", np.array(["a"] * 4), "intercept_ must have"),
        ("fitted_q_iteration", "values_.factors.V", np.zeros((3, 2)), "factors must have"),
        ("fitted_q_iteration", "values_.intercept", np.zeros((3, 2)), "intercept must have"),
        ("calcium", "factors_.U", np.zeros((61, 1)), "factors_ must have"),
        ("calcium", "traces_", np.zeros((1, 61)), "traces_ must have"),
        ("calcium", "_scale", np.zeros(3), "_scale must have"),
        ("calcium", "sparse_footprints_.indptr", np.array([0, 10**6]), "valid sparse"),
        ("calcium", "sparse_footprints_.indices", np.array([-1, 10**6]), "valid sparse"),
        ("mixed", "family_.families.0.scale", np.zeros(1), "Gaussian"),
        ("classifier_of_strings", "classes_", np.array(["a"]), "fit together"),
        ("factors", "U", np.zeros((3, 5)), "not a valid Factors"),
        ("solution", "factors.U", np.zeros((6, 1), dtype=int), "matrix of floats"),
    ],
)
def test_arrays_that_do_not_fit_together(example, name, array, message, tmp_path):
    """In files of an earlier version, which later ones have to read."""
    model = shutil.copytree(GOLDEN / example, tmp_path / "model")
    assert f"{name}.npy" in members(model)
    change_arrays(model, lambda contents: contents.update({f"{name}.npy": npy(array)}))
    with pytest.raises(ModelFileError, match=message):
        tr.load(model)
