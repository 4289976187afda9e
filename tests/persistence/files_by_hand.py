"""Model files changed by hand, with valid checksums."""

import hashlib
import io
import json
import zipfile

import numpy as np


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
