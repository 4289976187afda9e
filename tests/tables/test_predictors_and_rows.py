"""Predictors of tables, and rows that belong together."""

import json

import numpy as np
import pytest

from thinrank.tables import Encoding, ReadOptions, TableError, align, join, read_table


def table(tmp_path, content, name="X.csv", **options):
    (tmp_path / name).write_text(content)
    return read_table(tmp_path / name, ReadOptions(**options))


MIXED = "age,sex,site\n1,f,A\n2,m,B\n3,f,B\n4,f,C\n"


def test_categories_are_compared_with_the_most_frequent(tmp_path):
    encoding, X = Encoding.learn(table(tmp_path, MIXED), impute=False)
    assert encoding.names == ["age", "sex=m", "site=A", "site=C"]
    np.testing.assert_array_equal(X, [[1, 0, 1, 0], [2, 1, 0, 0], [3, 0, 0, 0], [4, 0, 0, 1]])
    assert encoding.columns_in_use(np.array([False, False, False, True])) == ["site"]


def test_other_tables_get_the_same_predictors(tmp_path):
    encoding, _ = Encoding.learn(table(tmp_path, MIXED), impute=False)
    encoding = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    every = np.ones(4, dtype=bool)
    known = {"categorical": frozenset({"site", "sex"})}
    other = table(tmp_path, "site,more,sex,age\nC,7,m,9\nA,7,m,8\n", **known)
    np.testing.assert_array_equal(encoding.apply(other, every), [[9, 1, 0, 1], [8, 1, 1, 0]])
    with pytest.raises(TableError, match=r"row 2, column 'site': the category 'D' is not one of"):
        encoding.apply(table(tmp_path, "site,sex,age\nD,m,9\nA,m,9\nA,m,8\n"), every)
    with pytest.raises(TableError, match="lacks 2 of the 3 columns that the model uses: 'age'"):
        encoding.apply(table(tmp_path, "site,v\nA,1\nA,2\n"), every)
    with pytest.raises(TableError, match="row 2, column 'age': expected a number, got 'old'"):
        encoding.apply(table(tmp_path, "site,sex,age\nA,m,old\nA,m,old\n"), every)
    with pytest.raises(TableError, match="has no names of columns"):
        encoding.apply(table(tmp_path, "1.5,2,3\n4,5,6\n"), every)


def test_columns_that_are_not_in_use_may_be_anything(tmp_path):
    encoding, _ = Encoding.learn(table(tmp_path, MIXED), impute=False)
    only_age = np.array([True, False, False, False])
    other = table(tmp_path, "age,site\n9,D\n8,D\n", wanted=frozenset({"age"}))
    np.testing.assert_array_equal(encoding.apply(other, only_age), [[9, 0, 0, 0], [8, 0, 0, 0]])


def test_missing_predictors_are_an_error_or_replaced_by_means(tmp_path):
    holes = table(tmp_path, "age,sex,v\n1,f,1\n,m,2\n5,,3\n6,f,4\n")
    with pytest.raises(TableError) as caught:
        Encoding.learn(holes, impute=False)
    assert (caught.value.row, caught.value.column) == (3, "age")
    for part in ("2 columns have missing cells", "'age' (1)", "'sex' (1)", "--impute mean"):
        assert part in str(caught.value)
    encoding, X = Encoding.learn(holes, impute=True)
    np.testing.assert_allclose(X[:, 0], [1, 4, 5, 6])
    np.testing.assert_allclose(X[:, 1], [0, 1, 1 / 3, 0])
    encoding = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    other = table(tmp_path, "age,sex,v\nNA,f,NA\n3,m,1\n")
    np.testing.assert_allclose(
        encoding.apply(other, np.ones(3, dtype=bool)), [[4, 0, 2.5], [3, 1, 1]]
    )


def test_columns_that_cannot_be_predictors(tmp_path):
    with pytest.raises(TableError, match="'age' cannot be imputed: all cells are missing"):
        Encoding.learn(table(tmp_path, "age,v\n,1\n,2\n"), impute=True)
    with pytest.raises(TableError, match=r"different text in each of the 3 rows.*--index note"):
        Encoding.learn(table(tmp_path, "v,note\n1,a\n2,b\n3,c\n"), impute=False)
    with pytest.raises(TableError, match="'s=b' would be the name of two predictors"):
        Encoding.learn(table(tmp_path, "s=b,s\n1,a\n2,b\n3,a\n"), impute=False)
    with pytest.raises(TableError, match="every column has a single category"):
        Encoding.learn(table(tmp_path, "s,t\na,b\na,b\n"), impute=False)


def test_rows_in_another_order_are_matched_by_name(tmp_path):
    X = table(tmp_path, "id,a\nr,1\ns,2\nt,3\n")
    Y = table(tmp_path, "id,y\nt,30\nr,10\ns,20\n", "Y.csv")
    X, Y, notes = align(X, Y)
    np.testing.assert_array_equal(Y.numbers[:, 0], 10 * X.numbers[:, 0])
    assert "matched by name" in notes[0]
    assert Y.rows.tolist() == [3, 4, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,y\nr,1\ns,2\nu,3\n", "1 only in .*'t'; 1 only in .*'u'"),
        ("id,y\nr,1\ns,2\n", "1 only in .*X.csv: 't'"),
        ("id,y\nr,1\ns,2\nr,3\n", "is in rows 2 and 4"),
        ("y\n1\n2\n", "has 3 rows and .* has 2"),
    ],
)
def test_rows_that_do_not_belong_together(tmp_path, content, message):
    X = table(tmp_path, "id,a\nr,1\ns,2\nt,3\n")
    options = {"index": "id"} if content.startswith("id") else {}
    with pytest.raises(TableError, match=message):
        align(X, table(tmp_path, content, "Y.csv", **options))


def test_position_is_said_if_only_one_table_has_names(tmp_path):
    X = table(tmp_path, "id,a\nr,1\ns,2\n")
    _, _, notes = align(X, table(tmp_path, "y\n1\n2\n", "Y.csv"))
    assert "by position" in notes[0]


def test_join_keeps_the_rows_of_both(tmp_path):
    X = table(tmp_path, "a,key\n1,r\n2,s\n3,t\n", index="key")
    Y = table(tmp_path, "key,y\nt,30\nu,40\nr,10\n", "Y.csv", index="key")
    X, Y, notes = join(X, Y, "key")
    assert (X.index, Y.index) == (["r", "t"], ["r", "t"])
    np.testing.assert_array_equal(Y.numbers[:, 0], 10 * X.numbers[:, 0])
    assert "1 of 3 rows" in notes[1]
    with pytest.raises(TableError, match="'r' is in rows 2 and 3"):
        join(X, table(tmp_path, "key,y\nr,1\nr,2\n", "Y.csv", index="key"), "key")
    with pytest.raises(TableError, match="no value in common"):
        join(X, table(tmp_path, "key,y\nv,1\nw,2\n", "Y.csv", index="key"), "key")
    with pytest.raises(TableError, match="row 3, column 'key': the name of this row is missing"):
        join(X, table(tmp_path, "key,y\nr,1\n,2\n", "Y.csv", index="key"), "key")
