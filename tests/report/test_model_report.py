"""The report of a fitted model."""

import base64
import copy
import os
from dataclasses import replace

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from page_parser import ParsedPage, assert_self_contained
from sklearn.base import clone

import thinrank as tr
from thinrank.core.warnings import SelectionWarning
from thinrank.report.document import Choice, Number, Page, Picture, Points, Section, Table
from thinrank.report.document import Text as Paragraph

HOSTILE = [
    "<script>document.title='taken'</script>",
    '"><img src=x onerror=alert(1)>',
    "a & b < c > d",
    "`code` {{ 7 * 7 }} {% raw %}",
    "</style></script><svg onload=alert(1)>",
    "$x_1$ and \\alpha",
]
SECTIONS = ["What was found", "What to distrust", "How the model was chosen", "How this was made"]


@pytest.fixture(scope="module")
def data():
    X, Y, _ = tr.datasets.make_two_way_sparse(
        60, 12, 6, rank=2, row_sparsity=4, column_sparsity=4, random_state=5
    )
    X = pd.DataFrame(X, columns=[f"gene {i}" for i in range(12)])
    return X, pd.DataFrame(Y, columns=[f"trait {i}" for i in range(6)])


@pytest.fixture(scope="module")
def est(data):
    return tr.SparseReducedRankRegressor(random_state=0).fit(*data)


@pytest.fixture(scope="module")
def stability(data):
    X, Y = data
    est = tr.SparseReducedRankRegressor(2, 5, 4)
    with pytest.warns(SelectionWarning, match="says nothing"):
        return tr.selection.stability(est, X, Y, n_resamples=3, pairs=True)


@pytest.fixture(scope="module")
def page(est, data, stability, tmp_path_factory):
    X, Y = data
    path = tr.report.write(
        est,
        tmp_path_factory.mktemp("report") / "report.html",
        X=X,
        Y=Y,
        stability=stability,
        command="thinrank fit X.csv Y.csv",
        title="Genes and traits",
    )
    return ParsedPage(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def doubtful(est, data, stability, tmp_path_factory):
    """The page of a model that is no better than the mean, with an unstable predictor."""
    table, name = stability.copy(), data[0].columns[est.row_support_[0]]
    table.loc[(table["axis"] == "row") & (table["name"] == name), "frequency"] = 0.25
    table.loc[(table["axis"] == "row") & (table["name"] == name), "stable"] = False
    last = [r for r in est.search_ if r.search_round == est.search_[-1].search_round]
    best = min(last, key=lambda record: record.objective)
    as_good = {"objective": best.objective, "split_scores": best.split_scores}
    weak = copy.copy(est)
    weak.search_ = [replace(r, **as_good) if r.sizes.rank == 0 else r for r in est.search_]
    X, Y = (frame.set_axis([f"YAL{i:03d}" for i in range(60)]) for frame in data)
    folder = tmp_path_factory.mktemp("doubtful")
    return written(weak, folder, X=X, Y=Y.to_numpy(), stability=table), name


def written(est, tmp_path, **options):
    path = tr.report.write(est, tmp_path / "report.html", **options)
    return ParsedPage(path.read_text(encoding="utf-8"))


def test_the_file_needs_nothing_else(page):
    assert_self_contained(page)


def test_words_of_the_summary_are_on_the_page(page, est):
    summary = est.summary()
    assert summary.sentences
    for sentence in (*summary.sentences, *summary.cautions):
        assert " ".join(sentence.split()) in page.text
    for library in ("Python 3.", "numpy ", "scipy ", "scikit-learn ", "thinrank "):
        assert library in page.text
    assert "random_state=0" in page.text
    for title in (
        *SECTIONS,
        "Coefficients",
        "Factors",
        "What would change with other samples",
        "Samples and predictions",
    ):
        assert title in page.text
    assert "Genes and traits" in page.text
    assert "thinrank fit X.csv Y.csv" in page.text


def test_coefficients_are_those_of_the_estimator(page, est, data):
    X, Y = data
    rows = page.table("predictor", "response", "coefficient")[1:]
    coef = np.asarray(est.coef_)
    assert len(rows) == np.count_nonzero(coef)
    scale = X.std(ddof=0).to_numpy()[None, :] / Y.std(ddof=0).to_numpy()[:, None]
    for predictor, response, raw, standardized in rows:
        at = Y.columns.get_loc(response), X.columns.get_loc(predictor)
        assert float(raw) == pytest.approx(coef[at], rel=0.01)
        assert float(standardized) == pytest.approx((coef * scale)[at], rel=0.01)
    sizes = [abs(float(row[3])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)


def test_responses_have_their_r2(page, est, data):
    rows = page.table("response", "R² training")
    assert len(rows) == 1 + 6
    assert rows[0][2:] == ["R² held out", "predictors"]
    place = {name: i for i, name in enumerate(data[1].columns)}
    for response, r2, held_out, count in rows[1:]:
        i = place[response]
        assert float(r2 or "nan") == pytest.approx(est.r2_[i], rel=0.01, nan_ok=True)
        assert float(held_out or "nan") == pytest.approx(est.held_out_r2_[i], rel=0.01, nan_ok=True)
        assert int(count) == np.count_nonzero(np.asarray(est.coef_)[i])


def test_strengths_and_loadings_are_those_of_the_summary(page, est):
    found = est.summary().table("predictors")
    rows = page.table("predictor", "strength", "importance")[1:]
    assert [row[0] for row in rows] == found["predictor"]
    assert [float(row[1]) for row in rows] == pytest.approx(found["strength"], rel=0.01)
    assert [float(row[2]) for row in rows] == pytest.approx(found["importance"], rel=0.01)
    found = est.summary().table("loadings")
    rows = page.table("side", "name", "factor")[1:]
    assert [float(row[3]) for row in rows] == pytest.approx(found["loading"], rel=0.01)


def test_every_plot_has_a_text(page):
    images = page.named("img")
    assert len(images) == 7
    assert len({image["alt"] for image in images}) == len(images)
    assert all(len(image["alt"]) > 20 for image in images)
    headers = {rows[0][0] for rows in page.tables}
    assert headers >= {"predictor", "response", "factor", "side", "choice"}


def test_figures_have_no_text_below_seven_points(est, data, stability, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr("thinrank.report.document.drawn", lambda fig: figures.append(fig) or b"")
    tr.report.write(est, tmp_path / "report.html", X=data[0], Y=data[1], stability=stability)
    for figure in figures:
        figure.draw_without_rendering()
        texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
        assert len(texts) > 5
        assert min(text.get_fontsize() for text in texts) >= 7
    assert len(figures) == 7


def test_how_the_model_was_chosen(page, est):
    last = [r for r in est.search_ if r.search_round == est.search_[-1].search_round]
    rows = page.table("choice", "rank", "predictors")[1:]
    assert len(rows) == len([r for r in last if np.isfinite(r.objective)])
    (chosen,) = [row for row in rows if row[0] == "chosen"]
    assert int(chosen[1]) == est.best_params_["rank"]
    assert int(chosen[2]) == est.best_params_["row_sparsity"]
    assert f"{len(est.search_)} models were compared by their held-out error" in page.text


def test_predictors_that_are_not_stable_are_named(doubtful):
    page, name = doubtful
    assert f"{name} (0.25)" in page.text
    frequency = {row[0]: row[4] for row in page.table("predictor", "strength")}
    assert frequency[name] == "0.250"


def test_no_better_than_the_mean(page, doubtful):
    sentence = "the model may be no better than the mean"
    assert sentence not in page.text
    assert sentence in doubtful[0].text


def test_samples_have_their_names(est, data, page, doubtful, tmp_path):
    named = doubtful[0]
    assert "Samples far from the center have their names" in named.text
    assert "Samples far from the center have their names" not in page.text
    with pytest.raises(ValueError, match="sample_names must have 60 names, one per row, got 2"):
        written(est, tmp_path, X=data[0], Y=data[1], sample_names=["a", "b"])


def test_names_are_shown_and_do_nothing(data, tmp_path):
    X, Y = data
    X, Y = X.set_axis(HOSTILE * 2, axis=1), Y.set_axis(HOSTILE, axis=1)
    X.columns = [f"{name} {i}" for i, name in enumerate(X.columns)]
    est = tr.SparseReducedRankRegressor(2, 12, 6).fit(X, Y)
    with pytest.warns(SelectionWarning, match="nothing is known"):
        table = tr.selection.stability(clone(est), X, Y, n_resamples=2, pairs=True)
    page = written(est, tmp_path, X=X, Y=Y, stability=table, title=HOSTILE[0], command=HOSTILE[1])
    assert_self_contained(page)
    rows = page.table("predictor", "response", "coefficient")[1:]
    assert {row[1] for row in rows} == set(HOSTILE)
    assert {row[0] for row in rows} == set(X.columns)
    assert HOSTILE[0] in page.text


def classifier(X, Y):
    labels = np.where(np.asarray(Y)[:, 0] > 0, "high", "low")
    return tr.SparseReducedRankClassifier(1, 3, None).fit(X, labels), labels


def mixed(X, Y):
    Y = np.asarray(Y)[:, :2].copy()
    Y[:, 1] = Y[:, 1] > 0
    family = ["gaussian", "bernoulli"]
    return tr.SparseReducedRankGLM(family=family, rank=1, row_sparsity=3).fit(X, Y), Y


def cross_validated(X, Y):
    grid = {"ranks": [1, 2], "row_sparsities": [3, 4], "column_sparsities": [4], "ridges": [0.0]}
    with pytest.warns(SelectionWarning, match="is the largest that was allowed"):
        return tr.SparseReducedRankRegressorCV(**grid, cv=3).fit(X, Y), Y


def one_response(X, Y):
    y = np.asarray(Y)[:, 0]
    return tr.SparseReducedRankRegressor(1, 3, None).fit(X, y), y


def nothing_found(X, Y):
    noise = np.random.default_rng(1).standard_normal((60, 4))
    return tr.SparseReducedRankRegressor(0, 0, 0).fit(X, noise), noise


@pytest.mark.parametrize(
    "fit",
    [
        classifier,
        one_response,
        nothing_found,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (mixed, cross_validated)),
    ],
)
def test_every_estimator(fit, data, tmp_path):
    X = data[0].to_numpy()
    est, Y = fit(X, data[1])
    page = written(est, tmp_path, X=X, Y=Y)
    assert_self_contained(page)
    for title in SECTIONS:
        assert title in page.text
    if fit is one_response:
        assert "was not checked; tr.selection.stability does that" in page.text
    if fit is nothing_found:
        assert not [rows for rows in page.tables if rows[0][0] == "predictor"]
    else:
        names = {row[0] for row in page.table("predictor", "response")[1:]}
        assert names == {f"x{i}" for i in est.row_support_}


@pytest.mark.slow
def test_a_model_with_thousands_of_names_stays_small(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 300))
    Y = X[:, :20] @ rng.standard_normal((20, 260)) + rng.standard_normal((40, 260))
    X = pd.DataFrame(X, columns=[f"predictor {i} {'long name ' * 20}" for i in range(300)])
    Y = pd.DataFrame(Y, columns=[f"response {i} {'long name ' * 20}" for i in range(260)])
    est = tr.SparseReducedRankRegressor(2, 20, None, ridge=1.0).fit(X, Y)
    path = tr.report.write(est, tmp_path / "report.html", X=X, Y=Y)
    assert path.stat().st_size < 6e6
    page = ParsedPage(path.read_text(encoding="utf-8"))
    assert len(page.table("predictor", "response")) == 1 + 5000
    assert "The strongest 5,000 of 5,200 coefficients;" in page.text
    assert len(page.table("response", "R² training")) == 1 + 260


def test_the_file_is_complete_or_absent(est, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("earlier")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        tr.report.write(est, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "earlier"


def test_bad_input(est, data, stability, tmp_path):
    X, Y = data
    with pytest.raises(IsADirectoryError, match="is a folder; path must name a file"):
        tr.report.write(est, tmp_path)
    with pytest.raises(ValueError, match="Y was given without X"):
        tr.report.write(est, tmp_path / "report.html", Y=Y)
    with pytest.raises(ValueError, match="has no column 'axis'"):
        tr.report.write(est, tmp_path / "report.html", stability=X)
    with pytest.raises(ValueError, match="stability has 11 predictors, but the model has 12"):
        tr.report.write(est, tmp_path / "report.html", stability=stability.drop(index=0))
    with pytest.raises(TypeError, match="must be a fitted estimator of thinrank"):
        tr.report.write(X, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_stable_predictors_come_first(page, stability):
    text = page.text[page.text.rindex("Stable predictor") :]
    stable = stability[(stability["axis"] == "row") & stability["stable"]]
    assert text.startswith(
        "Stable predictors (selected in at least 75 % of the 6 fits to 3 pairs of random halves"
    )
    first = text[: text.index("A fit selected")]
    assert all(f"{name} (" in first for name in stable["name"])
    mean = stability.loc[stability["axis"] == "row", "frequency"].sum()
    assert f"A fit selected {mean:.3g} of 12 predictors on average." in text
    assert text.index("A fit selected") < text.index("The bound on wrong predictors says nothing")


def test_shares_are_the_same_in_text_table_and_figure(page, est):
    shares = [row[3] for row in page.table("factor", "strongest predictors")[1:]]
    numbers = [float(share.removesuffix("%").strip()) / 100 for share in shares]
    assert numbers == pytest.approx(list(est.explained_variance_ratio_), abs=0.006)
    assert all(f"explains {share}" in page.text for share in shares)


@pytest.mark.parametrize("name", HOSTILE[:2])
def test_every_part_of_a_page(name):
    figure = matplotlib.figure.Figure((3, 2))
    figure.subplots().set_title(name, parse_math=False)
    cells = (name, Number(1.0, name), Choice(name, True, {"id": name}))
    table = Table((name, "b", "c"), [cells], caption=name, note=name)
    blocks = [
        Section(name),
        Paragraph(name),
        Paragraph(name, stress=True),
        Points((name,), caution=True),
        Points((name,)),
        table,
        Picture("picture", figure, name),
    ]
    page = ParsedPage(Page(name, blocks).html())
    assert_self_contained(page)
    assert page.text.count(name.split("=")[0]) >= 10
    (image,) = page.named("img")
    drawing = base64.b64decode(image["src"].partition(",")[2]).decode("utf-8")
    assert "<script" not in drawing
    assert "<img" not in drawing
