"""What the plots of fits show."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotted_fits as fits
import pytest

import thinrank as tr


def standardized(est, X, Y):
    """Coefficients in standard units, predictors × responses, of the selected predictors."""
    scale = np.asarray(X).std(axis=0)[:, None] / np.asarray(Y).std(axis=0)
    return (est.coef_.T * scale)[est.row_support_]


def labels(ticks):
    return [tick.get_text() for tick in ticks]


# ---------------------------------------------------------------- coefficients


def test_cells_are_the_standardised_coefficients():
    est, (X, Y) = fits.given(), fits.paper()
    ax = tr.plot.coefficients(est)
    shown = pd.DataFrame(
        np.asarray(ax.images[0].get_array()),
        index=labels(ax.get_yticklabels()),
        columns=labels(ax.get_xticklabels()),
    )
    assert shown.shape == (5, 13)
    expected = pd.DataFrame(est.coef_.T, index=X.columns, columns=Y.columns)
    expected = expected.mul(X.std(ddof=0), axis=0) / Y.std(ddof=0)
    np.testing.assert_allclose(shown, expected.loc[shown.index, shown.columns], rtol=1e-6)
    low, high = ax.images[0].get_clim()
    assert high == -low == pytest.approx(np.abs(shown.to_numpy()).max())


def test_raw_coefficients_in_the_order_of_the_data():
    est, (X, _) = fits.given(), fits.paper()
    ax = tr.plot.coefficients(est, standardized=False, cluster=False)
    assert labels(ax.get_yticklabels()) == [X.columns[i] for i in est.row_support_]
    np.testing.assert_allclose(ax.images[0].get_array(), est.coef_.T[est.row_support_], rtol=1e-9)


def test_clusters_are_neighbours():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    one, two = np.array([2.0, 2.0, 0.0, 0.0]), np.array([0.0, 0.0, -1.0, 1.0])
    theta = np.stack([one, two, one, two, one, two])
    est = tr.SparseReducedRankRegressor(2, 6, None).fit(X, X @ theta)
    rows = [int(name[1:]) % 2 for name in labels(tr.plot.coefficients(est).get_yticklabels())]
    assert rows in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])


def test_of_many_predictors_the_strongest_are_shown():
    est, X, Y = fits.wide()
    ax = tr.plot.coefficients(est)
    assert ax.images[0].get_array().shape == (40, 40)
    assert ax.get_ylabel() == "predictor (strongest 40 of 100 shown)"
    assert ax.get_xlabel() == "response (strongest 40 of 60 shown)"
    strength = np.linalg.norm(standardized(est, X, Y), axis=1)
    weakest = est.row_support_[np.argmin(strength)]
    assert not any(f" {weakest} " in text for text in labels(ax.get_yticklabels()))


# ---------------------------------------------------------------- factors


def test_bars_of_every_factor():
    ax = tr.plot.factors(fits.given())
    assert len(ax.patches) == 2 * (5 + 13)
    assert len(labels(ax.get_yticklabels())) == 5 + 13
    widths = np.asarray([bar.get_width() for bar in ax.patches])
    assert np.count_nonzero(widths) == 2 * (5 + 13)


def test_one_factor():
    ax = tr.plot.factors(fits.given(), 1)
    assert [label.split("\n")[0] for label in labels(ax.get_xticklabels())] == ["factor 2"]
    assert len(ax.patches) == 5 + 13


@pytest.mark.parametrize("wrong", [2, [0, 5], True])
def test_factors_that_are_not_there(wrong):
    with pytest.raises(ValueError, match="factors must be positions of factors from 0 to 1, got"):
        tr.plot.factors(fits.given(), wrong)
    with pytest.raises(ValueError, match="at least one"):
        tr.plot.factors(fits.given(), [])


# ---------------------------------------------------------------- biplot


def test_samples_and_arrows():
    est, (X, _) = fits.given(), fits.paper()
    ax = tr.plot.biplot(est, X, labels=[f"s{i}" for i in range(29)], max_labels=4)
    points = np.asarray(ax.collections[0].get_offsets())
    assert points.shape == (29, 2)
    np.testing.assert_allclose(points.std(axis=0), 1)
    assert abs(np.corrcoef(points[:, 0], est.transform(X)[:, 0])[0, 1]) == pytest.approx(1)
    written = labels(ax.texts)
    assert sum(text.startswith("s") for text in written) <= 4
    assert sum(text.startswith("Y") for text in written) == 12


def test_the_arrow_points_to_where_the_response_is_large():
    est, (X, _) = fits.given(), fits.paper()
    ax = tr.plot.biplot(est, X, max_arrows=1)
    arrow = ax.collections[1]
    end = np.array([arrow.U[0], arrow.V[0]])
    points = np.asarray(ax.collections[0].get_offsets())
    predicted = est.predict(X)[:, [f"Y{j + 1}" for j in range(13)].index(ax.texts[-1].get_text())]
    assert np.corrcoef(points @ end, predicted)[0, 1] == pytest.approx(1)


def test_groups_have_colours_and_many_groups_are_joined():
    est, (X, _) = fits.given(), fits.paper()
    ax = tr.plot.biplot(est, X, groups=np.arange(29) % 3, arrows="none")
    assert labels(ax.get_legend().get_texts()) == ["0", "1", "2"]
    ax = tr.plot.biplot(est, X, groups=np.arange(29) % 10, arrows="predictors")
    assert labels(ax.get_legend().get_texts())[-1] == "4 other groups"
    assert sum(text.startswith("X") for text in labels(ax.texts)) == 5


def test_biplot_needs_two_factors(ax):
    est, X, _ = fits.single()
    tr.plot.biplot(est, X, ax=ax)
    assert "has one factor" in ax.texts[0].get_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factors": (0, 2)}, "from 0 to 1, got"),
        ({"factors": (1, 1)}, "two different positions"),
        ({"factors": 1}, "two different positions"),
        ({"groups": [1, 2]}, "one entry for each of the 29 samples"),
        ({"labels": ["a"]}, "one entry for each of the 29 samples"),
        ({"arrows": "both"}, 'one of "responses", "predictors", "none"'),
    ],
)
def test_biplot_checks_its_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        tr.plot.biplot(fits.given(), fits.paper()[0], **options)


# ---------------------------------------------------------------- network


def test_every_name_is_a_node():
    est, (X, Y) = fits.given(), fits.paper()
    ax = tr.plot.network(est)
    written = labels(ax.texts)
    for name in [*X.columns[est.row_support_], *Y.columns, "1", "2"]:
        assert name in written
    edges = [line for part in ax.collections for line in part.get_segments()]
    assert 5 + 13 <= len(edges) <= 2 * (5 + 13)  # weak ones are left out


def test_edges_have_the_sign_and_strength_of_coefficients():
    est = fits.given()
    ax = tr.plot.network(est, through="coefficients", max_edges=7)
    values = standardized(est, *fits.paper())
    (edges,) = ax.collections
    assert len(edges.get_segments()) == 7
    assert ax.get_title() == "strongest 7 of 65 edges shown"
    largest = np.sort(np.abs(values).ravel())[-7:]
    np.testing.assert_allclose(
        edges.get_linewidths() / max(edges.get_linewidths()), largest / largest[-1]
    )
    red = sum(colour[0] > colour[2] for colour in edges.get_colors())
    order = np.argsort(np.abs(values).ravel())[-7:]
    assert red == np.count_nonzero(values.ravel()[order] > 0)


# ---------------------------------------------------------------- observed against predicted


def test_one_response_in_its_own_units():
    est, (X, Y) = fits.given(), fits.paper()
    for response in ("Y3", 2):
        ax = tr.plot.observed_predicted(est, X, Y, response)
        points = np.asarray(ax.collections[0].get_offsets())
        np.testing.assert_allclose(points[:, 1], Y["Y3"])
        np.testing.assert_allclose(points[:, 0], est.predict(X)[:, 2])
        assert ax.get_ylabel() == "observed Y3"


def test_r2_is_that_of_the_estimator():
    est, (X, Y) = fits.given(), fits.paper()
    ax = tr.plot.observed_predicted(est, X, Y)
    assert ax.get_title(loc="left") == f"R² = {est.score(X, Y):.2f}, mean of 13 responses"


def test_missing_entries_are_left_out():
    est, (X, Y) = fits.given(), fits.paper()
    holes = Y.mask(np.random.default_rng(0).random(Y.shape) < 0.3)
    ax = tr.plot.observed_predicted(est, X, holes)
    assert len(ax.collections[0].get_offsets()) == holes.notna().to_numpy().sum()
    assert f"{est.score(X, holes):.2f}" in ax.get_title(loc="left")
    plt.close("all")
    ax = tr.plot.observed_predicted(est, X, Y * np.nan)
    assert ax.texts[0].get_text() == "Y has no observed entries."


def test_few_responses_have_colours_and_many_points_a_density(ax):
    X, Y = fits.paper()
    est = tr.SparseReducedRankRegressor(1, 3, None).fit(X, Y[["Y1", "Y2"]])
    tr.plot.observed_predicted(est, X, Y[["Y1", "Y2"]], ax=ax)
    assert labels(ax.get_legend().get_texts()) == ["Y1", "Y2"]
    times = 200
    long, tall = pd.concat([X] * times), pd.concat([Y] * times)
    dense = tr.plot.observed_predicted(fits.given(), long, tall)
    assert len(dense.collections) == 1
    assert dense.collections[0].get_array().sum() > 0  # counts of a hexagonal grid


def test_classes_are_calibrated():
    est, X, y = fits.classes()
    ax = tr.plot.observed_predicted(est, X, y)
    assert labels(ax.get_legend().get_texts()) == ["y=setosa", "y=versicolor", "y=virginica"]
    assert ax.get_ylabel() == "observed frequency"
    line = ax.containers[1].lines[0]
    share = est.predict_proba(X)[:, 1]
    assert np.mean(line.get_xdata()) == pytest.approx(share.mean(), abs=0.01)
    assert np.mean(line.get_ydata()) == pytest.approx((y == "versicolor").mean(), abs=0.01)
    with pytest.raises(ValueError, match="class 'daisy', which est was not fitted to"):
        tr.plot.observed_predicted(est, X, ["daisy"] * len(y))


def test_two_classes_and_labels():
    X, y = fits.classes()[1], fits.classes()[2] == "setosa"
    est = tr.SparseReducedRankClassifier(1, 2, ridge=0.1).fit(X, y)
    assert len(tr.plot.observed_predicted(est, X, y).containers) == 1
    both = np.column_stack([y, ~y]).astype(float)
    many = tr.SparseReducedRankClassifier(1, 2, ridge=0.1).fit(X, both)
    both[::3, 0] = np.nan
    ax = tr.plot.observed_predicted(many, X, both, response=1)
    assert ax.get_xlabel() == "predicted probability of y1"


def test_families_that_differ_need_a_response():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    colour = np.where(X[:, 0] + 0.5 * rng.standard_normal(80) > 0, "red", "blue")
    Y = pd.DataFrame({"count": rng.poisson(np.exp(0.5 * X[:, 0])), "colour": colour})
    est = tr.SparseReducedRankGLM(["poisson", "multinomial"], 1, 1, None, ridge=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"both probabilities and numbers.*response="):
        tr.plot.observed_predicted(est, X, Y)
    counted = tr.plot.observed_predicted(est, X, Y, "count")
    assert len(counted.collections[0].get_offsets()) == 80
    ax = tr.plot.observed_predicted(est, X, Y, "colour")
    assert labels(ax.get_legend().get_texts()) == ["colour=blue", "colour=red"]


@pytest.mark.parametrize("wrong", ["Y99", 13, -1, 2.5])
def test_unknown_responses(wrong):
    with pytest.raises(ValueError, match="response must be"):
        tr.plot.observed_predicted(fits.given(), *fits.paper(), response=wrong)


def test_shapes_must_agree():
    X, Y = fits.paper()
    with pytest.raises(ValueError, match=r"Y must have the shape of the predictions, \(29, 13\)"):
        tr.plot.observed_predicted(fits.given(), X, Y.iloc[:, :5])


def test_the_circle_has_the_correlations_with_the_factors(ax):
    X, Y = fits.paper()
    est, Y = fits.given(), Y.copy()
    Y.iloc[3, 1] = np.nan
    tr.plot.correlation_circle(est, X, Y, (1, 0), ax=ax)
    scores = est.transform(X)
    predictors, responses = (points.get_offsets() for points in ax.collections)
    for places, data, index in (
        (predictors, X.iloc[:, est.row_support_], range(len(est.row_support_))),
        (responses, Y, range(Y.shape[1])),
    ):
        for j in index:
            seen = np.isfinite(data.iloc[:, j])
            expected = [np.corrcoef(data.iloc[:, j][seen], scores[seen, f])[0, 1] for f in (1, 0)]
            np.testing.assert_allclose(places[j], expected, atol=1e-10)
    with pytest.raises(ValueError, match="X and Y must have the columns of the fit"):
        tr.plot.correlation_circle(est, X, Y.iloc[:, :3])
