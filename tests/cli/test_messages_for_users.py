"""Errors and notes of the command line name options, cells and remedies that exist."""

import pytest
from messy_files import SIZES, csv_text, numbers, run, write_pair

from thinrank.cli.option_names import in_options

FIT = ("fit", "X.csv", "Y.csv", "-o", "m")
ROWS = [f"s{i}" for i in range(40)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path)
    return tmp_path


def write_responses(folder, cells):
    """Y.csv with names of the rows in the reverse order of X.csv, and given cells of ``v``."""
    X, Y = numbers()
    (folder / "X.csv").write_text(csv_text(X, list("abcdef"), ROWS))
    lines = csv_text(Y[::-1], ["u", "v", "w"], ROWS[::-1]).splitlines()
    for row, cell in cells.items():
        parts = lines[row - 1].split(",")
        parts[2] = cell
        lines[row - 1] = ",".join(parts)
    (folder / "Y.csv").write_text("\n".join(lines) + "\n")


def test_a_text_among_the_numbers_of_a_response(here):
    write_responses(here, {5: "high"})
    error = run(*FIT, *SIZES).error
    assert "Y.csv, row 5, column 'v': expected a number, got 'high'; correct the cell or" in error
    assert "leave it empty (for categories give --categorical v --family v=multinomial)" in error
    # the text is named, and not a number in the first row of X
    again = run(*FIT, *SIZES, "--categorical", "v").error
    assert "row 5, column 'v': expected a number, got 'high'; correct the cell" in again
    numbers_only = {row: str(row % 3) for row in range(2, 42)}
    write_responses(here, numbers_only)
    coded = run(*FIT, *SIZES, "--categorical", "v").error
    assert "column 'v': has numbers as categories, which need --family v=multinomial" in coded
    assert run(*FIT, *SIZES, "--categorical", "v", "--family", "v=multinomial").code == 0


def test_a_response_of_texts_is_named_by_its_first_row(here):
    write_responses(here, {row: "G1" if row % 2 else "S" for row in range(2, 42)})
    error = run(*FIT, *SIZES).error
    assert "Y.csv, row 2, column 'v': expected a number, got 'S' (for categories give" in error
    assert "correct the cell" not in error
    assert run(*FIT, *SIZES, "--family", "v=multinomial").code == 0


def test_a_response_of_a_single_file(here):
    X, Y = numbers()
    text = csv_text(X, list("abcdef")).splitlines()
    text = [f"{line},{y}" for line, y in zip(text, ["y", *map(str, Y[:, 0])], strict=True)]
    text[3] = text[3].rpartition(",")[0] + ",low"
    (here / "X.csv").write_text("\n".join(text))
    error = run("fit", "X.csv", "--responses", "y", "-o", "m").error
    assert "got 'low'; correct the cell or leave it empty" in error
    assert "--family y=multinomial" in error


def test_predictors_is_another_name_of_rows(here):
    done = run(*FIT, "--rank", "1", "--predictors", "2", "--columns", "2", "--json")
    assert len(done.json["predictors"]) == 2
    shown = run(*FIT, *SIZES, "--overwrite")
    assert shown.out.startswith("40 samples, 6 predictors, 3 responses\n")
    assert "predictions for other samples" in shown.out
    assert run("predict", "m", "X.csv").out == "Predictions of 40 samples are in predictions.csv\n"


@pytest.mark.parametrize(
    ("given", "suggested"), [("--row", "--rows"), ("--predictor", "--predictors")]
)
def test_the_nearest_option_is_suggested_first(here, given, suggested):
    error = run(*FIT, given, "5").error
    assert f"No such option: {given} (did you mean {suggested}" in error


def test_input_files_are_checked_before_the_output(here):
    assert run(*FIT, *SIZES).code == 0
    wrong = run("fit", "bindng.csv", "Y.csv", "-o", "m")
    assert (wrong.code, "bindng.csv: there is no such file" in wrong.error) == (2, True)


@pytest.mark.parametrize(
    ("option", "value"), [("--drop", "NDD1"), ("--keep", "ndd1_ypd"), ("--index", "NDD1_YPT")]
)
def test_names_that_are_nearly_right(here, option, value):
    X, _ = numbers()
    (here / "X.csv").write_text(csv_text(X, ["NDD1_YPD", *"bcdef"]))
    error = run(*FIT, *SIZES, option, value).error
    assert f"'{value}'" in error
    assert "did you mean 'NDD1_YPD'?" in error


def test_ignored_columns_are_told_only_if_predictions_are_made(here):
    assert run(*FIT, *SIZES).code == 0
    wrong = run("predict", "m", "Y.csv")
    assert (wrong.code, "lacks 2 of the 2 columns" in wrong.error) == (3, True)
    assert wrong.err.count("note:") == 0


def test_predictions_have_ten_digits(here):
    assert run(*FIT, *SIZES).code == 0
    assert run("predict", "m", "X.csv").code == 0
    cells = (here / "predictions.csv").read_text().splitlines()[1].split(",")
    assert all(len(cell.strip("-").replace(".", "").lstrip("0")) <= 10 for cell in cells)


def test_messages_about_other_things_stay_as_they_are():
    told = "the rank of the coefficients is an integer"
    assert in_options(told) == told
    assert in_options("cv must be at least 2 folds") == "--cv must be at least 2 folds"
    assert in_options("est.row_sparsity_ is an integer") == "est.row_sparsity_ is an integer"


def test_help_says_which_reports_are_replaced(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = " ".join(run("report", "--help").out.split())
    assert "report.html in the folder is always replaced" in text
