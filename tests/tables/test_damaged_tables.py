"""Files that fuzzing found: damaged in ways about which other libraries raise odd exceptions."""

import gzip
import io

import numpy as np
import pytest

from thinrank.tables import ReadOptions, TableError, read_table, write_table

TEXT = "a,b\n" + "1.5,2\n" * 40


def npy(header_end=b" }"):
    out = io.BytesIO()
    np.save(out, np.eye(3))
    return out.getvalue().replace(b", }", b"," + header_end, 1)


def test_compressed_data_with_other_bytes(tmp_path):
    data = bytearray(gzip.compress(TEXT.encode()))
    data[12:16] = b"\xff\xff\xff\xff"  # in the compressed block, after the header
    (tmp_path / "X.csv.gz").write_bytes(data)
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / "X.csv.gz")


@pytest.mark.parametrize("end", [b"}}", b"( "])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_headers_of_arrays_that_are_not_python(tmp_path, end, suffix):
    path = tmp_path / f"X{suffix}"
    path.write_bytes(npy(end))
    with pytest.raises(TableError, match="cannot be read as NP"):
        read_table(path)


@pytest.mark.parametrize("encoding", ["utf-16"])
def test_encodings_without_a_byte_order_mark(tmp_path, encoding):
    (tmp_path / "X.csv").write_bytes(TEXT.encode(encoding + "-le"))
    table = read_table(tmp_path / "X.csv", ReadOptions(encoding=encoding))
    np.testing.assert_array_equal(table.numbers, [[1.5, 2.0]] * 40)


def test_a_blank_line_with_more_cells_than_columns(tmp_path):
    (tmp_path / "X.tsv").write_text('a\n1\n\t\n""\n2\n')
    table = read_table(tmp_path / "X.tsv")
    np.testing.assert_array_equal(table.numbers, [[1.0], [np.nan], [2.0]])


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_a_table_without_columns_is_not_written(tmp_path, suffix):
    with pytest.raises(ValueError, match="at least one column"):
        write_table(tmp_path / f"X{suffix}", [], [])
    assert not list(tmp_path.iterdir())


def test_texts_are_not_written_to_arrays(tmp_path):
    with pytest.raises(ValueError, match="numbers only"):
        write_table(tmp_path / "X.npy", ["a"], [np.array(["u", "v"], dtype=object)])
    assert not list(tmp_path.iterdir())
