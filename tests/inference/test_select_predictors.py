"""The public function: every method on easy data, invariances, names, odd input, words."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import thinrank as tr

select = tr.inference.select_predictors
METHODS = ("row_tests", "fixed_knockoffs", "model_x_knockoffs")


def easy(n=90, p=25, rows=12, seed=0):
    """Strong effects of the first predictors, on six responses, with correlated noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    effects = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, 6))
    effects *= 3 / np.linalg.norm(effects, axis=1, keepdims=True)
    noise = rng.standard_normal((n, 6)) + rng.standard_normal((n, 1))
    return X, X[:, :rows] @ effects + noise


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_strong_effects(method):
    X, Y = easy()
    found = select(X, Y, fdr=0.2, method=method)
    assert found.method == method
    right = set(found.selected) & set(range(12))
    assert len(right) >= 10
    assert len(found.selected) <= len(right) + 4
    assert found.statistics.shape == (25,)
    assert (found.statistics[found.selected] >= found.threshold).all()
    assert np.flatnonzero(found.statistics >= found.threshold).tolist() == found.selected.tolist()
    assert 0 <= found.estimated_fdp <= 0.2
    assert (found.p_values is not None) == (method == "row_tests")
    if "knockoffs" in method:  # the +1 threshold of Barber and Candès
        W = found.statistics
        good = [
            t
            for t in np.sort(np.abs(W))
            if t > 0 and 1 + np.count_nonzero(t <= -W) <= 0.2 * np.count_nonzero(t <= W)
        ]
        assert found.threshold == good[0]


@pytest.mark.parametrize("method", METHODS)
def test_units_constants_and_repetition_change_nothing(method):
    X, Y = easy()
    rng = np.random.default_rng(1)
    first = select(X, Y, 0.2, method, random_state=3)
    again = select(X, Y, 0.2, method, random_state=3)
    np.testing.assert_allclose(first.statistics, again.statistics)
    other = select(
        X * 10.0 ** rng.integers(-6, 6, 25) + rng.standard_normal(25),
        Y * 10.0 ** rng.integers(-3, 3, 6) + np.arange(6) * 10,
        0.2,
        method,
        random_state=3,
    )
    np.testing.assert_array_equal(first.selected, other.selected)
    np.testing.assert_allclose(first.statistics, other.statistics, rtol=1e-3, atol=1e-4)


def test_names_and_table():
    X, Y = easy()
    X = pd.DataFrame(X, columns=[f"gene <{j}>" for j in range(25)])
    found = select(X, pd.DataFrame(Y), 0.1)
    assert found.names == [f"gene <{j}>" for j in found.selected]
    table = found.to_frame()
    assert table["name"].tolist() == list(X.columns)
    assert np.flatnonzero(table["selected"]).tolist() == found.selected.tolist()
    assert ((table["adjusted_p_value"] <= 0.1) == table["selected"]).all()
    np.testing.assert_array_equal(table["weight"], found.weights)
    assert "p_value" not in select(X, Y, 0.2, "fixed_knockoffs").to_frame()
    text, page = str(found), found._repr_html_()
    assert "gene <3>" in text
    assert "gene &lt;3&gt;" in page
    assert f"{len(found.selected)} of 25 predictors selected" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_auto_says_what_it_picked():
    X, Y = easy()
    assert "each predictor is tested given its neighbors" in select(X, Y).reason
    assert "given all other predictors are exact" in select(X[:, :8], Y).reason


def test_few_rows_and_many_predictors_select_nothing_in_words():
    rng = np.random.default_rng(0)
    found = select(rng.standard_normal((20, 300)), rng.standard_normal((20, 15)))
    assert len(found.selected) == 0
    assert found.threshold == np.inf
    assert found.estimated_fdp == 0
    assert "No predictor of 300 is selected" in str(found)
    assert "replaced by 5 principal components" in str(found)


@pytest.mark.parametrize("method", ["fixed_knockoffs", "model_x_knockoffs"])
def test_nothing_selected_is_explained(method):
    rng = np.random.default_rng(0)
    found = select(rng.standard_normal((60, 6)), rng.standard_normal((60, 3)), 0.1, method)
    assert len(found.selected) == 0
    assert "at least 10 predictors or none" in str(found)


def test_constant_predictors_and_responses():
    X, Y = easy()
    X = np.column_stack([np.full(90, 7.3), X])
    found = select(X, np.column_stack([Y, np.ones(90)]))
    assert 0 not in found.selected
    assert found.p_values[0] == 1
    assert "1 predictor is constant" in str(found)
    np.testing.assert_allclose(found.p_values[1:], select(X[:, 1:], Y).p_values)
    assert "All responses are constant" in select(X, np.ones((90, 2))).reason
    assert (
        "All predictors are constant"
        in select(np.ones((90, 2)), Y, method="fixed_knockoffs").reason
    )


def test_copies_of_predictors_are_not_both_tested():
    X, Y = easy()
    twice = np.column_stack([X, X[:, 0]])
    for adjust_for in ("selected", "all"):
        found = select(twice, Y, adjust_for=adjust_for)
        assert found.p_values[0] == 1
        assert found.p_values[25] == 1
        assert found.p_values[1] < 1e-3
    alone = select(X, Y, adjust_for="all").p_values
    np.testing.assert_allclose(found.p_values[1:25], alone[1:], rtol=1e-6, atol=1e-12)


def test_responses_without_noise():
    X, _ = easy()
    Y = X[:, :3] @ np.random.default_rng(0).standard_normal((3, 5))
    assert set(select(X, Y).selected) >= {0, 1, 2}


def test_one_response_and_sparse_predictors():
    X, Y = easy()
    X[np.abs(X) < 0.5] = 0
    vector = select(X, Y[:, 0])
    np.testing.assert_allclose(vector.p_values, select(csr_array(X), Y[:, :1]).p_values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fdr": 0}, "fdr must be a number between 0 and 1, got 0"),
        ({"fdr": True}, "fdr must be"),
        ({"method": "lasso"}, 'method must be one of "auto", "row_tests".*got \'lasso\''),
        ({"adjust_for": 3}, 'adjust_for must be one of "auto", "all", "selected", got 3'),
        ({"method": "mirror"}, 'removed.*method="row_tests"'),
        ({"robust": "auto"}, "robust must be True or False, got 'auto'"),
        ({"method": "fixed_knockoffs", "X": np.eye(20)[:, :15]}, "needs at least 2p . 1 rows"),
        ({"adjust_for": "all", "X": np.eye(20)[:, :18]}, "more rows than predictors"),
        ({"Y": np.where(np.eye(20) > 0, np.nan, 1.0)}, "must be complete, got 20 missing"),
        ({"Y": np.full((20, 2), np.inf)}, "Y must be finite"),
        ({"X": np.full((20, 2), np.nan)}, "X contains NaN"),
        ({"Y": np.ones((19, 2))}, "X has 20, Y has 19"),
        ({"X": np.ones((3, 2)), "Y": np.ones((3, 2))}, "at least 4 rows, got 3"),
    ],
)
def test_bad_arguments(arguments, message):
    rng = np.random.default_rng(0)
    data = {"X": rng.standard_normal((20, 4)), "Y": rng.standard_normal((20, 3))}
    with pytest.raises(ValueError, match=message):
        select(**(data | arguments))


def test_categories_are_encoded_as_in_fits():
    X, Y = easy(p=5, rows=2)
    site = np.random.default_rng(1).permutation(np.repeat(["a", "b", "c"], [40, 30, 20]))
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(site=pd.Categorical(site))
    found = select(frame, Y + 3.0 * (site == "b")[:, None])
    assert found.feature_names == [*"vwxyz", "site=b", "site=c"]
    assert set(found.names) >= {"v", "w", "site=b"}
