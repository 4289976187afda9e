"""The fetch functions, with files as they are on the network where these are at hand."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from thinrank import datasets
from thinrank.datasets import (
    DownloadError,
    fetch_american_gut,
    fetch_breast_mirna,
    fetch_cell_cycle,
    fetch_cereal,
    fetch_lsoa,
    fetch_mice_eqtl,
    fetch_multi_target,
    fetch_multidrug,
    fetch_nir,
    fetch_yeast,
    remote_files,
)

# For each set: how to fetch it, the file of THINRANK_DATA with the same numbers.
SETS = {
    "yeast": (fetch_yeast, "yeast_spls.npz"),
    "cell_cycle": (fetch_cell_cycle, "cellcycle_secure.npz"),
    "mice_eqtl": (fetch_mice_eqtl, "mice_eqtl_spls.npz"),
    "multidrug": (fetch_multidrug, "real/multidrug.npz"),
    "breast_mirna": (fetch_breast_mirna, "real/breast_mirna.npz"),
    "nir": (fetch_nir, "real/nir.npz"),
    "cereal": (fetch_cereal, "real/cereal.npz"),
    "lsoa": (fetch_lsoa, "lsoa.npz"),
    "american_gut": (fetch_american_gut, "american_gut.npz"),
} | {
    name: (lambda name=name, **options: fetch_multi_target(name, **options), f"real/{name}.npz")
    for name in ("atp1d", "edm", "jura", "oes10", "osales", "wq")
}


def test_the_numbers_are_those_of_the_studies(data_dir):
    """With the downloaded files in THINRANK_DATA_HOME; the tests make no request of the network."""
    folder = os.environ.get("THINRANK_DATA_HOME")
    if not folder or not (Path(folder) / "mulan_edm.arff").is_file():
        pytest.skip("THINRANK_DATA_HOME does not name a folder with downloaded files")
    for name, (fetch, file) in SETS.items():
        found = fetch(data_home=folder, download_if_missing=False)
        source = np.load(data_dir / file)
        X = found.data.to_numpy()
        # the studies left out constant predictors, replaced missing ones and coded factors
        if name not in ("atp1d", "osales", "american_gut"):
            np.testing.assert_array_equal(X, source["X"])
        np.testing.assert_array_equal(found.target, source["Y"])
        assert list(found.data) == found.feature_names
        assert list(found.target) == found.target_names
        assert found.data.index.equals(found.target.index)
        assert found.data.index.is_unique
        assert str(len(X)) in found.DESCR
        assert "icense" in found.DESCR
        for key, names in (("X_names", found.feature_names), ("Y_names", found.target_names)):
            if key in source:
                assert [str(text).removesuffix("_YPD") for text in source[key]] == names


def test_every_set_says_what_is_missing(tmp_path):
    """The keys of the registry exist, and nothing is downloaded without leave."""
    for fetch, _ in SETS.values():
        with pytest.raises(DownloadError, match=r"https://raw.githubusercontent.com/.* as .* in"):
            fetch(data_home=tmp_path, download_if_missing=False)
    fetched = {getattr(datasets, name) for name in datasets.__all__ if name.startswith("fetch_")}
    single = {fetch for fetch, _ in SETS.values()}
    assert fetched - {fetch_multi_target} <= single
    assert len(SETS) == len(remote_files.SOURCES.read_text().splitlines()) - 1


# --------------------------------------------------------------------------- a small file

ARFF = """\
% a comment
@relation 'small'
@attribute "'first'" NUMERIC
@ATTRIBUTE second numeric
@attribute third numeric
@attribute 25400 numeric

@data
1, 2, 3, 4
5, ?, 7.5, 8
"""


def test_reading_arff(monkeypatch, tmp_path):
    (tmp_path / "mulan_edm.arff").write_text(ARFF)
    checksum = hashlib.sha256(ARFF.encode()).hexdigest()
    table = tmp_path / "sources.txt"
    table.write_text(f"mulan_edm.arff sha256:{checksum} https://nowhere.invalid/edm.arff\n")
    monkeypatch.setattr(remote_files, "SOURCES", table)
    found = fetch_multi_target("edm", data_home=tmp_path)
    assert found.feature_names == ["first", "second"]
    assert found.target_names == ["third", "Cladophora sp."]
    np.testing.assert_array_equal(found.data, [[1, 2], [5, np.nan]])
    np.testing.assert_array_equal(found.target, [[3, 4], [7.5, 8]])


def test_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of atp1d, .*wq, got 'boston'"):
        fetch_multi_target("boston")
