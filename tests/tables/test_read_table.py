"""Tables from files."""

import gzip

import numpy as np
import pytest

from thinrank.tables import ReadOptions, TableError, read_table, write_table


def read(tmp_path, content, name="X.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, ReadOptions(**options))


@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
def test_delimiters(tmp_path, delimiter):
    table = read(tmp_path, "a,b,c\n1,2.5,3\n4,5,-6e1\n".replace(",", delimiter))
    assert table.names == ["a", "b", "c"]
    np.testing.assert_array_equal(table.numbers, [[1, 2.5, 3], [4, 5, -60]])
    assert table.index is None
    assert table.named


def test_decimal_commas(tmp_path):
    table = read(tmp_path, "a;b\n1,5;2\n-0,25;1e3\n")
    np.testing.assert_array_equal(table.numbers, [[1.5, 2], [-0.25, 1000]])
    assert any("decimal commas" in note for note in table.notes)
    table = read(tmp_path, "1,5;2,5\n3,5;4,5\n")  # no header
    np.testing.assert_array_equal(table.numbers, [[1.5, 2.5], [3.5, 4.5]])
    assert (table.names, table.named) == (["x0", "x1"], False)


def test_points_among_decimal_commas_are_an_error(tmp_path):
    rows = "".join(f"{i},5;2,0\n" for i in range(30))
    with pytest.raises(TableError, match=r"row 32, column 'b': expected a number, got '1\.500'"):
        read(tmp_path, f"a;b\n{rows}1,5;1.500\n")


def test_missing_cells(tmp_path):
    marks = ["", "NA", "NaN", "nan", "null", "NULL", ".", "?", "N/A", " "]
    table = read(tmp_path, "a,b\n" + "".join(f"{mark},1\n" for mark in marks))
    assert np.isnan(table.numbers[:, 0]).all()
    assert not np.isnan(table.numbers[:, 1]).any()


def test_blank_lines_are_skipped_and_rows_are_those_of_the_file(tmp_path):
    table = read(tmp_path, "\n\na,b\n1,2\n\n   \n3,4\n,\n\n")
    np.testing.assert_array_equal(table.numbers, [[1, 2], [3, 4]])
    assert table.rows.tolist() == [4, 7]
    table = read(tmp_path, "a,b,\n1,2,\n,,\n3,4,\n")  # a row of empty cells, and such a column
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.numbers, [[1, 2], [np.nan, np.nan], [3, 4]])
    table = read(tmp_path, "y\n1\n\n3\n\n\n")
    np.testing.assert_array_equal(table.numbers[:, 0], [1, np.nan, 3])


def test_mixed_line_ends_and_quotes(tmp_path):
    table = read(tmp_path, 'id,"a, ""b""","two\nlines"\r\ns1,1,2\ns2,3,4\rs3,5,6\r\n')
    assert table.names == ['a, "b"', "two\nlines"]
    assert table.index == ["s1", "s2", "s3"]
    np.testing.assert_array_equal(table.numbers, [[1, 2], [3, 4], [5, 6]])
    assert table.rows.tolist() == [3, 4, 5]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    table = read(tmp_path, "größe,b\n1,2\n3,4\n".encode(encoding))
    assert table.names == ["größe", "b"]


def test_other_encodings_are_an_error_that_names_the_option(tmp_path):
    raw = "a,größe\n1,2\n3,4\n".encode("latin-1")
    with pytest.raises(TableError, match=r"row 1: is not UTF-8 text \(byte 0xf6\).*--encoding"):
        read(tmp_path, raw)
    assert read(tmp_path, raw, encoding="latin-1").names == ["a", "größe"]
    with pytest.raises(TableError, match="no encoding 'klingon'"):
        read(tmp_path, raw, encoding="klingon")


def test_compressed_files(tmp_path):
    table = read(tmp_path, gzip.compress(b"a\tb\n1\t2\n"), "X.tsv.gz")
    assert table.names == ["a", "b"]
    with pytest.raises(TableError, match=r"X\.csv\.gz: cannot be read"):
        read(tmp_path, b"a,b\n1,2\n", "X.csv.gz")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("0,1,2\n5,6,7\n", True),  # what pandas writes for an array
        (",0,1,2\n0,5,6,7\n1,8,9,10\n", True),
        ("1,2,3\n5,6,7\n", True),
        ("1.5,2,3\n5,6,7\n", False),
        ("0,1\n5,6\n", False),
        ("NA,2,3\n5,6,7\n", False),
        ("a,2,3\n5,6,7\n", True),
    ],
)
def test_header_detection(tmp_path, content, named):
    table = read(tmp_path, content)
    assert (table.named, table.shape[0]) == (named, content.count("\n") - named)
    if not content.startswith("a"):
        assert read(tmp_path, content, header=False, index=False).shape[0] == content.count("\n")


@pytest.mark.parametrize(
    ("header", "cells", "found"),
    [
        ("", ["0", "1", "2"], True),
        ("id", ["010", "10", "12"], True),
        ("Sample ID", ["a", "b", "c"], True),
        ("whatever", ["a", "b", "c"], True),
        ("whatever", ["a", "b", "b"], False),
        ("id", ["1", "2", "2"], False),
        ("id", ["1.5", "2.5", "3.5"], False),
        ("age", ["10", "11", "12"], False),
    ],
)
def test_index_detection(tmp_path, header, cells, found):
    content = f"{header},v\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))
    if found:
        table = read(tmp_path, content)
        assert (table.index, table.names) == (cells, ["v"])
        assert "names of the rows" in table.notes[0]
    elif header:
        assert read(tmp_path, content).index is None
        named = read(tmp_path, content, index=header)
        assert (named.index, named.index_name) == (cells, header)
    if header:
        assert read(tmp_path, content, index=False).names == [header, "v"]


def test_header_of_r_is_one_name_shorter(tmp_path):
    table = read(tmp_path, '"a" "b"\n'.replace(" ", ",") + '"r1",1,2\n"r2",3,4\n')
    assert (table.names, table.index) == (["a", "b"], ["r1", "r2"])


def test_texts_are_categories(tmp_path):
    table = read(tmp_path, "v,sex,site\n1,f,A\n2,m,1\n3,,A\n4,f,A\n" + "5,f,A\n" * 10)
    assert table.texts[1][:4].tolist() == ["f", "m", None, "f"]
    assert table.texts[2][:2].tolist() == ["A", "1"]


def test_given_categories_stay_as_they_are_in_the_file(tmp_path):
    table = read(tmp_path, "v,site\n1,01\n2,2\n3,1e1\n", categorical=frozenset({"site"}))
    assert table.texts[1].tolist() == ["01", "2", "1e1"]


@pytest.mark.parametrize("cell", ["abc", "1_000", "1,5"])
def test_text_in_a_column_of_numbers_is_an_error(tmp_path, cell):
    content = "id,age\n" + "".join(f"s{i},{i}\n" for i in range(15)) + f's15,"{cell}"\n'
    with pytest.raises(TableError, match="expected a number") as caught:
        read(tmp_path, content)
    assert (caught.value.row, caught.value.column) == (17, "age")
    assert caught.value.file.endswith("X.csv")
    assert repr(cell) in str(caught.value)
    assert "--categorical age" in str(caught.value)
    kept = read(
        tmp_path,
        content.replace("age", "age,b", 1).replace("\n", ",1\n").replace("age,b,1", "age,b"),
        wanted=frozenset({"b"}),
    )
    assert (kept.names, kept.ignored) == (["b"], ["age"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n \n\n", "is empty"),
        ("a,b\n", "has a header and no rows"),
        ("a,b,a,c,b,a\n1,2,3,4,5,6\n", "'a' is in columns 1, 3 and 6; 'b' is in columns 2 and 5"),
        ("a,b\n1,2\n1,2,3\n", "row 3: has 3 cells, expected 2"),
        ("a,b\n1,2\n1\n", "row 3: has 1 cell, expected 2"),
        ("a,b,c,d\n1,2\n", "has 4 names, but the next row has 2 cells"),
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ('a,b\n1,"2\n3,4\n', "row 2: cannot be read"),
        ("a,b\n1,inf\n2,3\n", "row 2, column 'b': expected a finite number, got inf"),
        (b"PK\x03\x04\x00\x00", "is not a text file"),
    ],
)
def test_faults(tmp_path, content, message):
    with pytest.raises(TableError) as caught:
        read(tmp_path, content)
    assert message in str(caught.value)


def test_faults_of_files(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(TableError, match=r"unknown file type '\.xlsx'"):
        read(tmp_path, b"", "X.xlsx")
    with pytest.raises(TableError, match="no column 'key' for the names"):
        read(tmp_path, "a,b\n1,2\n", index="key")


def test_npy_and_npz(tmp_path):
    numbers = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "X.npy", numbers)
    table = read_table(tmp_path / "X.npy")
    assert (table.names, table.named, table.shape) == (["x0", "x1"], False, (3, 2))
    np.savez(
        tmp_path / "d.npz", X=numbers, Y=numbers[:, 0], X_names=["a", "b"], index=["r", "s", "t"]
    )
    table = read_table(tmp_path / "d.npz")
    assert (table.names, table.index) == (["a", "b"], ["r", "s", "t"])
    assert read_table(tmp_path / "d.npz", prefix="y").names == ["y0"]
    np.savez(tmp_path / "e.npz", first=numbers, second=numbers)
    with pytest.raises(TableError, match="must have an array 'X' or a single array"):
        read_table(tmp_path / "e.npz")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="cannot be read as NPY"):
        read_table(tmp_path / "o.npy")
    np.save(tmp_path / "z.npy", np.empty((0, 3)))
    with pytest.raises(TableError, match="has no entries"):
        read_table(tmp_path / "z.npy")
    (tmp_path / "t.npz").write_bytes(b"PK nothing")
    with pytest.raises(TableError, match="cannot be read as NPZ"):
        read_table(tmp_path / "t.npz")


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"name": ["r", "s", "t"], "age": [1, None, 3], "sex": ["f", "m", None]}
    )
    frame.to_parquet(tmp_path / "X.parquet")
    table = read_table(tmp_path / "X.parquet")
    assert (table.names, table.index) == (["age", "sex"], ["r", "s", "t"])
    assert table.texts[1].tolist() == ["f", "m", None]
    frame.set_index("age").to_parquet(tmp_path / "X.parquet")
    table = read_table(tmp_path / "X.parquet", ReadOptions(index=False))
    assert table.names == ["name", "sex"]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        read_table(tmp_path / "bad.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_what_is_written_is_read_again(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    numbers = np.random.default_rng(0).standard_normal(4)
    texts = np.array(["a", "b", "a", "b"], dtype=object)
    path = tmp_path / f"out{suffix}"
    write_table(path, ["v, w", "t"], [numbers, texts], ["r", "s", "t", "u"], "id")
    table = read_table(path)
    assert (table.names, table.index) == (["v, w", "t"], ["r", "s", "t", "u"])
    np.testing.assert_allclose(table.numbers[:, 0], numbers, rtol=1e-9)
    assert table.texts[1].tolist() == texts.tolist()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_failure_while_writing_leaves_the_former_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("former")
    with pytest.raises(ValueError, match="zip"):
        write_table(path, ["a", "b"], [np.zeros(2), np.zeros(3)])
    assert path.read_text() == "former"
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        write_table(tmp_path / "out.xls", ["a"], [np.zeros(2)])
