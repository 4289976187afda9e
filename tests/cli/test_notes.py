"""What fit, predict and inspect tell the user beside the results."""

import re

import numpy as np
import pytest
from messy_files import SIZES, csv_text, run, write_pair

import thinrank as tr
from thinrank.cli.progress_lines import ProgressLines
from thinrank.core.result import Record

FIT = ("fit", "X.csv", "Y.csv", "-o", "m")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path)
    return tmp_path


def write_counts(folder, names):
    X, _ = write_pair(folder)
    rng = np.random.default_rng(0)
    means = np.exp(np.outer(X[:, 0], [0.6, 0.4, 0.0]))
    Y = rng.poisson(means).astype(float)
    (folder / "Y.csv").write_text(csv_text(Y, names))
    return Y


@pytest.mark.parametrize("family", ["poisson", "visits (n)=poisson", "huber"])
def test_responses_of_families_keep_their_names(here, family):
    write_counts(here, ["visits (n)", "calls", "mails"])
    done = run(*FIT, *SIZES, "--family", family)
    assert done.code == 0
    assert re.search(r"^  visits \(n\) +\d", done.out, re.M)  # the table of the responses
    assert list(tr.load("m").target_names_in_) == ["visits (n)", "calls", "mails"]
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    assert (here / "p.csv").read_text().splitlines()[0] == "visits (n),calls,mails"


def test_counts_that_are_not_whole_numbers(here):
    Y = write_counts(here, ["u", "v", "w"])
    assert "whole" not in run(*FIT, *SIZES, "--family", "poisson").err
    Y[3, :2] += 0.5
    (here / "Y.csv").write_text(csv_text(Y, ["u", "v", "w"]))
    done = run(*FIT, *SIZES, "--family", "poisson", "--overwrite")
    told = f"note: 'u', 'v' have values that are not whole numbers, such as {Y[3, 0]:g}"
    assert told in done.err
    assert "whole" not in run(*FIT, *SIZES, "--family", "huber", "--overwrite").err


def test_missing_responses_are_counted(here):
    _, Y = write_pair(here)
    Y[[2, 5, 7], 0] = np.nan
    (here / "Y.csv").write_text(csv_text(Y, ["u", "v", "w"]))
    done = run(*FIT, *SIZES)
    assert "note: 3 missing cells of responses are left out: 'u' (3)" in done.err
    assert "missing     3 cells of responses, left out: 'u' (3)" in run("inspect", "m").out
    Y[[2, 5], 0] = 0.0
    (here / "Y.csv").write_text(csv_text(Y, ["u", "v", "w"]))
    assert "note: 1 missing cell of responses is left out" in run(*FIT, *SIZES, "--overwrite").err


def test_one_imputed_cell_is_not_cells(here):
    X, _ = write_pair(here)
    X[4, 1] = np.nan
    (here / "X.csv").write_text(csv_text(X, list("abcdef")))
    done = run(*FIT, *SIZES, "--impute", "mean")
    assert "note: 1 missing cell of predictors was replaced by the mean of the column" in done.err


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
    callback = ProgressLines(lines.append, first=5, clock=lambda: seconds[0])
    for each in (1.0, 6.0, 11.0, 13.0, 27.0):
        seconds[0] = each
        assert callback(Record(stage="search", iteration=1, objective=1.0, seconds=each)) is None
    assert lines == [
        "searching for the sizes: 2 models tried in 6 s",
        "searching for the sizes: 4 models tried in 13 s",
        "searching for the sizes: 5 models tried in 27 s",
    ]


def test_a_long_fit_writes_progress_unless_quiet(here, monkeypatch):
    monkeypatch.setattr(ProgressLines.__init__, "__defaults__", (0.0, lambda: 1.0))
    done = run(*FIT)
    assert "searching for the sizes: 1 model tried in 0 s" in done.err
    assert tr.load("m").callback is None
    assert "note: parameters" not in done.err
    assert run(*FIT, "--overwrite", "--quiet").err == ""


def test_filled_cells_of_predict_are_counted(here):
    X, _ = write_pair(here)
    X[4, 1] = np.nan
    (here / "X.csv").write_text(csv_text(X, list("abcdef")))
    assert run(*FIT, *SIZES, "--impute", "mean").code == 0
    X[[0, 1], 0] = X[3, 3] = np.nan
    (here / "new.csv").write_text(csv_text(X, list("abcdef")))
    done = run("predict", "m", "new.csv", "-o", "p.csv")
    told = (
        "note: 3 missing cells were replaced by the mean of the column in the fit: 'a' (2), 'd' (1)"
    )
    assert told in done.err  # b is missing too, but not in use
    assert "replaced" not in run("predict", "m", "X.csv", "-o", "q.csv").err


def test_many_predictors_come_with_a_way_to_fewer(here):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 25)).round(3)
    (here / "X.csv").write_text(csv_text(X, [f"g{j}" for j in range(25)]))
    many = run(*FIT, "--rank", "1", "--rows", "21", "--columns", "2", "--ridge", "0.1")
    assert "21 predictors are in use. For fewer, fit again with --refit-rule thinnest" in many.out
    few = run(*FIT, "--rank", "1", "--rows", "20", "--columns", "2", "--overwrite")
    assert "For fewer" not in few.out
