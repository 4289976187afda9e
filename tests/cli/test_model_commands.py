"""Options, exit codes, failures and interruptions of fit, predict, inspect and report."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from xml.etree import ElementTree

import numpy as np
import pytest
from messy_files import SIZES, contents, csv_text, environment, numbers, run

import thinrank as tr

FIT = ("fit", "X.csv", "Y.csv", "-o", "m")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("fit",), "Missing argument 'X'"),
        (("fit", "X.csv"), "give a file Y, or columns of X"),
        (("fit", "none.csv", "Y.csv"), "none.csv: there is no such file"),
        (("fit", ".", "Y.csv"), ".: is a folder, expected a file"),
        ((*FIT, "--rank", "many"), "--rank: must be a whole number or auto, not 'many'"),
        ((*FIT, "--predictors", "few"), "--predictors: must be a whole number or auto or all"),
        ((*FIT, "--ridge", "some"), "--ridge: must be a number or auto"),
        ((*FIT, "--criterion", "best"), "'--criterion': 'best' is not one of 'auto', 'cv', 'pic'"),
        ((*FIT, "--refit-rule", "all"), "'all' is not one of 'best'"),
        ((*FIT, "--cv", "1"), "--cv"),
        ((*FIT, "--loss", "absolute"), "'absolute' is not one of 'squared'"),
        ((*FIT, "--impute", "median"), "'--impute': "),
        ((*FIT, "--family", "cauchy"), "--family: must be one of "),
        ((*FIT, "--family", "z=poisson"), "has no column 'z'"),
        ((*FIT, "--family", "huber", "--loss", "huber"), "is for responses of the family gaussian"),
        ((*FIT, "--keep", "zz"), "--keep: X.csv has no predictor 'zz'; it has 'a', 'b'"),
        ((*FIT, "--drop", "zz"), "--drop: X.csv or Y.csv has no column 'zz'"),
        ((*FIT, "--index", "zz"), "--index: X.csv or Y.csv has no column 'zz'"),
        ((*FIT, "--index", "a", "--no-index"), "either --index or --no-index"),
        ((*FIT, "--join", "a", "--no-index"), "takes the place of --index"),
        ((*FIT, "--responses", "zz"), "--responses: Y.csv has no column 'zz'"),
        ((*FIT, "--colour", "red"), "No such option"),
        (("predict", "none", "X.csv"), "none: there is no such folder"),
        (("predict", "m", "X.csv", "-o", "p.xls"), "must end in .csv, .tsv, .xlsx, .parquet, .npy"),
        (("predict", "m", "X.csv", "-o", "no/p.csv"), "there is no folder no"),
        (("inspect", "none"), "none: there is no such folder"),
        (("demo", "--seed", "-1"), "--seed"),
        (("frobnicate",), "No such command 'frobnicate'"),
    ],
)
def test_usage_errors_are_one_line(here, arguments, told):
    result = run(*arguments)
    assert result.code == 2
    assert told in result.error
    assert "Input should" not in result.error
    assert result.error.startswith("thinrank")
    assert contents(here) == ["X.csv", "Y.csv"]


def test_usage_errors_in_json(here):
    for arguments in (("fit",), (*FIT, "--rank", "many"), ("predict", "none", "X.csv")):
        result = run(*arguments, "--json")
        assert (result.code, result.err) == (2, "")
        assert result.json["exit_code"] == 2


def test_a_folder_that_exists_is_not_replaced_without_being_asked(model, here):
    before = (model / "model.json").read_bytes()
    again = run(*FIT, "--rank", "1", "--predictors", "3", "--responses", "2")
    assert (again.code, "use --overwrite" in again.error) == (2, True)
    assert (model / "model.json").read_bytes() == before
    assert (
        run(*FIT, "--rank", "1", "--predictors", "3", "--responses", "2", "--overwrite").code == 0
    )
    assert len(tr.load(model).row_support_) == 3
    (here / "mine").mkdir()
    (here / "mine" / "diary.txt").write_text("dear")
    mine = run("fit", "X.csv", "Y.csv", "-o", "mine", "--overwrite", *SIZES)
    assert (mine.code, "not a model" in mine.error) == (2, True)
    assert contents(here / "mine") == ["diary.txt"]
    assert run("predict", "m", "X.csv", "-o", "p.csv").code == 0
    exists = run("predict", "m", "X.csv", "-o", "p.csv")
    assert (exists.code, "p.csv exists; use --overwrite" in exists.error) == (2, True)
    inside = run("fit", "X.csv", "Y.csv", "-o", "X.csv/m", *SIZES)
    assert (inside.code, "is a file, not a folder" in inside.error) == (2, True)


def test_quiet_and_json_write_nothing_else(here):
    quiet = run(*FIT, *SIZES, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    result = run(*FIT, *SIZES, "--overwrite", "--json")
    assert (result.code, result.err) == (0, "")
    found = result.json
    assert (found["predictors"], found["responses"]) == (["a", "d"], ["u", "v"])
    assert found["parameters"]["rank"] == found["rank"] == 1
    assert set(found["r2"]) == {"u", "v", "w"}
    assert found["held_out_r2"] is None
    assert found["sentences"][0].startswith("2 of 6 predictors")
    assert run("inspect", "m", "--json").json["predictors"] == ["a", "d"]


def test_a_model_without_predictors_predicts_the_means(here):
    rng = np.random.default_rng(0)
    (here / "Y.csv").write_text(csv_text(rng.standard_normal((40, 3)), ["u", "v", "w"]))
    fitted = run(*FIT, "--json")
    assert fitted.code == 0
    assert any("no model" in note.lower() or "mean" in note for note in fitted.json["notes"])
    est = tr.load("m")
    assert est.rank_ == 0
    (here / "new.csv").write_text("anything\n1\n2\n")
    assert run("predict", "m", "new.csv", "-o", "p.npy").code == 0
    np.testing.assert_allclose(np.load("p.npy"), [est.intercept_] * 2)


def test_sizes_that_do_not_fit_the_data(here):
    result = run(*FIT, "--rank", "9", "--predictors", "9", "--responses", "2")
    assert result.code == 2
    assert (
        "--predictors must be a whole number from 1 to 6 (the number of predictors; or auto, or all"
        in (result.error)
    )
    result = run(*FIT, "--rank", "9", "--predictors", "4", "--responses", "2")
    told = "from 1 to 2 (the smaller of --predictors and --responses; or auto)"
    assert f"--rank must be a whole number {told}" in result.error
    result = run(*FIT, "--rank", "9")
    assert (result.code, "--rank must be a whole number from 1 to 3" in result.error) == (2, True)
    assert "sparsity" not in result.error


@pytest.mark.parametrize("file", ["model.json", "arrays.npz"])
def test_damaged_models(model, file):
    (model / file).write_bytes((model / file).read_bytes()[:-40])
    for command in (("predict", "m", "X.csv", "-o", "p.csv"), ("inspect", "m"), ("report", "m")):
        result = run(*command)
        assert (result.code, "cannot load m" in result.error) == (3, True)
    assert not model.parent.joinpath("p.csv").exists()


def test_models_of_python_and_of_matrices(here):
    X, Y = numbers()
    np.save(here / "X.npy", X)
    np.save(here / "short.npy", X[:, :3])
    tr.save(tr.SparseReducedRankRegressor(1, 2, 2).fit(X, Y), here / "plain")
    assert run("inspect", "plain").code == 0
    assert run("predict", "plain", "X.npy", "-o", "p.npy").code == 0
    np.testing.assert_allclose(np.load("p.npy"), tr.load("plain").predict(X))
    short = run("predict", "plain", "short.npy", "-o", "q.npy")
    assert (short.code, "short.npy: has 3 columns" in short.error) == (3, True)
    labels = np.where(X[:, 0] > 0, "yes", "no")
    tr.save(tr.SparseReducedRankClassifier(1, 2, 1, ridge=0.1).fit(X, labels), here / "classes")
    assert run("predict", "classes", "X.npy", "-o", "c.csv").code == 0
    rows = [line.split(",") for line in (here / "c.csv").read_text().splitlines()]
    assert rows[0] == ["class", "probability=no", "probability=yes"]
    assert [row[0] for row in rows[1:]] == tr.load("classes").predict(X).tolist()
    tr.save(tr.Factors.from_theta(np.eye(3), rank=2), here / "factors")
    wrong = run("inspect", "factors")
    assert (wrong.code, "not a regression" in wrong.error) == (3, True)
    tr.save(tr.baselines.ReducedRankRegression(rank=1).fit(X, Y), here / "b")
    shown = run("inspect", "b", "--json").json
    assert (shown["estimator"], shown["status"]) == ("ReducedRankRegression", None)
    assert "saved by tr.save" in run("inspect", "b").out
    result = run("stability", "b")
    assert (result.code, "for a ReducedRankRegression" in result.error) == (2, True)


def test_records_that_are_no_records(model):
    est = tr.load(model)
    for record in ([1, 2], {"version": 2, "data": ["X.csv"]}):
        tr.save(est, model, overwrite=True, extra={"thinrank fit": record})
        result = run("inspect", "m", "--json")
        assert (result.code, "invalid record" in result.json["error"]) == (3, True)


def test_options_reach_the_estimator(here):
    options = (
        "--rank 1 --predictors all --responses 2 --ridge 0.5 --criterion bic --cv 4 --jobs 1 "
        "--seed 7 --refit-rule one_se --loss huber --keep b,f"
    )
    assert run(*FIT, *options.split()).code == 0
    given = tr.load("m").get_params()
    expected = {
        "rank": 1,
        "row_sparsity": None,
        "column_sparsity": 2,
        "ridge": 0.5,
        "criterion": "bic",
        "cv": 4,
        "n_jobs": 1,
        "random_state": 7,
        "refit_rule": "one_se",
        "loss": "huber",
        "always_keep": ["b", "f"],
    }
    assert {name: given[name] for name in expected} == expected


def test_report_says_why_it_has_no_data(model, here, monkeypatch):
    monkeypatch.setattr("thinrank.report.write", lambda est, page, **rest: page.write_text(""))
    assert run("report", "m", "--json").json["with_data"] is True
    (here / "Y.csv").rename(here / "Z.csv")
    moved = run("report", "m", "-o", "r.html")
    assert moved.code == 0
    assert "note: Y.csv is not where it was" in moved.err
    assert run("report", "m", "X.csv", "Z.csv", "-o", "r.html").code == 2  # exists
    (here / "X.csv").write_text((here / "X.csv").read_text().replace("a,b", "a,q", 1))
    (here / "Z.csv").rename(here / "Y.csv")
    assert "X.csv has changed since the fit" in run("report", "m").err
    other = run("report", "m", "X.csv", "Y.csv")
    assert (other.code, "has other columns" in other.error) == (3, True)


def test_ctrl_c_during_the_search_leaves_nothing(here, monkeypatch):
    before, real = signal.getsignal(signal.SIGINT), tr.SparseReducedRankRegressor.fit

    def interrupted(self, *args, **kwargs):
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        real(self, *args, **kwargs)
        time.sleep(10)

    monkeypatch.setattr(tr.SparseReducedRankRegressor, "fit", interrupted)
    result = run(*FIT)
    assert result.code == 130
    assert "interrupted; nothing was written" in result.err
    assert "Traceback" not in result.err
    assert contents(here) == ["X.csv", "Y.csv"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_missing_library_is_said(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("report", "m")
    assert result.code == 1
    assert "pip install '.[" in result.error


@pytest.mark.slow
def test_fit_and_predict_need_no_optional_library(here):
    commands = [[*FIT, *SIZES], ["predict", "m", "X.csv"], ["inspect", "m"]]
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name in ('polars', 'pyarrow', 'openpyxl', 'matplotlib'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from thinrank.cli import app\n"
        f"for arguments in {commands}:\n"
        "    try:\n"
        "        app(arguments)\n"
        "    except SystemExit as end:\n"
        "        assert not end.code\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment())
    assert (here / "predictions.csv").read_text().startswith("id,u,v,w")


def test_report_names_the_files_and_writes_the_network(model, here):
    done = run("report", "m", "--title", "Genes & traits", "--graphml", "network.graphml")
    assert done.code == 0, done.err
    page = (model / "report.html").read_text()
    assert "<title>Genes &amp; traits</title>" in page
    rows = tr.load("m").n_samples_
    assert f"X.csv ({rows} rows) · Y.csv ({rows} rows) · n = {rows} samples" in page
    names = [
        data.text
        for data in ElementTree.parse(here / "network.graphml").iter()
        if data.get("key") == "name"
    ]
    assert "factor 1" in names
    same = run("report", "m", "-o", "one", "--graphml", "one")
    assert (same.code, "is the file of the page" in same.error) == (2, True)
    again = run("report", "m", "--graphml", "network.graphml")
    assert again.code == 2
    assert "--overwrite" in again.err


def test_version_and_completion():
    assert tr.__version__ in run("--version").out
    assert "--install-completion" in run("--help").out


@pytest.mark.slow
def test_demo_finds_the_supports_and_names_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--seed", "1")
    assert result.code == 0
    assert result.out.endswith("The report is in thinrank-demo.html\n")
    assert "<html" in (tmp_path / "thinrank-demo.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["thinrank-demo.html"]
    assert result.out.count("10 / 10 / 10") == 2
    error = float(re.search(r"error, spectral\s*([\d.]+)", result.out).group(1))
    assert 0 < error < 0.12
    assert "Converged" in result.out
