"""Genotypes in PLINK files act like the matrix of dosages with missing ones replaced by means."""

import pickle

import numpy as np
import pytest
from bed_reader import to_bed
from contract import assert_acts_like

from thinrank.designs import Genotypes, as_design, standardize, take_rows

N, P = 23, 61  # not a multiple of four samples, which share a byte


def dosages(missing=0.05):
    """Neighbours in linkage disequilibrium, rare alleles, monomorphic variants, missing ones."""
    rng = np.random.default_rng(30_200)
    latent = rng.standard_normal((2, N, P))
    for j in range(1, P):
        latent[..., j] = 0.9 * latent[..., j - 1] + 0.44 * latent[..., j]
    quantiles = np.linspace(-2.3, 0, P)
    quantiles[[4, 30]] = -10, 10
    G = np.sum(latent < quantiles, axis=0).astype(float)
    G[rng.random((N, P)) < missing] = np.nan
    G[:, 17] = np.nan  # a variant without any genotype
    return G


def imputed(G):
    known = np.where(np.isnan(G), 0, G)
    means = known.sum(axis=0) / np.maximum(np.sum(~np.isnan(G), axis=0), 1)
    return np.where(np.isnan(G), means, G)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "study.bed"
    names = {"iid": [f"s{i}" for i in range(N)], "sid": [f"rs{j}" for j in range(P)]}
    to_bed(file, dosages(), properties=names)
    return file


@pytest.fixture
def design(path):
    return Genotypes(path)


def test_it_acts_like_the_dosages(design, path, tmp_path):
    assert_acts_like(design, imputed(dosages()))
    assert as_design(design) is design
    assert_acts_like(Genotypes(path, dtype="float32"), imputed(dosages()), dtype="float32")
    few = np.zeros((P, 2))  # most variants have no coefficient
    few[[3, P - 1]] = [[1.0, 2.0], [0.5, -1.0]]
    np.testing.assert_allclose(design @ few, imputed(dosages()) @ few, atol=1e-12)
    complete = np.nan_to_num(dosages())
    to_bed(tmp_path / "x.bed", complete)
    assert_acts_like(Genotypes(tmp_path / "x.bed"), complete)
    assert Genotypes(tmp_path / "x.bed").n_missing == 0


def test_more_genotypes_than_are_unpacked_at_once(tmp_path):
    rng = np.random.default_rng(0)
    G = rng.integers(0, 3, (1201, 2000)).astype(np.int8)
    to_bed(tmp_path / "x.bed", G)
    design = Genotypes(tmp_path / "x.bed")
    A, B = rng.standard_normal((2000, 2)), rng.standard_normal((1201, 2))
    np.testing.assert_allclose(design @ A, G @ A, atol=1e-9)
    np.testing.assert_allclose(design.transposed_product(B), G.T @ B, atol=1e-9)
    np.testing.assert_allclose(design.column_norms(), np.linalg.norm(G.astype(float), axis=0))


def test_missing_genotypes_are_counted(design):
    missing = np.isnan(dosages())
    np.testing.assert_array_equal(design.missing, missing.sum(axis=0))
    assert design.n_missing == missing.sum()


def test_rows_keep_the_means_and_samples_have_their_own(design):
    index = np.array([1, 2, 8, 20])
    D = imputed(dosages())
    assert_acts_like(take_rows(design, index), D[index])
    assert_acts_like(take_rows(take_rows(design, index), np.array([0, 3])), D[[1, 20]])
    chosen = design.for_samples(["s8", "s1", "s20", "s2"])
    assert_acts_like(chosen, imputed(dosages()[[8, 1, 20, 2]]))
    assert chosen.sample_ids.tolist() == ["s8", "s1", "s20", "s2"]
    assert take_rows(chosen, np.array([1, 3])).sample_ids.tolist() == ["s1", "s2"]


def test_standardisation_leaves_out_monomorphic_variants(design):
    D = imputed(dosages())
    for rows in (None, np.arange(3, 19)):
        some = design if rows is None else take_rows(design, rows)
        expected = D if rows is None else D[rows]
        found = standardize(some)
        np.testing.assert_allclose(found.center, expected.mean(axis=0), atol=1e-12)
        deviation = np.where(np.ptp(expected, axis=0) > 0, expected.std(axis=0), 0)
        np.testing.assert_allclose(found.scale, deviation, atol=1e-12)
        assert np.all(found.scale[[4, 17, 30]] == 0)


def test_pickled_for_another_process(design):
    design.transposed_product(np.ones(N))  # opens the file
    assert_acts_like(pickle.loads(pickle.dumps(design)), imputed(dosages()))


def test_names(path):
    design = Genotypes(path)
    assert design.sample_ids[:2].tolist() == ["s0", "s1"]
    assert design.feature_names[-1] == f"rs{P - 1}"
    assert repr(design) == f"Genotypes({N} samples, {P} variants)"
    lines = path.with_suffix(".bim").read_text().splitlines()
    lines[0] = "7 . 0 55 A G"
    lines[1] = "X rs3 0 66 C T"  # as another one
    lines[4] = lines[5] = "9 . 0 77 A T"
    path.with_suffix(".bim").write_text("\n".join(lines))
    names = Genotypes(path).feature_names
    assert names[:2].tolist() == ["7:55:A:G", "rs3:X:66:C:T"]
    assert names[4:6].tolist() == ["9:77:A:T", "9:77:A:T:2"]
    assert len(set(names)) == P
    fam = path.with_suffix(".fam")
    fam.write_text("\n".join(f"f{i} {i // 2} 0 0 0 -9" for i in range(N)))
    assert Genotypes(path).sample_ids[:3].tolist() == ["f0_0", "f1_0", "f2_1"]


# what is told about a file, the file, and its contents instead of the right ones
DAMAGES = {
    "ends early": (".bed", lambda right: right[:-5]),
    "is too long": (".bed", lambda right: right + b"\0"),
    "6c 1b 01": (".bed", lambda right: b"PK\x03\x04" + right[4:]),
    "begins with the bytes of nothing": (".bed", lambda right: b""),
    "one sample after the other": (".bed", lambda right: b"\x6c\x1b\x00" + right[3:]),
    "line 2: expected 6 columns, got 5": (".bim", lambda right: b"1 a 0 1 A C\n1 b 0 1 A\n"),
    "is empty": (".fam", lambda right: b""),
    "several samples 'f_a'": (".fam", lambda right: b"f a 0 0 0 0\n" * N),
    "no genotypes of the last of the 24": (".fam", lambda right: right + b"f s23 0 0 0 0\n"),
    "more samples than the 22": (".fam", lambda right: right[: right[:-1].rindex(b"\n") + 1]),
    "not a text file": (".fam", lambda right: b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_files(path, what):
    suffix, change = DAMAGES[what]
    file = path.with_suffix(suffix)
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(ValueError, match=what):
        Genotypes(path)


def test_a_sample_without_the_rare_alleles_is_one(tmp_path):
    G = np.full((N, P), 2.0)
    G[:5, ::3] = 1
    to_bed(tmp_path / "x.bed", G)
    assert_acts_like(Genotypes(tmp_path / "x.bed"), G)


@pytest.mark.parametrize("suffix", [".bed", ".bim", ".fam"])
def test_files_that_are_not_there(path, suffix):
    path.with_suffix(suffix).unlink()
    with pytest.raises(FileNotFoundError, match=f"study{suffix} does not exist.*study.fam"):
        Genotypes(path)


def test_arguments(path):
    with pytest.raises(ValueError, match=r"that of a \.bed file, got .*study.bim"):
        Genotypes(path.with_suffix(".bim"))
    with pytest.raises(ValueError, match=r"dtype must be .* got 'int8'"):
        Genotypes(path, dtype="int8")
    with pytest.raises(ValueError, match=r"2 of 3 are not, such as 'a', 'b'.* like 's0', 's1'"):
        Genotypes(path).for_samples(["s1", "a", "b"])
    with pytest.raises(ValueError, match="ids must be distinct, got 1 repeated"):
        Genotypes(path).for_samples(["s1", "s1"])


def test_without_the_library(path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bed_reader", None)
    with pytest.raises(ImportError, match=r"PLINK files need bed_reader.*'\.\[genotypes\]"):
        Genotypes(path)
