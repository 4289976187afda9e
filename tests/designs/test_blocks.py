"""Row blocks against the matrix that they are read from."""

import numpy as np
import pytest
from contract import assert_acts_like

from thinrank.designs import Blocks, DaskBlocks

N, P = 53, 7


@pytest.fixture
def X():
    return np.random.default_rng(30000).standard_normal((N, P)) + np.arange(P)


class Again:
    """Blocks that can be read again and again, of the heights that are given."""

    def __init__(self, X, heights):
        self.X, self.heights = X, heights

    def __iter__(self):
        first = 0
        for height in self.heights:
            yield self.X[first : first + height]
            first += height


def npy(X, folder):
    np.save(folder / "x.npy", X)
    return Blocks(folder / "x.npy", block_rows=10)


def columns_first(X, folder):
    np.save(folder / "x.npy", np.asfortranarray(X))
    return Blocks(str(folder / "x.npy"), block_rows=10)


def memory_map(X, folder):
    np.save(folder / "x.npy", X)
    return Blocks(np.load(folder / "x.npy", mmap_mode="r"), block_rows=17)


def slice_of_map(X, folder):
    np.save(folder / "x.npy", np.vstack([X[:3], X]))
    return Blocks(np.load(folder / "x.npy", mmap_mode="r")[3:], block_rows=17)


def hdf5(X, folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("group/x", data=X, chunks=(9, 4))
    return Blocks(folder / "x.h5", dataset="group/x", block_rows=10)


def zarr_folder(X, folder):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(str(folder / "x"), shape=X.shape, chunks=(9, 4), dtype=X.dtype)
    stored[:] = X
    return Blocks(folder / "x", block_rows=10)


def zarr_array(X, folder):
    zarr = pytest.importorskip("zarr")
    zarr_folder(X, folder)
    return Blocks(zarr.open_array(str(folder / "x"), mode="r"))


def parquet(X, folder):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"gene{j}" for j in range(X.shape[1])]
    for i, part in enumerate((X[:20], X[20:])):
        pd.DataFrame(part, columns=names).to_parquet(folder / f"{i}.parquet", row_group_size=8)
    return Blocks(folder, block_rows=10)


def listed(X, folder):
    return Blocks([X[:20], X[20:21], X[21:]], block_rows=10)


def iterated(X, folder):
    return Blocks(Again(X, [11, 30, 12]))


def dask_array(X, folder):
    da = pytest.importorskip("dask.array")
    return DaskBlocks(da.from_array(X, chunks=(20, 3)))


KINDS = [npy, columns_first, memory_map, slice_of_map, hdf5, zarr_folder, zarr_array, parquet]
KINDS += [listed, iterated, dask_array]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_blocks_act_like_the_matrix(kind, dtype, X, tmp_path):
    X = X.astype(dtype)
    before = X.copy()
    blocks = kind(X, tmp_path)
    assert_acts_like(blocks, X, dtype=dtype)
    np.testing.assert_array_equal(blocks.everything(), X)
    np.testing.assert_array_equal(X, before)  # functions overwrite blocks, never the data


def test_rows_of_other_blocks_are_aligned(X):
    blocks, Y = Blocks([X], block_rows=10), Blocks(Again(2 * X, [3, 30, 20]), block_rows=7)
    found = blocks.reduce(lambda x, y: [np.abs(y - 2 * x).sum(), x.sum()], along=(Y,))
    np.testing.assert_allclose(found, [0.0, X.sum()])


def test_names_and_integers(X, tmp_path):
    assert parquet(X, tmp_path).names.tolist() == [f"gene{j}" for j in range(P)]
    whole = Blocks([np.arange(6).reshape(3, 2)])
    assert whole.dtype == np.float64
    np.testing.assert_array_equal(whole.everything(), [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def test_a_block_takes_a_part_of_the_memory_budget(X, monkeypatch):
    monkeypatch.setenv("THINRANK_MEMORY_GIB", str(32 * 10 * P * 8 / 2**30))
    assert Blocks(X).block_rows == 10


def test_what_cannot_be_read_twice(X):
    with pytest.raises(TypeError, match="generator, which cannot be read twice"):
        Blocks(block for block in [X])
    again = Again(X, [20, 33])
    blocks = Blocks(again)
    again.heights = [20, 30]
    with pytest.raises(ValueError, match=r"end early: they had 53 rows.*now 50"):
        blocks.gram()


def test_blocks_that_do_not_fit_together(X):
    with pytest.raises(ValueError, match="block 1 has 6 columns, and block 0 has 7"):
        Blocks([X, X[:, :6]])
    with pytest.raises(ValueError, match="block 1 has the dtype float32, and block 0 has float64"):
        Blocks([X, X.astype(np.float32)])
    with pytest.raises(ValueError, match=r"block 0 must have two dimensions.*\(53,\)"):
        Blocks([X[:, 0]])
    with pytest.raises(ValueError, match="at least one block"):
        Blocks([])
    with pytest.raises(ValueError, match="block_rows must be a positive integer, got 0"):
        Blocks(X, block_rows=0)
    with pytest.raises(TypeError, match="data must be a path, an array"):
        Blocks(3)
    with pytest.raises(ValueError, match="must hold real numbers, got the dtype <U1"):
        Blocks(np.array([["a"]]))


def test_files_that_cannot_be_read(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-8])
    with pytest.raises(ValueError, match=r"x\.npy cannot be read as an NPY file: .*file size"):
        Blocks(tmp_path / "x.npy")
    (tmp_path / "y.npy").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"y\.npy cannot be read as an NPY file"):
        Blocks(tmp_path / "y.npy")
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*z\.npy"):
        Blocks(tmp_path / "z.npy")
    (tmp_path / "x.txt").write_text("1 2")
    with pytest.raises(ValueError, match=r"x\.txt is not one of: an NPY file"):
        Blocks(tmp_path / "x.txt")
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(ValueError, match=r"x\.parquet cannot be read as a Parquet file"):
        Blocks(tmp_path / "x.parquet")


def test_a_file_that_becomes_shorter_while_it_is_read(X, tmp_path):
    blocks = npy(X, tmp_path)
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-80])
    with pytest.raises(ValueError, match=r"x\.npy ends early, in the rows from 50 on"):
        blocks.gram()


def test_data_sets_of_hdf5_files(X, tmp_path):
    hdf5(X, tmp_path)
    with pytest.raises(ValueError, match="pass the name of the data set as dataset="):
        Blocks(tmp_path / "x.h5")
    with pytest.raises(ValueError, match="has no data set 'x'; it has: group/x"):
        Blocks(tmp_path / "x.h5", dataset="x")
    whole = (tmp_path / "x.h5").read_bytes()
    (tmp_path / "x.h5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cannot be read as an HDF5 file"):
        Blocks(tmp_path / "x.h5", dataset="group/x")


def test_parquet_files_of_other_columns(X, tmp_path):
    pd = pytest.importorskip("pandas")
    parquet(X, tmp_path)
    pd.DataFrame(X, columns=[f"cell{j}" for j in range(P)]).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"'cell0' \(double\) in the place of 'gene0'"):
        Blocks(tmp_path)
    pd.DataFrame({"a": ["x", "y"]}).to_parquet(tmp_path / "words.parquet")
    with pytest.raises(ValueError, match=r"must hold numbers only; other columns: 'a'"):
        Blocks(tmp_path / "words.parquet")
