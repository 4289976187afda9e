"""What the plots of searches, paths, stability and iterations show."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotted_fits as fits
import pytest

import thinrank as tr
from thinrank.core.warnings import SelectionWarning


def last_search(records):
    """The models that were compared in the last round."""
    return [r for r in records if r.search_round == records[-1].search_round]


def lines(ax):
    """The lines of the legend by their labels."""
    return {line.get_label(): line for line in ax.lines}


# ---------------------------------------------------------------- selection


def test_the_chosen_model_is_marked_where_it_is():
    est = fits.searched()
    ax = tr.plot.selection(est)
    star = lines(ax)["chosen"]
    assert star.get_xdata()[0] == est.best_params_["row_sparsity"]
    sizes = [(r.sizes.rank, r.sizes.rows, r.sizes.ridge) for r in last_search(est.search_)]
    place = sizes.index(tuple(est.best_params_[k] for k in ("rank", "row_sparsity", "ridge")))
    assert star.get_ydata()[0] == last_search(est.search_)[place].objective
    few = lines(tr.plot.selection(est, max_ranks=2))
    assert sum(label.startswith("rank") for label in few) == 2
    assert f"rank {est.rank_}" in few
    ax.figure.draw_without_rendering()  # the legend is beside the lines
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_the_one_standard_error_model_is_the_thinnest_within_reach():
    records = last_search(fits.searched().search_)
    ring = lines(tr.plot.selection(fits.searched()))["one standard error"]
    best = min(records, key=lambda r: r.objective)
    limit = best.objective + np.std(best.split_scores, ddof=1) / np.sqrt(len(best.split_scores))
    within = [r for r in records if r.objective <= limit]
    assert ring.get_xdata()[0] == min(r.sizes.rows for r in within)
    assert ring.get_ydata()[0] <= limit


@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_a_grid_and_a_criterion(ax):
    X, Y = fits.paper()
    grid = tr.SparseReducedRankRegressorCV([1, 2], [2, 4, 6], [None], [0.1]).fit(X, Y)
    tr.plot.selection(grid, ax=ax)
    assert lines(ax)["rank 1"].get_xdata()[:].tolist() == [2, 4, 6]
    assert lines(ax)["chosen"].get_xdata()[0] == grid.best_params_["row_sparsity"]
    (chosen,) = (
        record
        for record in last_search(grid.search_)
        if (record.sizes.rank, record.sizes.rows)
        == (grid.best_params_["rank"], grid.best_params_["row_sparsity"])
    )
    assert lines(ax)["chosen"].get_ydata()[0] == pytest.approx(chosen.objective, rel=1e-6)
    by_criterion = tr.SparseReducedRankRegressor(criterion="bic").fit(X, Y)
    ax = tr.plot.selection(by_criterion)
    assert ax.get_ylabel().startswith("BIC")
    assert "one standard error" not in lines(ax)
    assert lines(ax)["chosen"].get_xdata()[0] == by_criterion.best_params_["row_sparsity"]


@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_rank_zero_is_chosen_at_no_predictors():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 12)), rng.standard_normal((40, 3))
    est = tr.SparseReducedRankRegressor().fit(X, Y)
    assert est.rank_ == 0
    ax = tr.plot.selection(est)
    assert lines(ax)["chosen"].get_xdata()[0] == 0
    assert ax.get_xscale() == "symlog" or ax.get_xlim()[0] <= 0


def test_given_sizes_have_no_search():
    with pytest.raises(ValueError, match=r"est tried no models.*row_sparsity"):
        tr.plot.selection(fits.given())


# ---------------------------------------------------------------- path


def test_lines_of_a_path(ax):
    found = tr.selection.path(fits.given(), *fits.paper(), row_sparsities=[1, 3, 5])
    few = tr.plot.path(found, max_labels=2)
    assert len(few.texts) == 2 + 1
    assert "strongest 2 of" in few.get_xlabel()
    tr.plot.path(found, ax=ax)
    written = [text.get_text() for text in ax.texts]
    assert written[-1] == "chosen"
    assert set(written[:-1]) == {found.names[i] for i in np.flatnonzero(found.strengths[-1])}
    heights = [text.xyann[1] for text in ax.texts[:-1]]
    points = ax.get_window_extent().height * 72 / ax.figure.dpi
    assert np.diff(np.sort(heights)).min() * points >= 8  # the size of the font
    chosen = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert chosen[-1].get_xdata()[0] == 5
    score = tr.plot.path(found, show="score")
    assert score.lines[0].get_ydata().tolist() == found.scores.tolist()


def test_path_needs_a_rank():
    with pytest.raises(ValueError, match="rank 0"):
        tr.selection.path(*fits.nothing())
    with pytest.raises(TypeError, match=r"tr\.selection\.path"):
        tr.plot.path(fits.given())
    found = tr.selection.path(fits.given(), *fits.paper(), row_sparsities=[2])
    with pytest.raises(ValueError, match='show must be one of "strength", "score"'):
        tr.plot.path(found, show="lines")


# ---------------------------------------------------------------- stability


@pytest.fixture(scope="module")
def table():
    est = tr.SparseReducedRankRegressor(2, 5, None)
    with pytest.warns(SelectionWarning, match="says nothing"):
        return tr.selection.stability(est, *fits.paper(), n_resamples=5, pairs=True)


def test_bars_are_the_frequencies(table, ax):
    tr.plot.stability(table, ax=ax)
    rows = table[(table.axis == "row") & (table.frequency > 0)]
    bars = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in ax.patches}
    assert len(bars) == len(rows)
    for place, label in enumerate(ax.get_yticklabels()):
        own = rows.loc[rows["name"] == label.get_text(), "frequency"]
        assert bars[place] == own.item()
    stable = int(rows.stable.sum())
    assert ax.get_legend().get_texts()[0].get_text().startswith(f"stable: {stable}")


def test_stable_responses_and_pairs(table, ax):
    tr.plot.stability(table, axis="column", ax=ax)
    assert ax.get_ylabel() == "response"
    _, found = plt.subplots()
    tr.plot.stability(table, axis="pair", ax=found)
    known = set(table.loc[table.axis == "pair", "name"])
    shown = [label.get_text() for label in found.get_yticklabels()]
    assert shown
    assert set(shown) <= known
    pairs = pd.DataFrame({"axis": "pair", "name": ["a – b", "a – $c$"], "frequency": [1.0, 0.2]})
    pairs["stable"] = pairs.frequency > 0.5
    figure, other = plt.subplots()
    tr.plot.stability(pairs, axis="pair", ax=other)
    assert [label.get_text() for label in other.get_yticklabels()] == ["a – b", "a – $c$"]
    figure.canvas.draw()


def test_many_names_and_none(ax):
    names, frequency = [f"gene {i}" for i in range(5000)], np.linspace(0, 1, 5000)
    many = pd.DataFrame({"axis": "row", "name": names, "frequency": frequency, "bound": 3.0})
    many["stable"] = frequency > 0.9
    shown = tr.plot.stability(many)
    assert len(shown.patches) == 40
    assert shown.get_ylabel() == "predictor (most frequent 40 of 5,000 shown)"
    assert shown.get_yticklabels()[0].get_text() == "gene 4999"
    assert "at most 3 wrong" in shown.get_legend().get_texts()[0].get_text()
    tr.plot.stability(many.assign(frequency=0.0), ax=ax)
    assert "No predictor was selected" in ax.texts[0].get_text().replace("\n", " ")


def test_tables_are_checked(table):
    with pytest.raises(ValueError, match="no column 'axis'"):
        tr.plot.stability(fits.paper()[0])
    with pytest.raises(ValueError, match='table has no rows with axis "column"'):
        tr.plot.stability(table[table.axis == "row"], axis="column")
    with pytest.raises(ValueError, match="axis must be one of"):
        tr.plot.stability(table, axis="x")


# ---------------------------------------------------------------- convergence


@pytest.fixture(scope="module")
def descent():
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 30, 20, 2, 5, 5, random_state=0)
    return tr.SparseReducedRankRegressor(2, 5, 5, solver="gdt").fit(X, Y)


def test_objective_and_change_of_every_iteration(descent):
    ax = tr.plot.convergence(descent)
    assert ax.lines[0].get_ydata().tolist() == descent.history_.objectives
    assert ax.get_title(loc="left") == str(descent.status_)
    ax = tr.plot.convergence(descent, show="change")
    positive = [change for change in descent.history_.changes if change > 0]
    assert ax.lines[0].get_ydata().tolist() == positive
    assert ax.get_yscale() == "log"
    ax = tr.plot.convergence(descent, show="excess")
    assert ax.lines[0].get_ydata().min() > 0


def test_one_iteration_and_a_solution(ax):
    X, Y = fits.paper()
    tr.plot.convergence(fits.given(), ax=ax)
    assert ax.get_xlabel() == "iteration"
    loss = tr.losses.LeastSquares(X.to_numpy(), Y.to_numpy())
    solution = tr.minimize(loss, rank=1, row_sparsity=2, column_sparsity=3)
    assert len(tr.plot.convergence(solution).lines[0].get_xdata()) == solution.n_iter
    with pytest.raises(TypeError, match="history"):
        tr.plot.convergence(X)


# ---------------------------------------------------------------- intervals


def test_intervals_that_contain_zero_are_told_apart(ax):
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 8, 4, 1, 2, 2, random_state=0)
    est = tr.SparseReducedRankRegressor(1, 2, 2).fit(X, Y)
    found = tr.inference.confidence_intervals(est, X, Y, pairs="all")
    tr.plot.intervals(found, ax=ax, max_names=6)
    grey, blue = (collection.get_segments() for collection in ax.collections)
    assert len(grey) + len(blue) == 6
    assert all(start[0] <= 0 <= end[0] for start, end in grey)
    assert all(start[0] > 0 or end[0] < 0 for start, end in blue)
    assert len(blue) >= 4  # the true pairs
    assert "→" in ax.get_yticklabels()[0].get_text()
    for of in ("layers", "predictions"):
        other = tr.plot.intervals(tr.inference.confidence_intervals(est, X, Y, of=of))
        other.figure.canvas.draw()
    with pytest.raises(TypeError, match=r"what tr.inference.confidence_intervals returns"):
        tr.plot.intervals(est)


# ---------------------------------------------------------------- discoveries


@pytest.fixture(scope="module")
def two_of_twelve():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    return X, X[:, :2] @ rng.standard_normal((2, 4)) + 0.5 * rng.standard_normal((80, 4))


def test_bars_threshold_and_names(two_of_twelve, ax):
    found = tr.inference.select_predictors(*two_of_twelve)
    assert tr.plot.discoveries(found, max_names=5, ax=ax) is ax
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:2] == [f"x{j}" for j in np.argsort(-found.statistics)[:2]]
    assert len(labels) == 5
    assert ax.lines[0].get_xdata()[0] == found.threshold
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[0].startswith(f"selected: {len(found.selected)} at a rate of 0.1")


def test_nothing_to_draw_is_a_sentence(two_of_twelve, ax):
    found = tr.inference.select_predictors(two_of_twelve[0], np.ones((80, 2)))
    tr.plot.discoveries(found, ax=ax)
    assert "No predictor has a statistic" in ax.texts[0].get_text()


def test_other_results_are_refused(two_of_twelve):
    with pytest.raises(TypeError, match=r"tr\.inference\.select_predictors returns, got ndarray"):
        tr.plot.discoveries(two_of_twelve[0])
