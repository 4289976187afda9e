"""``thinrank stability``: frequencies on the screen, in the folder and in the report."""

import csv

import pytest
from messy_files import SIZES, csv_text, numbers, run

import thinrank as tr

FIT = ("fit", "X.csv", "Y.csv", "-o", "m")
STABILITY = ("stability", "m", "--resamples", "4", "--jobs", "1")


def test_what_is_stable_is_printed_and_written(model):
    done = run(*STABILITY)
    text = " ".join(done.out.split())
    assert "Stable predictors (selected in at least 75 % of the 8 fits to 4 pairs of" in text
    assert "a (1.00), d (1.00)." in text
    assert "A fit selected 2 of 6 predictors on average." in text
    assert "Expected number of wrong predictors among the 2 stable: at most 1.3" in text
    assert "a → u (1.00)" in text
    with open(model / "stability.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["axis"] == "row"]
    assert [row["name"] for row in rows] == list("abcdef")
    assert [row["stable"] for row in rows].count("True") == 2
    assert {row["n_resamples"] for row in rows} == {"4"}


def test_the_table_is_that_of_python(model):
    X, Y = numbers()
    assert run(*STABILITY, "--seed", "3").code == 0
    own = tr.selection.stability(
        tr.SparseReducedRankRegressor(1, 2, 2), X, Y, n_resamples=4, pairs=True, random_state=3
    )
    with open(model / "stability.csv", newline="") as file:
        table = list(csv.DictReader(file))
    frequencies = [float(row["frequency"]) for row in table]
    assert frequencies == pytest.approx(own["frequency"].tolist())
    bounds = [float(row["bound"]) for row in table if row["bound"]]
    assert bounds == pytest.approx(own["bound"].dropna().tolist())


def test_fewer_predictors_and_json(model):
    found = run(*STABILITY, "--predictors", "1", "--json").json
    assert found["stable"] == ["a"]
    assert found["predictors_per_fit"] == 1
    assert found["bound"] == pytest.approx(1 / 6 / 0.5)
    assert found["stable_pairs"][0] == {
        "predictor": "a",
        "response": "u",
        "frequency": 1.0,
        "sign": 1,
    }
    assert any("and the model has 2" in sentence for sentence in found["sentences"])
    too_many = run(*STABILITY, "--predictors", "3")
    assert too_many.code == 2
    assert "at most the number of predictors of the model, 2" in too_many.error
    low = run(*STABILITY, "--threshold", "0.4")
    assert (low.code, "above 0.5" in low.error) == (2, True)


def test_a_smaller_number_of_predictors_is_proposed_if_the_bound_says_nothing(model):
    assert (
        run(*FIT, "--rank", "1", "--predictors", "5", "--responses", "2", "--overwrite").code == 0
    )
    text = " ".join(run(*STABILITY).out.split())
    assert "The bound on wrong predictors says nothing" in text
    assert "With --predictors 1 each fit selects 1 of 6, and the bound is 0.33." in text


def test_the_report_has_the_frequencies_until_the_model_is_replaced(model, monkeypatch):
    assert run(*STABILITY).code == 0
    again = run("report", "m", "--json")
    assert again.json["with_stability"] is True
    page = (model / "report.html").read_text()
    assert "Stable predictors (selected in at least 75 % of the 8 fits" in page
    passed = {}
    monkeypatch.setattr("thinrank.report.write", lambda *given, **rest: passed.update(rest))
    replaced = run(*FIT, "--rank", "1", "--predictors", "3", "--responses", "2", "--overwrite")
    assert "note: m/stability.csv is about the model that was replaced" in replaced.err
    assert "note: m/report.html is about the model that was replaced" in replaced.err
    stale = run("report", "m", "--json").json
    assert "m/stability.csv is about another model, so the report" in stale["notes"][0]
    assert stale["with_stability"] is False
    assert passed["sample_names"][39] == "s39"
    (model / "stability.csv").write_text("a,b\n1,2\n")
    damaged = run("report", "m")
    assert (damaged.code, "is not a file that thinrank stability wrote" in damaged.error) == (
        3,
        True,
    )


def test_data_that_are_not_there_or_have_changed(model, tmp_path):
    (tmp_path / "Y.csv").rename(tmp_path / "Z.csv")
    moved = run(*STABILITY)
    assert moved.code == 2
    assert "Y.csv is not where it was; give the files: thinrank stability m X Y" in moved.error
    assert not (model / "stability.csv").exists()
    given = run("stability", "m", "X.csv", "Z.csv", "--resamples", "1", "--jobs", "1")
    assert given.code == 0
    assert (model / "stability.csv").exists()
    X, Y = numbers()
    tr.save(tr.SparseReducedRankRegressor(1, 2, 2).fit(X, Y), tmp_path / "plain")
    plain = run("stability", "plain")
    assert (plain.code, "use tr.selection.stability in Python" in plain.error) == (2, True)


def test_categories_and_no_predictor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, Y = numbers()
    (tmp_path / "X.csv").write_text(csv_text(X, list("abcdef")))
    stages = ["low" if y < 0 else "high" for y in Y[:, 0]]
    lines = [f"s{i},{Y[i, 1]},{stage}" for i, stage in enumerate(stages)]
    lines.insert(0, "id,u,stage")
    (tmp_path / "Y.csv").write_text("\n".join(lines))
    assert run(*FIT, *SIZES, "--ridge", "0.1", "--family", "stage=multinomial").code == 0
    found = run("stability", "m", "--resamples", "1", "--jobs", "1", "--json").json
    assert "a" in found["stable"]
    assert {pair["response"] for pair in found["stable_pairs"]} <= {"u", "stage=low", "stage=high"}
    rows = (tmp_path / "X.csv").read_text().splitlines()
    sites = ["site", *"ab" * 200][: len(rows)]
    (tmp_path / "X.csv").write_text("\n".join(map(",".join, zip(rows, sites, strict=True))))
    family = ("--ridge", "0.1", "--family", "stage=multinomial")
    assert run(*FIT, *SIZES, *family, "--keep", "site", "--overwrite").code == 0
    assert run("stability", "m", "--resamples", "1", "--jobs", "1").code == 0
    estimator = tr.SparseReducedRankRegressor(0, 0, 0).fit(X, Y)
    tr.save(estimator, tmp_path / "none")
    nothing = run("stability", "none")
    assert (nothing.code, "selects no predictor" in nothing.error) == (2, True)
