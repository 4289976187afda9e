"""Tables as people have them: the fit is that of the numbers, or the exit status is not 0."""

import datetime
import gzip
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.cli.messy_files import SIZES, contents, csv_text, numbers, run

import thinrank as tr

NAMES = list("abcdef")
N = 40
ORDER = np.random.default_rng(3).permutation(N)
X, Y = numbers()
REFERENCE = tr.SparseReducedRankRegressor(1, 2, 2).fit(X, Y).coef_
IDS = [f"s{i}" for i in range(N)]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def x_text(keys=IDS, corner="id", **style):
    return csv_text(X, NAMES, keys, corner=corner, **style)


def y_text(keys=IDS, corner="id", order=ORDER, **style):
    return csv_text(Y[order], ["u", "v", "w"], [keys[i] for i in order], corner=corner, **style)


def plain(text):
    """Without the column of names."""
    return "\n".join(line.split(",", 1)[1] for line in text.splitlines()) + "\n"


def with_column(text, name, cells, delimiter=","):
    lines = text.splitlines()
    joined = [f"{line}{delimiter}{c}" for line, c in zip(lines, [name, *cells], strict=True)]
    return "\n".join(joined) + "\n"


def fit(*options, x="X.csv", y="Y.csv"):
    return run("fit", x, y, "-o", "m", *SIZES, *options)


def assert_right(done):
    assert done.code == 0, done.err
    model = tr.load("m")
    assert list(model.feature_names_in_)[:6] == NAMES
    assert list(model.target_names_in_) == ["u", "v", "w"]
    np.testing.assert_allclose(model.coef_[:, :6], REFERENCE, atol=1e-10)


def assert_refused(done, *told):
    assert done.code in (2, 3), done.out
    for text in told:
        assert text in done.error
    assert not [name for name in contents(Path()) if name.startswith("m/")]


# ------------------------------------------------------------ rows that belong together

KEYS = {
    "texts": IDS,
    "numbers": [str(7 * i + 3) for i in range(N)],
    "consecutive numbers": [str(i + 1) for i in range(N)],
    "leading zeros": [f"{i:03d}" for i in range(N)],
    "barcodes": [str(12345678901234567000 + i) for i in range(N)],
    "floats": [str(i + 0.25) for i in range(N)],
    "negative numbers": [str(-i) for i in range(N)],
    "dates": [str(datetime.date(2020, 1, 1) + datetime.timedelta(days=i)) for i in range(N)],
    "times": [f"2020-01-01T{i // 6:02d}:{i % 6}0:00" for i in range(N)],
    "with spaces": [f"Sample No. {i}" for i in range(N)],
    "mixed": [f"{i}b" if i % 3 else str(i) for i in range(N)],
    "letters": [f"{chr(65 + i // 26)}{chr(65 + i % 26)}" for i in range(N)],
    "other scripts": [f"試料{i}" for i in range(N)],
    "percent signs": [f"{i}%" for i in range(N)],
    "hexadecimal": [f"0x{i:x}" for i in range(N)],
    "exponents": [f"{i}E2" for i in range(N)],
    "formulas": [f"=s{i}" for i in range(N)],
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_permuted_file_gives_the_fit_of_the_sorted_one(kind):
    keys = KEYS[kind]
    corner = ("id", "barcode", "PatNr")[list(KEYS).index(kind) % 3]
    write("X.csv", x_text(keys, corner))
    write("Y.csv", y_text(keys, "MRN" if corner == "barcode" else corner))
    done = fit()
    assert_right(done)
    assert done.out.startswith("Rows are paired by column")
    assert "Y.csv is in another order" in done.out.splitlines()[0]
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    names = [line.split(",")[0] for line in Path("p.csv").read_text("utf-8").splitlines()]
    assert names[1:] == [f"'{key}" if key.startswith("=") else key for key in keys]


@pytest.mark.parametrize("place", ["first", "last"])
def test_the_key_may_be_any_column(place):
    keys = KEYS["numbers"]
    text = plain(x_text())
    write("X.csv", x_text(keys, "MRN") if place == "first" else with_column(text, "MRN", keys))
    write("Y.csv", with_column(plain(y_text()), "Sample No.", [keys[i] for i in ORDER]))
    assert_right(fit())


@pytest.mark.parametrize("file", ["X.csv", "Y.csv"])
@pytest.mark.parametrize("kind", ["texts", "numbers", "barcodes", "dates"])
def test_a_duplicated_key_is_named_with_both_lines(file, kind):
    keys = KEYS[kind]
    write("X.csv", x_text(keys))
    write("Y.csv", y_text(keys))
    lines = Path(file).read_text().splitlines()
    lines[9] = ",".join([lines[4].split(",")[0], *lines[9].split(",")[1:]])
    write(file, "\n".join(lines))
    assert_refused(fit(), f"{file}, row 5, column 'id'", "is in rows 5 and 10")


def test_a_numeric_key_is_never_predictor_and_response():
    keys = KEYS["numbers"]
    write("X.csv", x_text(keys, "PatNr"))
    write("Y.csv", y_text(keys, "MRN"))
    assert_refused(fit("--no-index"), "rows are not in the same order", "'PatNr'", "'MRN'")
    write("Y.csv", y_text(keys, "MRN", order=np.arange(N)))
    assert_refused(fit("--no-index"), "'MRN'", "cannot be a predictor of itself")


def test_without_a_key_the_user_says_that_the_order_is_the_same():
    write("X.csv", plain(x_text()))
    write("Y.csv", plain(y_text(order=np.arange(N))))
    assert_refused(fit(), "no column has the same values", "--no-index")
    done = fit("--no-index")
    assert_right(done)
    assert done.out.splitlines()[0] == "Rows are paired by position"
    assert run("fit", "X.csv", "Y.csv", "-o", "n", *SIZES, "--json", "--no-index").json[
        "pairing"
    ] == "Rows are paired by position"  # fmt: skip


@pytest.mark.parametrize("only", ["X.csv", "Y.csv"])
def test_names_of_rows_in_one_file_are_no_key(only):
    write("X.csv", x_text() if only == "X.csv" else plain(x_text()))
    write("Y.csv", (y_text if only == "Y.csv" else lambda **o: plain(y_text(**o)))(order=range(N)))
    assert_refused(fit(), "no column has the same values")
    assert_right(fit("--no-index"))


def test_row_numbers_are_trusted_less_than_other_keys():
    rows = [str(i) for i in range(N)]
    keys = KEYS["numbers"]
    write("X.csv", with_column(x_text(rows, ""), "PatNr", keys))
    y = csv_text(Y[ORDER], ["u", "v", "w"], rows, corner="")
    write("Y.csv", with_column(y, "MRN", [keys[i] for i in ORDER]))
    done = fit()
    assert_right(done)
    assert "'PatNr' and 'MRN'" in done.out.splitlines()[0]
    write("Y.csv", csv_text(Y, ["u", "v", "w"], rows, corner=""))
    write("X.csv", x_text(rows, ""))
    assert run("fit", "X.csv", "Y.csv", "-o", "n", *SIZES).code == 0


def test_two_keys_that_disagree():
    a, b = KEYS["texts"], KEYS["letters"]
    write("X.csv", with_column(x_text(a, "one"), "two", b))
    write("Y.csv", with_column(y_text(a, "one"), "two", b))
    assert_refused(fit(), "would pair other rows than", "--index")
    assert_right(fit("--index", "one", "--drop", "two"))


def test_ranks_are_not_taken_for_the_names_of_rows():
    ids, ranks = [str(i + 1) for i in range(N)], [str(i + 1) for i in ORDER]
    responses, in_order = ("--responses", "u,v,w", "--overwrite"), {"order": range(N)}
    write("X.csv", x_text(ids))
    write("Y.csv", with_column(y_text(ids, corner="MRN", **in_order), "after", ranks))
    assert_refused(fit(), "'MRN' of Y.csv", "'after' of Y.csv", "--index")
    write("X2.csv", with_column(x_text(ids), "before", ranks))
    write("Y2.csv", with_column(y_text(ids, **in_order), "after", ids[::-1]))
    refused = fit(x="X2.csv", y="Y2.csv")
    assert_refused(refused, "'id' of X2.csv and 'id' of Y2.csv", "'before' of X2.csv and 'after'")
    assert_right(fit("--index", "MRN", *responses))
    assert_right(fit("--drop", "before,after", "--overwrite", x="X2.csv", y="Y2.csv"))
    without = ("--no-index", "--drop", "id,before,after", "--overwrite")
    assert_right(fit(*without, x="X2.csv", y="Y2.csv"))
    done = fit(*responses, y="Y2.csv")
    assert "Rows are paired by column 'id'\n" in done.out
    assert_right(done)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("007", "7"),
        ("S1", "s1"),
        ("1.0", "1"),
        ("a b", "a  b "),
        ("\u00e9", "e\u0301"),
    ],
)
def test_keys_that_are_written_differently(x, y):
    write("X.csv", x_text([*[f"k{i}" for i in range(N - 1)], x]))
    write("Y.csv", y_text([*[f"k{i}" for i in range(N - 1)], y]))
    done = fit()
    assert_right(done)
    assert "note: names of rows are written differently" in done.err


def test_keys_that_differ_in_case_only_are_different():
    keys = [f"{c}{i}" for i in range(N // 2) for c in "aA"]
    write("X.csv", x_text(keys))
    write("Y.csv", y_text(keys))
    done = fit()
    assert done.code == 3
    assert_right(fit("--join", "id"))


def test_keys_of_other_samples():
    write("X.csv", x_text())
    write("Y.csv", y_text([*IDS[:-1], "other"]))
    assert_refused(fit(), "1 only in X.csv: 's39'", "1 only in Y.csv: 'other'", "--join")
    write("Y.csv", y_text([f"t{i}" for i in range(N)]))
    assert_refused(fit(), "no column has the same values")


def test_join_uses_the_rows_of_both():
    write("X.csv", x_text())
    write("Y.csv", y_text(order=ORDER[:30]))
    assert_refused(fit(), "only in X.csv")
    done = fit("--join", "id")
    assert done.code == 0
    assert "note: 10 of 40 rows of X.csv were left out" in done.err
    used = np.sort(ORDER[:30])
    expected = tr.SparseReducedRankRegressor(1, 2, 2).fit(X[used], Y[used])
    np.testing.assert_allclose(tr.load("m").coef_, expected.coef_, atol=1e-10)
    assert run("fit", "X.csv", "Y.csv", "-o", "n", *SIZES, "--join", "code").code == 3


def test_repeated_measures_and_missing_keys():
    write("X.csv", x_text())
    long = y_text(order=[*range(N), *range(N)])
    write("Y.csv", long)
    assert_refused(fit(), "Y.csv, row 2", "is in rows 2 and 42")
    write("Y.csv", y_text([*IDS[:-1], ""]))
    assert_refused(fit(), "the name of this row is missing")


# ------------------------------------------------- numbers that were not understood


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([f"{i} mg" for i in range(N)], "got '0 mg'"),
        (["1.2 mg", "1.5 mg"] * 20, "got '1.2 mg'"),
        (["2020-01-02", "2020-03-04"] * 20, "got '2020-01-02'"),
        (["1/2/20", "3/4/20"] * 20, "got '1/2/20'"),
        (["12%", "0.12"] * 20, "percent signs in all cells"),
        (['"3,000"', '"1,500"'] * 20, "--decimal point"),
        (["<0.5", "0.7"] * 20, "--missing '<0.5'"),
        (["$5", "$7"] * 20, "got '$5'"),
        (["5 ± 2", "7 ± 3"] * 20, "got '5 ± 2'"),
        (["1-2", "3-4"] * 20, "--categories g"),
        (["1_000", "2_000"] * 20, "got '1_000'"),
        (["0x1F", "0x2F"] * 20, "got '0x1F'"),
        (["1.2.3", "3.4.5"] * 20, "got '1.2.3'"),
        ([*["low"] * 20, *["1"] * 20], "got 'low'"),
        ([*["1"] * 39, "n.d."], "--missing n.d."),
        (["yes", "no", "Yes", "NO"] * 10, "has 'NO', 'no', which are different categories only if"),
        (["1/2", "3/4"] * 20, "got '1/2'"),
        (["12:30", "13:45"] * 20, "got '12:30'"),
        (["5-Jan", "7-Mar"] * 20, "got '5-Jan'"),
        (['"1,2"', '"3,4"'] * 20, "got '1,2'"),
        (["1'000", "2'000"] * 20, 'got "1\'000"'),
        (["1 000", "2 000"] * 20, "got '1 000'"),
        (["\u22121", "2"] * 20, "got '\u22121'"),
        (["(1)", "2"] * 20, "got '(1)'"),
        (["1D2", "2D2"] * 20, "got '1D2'"),
        ([*["1"] * 39, "-"], "--missing -"),
        ([*["1"] * 39, "None"], "--missing None"),
        ([*["1"] * 39, "#DIV/0!"], "got '#DIV/0!'"),
        ([*["1"] * 39, "TRUE"], "got 'TRUE'"),
        ([*["1.5"] * 39, '"1,5"'], "expected a number, got '1,5'"),
        ([f"{2**53 + i}.0" for i in range(N)], "whole numbers of 2^53 and above would be rounded"),
        ([f'"{2**53 + i:,}"' for i in range(N)], "whole numbers of 2^53 and above"),
        ([*["1.5"] * 39, "inf"], "expected a finite number"),
        ([*["1.5"] * 39, "1e999"], "expected a finite number"),
        ([f"note {i // 2}" for i in range(N)], "has 20 texts in 40 rows, such as 'note 0'"),
        ([f"text {i}" for i in range(N)], "has 40 texts in 40 rows, such as 'text 0'"),
    ],
)
def test_cells_that_are_neither_numbers_nor_categories(cells, told):
    write("X.csv", with_column(x_text(), "g", cells))
    write("Y.csv", y_text())
    assert_refused(fit(), "X.csv", "column 'g'", told)
    assert_right(fit("--drop", "g"))


@pytest.mark.parametrize(
    ("cells", "options", "value"),
    [
        ([f"{i}%" for i in range(N)], (), np.arange(N)),
        ([f"{i}.5 %" for i in range(N)], (), np.arange(N) + 0.5),
        ([f'"{i + 1},000"' for i in range(N)], ("--decimal", "point"), 1000 * (np.arange(N) + 1)),
        (
            [str(i) if i else "-999" for i in range(N)],
            ("--missing", "-999"),
            [np.nan, *range(1, N)],
        ),
        (
            [str(i) if i else "n.d." for i in range(N)],
            ("--missing", "n.d."),
            [np.nan, *range(1, N)],
        ),
        (["TRUE", "FALSE"] * 20, (), [0, 1] * 20),
        (["+5", "-.5", "6.", "7"] * 10, (), [5, -0.5, 6, 7] * 10),
        (["１", "２", "١", "٢"] * 10, (), [1, 2, 1, 2] * 10),
        ([" m", "f", "f ", "m"] * 10, (), None),
        (["yes", "no", "Yes", "NO"] * 10, ("--categories", "g"), None),
        ([str(i % 4) for i in range(N)], ("--categories", "g"), None),
        ([f"{i % 30} mg" for i in range(N)], ("--categories", "g"), None),
    ],
)
def test_cells_that_are_understood(cells, options, value):
    """The fit predicts a response that is the column itself."""
    write("X.csv", with_column(x_text(), "g", cells))
    write("Y.csv", y_text())
    done = fit(*options, "--impute", "mean")
    assert_right(done)
    if value is None:
        assert tr.load("m").feature_categories_["g"]
        return
    value = np.array(value, dtype=float)
    value[np.isnan(value)] = np.nanmean(value)
    target = csv_text((2.0 * value[:, None]).round(9), ["t"], IDS)
    write("T.csv", target)
    one = ("--rank", "1", "--predictors", "1", "--responses", "1", "--ridge", "0")
    done = run("fit", "X.csv", "T.csv", "-o", "t", *one, *options, "--impute", "mean", "--json")
    assert done.code == 0, done.out
    assert done.json["predictors"] == ["g=TRUE" if "TRUE" in cells else "g"]
    assert abs(done.json["r2"]["t"] - 1) < 1e-9


def test_a_blank_line_in_a_single_column_is_a_missing_cell():
    write("c.csv", "1.5\n\n2\n3\n\n")
    column = tr.tables.read_table("c.csv")["x0"].tolist()
    assert np.array_equal(column, [1.5, np.nan, 2, 3], equal_nan=True)


def test_a_response_that_is_left_out_or_has_the_names_of_the_rows():
    write("X.csv", x_text())
    write("Y.csv", y_text())
    for files, options in (
        (("X.csv",), ("--responses", "a,b", "--drop", "b")),
        (("X.csv",), ("--responses", "a,id")),
        (("X.csv", "Y.csv"), ("--responses", "u,v", "--drop", "v")),
        (("X.csv", "Y.csv"), ("--responses", "u,id")),
    ):
        done = run("fit", *files, "-o", "m", *SIZES, *options)
        assert_refused(done, "left out, or used as names of the rows")
        assert done.code == 2


def test_minus_999_is_told():
    cells = [str(i) if i % 9 else "-999" for i in range(N)]
    write("X.csv", with_column(x_text(), "g", cells))
    write("Y.csv", y_text())
    done = fit()
    assert "note: X.csv: -999 in 'g' is far from the other numbers" in done.err
    assert "--missing=-999" in done.err
    assert "far from" not in fit("--missing=-999", "--impute", "mean", "--overwrite").err


def test_a_last_row_of_totals_is_told():
    names = [*IDS[:-1], "Total"]
    write("X.csv", x_text(names))
    write("Y.csv", y_text(names))
    assert "note: X.csv: the last row is named 'Total'" in fit().err


def test_decimal_marks():
    comma = {"delimiter": ";", "decimal": ","}
    write("X.csv", x_text(**comma))
    write("Y.csv", y_text())
    assert_right(fit())
    body = csv_text(np.arange(N)[:, None], ["k"], delimiter=";").replace(".0", "")
    write("X.csv", with_column(body, "g", [f"{i + 1},000" for i in range(N)], ";"))
    done = run("fit", "X.csv", "Y.csv", "-o", "n", *SIZES)
    assert (done.code, "'1,000' is not clear: give --decimal point" in done.error) == (3, True)
    assert run("fit", "X.csv", "Y.csv", "-o", "n", *SIZES, "--decimal", "point").code == 0


# ------------------------------------------------------------------- the files


def swap(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


def cell(text, row, column, value):
    lines = [line.split(",") for line in text.splitlines()]
    lines[row - 1][column] = value
    return "\n".join(map(",".join, lines)) + "\n"


RIGHT = {
    "BOM": lambda t: "\ufeff" + t,
    "CRLF": lambda t: t.replace("\n", "\r\n"),
    "CR": lambda t: t.replace("\n", "\r"),
    "mixed line ends": lambda t: t.replace("\n", "\r\n", 7).replace("\r\n", "\r", 3),
    "no line end at the end": str.strip,
    "UTF-16": lambda t: t.encode("utf-16"),
    "tabs": lambda t: t.replace(",", "\t"),
    "pipes": lambda t: t.replace(",", "|"),
    "semicolons": lambda t: t.replace(",", ";"),
    "quotes": lambda t: "\n".join(
        ",".join(f'"{c}"' for c in line.split(",")) for line in t.splitlines()
    ),
    "spaces around cells": lambda t: t.replace(",", " , "),
    "blank lines": lambda t: "\n\n" + t.replace("\n", "\n\n", 5) + "\n,,,,,,\n\n",
    "trailing delimiters": lambda t: t.replace("\n", ",\n"),
    "header of R": lambda t: t.removeprefix("id,"),
    "unnamed index": lambda t: t.removeprefix("id"),
    "exponents": lambda t: "\n".join(
        ",".join(f"{float(c):e}" if j and i else c for j, c in enumerate(line.split(",")))
        for i, line in enumerate(t.splitlines())
    ),
    "spaces that do not break": lambda t: t.replace(",", ",\u00a0"),
    "full-width digits": lambda t: t.replace("1", "\uff11"),
    "line ends in names of columns": lambda t: swap(t, "id,", '"i\nd",'),
    "keys in upper case": lambda t: t.replace("\ns", "\nS"),
    "a semicolon in a name": lambda t: swap(swap(t, "id", "i;d"), "\ns0", '\n"s0"'),
    "an empty column without name": lambda t: with_column(t, "", [""] * N),
}


@pytest.mark.parametrize("how", RIGHT)
def test_files_that_are_read(how):
    write("X.csv", RIGHT[how](x_text()))
    write("Y.csv", y_text())
    assert_right(fit())


WRONG = {
    "empty": (lambda t: "", "is empty"),
    "blank": (lambda t: "\n \n\t\n", "is empty"),
    "header only": (lambda t: t.splitlines()[0], "has a header and no rows"),
    "a long row": (lambda t: cell(t, 7, 2, "1,1"), "row 7: has 8 cells, expected 7"),
    "a short row": (lambda t: "\n".join(
        line if i != 6 else line.rpartition(",")[0] for i, line in enumerate(t.splitlines())
    ), "row 7: has 6 cells, expected 7"),
    "duplicate names": (lambda t: swap(t, "b,c", "b,b"), "'b' is in columns 3 and 4"),
    "an unnamed column": (lambda t: swap(t, "b,c", "b,"), "column 4 has no name"),
    "an open quote": (lambda t: cell(t, 7, 2, '"1'), "cannot be read"),
    "text after a quote": (lambda t: cell(t, 7, 2, '"1"2'), "cannot be read"),
    "NUL bytes": (lambda t: cell(t, 7, 2, "1\0"), "is not a text file"),
    "latin-1": (lambda t: swap(t, "b,", "größe,").encode("latin-1"), "--encoding latin-1"),
    "no header": (lambda t: t.partition("\n")[2], "row 1: it is not clear whether"),
    "no header, and categories": (
        lambda t: with_column(t, "g", ["m", "f"] * 20).partition("\n")[2], "--no-header"
    ),
    "a comment": (lambda t: "# a, b\n" + t, "row 1: has 2 names, but the next row has 7 cells"),
    "a title": (lambda t: "My data\n\n" + t, "row 1: has 1 names"),
    "sep=": (lambda t: "sep=;\n" + t.replace(",", ";"), "row 1: has"),
    "units below the header": (
        lambda t: swap(t, "\ns0,", "\n,kg,m,s,kg,m,s\ns0,"), "the name of this row is missing"
    ),
    "a row of totals": (lambda t: t + "Total,1,1,1,1,1,1\n", "1 only in X.csv: 'Total'"),
    "a line below the table": (lambda t: t + "Source: us\n", "row 42: has 1 cell, expected 7"),
    "spaces between cells": (lambda t: t.replace(",", " "), "no column has the same values"),
    "colons": (lambda t: t.replace(",", ":"), "no column has the same values"),
    "fixed widths": (lambda t: re.sub(",-?", "     ", t), "no column has the same values"),
    "an invisible character in a key": (lambda t: swap(t, "\ns5,", "\n\u200bs5,"), "1 only in"),
    "a key twice": (lambda t: swap(t, "\ns5,", "\ns4,"), "'s4' is in rows 6 and 7"),
    "UTF-16 without mark": (lambda t: t.encode("utf-16-le"), "is not a text file"),
    "UTF-32 without mark": (lambda t: t.encode("utf-32-be"), "is not a text file"),
    "EBCDIC": (lambda t: t.encode("cp500"), "is not UTF-8 text"),
    "a NUL byte at the end": (lambda t: t + "\0", "is not a text file"),
    "JSON": (lambda t: '[{"a": 1}]', "has a header and no rows"),
    "the responses": (lambda t: y_text(), "have the same values"),
    "binary": (lambda t: b"PK\x03\x04\x00\x00", "is not a text file"),
    "a missing cell": (lambda t: cell(t, 7, 2, "NA"), "row 7, column 'b': cell is missing"),
    "an empty column": (
        lambda t: with_column(t, "g", [""] * N),
        "column 'g': cell is missing",
    ),
    "the text of another table": (lambda t: t + t, "is in rows 2 and 43"),
    "HTML": (lambda t: "<html>\n<body>\n</body>\n</html>\n", "X.csv has 3 rows"),
}  # fmt: skip


@pytest.mark.parametrize("how", WRONG)
def test_files_that_are_refused(how):
    change, told = WRONG[how]
    write("X.csv", change(x_text()))
    write("Y.csv", y_text())
    assert_refused(fit(), told)


@pytest.mark.parametrize(
    ("corner", "names"),
    [
        ("Probe", [str(4000 - 2 * j) for j in range(6)]),
        ("", ["2001", "2000", "2003", "2002", "2005", "2004"]),
    ],
)
def test_names_of_columns_may_be_numbers(corner, names):
    write("X.csv", csv_text(X, names, IDS, corner=corner))
    write("Y.csv", y_text())
    assert fit().code == 0
    assert list(tr.load("m").feature_names_in_) == names


def test_codes_of_categories_are_not_rounded():
    write("X.csv", x_text())
    cells = [str(1000001 + (X[i, 0] > 0)) for i in range(N)]
    write("Y.csv", csv_text(np.array(cells, float)[:, None], ["c"], IDS))
    done = fit("--family", "c=multinomial")
    assert "c=1000001" in done.out, done.error
    assert "c=1000002" in done.out


def test_encodings_of_one_file():
    write("X.csv", x_text([f"ö{i}" for i in range(N)]))
    write("Y.csv", y_text([f"ö{i}" for i in range(N)]).encode("latin-1"))
    assert_refused(fit(), "Y.csv, row 2: is not UTF-8")
    assert_right(fit("--encoding", "latin-1"))
    write("X.csv", x_text([f"ö{i}" for i in range(N)]).encode("utf-16-le"))
    assert_right(fit("--encoding", "utf-16,latin-1", "--overwrite"))
    write("Y.csv", b"\xff\xfe" + b"\r\0" * 5)
    for name in ("klingon", "utf-32"):
        assert run("fit", "X.csv", "Y.csv", "-o", "n", "--encoding", f"utf-16,{name}").code == 3


def test_compressed_files():
    write("X.csv.gz", gzip.compress(x_text().encode()))
    write("Y.csv", y_text())
    assert_right(fit(x="X.csv.gz"))
    damaged = bytearray(gzip.compress(x_text().encode()))
    damaged[20:24] = b"\xff\xff\xff\xff"
    write("D.csv.gz", bytes(damaged))
    write("T.csv.gz", gzip.compress(x_text().encode())[:-20])
    write("P.csv.gz", x_text())
    with zipfile.ZipFile("Z.zip", "w") as file:
        file.writestr("X.csv", x_text())
    write("O.ods", b"PK")
    for name in ("D.csv.gz", "T.csv.gz", "P.csv.gz", "Z.zip", "O.ods"):
        done = run("fit", name, "Y.csv", "-o", "n", *SIZES)
        assert (done.code, name in done.error) == (3, True)


def test_a_line_without_end():
    with open("X.csv", "wb") as file:
        file.truncate(1 << 27)
    write("Y.csv", y_text())
    assert_refused(fit(), "has a line of more than")
    write("Z.csv.gz", gzip.compress(b"1" * (1 << 27), 1))
    assert "has a line of more than" in run("fit", "Z.csv.gz", "Y.csv", "-o", "m").error


def test_many_columns():
    rows = 12
    names = ",".join(f"g{j}" for j in range(100_000))
    digits = np.random.default_rng(1).integers(ord("0"), ord("9") + 1, (rows, 199_999), np.uint8)
    digits[:, 1::2] = ord(",")
    cells = [row.tobytes().decode() for row in digits]
    write("X.csv", with_column("\n".join(x_text().splitlines()[: rows + 1]), names, cells))
    write("Y.csv", y_text(order=range(rows)[::-1]))
    done = run("fit", "X.csv", "Y.csv", "-o", "m", *SIZES, "--keep", "g9", "--json")
    assert done.code == 0, done.out
    assert done.json["n_predictors"] == 100_006
    assert "Y.csv is in another order" in done.json["pairing"]


def test_excel():
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("openpyxl")
    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i) for i in range(N)]
    x = pd.DataFrame(X, columns=NAMES)
    y = pd.DataFrame(Y, columns=["u", "v", "w"])
    for keys in (days, [float(i) for i in range(5, 5 + N)], KEYS["leading zeros"]):
        x.assign(day=keys).to_excel("X.xlsx", index=False)
        y.assign(visit=keys).iloc[ORDER].to_excel("Y.xlsx", index=False)
        assert_right(fit("--overwrite", x="X.xlsx", y="Y.xlsx"))
    assert run("predict", "m", "X.xlsx", "-o", "p.xlsx").code == 0
    assert pd.read_excel("p.xlsx").shape == (N, 4)
    x.assign(g=["1 mg", "2 mg"] * 20, day=KEYS["leading zeros"]).to_excel("X.xlsx", index=False)
    done = run("fit", "X.xlsx", "Y.xlsx", "-o", "n", *SIZES)
    assert (done.code, "row 2, column 'g': expected a number, got '1 mg'" in done.error) == (
        3,
        True,
    )
    write("B.xlsx", b"PK nothing")
    assert "cannot be read as Excel" in run("fit", "B.xlsx", "Y.xlsx", "-o", "n").error


def test_parquet():
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    x = pd.DataFrame(X, columns=NAMES)
    y = pd.DataFrame(Y, columns=["u", "v", "w"])
    for keys in (IDS, list(range(5, 5 + N)), [2**60 + i for i in range(N)]):
        x.set_index(pd.Index(keys, name="key")).to_parquet("X.parquet")
        y.assign(MRN=keys).iloc[ORDER].to_parquet("Y.parquet", index=False)
        assert_right(fit("--overwrite", x="X.parquet", y="Y.parquet"))
    assert run("predict", "m", "X.parquet", "-o", "p.parquet").code == 0
    x.set_index([pd.Index(keys, name="key"), pd.Index(range(N), name="n")]).to_parquet("M.parquet")
    assert_right(fit("--drop", "n", "--overwrite", x="M.parquet", y="Y.parquet"))
    x.assign(key=keys, g=[[1, 2], [3, 4, 5]] * 20).to_parquet("L.parquet")
    assert (
        "row 1, column 'g': expected a number or a text, got [1 2]"
        in run("fit", "L.parquet", "Y.parquet").error
    )
    write("B.parquet", b"PAR1")
    done = run("fit", "B.parquet", "Y.parquet", "-o", "n")
    assert (done.code, "cannot be read as Parquet" in done.error) == (3, True)


def test_arrays():
    np.save("X.npy", X)
    np.save("Y.npy", Y)
    done = fit(x="X.npy", y="Y.npy")
    np.testing.assert_allclose(tr.load("m").coef_, REFERENCE, atol=1e-10)
    assert done.out.startswith("Rows are paired by position\n")
    np.savez("d.npz", X=X, Y=Y, feature_names=NAMES, target_names=["u", "v", "w"])
    assert_right(fit("--overwrite", x="d.npz", y="d.npz"))
    np.savez("x.npz", X=X, feature_names=NAMES, index=IDS)
    np.savez("y.npz", Y=Y[ORDER], target_names=["u", "v", "w"], index=[IDS[i] for i in ORDER])
    assert_right(fit("--overwrite", x="x.npz", y="y.npz"))
    np.savez("two.npz", first=X, second=X)
    np.save("o.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save("z.npy", np.empty((0, 3)))
    np.save("n.npy", np.full((N, 2), np.nan))
    np.save("s.npy", X[:-1])
    write("t.npz", b"PK nothing")
    write("e.npy", b"")
    for name in ("two.npz", "o.npy", "z.npy", "t.npz", "e.npy", "n.npy", "s.npy", "none.npy", "."):
        done = run("fit", name, "Y.npy", "-o", "n", *SIZES)
        assert done.code in (2, 3)
        assert done.error


# -------------------------------------------------------------------- outputs


def test_names_that_spreadsheets_take_for_formulas():
    names = ["=1+1", "+v", "@w"]
    write("X.csv", x_text([f"-s{i}" for i in range(N)]))
    write("Y.csv", csv_text(Y, names, [f"-s{i}" for i in range(N)]))
    assert fit().code == 0
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    lines = Path("p.csv").read_text().splitlines()
    assert lines[0] == "id,'=1+1,'+v,'@w"
    assert lines[1].startswith("'-s0,")
    assert run("stability", "m", "--resamples", "1", "--jobs", "1").code == 0
    assert ",=" not in Path("m/stability.csv").read_text()


def test_data_are_never_replaced():
    write("X.csv", x_text())
    write("Y.csv", y_text())
    write("new.csv", x_text())
    assert fit().code == 0
    before = {name: Path(name).read_bytes() for name in ("X.csv", "Y.csv", "new.csv")}
    for command in (
        ("predict", "m", "new.csv", "-o", "new.csv"),
        ("predict", "m", "new.csv", "-o", "X.csv"),
        ("predict", "m", "new.csv", "-o", "./m/../Y.csv"),
        ("report", "m", "-o", "X.csv"),
        ("report", "m", "-o", "m/model.json"),
        ("report", "m", "-o", "new.html", "--graphml", "m/arrays.npz"),
    ):
        done = run(*command, "--overwrite")
        assert (done.code, "is never replaced" in done.error) == (2, True)
    assert {name: Path(name).read_bytes() for name in before} == before
