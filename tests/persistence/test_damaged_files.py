"""Damaged, truncated and hostile files give a ModelFileError, and nothing in them runs."""

import hashlib
import io
import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path

import example_models
import numpy as np
import pytest

import thinrank as tr
from thinrank.persistence import ModelFileError, read_extra

GOLDEN = Path(__file__).parent / "golden" / "0.1"
RAN = []


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A saved model; tests copy it."""
    path = tmp_path_factory.mktemp("original") / "model"
    tr.save(example_models.named_regressor()[0], path, extra={"note": "unharmed"})
    return path


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "model")


# ------------------------------------------------------------------------------- made by hand


def document_of(folder):
    return json.loads((folder / "model.json").read_text())


def write(folder, document, dump=json.dumps):
    """Write a document with a valid checksum, as somebody would who makes a file by hand."""
    document["checksum"] = "0" * 64
    if (folder / "arrays.npz").is_file():
        data = (folder / "arrays.npz").read_bytes()
        about = {"file": "arrays.npz", "sha256": hashlib.sha256(data).hexdigest()}
        document["arrays"] = {**about, "bytes": len(data), **document.get("arrays_change", {})}
        document.pop("arrays_change", None)
    text = dump(document)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(text.replace("0" * 64, digest, 1))


def change(folder, function):
    document = document_of(folder)
    function(document)
    write(folder, document)


def members(folder):
    with zipfile.ZipFile(folder / "arrays.npz") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def change_arrays(folder, function, compression=zipfile.ZIP_STORED):
    contents = members(folder)
    function(contents)
    with zipfile.ZipFile(folder / "arrays.npz", "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    write(folder, document_of(folder))


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def header(descr, shape, data=b""):
    out = io.BytesIO()
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, fields)
    return out.getvalue() + data


def test_a_file_made_by_hand_is_loaded_if_it_is_valid(folder):
    """The hostile files below fail for the reason that they state, not for a bad checksum."""
    change(folder, lambda document: None)
    change_arrays(folder, lambda contents: None)
    assert tr.load(folder).rank_ == 1


# ------------------------------------------------------------------------------- model.json

AUTO = {"$type": "object", "class": "starts.Auto", "fields": {}}


def fitted(**values):
    """A change of the fitted attributes in a document."""
    return lambda document: document["fitted"].update(values)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda d: d.update(format="other"), "not a model of thinrank"),
        (
            lambda d: d.update(format_version=2, thinrank_version="0.9.0"),
            r"made by thinrank 0\.9\.0 .* this is thinrank .* upgrade",
        ),
        (lambda d: d.update(format_version=True), "invalid format_version"),
        (lambda d: d.pop("class"), "'class' is missing"),
        (lambda d: d.pop("fitted"), "'fitted' is missing"),
        (lambda d: d.pop("extra"), "'extra' is missing"),
        (lambda d: d.update(parameters=[]), "'parameters' is missing or is not"),
        (lambda d: d.update({"class": "os.system"}), "'os.system' is not one that thinrank stores"),
        (lambda d: d.update({"class": "core.result.History"}), "not that of a model"),
        (lambda d: d.update({"class": "solvers.Pursuit"}), "not that of a model"),
        (lambda d: d.update({"class": "Solution"}), "'fields' is missing"),
        (lambda d: d.update({"class": "SparseReducedRankGLM"}), "no parameter 'loss'"),
        (lambda d: d["parameters"].update(evil=1), "no parameter 'evil'"),
        (fitted(predict=1), "'predict' is not an attribute"),
        (fitted(_linear=1), "'_linear' is not an attribute"),
        (fitted(coef_=1), "'coef_' is not an attribute"),
        (fitted(__class__=1), "'__class__' is not an attribute"),
        (fitted(rank=1), "'rank' is not an attribute"),
        (lambda d: d["fitted"].pop("_single_target"), "_single_target"),
        (fitted(_single_target=True), r"intercept_ must have the shape \(\)"),
        (fitted(n_features_in_=10**15), "n_features_in_"),
        (lambda d: d["fitted"].pop("intercept_"), "no attribute 'intercept_'"),
        (fitted(factors_=None), "factors_ must be Factors"),
        (fitted(kept_=[1]), "kept_ must have"),
        (lambda d: d["fitted"].pop("kept_coef_"), "no attribute 'kept_coef_'"),
        (lambda d: d["fitted"]["feature_names_in_"].update(shape=[7]), "shape"),
        (lambda d: d["fitted"]["feature_names_in_"]["items"].pop(), "size 5 into shape"),
        (lambda d: d["fitted"]["factors_"].pop("class"), "'class' is missing"),
        (lambda d: d["fitted"]["factors_"]["fields"].pop("V"), "not a valid Factors: .*argument"),
        (lambda d: d["fitted"]["factors_"]["fields"].update(U=None), "not a valid Factors"),
        (lambda d: d["fitted"]["factors_"].update({"class": "Solution"}), "no field 'U'"),
        (lambda d: d["fitted"]["status_"]["fields"]["outcome"].update(value="won"), "Outcome"),
        (fitted(x_={"$type": "pickle"}), "unknown type 'pickle'"),
        (fitted(x_={"$type": "array", "name": "../x"}), "no array '../x'"),
        (fitted(x_={"$type": "array"}), "'name' is missing"),
        (fitted(x_={"$type": "float", "value": "1"}), "valid float"),
        (fitted(x_={"$type": "dict", "items": [[[], 1]]}), "valid dict"),
        (fitted(x_={"$type": "range", "items": [0, 1, 0]}), "valid range"),
        (fitted(x_={"$type": "scalar", "dtype": "|O8", "value": 1}), "not supported"),
        (fitted(x_={"$type": "scalar", "dtype": "<i1", "value": 300}), "valid scalar"),
        (fitted(x_={**AUTO, "fields": {"evil": 1}}), "no field 'evil'"),
        (lambda d: d.update(arrays_change={"file": "../arrays.npz"}), "another file"),
        (lambda d: d.update(arrays_change={"sha256": "0"}), "checksum"),
        (lambda d: d.update(arrays_change={"bytes": 1}), "checksum"),
    ],
    ids=range(44),
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
    change(folder, lambda document: document["parameters"].update(start=AUTO))
    assert tr.load(folder).start == tr.starts.Auto()


def test_values_nested_deeply(folder):
    document = document_of(folder)
    document["fitted"]["x_"] = "marked"
    nested = "[" * 100_000 + "]" * 100_000
    write(folder, document, lambda document: json.dumps(document).replace('"marked"', nested))
    for function in (tr.load, read_extra):
        with pytest.raises(ModelFileError, match="recursion"):
            function(folder)


def test_numbers_that_are_too_large(folder):
    def dump(document):
        return json.dumps(document).replace('"marked"', "1e999")

    document = document_of(folder)
    document["fitted"]["x_"] = "marked"
    write(folder, document, dump)
    with pytest.raises(ModelFileError, match="1e999 is not a finite number"):
        tr.load(folder)
    document = document_of(folder)
    del document["fitted"]["x_"]
    document["extra"] = {"a": "marked"}
    write(folder, document, dump)
    with pytest.raises(ModelFileError, match="1e999 is not a finite number"):
        read_extra(folder)


def test_a_document_that_is_too_large(folder):
    os.truncate(folder / "model.json", 2**40)  # of which the disk holds no more than before
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
    moved = Path(shutil.move(folder / name, tmp_path / name))
    for replace in (lambda: (folder / name).symlink_to(moved), lambda: os.mkfifo(folder / name)):
        replace()
        with pytest.raises(ModelFileError, match=f"{name} is not a regular file"):
            tr.load(folder)
        (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(ModelFileError, match=f"{name} is not a regular file"):
        tr.load(folder)


def test_a_link_to_a_model_is_followed(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert tr.load(tmp_path / "link").rank_ == 1


# ------------------------------------------------------------------------------- arrays.npz


class Payload:
    """Records that it was unpickled."""

    def __reduce__(self):
        return RAN.append, ("ran",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            npy(np.array([Payload()], dtype=object), allow_pickle=True),
            "Object arrays cannot be loaded",
        ),
        (pickle.dumps(Payload()), "cannot be read"),
        (b"", "cannot be read"),
        (header("<f8", (10**12,)), "cannot be read"),
        (header("<f8", (2**62, 2**62)), "cannot be read"),
        (header("<f8", (-1, -8), b"\x00" * 64), "cannot be read"),
        (header("<f8", (3,), b"\x00" * 25), "more data than it declares"),
        (header("<f8", (3,), b"\x00" * 23), "EOF"),
        (header("<f16", (1,), b"\x00" * 16), "not supported"),
        (header([("a", "<f8")], (1,), b"\x00" * 8), "not supported"),
        (header("<U1", (1,), b"\xff" * 4), "characters"),
        (header("<U0", (10**18,)), "cannot be read"),
        (npy(np.zeros(3)).replace(b"\x01\x00", b"\x09\x00", 1), "format version"),
    ],
    ids=range(13),
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
        ("calcium", "mean_image_", np.zeros(3), "mean_image_ must have"),
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
