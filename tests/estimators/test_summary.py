"""What summary() says and shows."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

N = 80


def frames(seed=0):
    """Two of five predictors matter, for two of three responses."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((N, 5)), columns=["age", "dose", "height", "mass", "lot"])
    Y = pd.DataFrame(
        {
            "growth": 2 * X.dose - X.age,
            "decay": 0.5 * X.age - X.dose,
            "colour": np.zeros(N),
        }
    )
    return X * [10, 1, 1, 1, 1], Y + 0.5 * rng.standard_normal((N, 3))


@pytest.fixture(scope="module")
def fitted():
    X, Y = frames()
    return tr.SparseReducedRankRegressor(random_state=0).fit(X, Y)


def test_sentences_say_what_predicts_what(fitted):
    said = fitted.summary().sentences
    assert said[0] == "2 of 5 predictors predict 2 of 3 responses through 1 factor."
    assert said[1].startswith("Factor 1 explains 58 % of the variance")
    assert said[1].endswith(
        ": growth increases with dose and decreases with age; the opposite holds for decay."
    )
    assert "in held-out rows, by which the sizes were chosen." in said[2]
    assert fitted.summary().cautions == []


def test_the_text_has_names_and_numbers(fitted):
    text = str(fitted.summary())
    assert (
        text.splitlines()[0] == "SparseReducedRankRegressor: 80 samples, 5 predictors, 3 responses"
    )
    assert text == repr(fitted.summary())
    assert max(map(len, text.splitlines())) <= 80
    row = next(line for line in text.splitlines() if line.split()[:2] == ["dose", "growth"])
    assert float(row.split()[2]) == pytest.approx(fitted.coef_[0, 1], abs=1e-3)
    assert "colour" in text


def test_tables_are_those_of_the_model(fitted):
    X, Y = frames()
    summary = fitted.summary()
    table = summary.to_frame()
    assert list(table.columns) == ["predictor", "response", "coefficient", "standardized"]
    assert len(table) == 4
    for row in table.itertuples():
        i, j = list(X.columns).index(row.predictor), list(Y.columns).index(row.response)
        assert row.coefficient == pytest.approx(fitted.coef_[j, i])
        scale = X.iloc[:, i].std(ddof=0) / Y.iloc[:, j].std(ddof=0)
        assert row.standardized == pytest.approx(row.coefficient * scale)
    assert np.all(np.diff(table.standardized.abs()) <= 0)
    predictors = summary.to_frame("predictors").set_index("predictor")
    squares = (table.standardized**2).groupby(table.predictor).sum()
    for name in ("dose", "age"):
        assert predictors.strength[name] == pytest.approx(squares[name] ** 0.5)
    responses = summary.to_frame("responses").set_index("response")
    assert responses.r2["decay"] == pytest.approx(fitted.r2_[1])
    assert responses.held_out_r2["decay"] == pytest.approx(fitted.held_out_r2_[1])
    assert responses.predictors.to_dict() == {"growth": 2, "decay": 2, "colour": 0}
    factors = summary.to_frame("factors")
    assert factors.predictors[0] == "+dose, −age"
    assert factors.share[0] == pytest.approx(fitted.explained_variance_ratio_[0])


def test_products_of_loadings_are_the_standardised_coefficients():
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n_samples=60,
        n_features=12,
        n_targets=8,
        rank=3,
        row_sparsity=5,
        column_sparsity=6,
        random_state=0,
    )
    est = tr.SparseReducedRankRegressor(3, 5, 6).fit(X * 3, Y + 1)
    summary = est.summary()
    loadings = summary.to_frame("loadings")
    wide = loadings.pivot(index=["side", "name"], columns="factor", values="loading").fillna(0)
    for row in summary.to_frame().itertuples():
        product = wide.loc["predictor", row.predictor] @ wide.loc["response", row.response]
        assert product == pytest.approx(row.standardized)
    assert summary.predictor_names[:2] == ["x0", "x1"]
    assert summary.response_names[:2] == ["y0", "y1"]
    assert summary.rank == 3
    assert summary.n_samples == 60


def test_many_names_are_cut_with_the_number_of_the_rest():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3000))
    Y = X[:, :1] + rng.standard_normal((40, 400))
    est = tr.SparseReducedRankRegressor(1, None, None, ridge=1.0).fit(X, Y)
    names = [f"a predictor with a long name that ends in number {i}" for i in range(3000)]
    text = str(est.summary(max_rows=4, feature_names=names))
    assert max(map(len, text.splitlines())) <= 80
    assert "… and 396 more responses" in text
    assert "… and 2996 more predictors" in text
    assert "… and 1199996 more coefficients" in text
    assert len(text.splitlines()) < 60
    assert any("3000 predictors for 40 samples" in each for each in est.summary().cautions)


def test_given_sizes_have_no_held_out_r2():
    X, Y = frames()
    summary = tr.SparseReducedRankRegressor(1, 2, 2).fit(X, Y).summary()
    assert "held out" not in str(summary)
    assert any("sizes were given" in each for each in summary.cautions)
    assert summary.to_frame("responses").held_out_r2.isna().all()
    by_bic = tr.SparseReducedRankRegressor(criterion="bic").fit(X, Y).summary()
    assert any("chosen by a criterion" in each for each in by_bic.cautions)


def test_nothing_to_predict():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((25, 6)), rng.standard_normal((25, 3))
    with pytest.warns(SelectionWarning):
        est = tr.SparseReducedRankRegressor().fit(X, Y)
    summary = est.summary()
    assert summary.sentences == [
        "No predictor was selected: the model predicts the mean of each response."
    ]
    assert any("No model predicts better" in each for each in summary.cautions)
    assert any("only 25 samples" in each for each in summary.cautions)
    assert len(summary.to_frame()) == 0
    assert "Coefficients" not in str(summary)


def test_responses_that_are_predicted_worse_than_by_their_means():
    X, Y = frames()
    est = tr.SparseReducedRankRegressor(random_state=0).fit(X, Y)
    est.held_out_r2_ = np.array([-0.2, 0.3, 0.0])
    said = " ".join(est.summary().cautions)
    assert "growth is predicted worse than by its mean" in said
    assert "0.05, much lower than 0.87" in said


def test_one_response():
    X, Y = frames()
    est = tr.SparseReducedRankRegressor(1, 2, 1).fit(X, Y["growth"])
    assert est.target_names_in_.tolist() == ["growth"]
    said = est.summary().sentences
    assert said[0] == "2 of 5 predictors predict growth."
    assert said[1] == "growth increases with dose and decreases with age."


def test_kept_predictors_are_named():
    X, Y = frames()
    est = tr.SparseReducedRankRegressor(1, 1, 2, always_keep=["age"]).fit(X, Y)
    summary = est.summary()
    assert summary.sentences[0].startswith("1 of 4 predictors predicts 2 of 3 responses")
    assert "In addition age is in the model in any case." in summary.sentences
    predictors = summary.to_frame("predictors").set_index("predictor")
    assert predictors.always_kept.to_dict() == {"dose": False, "age": True}
    pairs = summary.to_frame().set_index(["predictor", "response"]).coefficient
    assert pairs["age", "growth"] == pytest.approx(est.kept_coef_[0, 0])
    assert "age (always kept)" in str(summary)


def test_counts_and_categories():
    rng = np.random.default_rng(0)
    X, _ = frames()
    Y = pd.DataFrame(
        {
            "visits": rng.poisson(np.exp(0.7 * X.dose)),
            "kind": np.where(X.dose + 0.5 * rng.standard_normal(N) > 0, "up", "down"),
        }
    )
    est = tr.SparseReducedRankGLM(["poisson", "multinomial"], 1, 2, None, ridge=0.1).fit(X, Y)
    summary = est.summary()
    assert summary.response_names == ["visits", "kind=down", "kind=up"]
    assert summary.measure == "deviance explained"
    assert "Deviance explained of the responses" in str(summary)
    bare = tr.SparseReducedRankGLM("poisson", 1, 2, None, ridge=0.1).fit(X, Y[["visits"]].values)
    assert bare.summary().response_names == ["y0"]


def test_classes():
    X, Y = frames()
    y = pd.Series(
        np.where(Y.growth > 1, "tall", np.where(Y.growth < -1, "low", "even")), name="kind"
    )
    est = tr.SparseReducedRankClassifier(1, 2, None, ridge=0.1).fit(X, y)
    summary = est.summary()
    assert summary.response_names == ["kind=even", "kind=low", "kind=tall"]
    assert "3 classes" in str(summary)
    assert "is more likely" in summary.sentences[1]
    binary = tr.SparseReducedRankClassifier(1, 2, None, ridge=0.1).fit(X, y == "tall")
    assert binary.summary().response_names == ["kind=True"]


def test_a_pipeline_with_encoded_columns_keeps_names_to_the_summary():
    X, Y = frames()
    X["site"] = np.where(np.arange(N) % 3, "north", "south")
    encoder = ColumnTransformer(
        [("text", OneHotEncoder(sparse_output=False), ["site"])], remainder=StandardScaler()
    )
    sizes = {"rank": 1, "row_sparsity": 2, "column_sparsity": 2}
    pipe = make_pipeline(encoder, tr.SparseReducedRankRegressor(**sizes))
    pipe.set_output(transform="pandas").fit(X, Y)
    assert set(pipe[-1].summary().to_frame().predictor) == {"remainder__dose", "remainder__age"}
    bare = make_pipeline(
        encoder.set_output(transform="default"), tr.SparseReducedRankRegressor(**sizes)
    )
    bare.fit(X, Y)
    table = bare[-1].summary(feature_names=bare[:-1].get_feature_names_out()).to_frame()
    assert set(table.predictor) == {"remainder__dose", "remainder__age"}


def test_names_can_be_given_and_are_checked(fitted):
    summary = fitted.summary(feature_names=list("abcde"), response_names=list("uvw"))
    assert set(summary.to_frame().predictor) == {"a", "b"}
    assert summary.response_names == ["u", "v", "w"]
    with pytest.raises(ValueError, match="each of the 5 predictors, got 2 names"):
        fitted.summary(feature_names=["a", "b"])
    with pytest.raises(ValueError, match="response_names must be a sequence of 3 names"):
        fitted.summary(response_names="abc")
    with pytest.raises(ValueError, match="max_rows must be a positive integer"):
        fitted.summary(max_rows=0)
    with pytest.raises(ValueError, match='table must be one of "coefficients"'):
        fitted.summary().to_frame("other")
    with pytest.raises(NotFittedError):
        tr.SparseReducedRankRegressor().summary()


def test_notebooks_show_what_was_found_with_escaped_names(fitted):
    X, Y = frames()
    X.columns = ["<b>age</b>", "dose & co", "c", "d", "e"]
    est = tr.SparseReducedRankRegressor(1, 2, 2)
    assert "predictors" not in est._repr_html_()
    est.fit(X, Y)
    html = est._repr_mimebundle_()["text/html"]
    found = html[html.rindex("<pre>") :]
    assert found in est._repr_html_()
    assert "sk-top-container" in html
    assert "&lt;b&gt;age" in found
    assert "<b>age" not in found
    assert "dose &amp; co" in found
    assert "2 of 5 predictors" in found
    assert repr(est) == "SparseReducedRankRegressor(column_sparsity=2, rank=1, row_sparsity=2)"


def test_a_thinner_model_is_named_if_there_are_many_predictors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 40))
    effects = np.zeros((40, 4))
    effects[:20] = 0.15
    effects[:2] = 1.0
    Y = X @ effects + rng.standard_normal((80, 4))
    est = tr.SparseReducedRankRegressor(random_state=0).fit(X, Y)
    summary = est.summary()
    said = r"With (\d+) predictors the held-out error is larger by less than its standard error"
    (thinner,) = re.findall(said, " ".join(summary.sentences))
    assert 0 < int(thinner) < len(est.row_support_)


@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_held_out_r2_of_few_samples_is_said_to_be_optimistic():
    for count in (20, 40):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((count, 4))
        Y = X[:, :1] @ np.ones((1, 2)) + rng.standard_normal((count, 2))
        said = tr.SparseReducedRankRegressor(cv=3).fit(X, Y).summary().cautions
        told = any("is optimistic, by about 0.2 with 20 samples" in each for each in said)
        assert told == (count == 20)


def test_importance_is_the_vip_of_partial_least_squares():
    """With one factor it is the root of p times the share of a squared loading in their sum."""
    X, Y = frames()
    est = tr.SparseReducedRankRegressor(1, 3, 2).fit(X, Y)
    found = est.summary().to_frame("predictors").set_index("predictor").importance
    loadings = est.summary().to_frame("loadings")
    own = loadings[loadings.side == "predictor"].set_index("name").loading
    expected = np.sqrt(X.shape[1] * own**2 / (own**2).sum())
    pd.testing.assert_series_equal(found.sort_index(), expected.sort_index(), check_names=False)
    est = tr.SparseReducedRankRegressor(2, 3, None).fit(X, Y)
    assert (est.summary().to_frame("predictors").importance ** 2).mean() == pytest.approx(5 / 3)
