"""What the commands say beside the results: cells, options and remedies that can be typed."""

import os
import re
import sys

import numpy as np
import pytest
from messy_files import SIZES, csv_text, exit_code, in_child, numbers, run, write_pair

import thinrank as tr
from thinrank.cli.fit import progress_lines
from thinrank.core.result import Record

FIT = ("fit", "X.csv", "Y.csv", "-o", "m")
ROWS = [f"s{i}" for i in range(40)]


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


def write_counts(folder, names):
    X, _ = write_pair(folder)
    rng = np.random.default_rng(0)
    means = np.exp(np.outer(X[:, 0], [0.6, 0.4, 0.0]))
    Y = rng.poisson(means).astype(float)
    (folder / "Y.csv").write_text(csv_text(Y, names))
    return Y


def test_a_text_among_the_numbers_of_a_response(here):
    write_responses(here, {5: "high"})
    error = run(*FIT, *SIZES).error
    assert "Y.csv, row 5, column 'v': expected a number, got 'high'; correct the cell or" in error
    assert (
        "leave it empty; if it marks missing cells, give --missing high (--drop v leaves the"
        in error
    )
    # the text is named, and not a number in the first row of X
    again = run(*FIT, *SIZES, "--categories", "v").error
    assert "row 5, column 'v': expected numbers, got the category 'high' (for" in again
    numbers_only = {row: str(row % 3) for row in range(2, 42)}
    write_responses(here, numbers_only)
    coded = run(*FIT, *SIZES, "--categories", "v").error
    assert "expected numbers, got the category '2' (for categories give --family v=mult" in coded
    assert run(*FIT, *SIZES, "--categories", "v", "--family", "v=multinomial").code == 0


def test_a_response_of_texts_is_named_by_its_first_row(here):
    write_responses(here, {row: "G1" if row % 2 else "S" for row in range(2, 42)})
    error = run(*FIT, *SIZES).error
    assert (
        "Y.csv, row 2, column 'v': expected numbers, got the category 'S' (for categories" in error
    )
    assert "correct the cell" not in error


def test_what_fit_and_predict_say(here):
    shown = run(*FIT, *SIZES).out
    assert shown.splitlines()[1] == "40 samples, 6 predictors, 3 responses"
    assert "predictions for other samples" in shown
    assert run("predict", "m", "X.csv").out == "Predictions of 40 samples are in predictions.csv\n"
    # ignored columns are told only if predictions are made
    wrong = run("predict", "m", "Y.csv", "-o", "q.csv")
    assert (wrong.code, "lacks 2 of the 2 columns" in wrong.error) == (3, True)
    assert wrong.err.count("note:") == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--row", "5"), "No such option: --row"),
        (("--predictor", "5"), "No such option: --predictor (Possible options: --predictors"),
        (("--drop", "NDD1"), "'NDD1'"),
        (("--keep", "ndd1_ypd"), "'ndd1_ypd'"),
        (("--index", "NDD1_YPT"), "'NDD1_YPT'"),
    ],
)
def test_names_that_are_nearly_right(here, options, told):
    X, _ = numbers()
    (here / "X.csv").write_text(csv_text(X, ["NDD1_YPD", *"bcdef"]))
    error = run(*FIT, *SIZES, *options).error
    assert told in error
    assert "did you mean 'NDD1_YPD'?" in error or told.startswith("No such option")


@pytest.mark.parametrize("family", ["poisson", "visits (n)=poisson", "huber"])
def test_responses_of_families_keep_their_names(here, family):
    write_counts(here, ["visits (n)", "calls", "mails"])
    done = run(*FIT, *SIZES, "--family", family)
    assert done.code == 0
    assert re.search(r"^  visits \(n\) +\d", done.out, re.M)  # the table of the responses
    assert list(tr.load("m").target_names_in_) == ["visits (n)", "calls", "mails"]
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    assert (here / "p.csv").read_text().splitlines()[0] == "id,visits (n),calls,mails"


def test_missing_and_filled_cells_are_counted(here):
    X, Y = numbers()
    Y[[2, 5, 7], 0] = X[4, 1] = np.nan
    (here / "X.csv").write_text(csv_text(X, list("abcdef")))
    (here / "Y.csv").write_text(csv_text(Y, ["u", "v", "w"]))
    done = run(*FIT, *SIZES, "--impute", "mean")
    assert "note: 3 missing cells of responses are left out: 'u' (3)" in done.err
    assert "note: 1 missing cell of predictors was replaced by the mean of the column" in done.err
    assert "missing     3 cells of responses, left out: 'u' (3)" in run("inspect", "m").out
    assert run("inspect", "m", "--json").json["fit"]["impute"] == "mean"
    expected = tr.SparseReducedRankRegressor(1, 2, 2, impute="mean").fit(X, Y)
    np.testing.assert_allclose(tr.load("m").coef_, expected.coef_, atol=1e-10)
    X[[0, 1], 0] = X[3, 3] = np.nan
    (here / "new.csv").write_text(csv_text(X, list("abcdef")))
    done = run("predict", "m", "new.csv", "-o", "p.csv")
    told = "replaced by the mean of the column in the fit: 'a' (2), 'd' (1)"
    assert (
        f"note: 3 missing cells of predictors were {told}" in done.err
    )  # b is missing too, but not in use
    means = tr.load("m").imputed_means_
    X[[0, 1], 0], X[3, 3] = means[0], means[3]
    (here / "same.csv").write_text(csv_text(X, list("abcdef")))
    assert run("predict", "m", "same.csv", "-o", "s.csv").code == 0
    assert (here / "p.csv").read_text() == (here / "s.csv").read_text()
    assert "replaced" not in run("predict", "m", "X.csv", "-o", "q.csv").err


def test_inspect_shows_files_from_here_and_what_was_chosen(here):
    assert run(*FIT, *SIZES, "--refit-rule", "one_se", "-o", "sub/m").code == 0
    told = run("inspect", "sub/m").out
    assert "predictors  X.csv (sha256" in told
    assert "responses   Y.csv (sha256" in told
    assert "chosen      ridge: criterion auto, rule one_se" in told
    assert run(*FIT, *SIZES, "--ridge", "0.25").code == 0
    given = run("inspect", "m").out
    assert "ridge       0.25" in given
    assert "chosen      nothing" in given


def test_progress_is_written_at_growing_intervals():
    seconds, lines = [0.0], []
    callback = progress_lines(lines.append, first=5, clock=lambda: seconds[0])
    for each in (1.0, 6.0, 11.0, 13.0, 27.0):
        seconds[0] = each
        assert callback(Record(stage="search", iteration=1, objective=1.0, seconds=each)) is None
    assert lines == [
        "searching for the sizes: 2 models tried in 6 s",
        "searching for the sizes: 4 models tried in 13 s",
        "searching for the sizes: 5 models tried in 27 s",
    ]


def test_many_predictors_come_with_a_way_to_fewer(here):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 25)).round(3)
    (here / "X.csv").write_text(csv_text(X, [f"g{j}" for j in range(25)]))
    many = run(*FIT, "--rank", "1", "--predictors", "21", "--responses", "2", "--ridge", "0.1")
    assert "21 predictors are in use. For fewer, fit again with --refit-rule thinnest" in many.out


NAMES = ["1115 nm", "b", "c", "1130 nm", "e", "f"]


@pytest.fixture
def spreadsheet(tmp_path, monkeypatch):
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


def changed(folder, row, column, cell):
    """new.csv: X.csv with another cell."""
    lines = [line.split(";") for line in (folder / "X.csv").read_text("utf-8-sig").splitlines()]
    lines[row][column + 1] = cell
    (folder / "new.csv").write_text("\n".join(map(";".join, lines)))
    return "new.csv"


def test_predictions_are_written_in_the_style_of_the_predictors(spreadsheet):
    assert run(*FIT, *SIZES, "--keep", "instrument").code == 0
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    raw = (spreadsheet / "p.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbfid;Glucose (g/L);v;w\n")
    named = [line.split(";") for line in raw.decode("utf-8-sig").splitlines()[1:]]
    rows = [row[1:] for row in named]
    assert len(rows) == 40
    assert run("predict", "m", "X.csv", "-o", "p.npy").code == 0
    written = [[float(cell.replace(",", ".")) for cell in row] for row in rows]
    np.testing.assert_allclose(written, np.load("p.npy"), rtol=1e-9)
    assert all(len(cell.strip("-").replace(",", "").lstrip("0")) <= 10 for r in rows for cell in r)
    assert run("predict", "m", "X.csv", "-o", "p.tsv").code == 0
    assert (spreadsheet / "p.tsv").read_text("utf-8-sig").splitlines()[1] == "\t".join(named[0])
    # predict recommends no option of fit
    for cell, remedy in (("", "fill them in, or fit again with"), ("error", "correct the cell")):
        done = run("predict", "m", changed(spreadsheet, 3, 0, cell), "-o", "q.csv")
        assert done.code == 3
        assert "new.csv, row 4, column '1115 nm': " in done.error
        assert remedy in done.error
        assert "--drop" not in done.error
        assert "--categories" not in done.error
    done = run("predict", "m", changed(spreadsheet, 3, 6, "Zeiss"), "-o", "q.csv")
    assert "'Zeiss' is not one of the fit, which had 'Foss', 'Bruker'" in done.error
    assert "(correct the cell, or fit again without the column: --drop instrument)" in done.error


def test_names_in_recommendations_can_be_typed(spreadsheet):
    changed(spreadsheet, 3, 0, "error")
    done = run("fit", "new.csv", "Y.csv", "-o", "m", *SIZES)
    assert "for categories give --categories '1115 nm'" in done.error
    Y = (spreadsheet / "Y.csv").read_text().splitlines()
    Y[1:] = [";".join([line.split(";")[0], "", *line.split(";")[2:]]) for line in Y[1:]]
    (spreadsheet / "Y.csv").write_text("\n".join(Y))
    assert "leave it out with --drop 'Glucose (g/L)'" in run(*FIT, *SIZES).error


def test_a_header_of_numbers_is_asked_for(spreadsheet):
    X, Y = numbers()
    names = ["1115", "1120", "1125", "1130", "1135", "1140"]
    (spreadsheet / "X.csv").write_text(csv_text(X, names, None, delimiter=";", decimal=","))
    (spreadsheet / "Y.csv").write_text(csv_text(Y, ["u", "v", "w"], None))
    done = run(*FIT, *SIZES, "--no-index")
    assert done.code == 3
    assert "X.csv has 41 rows and Y.csv has 40" in done.error
    assert "is the first row of X.csv a header? Then give --header" in done.error
    right = run(*FIT, *SIZES, "--no-index", "--header", "--json")
    assert right.json["predictors"] == ["1115", "1130"]


def test_responses_are_columns_or_a_number(here):
    X, Y = numbers()
    (here / "all.csv").write_text(csv_text(np.column_stack([X, Y]), [*"abcdef", "u", "v", "w"]))
    done = run("fit", "all.csv", "--responses", "u,v,w", *SIZES, "-o", "m", "--json")
    assert done.json["responses"] == ["u", "v"]
    assert done.json["pairing"] == "Predictors and responses are columns of all.csv"
    assert done.json["predictors"] == ["a", "d"]
    assert "several numbers" in run(*FIT, *SIZES, "--responses", "3").error


def test_two_texts_are_yes_and_no(here):
    X, _ = numbers()
    lines = [f"s{i},{'yes' if x > 0 else 'no'}" for i, x in enumerate(X[:, 0])]
    (here / "Y.csv").write_text("\n".join(["id,ill", *lines]))
    sizes = ("--rank", "1", "--predictors", "1", "--responses", "1", "--ridge", "0.1")
    assert "--family ill=bernoulli" in run(*FIT, *sizes).error
    done = run(*FIT, *sizes, "--family", "bernoulli")
    assert done.code == 0, done.err
    assert "note: 'ill': the prediction is the probability of 'yes'" in done.err
    assert run("predict", "m", "X.csv", "-o", "p.npy").code == 0
    assert np.mean((np.load("p.npy")[:, 0] > 0.5) == (X[:, 0] > 0)) > 0.9


def test_counts_are_noticed_and_many_folds_refused(here):
    write_counts(here, ["u", "v", "w"])
    assert "note: responses look like counts: --family poisson" in run(*FIT, *SIZES).err
    done = run(*FIT, "--cv", "1000", "--overwrite")
    assert (done.code, "--cv: must be at most the number of samples, 40" in done.error) == (2, True)


def test_a_closed_pipe_is_no_error(here):
    assert run(*FIT, *SIZES).code == 0

    def into_a_closed_pipe(*command):
        reader, writer = os.pipe()
        os.close(reader)
        with open("errors", "w") as errors, open(writer, "w", closefd=False) as pipe:
            sys.stdout, sys.stderr = pipe, errors
            os.dup2(writer, 1)
            code = exit_code(*command)
        return code

    for options in ((), ("--json",)):
        assert in_child(lambda options=options: into_a_closed_pipe("inspect", "m", *options)) == 141
        assert (here / "errors").read_text() == ""
    assert in_child(lambda: into_a_closed_pipe("--help")) == 0
