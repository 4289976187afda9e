"""Damaged, truncated and hostile files give a ModelFileError, and nothing in them runs."""

import json
import os
import shutil

import numpy as np
import pytest
from files_by_hand import change, change_arrays, document_of, write

import thinrank as tr
from thinrank.persistence import ModelFileError, read_extra


def test_a_file_made_by_hand_is_loaded_if_it_is_valid(folder):
    """The hostile files below fail for the reason that they state, not for a bad checksum."""
    change(folder, lambda document: None)
    change_arrays(folder, lambda contents: None)
    assert tr.load(folder).rank_ == 1


# ------------------------------------------------------------------------------- model.json


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda d: d.update(format="other"), "not a model of thinrank"),
        (lambda d: d.pop("format"), "not a model of thinrank"),
        (
            lambda d: d.update(format_version=2, thinrank_version="0.9.0"),
            r"made by thinrank 0\.9\.0 .* this is thinrank .* upgrade",
        ),
        (lambda d: d.update(format_version=True), "invalid format_version"),
        (lambda d: d.pop("format_version"), "invalid format_version"),
        (lambda d: d.pop("class"), "'class' is missing"),
        (lambda d: d.pop("fitted"), "'fitted' is missing"),
        (lambda d: d.pop("parameters"), "'parameters' is missing"),
        (lambda d: d.pop("extra"), "'extra' is missing"),
        (lambda d: d.update(parameters=[]), "'parameters' is missing or is not"),
        (lambda d: d.update({"class": "os.system"}), "'os.system' is not one that thinrank stores"),
        (lambda d: d.update({"class": "core.result.History"}), "not that of a model"),
        (lambda d: d.update({"class": "core.result.Outcome"}), "not that of a model"),
        (lambda d: d.update({"class": "solvers.Pursuit"}), "not that of a model"),
        (lambda d: d.update({"class": "Solution"}), "'fields' is missing"),
        (lambda d: d.update({"class": "SparseReducedRankGLM"}), "no parameter 'loss'"),
        (lambda d: d["parameters"].update(evil=1), "no parameter 'evil'"),
        (lambda d: d["fitted"].update(predict=1), "'predict' is not an attribute"),
        (lambda d: d["fitted"].update(_linear=1), "'_linear' is not an attribute"),
        (lambda d: d["fitted"].update(coef_=1), "'coef_' is not an attribute"),
        (lambda d: d["fitted"].update(__class__=1), "'__class__' is not an attribute"),
        (lambda d: d["fitted"].update(rank=1), "'rank' is not an attribute"),
        (lambda d: d["fitted"].pop("_single_target"), "_single_target"),
        (lambda d: d["fitted"].update(_single_target=True), "single response"),
        (lambda d: d["fitted"].update(n_features_in_=10**15), "n_features_in_"),
        (lambda d: d["fitted"].pop("intercept_"), "intercept_ must have"),
        (lambda d: d["fitted"].update(intercept_=1.0), "intercept_ must have"),
        (lambda d: d["fitted"].update(factors_=None), "factors_ must be Factors"),
        (lambda d: d["fitted"].update(kept_=[1]), "kept_ must contain"),
        (lambda d: d["fitted"].pop("kept_coef_"), "kept_coef_ must have"),
        (lambda d: d["fitted"]["feature_names_in_"].update(shape=[7]), "shape"),
        (lambda d: d["fitted"]["feature_names_in_"]["items"].pop(), "but has 5 entries"),
        (lambda d: d["fitted"]["factors_"].pop("class"), "'class' is missing"),
        (lambda d: d["fitted"]["factors_"]["fields"].pop("V"), "not a valid Factors: .*argument"),
        (lambda d: d["fitted"]["factors_"]["fields"].update(U=None), "not a valid Factors"),
        (lambda d: d["fitted"]["factors_"].update({"class": "Solution"}), "no field 'U'"),
        (lambda d: d["fitted"]["status_"]["fields"]["outcome"].update(value="won"), "Outcome"),
        (lambda d: d["fitted"].update(x_={"$type": "pickle"}), "unknown type 'pickle'"),
        (lambda d: d["fitted"].update(x_={"$type": []}), "unknown type"),
        (lambda d: d["fitted"].update(x_={"$type": "array", "name": "../x"}), "no array '../x'"),
        (lambda d: d["fitted"].update(x_={"$type": "array"}), "'name' is missing"),
        (lambda d: d["fitted"].update(x_={"$type": "float", "value": "1"}), "valid float"),
        (lambda d: d["fitted"].update(x_={"$type": "dict", "items": [1]}), "valid dict"),
        (lambda d: d["fitted"].update(x_={"$type": "dict", "items": [[[], 1]]}), "valid dict"),
        (lambda d: d["fitted"].update(x_={"$type": "range", "items": [0, 1, 0]}), "valid range"),
        (
            lambda d: d["fitted"].update(x_={"$type": "scalar", "dtype": "|O8", "value": 1}),
            "not supported",
        ),
        (
            lambda d: d["fitted"].update(x_={"$type": "scalar", "dtype": "<i1", "value": 300}),
            "valid scalar",
        ),
        (
            lambda d: d["fitted"].update(
                x_={"$type": "object", "class": "starts.Auto", "fields": {"evil": 1}}
            ),
            "no field 'evil'",
        ),
        (lambda d: d.update(arrays_change={"file": "../arrays.npz"}), "another file"),
        (lambda d: d.update(arrays_change={"sha256": "0"}), "checksum"),
        (lambda d: d.update(arrays_change={"bytes": 1}), "checksum"),
    ],
    ids=range(51),
)
def test_documents_made_by_hand(folder, function, message):
    change(folder, function)
    with pytest.raises(ModelFileError, match=message):
        tr.load(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"format": "thinrank-model", "format": "thinrank-model"}',
        '{"format": NaN}',
        '{"format": "thinrank-model", "format_version": 1e999}',
        '{"format": "thinrank-model", "format_version": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"a":' * 100_000,
        "\ufeff{}",
        "\x00" * 100,
    ],
    ids=range(12),
)
def test_texts_that_are_no_document(folder, text):
    (folder / "model.json").write_text(text)
    for function in (tr.load, read_extra):
        with pytest.raises(ModelFileError, match=r"cannot load .*model"):
            function(folder)


def test_fields_that_an_older_file_lacks_have_their_defaults(folder):
    change(
        folder,
        lambda document: document["parameters"].update(
            start={"$type": "object", "class": "starts.Auto", "fields": {}}
        ),
    )
    assert tr.load(folder).start == tr.starts.Auto()


def test_values_nested_deeply(folder):
    value = []
    for _ in range(200):
        value = [value]
    change(folder, lambda document: document["fitted"].update(x_=value))
    with pytest.raises(ModelFileError, match="nested too deeply"):
        tr.load(folder)
    change(folder, lambda document: document.update(extra={"a": value}))
    with pytest.raises(ModelFileError, match="nested too deeply"):
        read_extra(folder)


def test_numbers_that_are_too_large(folder):
    def dump(document):
        return json.dumps(document).replace('"marked"', "1e999")

    document = document_of(folder)
    document["fitted"]["x_"] = "marked"
    write(folder, document, dump)
    with pytest.raises(ModelFileError, match="x_ is a number that is too large"):
        tr.load(folder)
    document = document_of(folder)
    del document["fitted"]["x_"]
    document["extra"] = {"a": "marked"}
    write(folder, document, dump)
    with pytest.raises(ModelFileError, match="inf"):
        read_extra(folder)


def test_a_document_that_is_too_large(folder, monkeypatch):
    monkeypatch.setattr("thinrank.persistence.model.MOST_BYTES", 100)
    with pytest.raises(ModelFileError, match="more than any model has"):
        tr.load(folder)


def test_an_edited_document(folder):
    text = (folder / "model.json").read_text()
    (folder / "model.json").write_text(text.replace("unharmed", "changed!"))
    for function in (tr.load, read_extra):
        with pytest.raises(ModelFileError, match="does not match its checksum"):
            function(folder)


# ------------------------------------------------------------------------------- the folder


def test_paths_that_are_no_model(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="no model at"):
        tr.load(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="is a file"):
        tr.load(folder / "model.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFileError, match=r"model\.json is missing"):
        tr.load(tmp_path / "empty")
    (folder / "arrays.npz").unlink()
    with pytest.raises(ModelFileError, match=r"arrays\.npz is missing"):
        tr.load(folder)
    assert read_extra(folder) == {"note": "unharmed"}


@pytest.mark.parametrize("name", ["model.json", "arrays.npz"])
@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_pipes_and_folders_in_place_of_files(folder, name, tmp_path):
    moved = shutil.move(folder / name, tmp_path / name)
    (folder / name).symlink_to(moved)
    with pytest.raises(ModelFileError, match=f"{name} is not a regular file"):
        tr.load(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ModelFileError, match=f"{name} is not a regular file"):
        tr.load(folder)
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(ModelFileError, match=f"{name} is not a regular file"):
        tr.load(folder)


def test_a_link_to_a_model_is_followed(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert tr.load(tmp_path / "link").rank_ == 1


# ------------------------------------------------------------------------------- by chance


@pytest.mark.parametrize("name", ["model.json", "arrays.npz"])
def test_damage_at_random_places(folder, name):
    """Flipped, deleted and repeated bytes: an error, or the same model. Never another error."""
    rng = np.random.default_rng(0)
    path = folder / name
    whole = path.read_bytes()
    expected = tr.load(folder).coef_
    for kind in ["flip", "cut", "delete", "repeat"] * 40:
        data = bytearray(whole)
        place = int(rng.integers(len(data)))
        if kind == "flip":
            data[place] ^= 1 << int(rng.integers(8))
        elif kind == "cut":
            del data[place:]
        elif kind == "delete":
            del data[place : place + int(rng.integers(1, 9))]
        else:
            data[place:place] = data[place : place + int(rng.integers(1, 9))]
        path.write_bytes(data)
        try:
            found = tr.load(folder).coef_
        except ModelFileError:
            continue
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("place", ["document", "arrays"])
def test_damage_with_valid_checksums(folder, place):
    """As above, by somebody who also makes the checksums right: no other error."""
    rng = np.random.default_rng(1)
    whole = (folder / "arrays.npz").read_bytes()
    document = (folder / "model.json").read_text()
    for _ in range(150):
        data, text = bytearray(whole), document
        if place == "arrays":
            spot = int(rng.integers(len(data)))
            data[spot] = int(rng.integers(256))
            if rng.random() < 0.3:
                del data[int(rng.integers(len(data))) :]
        else:
            spot = int(rng.integers(len(text)))
            text = text[:spot] + chr(int(rng.integers(32, 127))) + text[spot + 1 :]
        (folder / "arrays.npz").write_bytes(data)
        try:
            write(folder, json.loads(text))
        except (ValueError, AttributeError, TypeError):
            continue
        try:
            tr.load(folder)
        except ModelFileError:
            continue
