"""The command line on the files that people have."""

import sys

import numpy as np
from messy_files import SIZES, contents, csv_text, numbers, run, write_pair

import thinrank as tr

NAMES = list("abcdef")


def test_from_two_files_to_predictions(here, monkeypatch):
    """All steps, with automatic sizes."""
    X, Y = numbers()
    command = ["fit", "X.csv", "Y.csv", "-o", "model/"]
    monkeypatch.setattr(sys, "argv", ["thinrank", *command])  # as from a shell
    fit = run(*command)
    assert fit.code == 0, fit.err
    assert "of 6 predictors predict" in fit.out
    assert {0, 3} <= set(tr.load(here / "model").row_support_)
    assert "thinrank report model" in fit.out
    new, _ = numbers(5, seed=1)
    (here / "new.csv").write_text(csv_text(new, NAMES, [f"t{i}" for i in range(5)]))
    done = run("predict", "model", "new.csv", "-o", "pred.csv")
    assert done.code == 0, done.err
    lines = (here / "pred.csv").read_text().splitlines()
    assert lines[0] == "id,u,v,w"
    assert [line.split(",")[0] for line in lines[1:]] == [f"t{i}" for i in range(5)]
    written = np.array([line.split(",")[1:] for line in lines[1:]], dtype=float)
    expected = tr.SparseReducedRankRegressor().fit(X, Y).predict(new)
    np.testing.assert_allclose(written, expected, atol=1e-8)
    shown = run("inspect", "model")
    assert "command     thinrank fit X.csv Y.csv -o model/" in shown.out
    page = run("report", "model", "--json")
    assert page.json == {
        "report": "model/report.html",
        "with_data": True,
        "with_stability": False,
        "notes": [],
    }
    assert "<html" in (here / "model" / "report.html").read_text()
    assert contents(here) == [
        "X.csv", "Y.csv", "model/arrays.npz", "model/model.json", "model/report.html", "new.csv",
        "pred.csv",
    ]  # fmt: skip


def _cell(text, row, column, value):
    """The text of a table with one cell changed; rows are counted from 0."""
    lines = text.splitlines()
    cells = lines[row].split(",")
    cells[column] = value
    lines[row] = ",".join(cells)
    return "\n".join(lines) + "\n"


def test_an_error_of_the_data_as_text_and_as_json(here):
    (here / "X.csv").write_text(_cell((here / "X.csv").read_text(), 16, 3, "abc"))
    command = ("fit", "X.csv", "Y.csv", "-o", "m", *SIZES)
    fit, as_json = run(*command), run(*command, "--json")
    assert "X.csv, row 17, column 'c': expected a number, got 'abc'" in fit.error
    error = as_json.json
    assert (fit.code, as_json.code, as_json.err) == (3, 3, "")
    assert fit.error == f"thinrank fit: {error['error']}"
    assert (error["exit_code"], error["file"], error["row"], error["column"]) == (
        3,
        "X.csv",
        17,
        "c",
    )
    assert contents(here) == ["X.csv", "Y.csv"]


def test_categories_and_predictions_with_the_same_predictors(here):
    X, Y = write_pair(here)
    sex = np.array(["f", "m", "f", "f"] * 10)
    Y[:, :2] += 3.0 * (sex == "m")[:, None]
    (here / "Y.csv").write_text(csv_text(Y, ["u", "v", "w"]))
    lines = csv_text(X, NAMES).splitlines()
    lines = [f"{line},{each}" for line, each in zip(lines, ["sex", *sex], strict=True)]
    (here / "X.csv").write_text("\n".join(lines))
    fit = run("fit", "X.csv", "Y.csv", "-o", "m", "--keep", "sex", *SIZES)
    assert fit.code == 0, fit.err
    assert "note: 'sex' is categorical: 'm' compared with 'f'" in fit.err
    est = tr.load("m")
    assert [est.feature_names_in_[j] for j in est.kept_] == ["sex=m"]
    # columns in another order, one more, and one that the model does not use left out
    (here / "new.csv").write_text("sex,d,note,a\nm,1,x,2\nf,1,x,2\n")
    assert run("predict", "m", "new.csv", "-o", "p.npy").code == 0
    male, female = np.load("p.npy")
    np.testing.assert_allclose(male - female, est.kept_coef_[:, 0])
    (here / "new.csv").write_text("sex,d,a\nm,1,2\nx,1,2\n")
    unknown = run("predict", "m", "new.csv", "-o", "q.npy")
    assert unknown.code == 3
    assert "new.csv, row 3, column 'sex': the category 'x' is not one of the fit" in unknown.error
    (here / "new.csv").write_text("sex,a\nm,1\nf,1\n")
    lacking = run("predict", "m", "new.csv", "-o", "q.npy")
    assert lacking.code == 3
    assert "new.csv: lacks 1 of the 3 columns that the model uses: 'd'" in lacking.error
    assert not (here / "q.npy").exists()


def test_families(here):
    rng = np.random.default_rng(0)
    X, _ = write_pair(here, 80)
    stage = np.where(X[:, 0] + 0.5 * rng.standard_normal(80) > 0, "late", "early")
    counts = rng.poisson(np.exp(0.8 * X[:, 0]))
    lines = [f"s{i},{a},{b}" for i, (a, b) in enumerate(zip(stage, counts, strict=True))]
    (here / "Y.csv").write_text("id,stage,visits\n" + "\n".join(lines))
    plain = run("fit", "X.csv", "Y.csv", "-o", "m", *SIZES)
    assert plain.code == 3
    assert "Y.csv, row 2, column 'stage': expected numbers, got" in plain.error
    sizes = ("--rank", "1", "--predictors", "1", "--responses", "all", "--ridge", "0.01")
    family = ("--family", "stage=multinomial,visits=poisson")
    fit = run("fit", "X.csv", "Y.csv", "-o", "m", *family, *sizes)
    assert fit.code == 0, fit.err
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    rows = [line.split(",") for line in (here / "p.csv").read_text().splitlines()]
    assert rows[0] == ["id", "stage", "stage=early", "stage=late", "visits"]
    assert np.mean([row[1] == each for row, each in zip(rows[1:], stage, strict=True)]) > 0.8
