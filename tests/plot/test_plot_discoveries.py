"""The plot of discoveries."""

import numpy as np
import pytest

import thinrank as tr


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    return X, X[:, :2] @ rng.standard_normal((2, 4)) + 0.5 * rng.standard_normal((80, 4))


def test_bars_threshold_and_names(data, ax):
    found = tr.inference.select_predictors(*data)
    assert tr.plot.discoveries(found, max_names=5, ax=ax) is ax
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:2] == [f"x{j}" for j in np.argsort(-found.statistics)[:2]]
    assert len(labels) == 5
    assert ax.lines[0].get_xdata()[0] == found.threshold
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[0].startswith(f"selected: {len(found.selected)} at a rate of 0.1")


def test_nothing_to_draw_is_a_sentence(data, ax):
    found = tr.inference.select_predictors(data[0], np.ones((80, 2)))
    tr.plot.discoveries(found, ax=ax)
    assert "No predictor has a statistic" in ax.texts[0].get_text()


def test_other_results_are_refused(data):
    with pytest.raises(TypeError, match=r"tr\.inference\.select_predictors returns, got ndarray"):
        tr.plot.discoveries(data[0])
