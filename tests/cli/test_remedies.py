"""Errors name a remedy that the command has, in a form that can be typed."""

import numpy as np
import pytest
from messy_files import SIZES, csv_text, numbers, run

from thinrank.cli.option_names import in_options

FIT = ("fit", "X.csv", "Y.csv", "-o", "m")
NAMES = ["1115 nm", "b", "c", "1130 nm", "e", "f"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Two files in the style of spreadsheets that use decimal commas."""
    monkeypatch.chdir(tmp_path)
    X, Y = numbers()
    style = {"delimiter": ";", "decimal": ","}
    lines = csv_text(X, NAMES, **style).splitlines()
    device = ["instrument", *(("Foss", "Bruker")[i % 3 == 0] for i in range(len(X)))]
    text = "\n".join(f"{line};{each}" for line, each in zip(lines, device, strict=True))
    (tmp_path / "X.csv").write_text(text, encoding="utf-8-sig")
    (tmp_path / "Y.csv").write_text(csv_text(Y, ["Glucose (g/L)", "v", "w"], **style))
    return tmp_path


@pytest.fixture
def model(here):
    assert run(*FIT, *SIZES, "--keep", "instrument").code == 0
    return here / "m"


def changed(folder, row, column, cell):
    """new.csv: X.csv with another cell."""
    lines = [line.split(";") for line in (folder / "X.csv").read_text("utf-8-sig").splitlines()]
    lines[row][column] = cell
    (folder / "new.csv").write_text("\n".join(map(";".join, lines)))
    return "new.csv"


def test_predictions_are_written_in_the_style_of_the_predictors(model, here):
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    raw = (here / "p.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbfGlucose (g/L);v;w\n")
    rows = [line.split(";") for line in raw.decode("utf-8-sig").splitlines()[1:]]
    assert len(rows) == 40
    assert run("predict", "m", "X.csv", "-o", "p.npy").code == 0
    written = [[float(cell.replace(",", ".")) for cell in row] for row in rows]
    np.testing.assert_allclose(written, np.load("p.npy"), rtol=1e-9)
    assert all(len(cell.strip("-").replace(",", "").lstrip("0")) <= 10 for r in rows for cell in r)
    assert run("predict", "m", "X.csv", "-o", "p.tsv").code == 0
    assert (here / "p.tsv").read_text("utf-8-sig").splitlines()[1] == "\t".join(rows[0])


@pytest.mark.parametrize("cell", ["", "error"])
def test_predict_recommends_no_option_of_fit(model, here, cell):
    done = run("predict", "m", changed(here, 3, 0, cell), "-o", "p.csv")
    assert done.code == 3
    assert "new.csv, row 4, column '1115 nm': " in done.error
    assert ("correct the cell" if cell else "fill them in, or fit again with") in done.error
    assert "--drop" not in done.error
    assert "--categorical" not in done.error


def test_a_new_category_comes_with_a_remedy(model, here):
    done = run("predict", "m", changed(here, 3, 6, "Zeiss"), "-o", "p.csv")
    assert "'Zeiss' is not one of the fit, which had 'Foss', 'Bruker'" in done.error
    assert "(correct the cell, or fit again without the column: --drop instrument)" in done.error


def test_names_in_recommendations_can_be_typed(here):
    changed(here, 3, 0, "error")
    done = run("fit", "new.csv", "Y.csv", "-o", "m", *SIZES)
    assert "(for categories give --categorical '1115 nm')" in done.error
    Y = (here / "Y.csv").read_text().splitlines()
    Y[1:] = [";" + line.split(";", 1)[1] for line in Y[1:]]
    (here / "Y.csv").write_text("\n".join(Y))
    assert "leave it out with --drop 'Glucose (g/L)'" in run(*FIT, *SIZES).error


def test_a_column_is_suggested_by_its_name_in_the_file(here):
    done = run(*FIT, *SIZES, "--keep", "Instrument")
    assert "did you mean 'instrument'?" in done.error


def test_an_option_that_is_like_another_names_it_first(here):
    error = run(*FIT, "--row", "10").error
    assert "No such option: --row" in error
    assert "did you mean --rows" in error


def test_a_header_of_numbers_is_asked_for(here):
    X, _ = numbers()
    text = csv_text(X, ["1115", "1120", "1125", "1130", "1135", "1140"], delimiter=";", decimal=",")
    (here / "X.csv").write_text(text)
    done = run(*FIT, *SIZES)
    assert done.code == 3
    assert "X.csv has 41 rows and Y.csv has 40" in done.error
    assert "is the first row of X.csv a header? Then give --header" in done.error
    assert "(give --header if the first row has the names)" in done.err
    right = run(*FIT, *SIZES, "--header", "--json")
    assert right.json["predictors"] == ["1115", "1130"]


def test_spreadsheets_are_to_be_saved_as_csv(here):
    (here / "X.xlsx").write_bytes(b"PK")
    done = run("fit", "X.xlsx", "Y.csv", "-o", "m")
    assert done.code == 3
    assert "unknown file type '.xlsx'" in done.error
    assert done.error.endswith("; save it as CSV")


def test_summaries_name_options():
    told = in_options('refit_rule="thinnest" prefers such models.')
    assert told == "--refit-rule thinnest prefers such models."
