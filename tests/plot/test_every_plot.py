"""What all plots have in common: their Axes, rank 0, names, and bad arguments."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotted_fits as fits
import pytest
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import thinrank as tr

OF_FITS = {
    "coefficients": lambda est, X, Y, **options: tr.plot.coefficients(est, **options),
    "factors": lambda est, X, Y, **options: tr.plot.factors(est, **options),
    "biplot": lambda est, X, Y, **options: tr.plot.biplot(est, X, **options),
    "observed_predicted": lambda est, X, Y, **options: tr.plot.observed_predicted(
        est, X, Y, **options
    ),
    "network": lambda est, X, Y, **options: tr.plot.network(est, **options),
    "convergence": lambda est, X, Y, **options: tr.plot.convergence(est, **options),
}
KINDS = {
    "many": fits.wide,
    "one response": fits.single,
    "odd names": fits.odd_names,
    "classes": fits.classes,
}


def texts(ax):
    """Everything that is written in the Axes."""
    labels = [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts]
    legend = ax.get_legend()
    labels += [] if legend is None else legend.get_texts()
    return [text.get_text() for text in labels]


def outside(figure):
    """Texts that are not completely inside a figure; labels of ticks may be beyond the limits."""
    figure.canvas.draw()
    ticks = {id(t) for ax in figure.axes for t in (*ax.get_xticklabels(), *ax.get_yticklabels())}
    shown = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = {t.get_text(): t.get_window_extent() for t in shown if id(t) not in ticks}
    low, high = figure.bbox.min - 1, figure.bbox.max + 1
    return [text for text, box in boxes.items() if (box.min < low).any() or (box.max > high).any()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_draws_every_fit(kind):
    figure, axes = plt.subplots(2, 3, figsize=(18, 10), layout="constrained")
    for plot, ax in zip(OF_FITS.values(), axes.flat, strict=True):
        assert plot(*KINDS[kind](), ax=ax) is ax
        assert len(ax.get_yticklabels()) <= 60
        assert all(len(text) <= 100 for text in texts(ax))
    figure.canvas.draw()  # raises where a name is no formula, and warns where a layout fails
    assert plt.get_fignums() == [figure.number]


def test_a_new_figure_is_made_without_axes():
    for plot in OF_FITS.values():
        ax = plot(fits.given(), *fits.paper())
        assert plt.get_fignums()[-1] == ax.figure.number
        assert not ax.axison or outside(ax.figure) == []
        with pytest.raises(TypeError, match="ax must be a matplotlib Axes, an empty Figure or"):
            plot(fits.given(), *fits.paper(), ax="here")
    assert len(plt.get_fignums()) == len(OF_FITS)


def test_small_axes_show_fewer_names_and_long_ones_differ():
    figure, axes = plt.subplots(2, 2, figsize=(6, 4))
    est, X, Y = fits.wide()
    for plot, small in zip(("coefficients", "factors", "network"), axes.flat, strict=False):
        OF_FITS[plot](est, X, Y, ax=small)
        names = [text for text in texts(small) if text.startswith("gene")]
        assert 1 <= len(set(names)) == len(names) < 40
        assert all("…" in name and len(name) < 40 for name in names)
    figure.canvas.draw()


def test_rank_zero_is_a_sentence():
    for plot in ("coefficients", "factors", "biplot", "network", "convergence"):
        ax = OF_FITS[plot](*fits.nothing())
        (message,) = [text.get_text() for text in ax.texts]
        assert any(words in message for words in ("rank is 0", "zero", "no iterations"))
        assert not ax.axison


def test_names_are_shown_as_written():
    for plot in ("coefficients", "factors", "network"):
        ax = OF_FITS[plot](*fits.odd_names())
        shown = set(texts(ax))
        assert shown >= {"$x_1$", "cost in $", "β_2^3", "naïve café", "a b", "$", "$y$", "Ответ"}
        dollars = [t for t in (*ax.get_yticklabels(), *ax.texts) if t.get_text() == "$x_1$"]
        assert not any(text.get_parse_math() for text in dollars)


def test_other_estimators_and_numbers_are_refused():
    X, Y = fits.paper()
    for plot in ("coefficients", "factors", "network", "observed_predicted"):
        with pytest.raises(TypeError, match=r"fitted estimator of thinrank.*got LinearRegression"):
            OF_FITS[plot](LinearRegression().fit(X, Y), X, Y)
        with pytest.raises(NotFittedError):
            OF_FITS[plot](tr.SparseReducedRankRegressor(), X, Y)
    for plot, option, wrong in (
        (tr.plot.coefficients, "max_predictors", 0),
        (tr.plot.network, "max_edges", True),
        (tr.plot.selection, "max_ranks", "all"),
    ):
        with pytest.raises(ValueError, match=f"{option} must be a positive integer, got"):
            plot(fits.searched(), **{option: wrong})


@pytest.mark.slow
def test_pyplot_is_not_imported_with_given_axes():
    code = """
import sys, numpy as np, thinrank as tr
assert "matplotlib" not in sys.modules
tr.plot.coefficients
assert "matplotlib" not in sys.modules
from matplotlib.figure import Figure
X, Y = tr.datasets.load_norwegian_paper(return_X_y=True)
est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
for function in (tr.plot.coefficients, tr.plot.factors, tr.plot.network, tr.plot.convergence):
    function(est, ax=Figure().subplots())
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_kept_predictors_are_shown(ax):
    X, Y = fits.paper()
    est = tr.SparseReducedRankRegressor(1, 2, None, always_keep=["X2^2"]).fit(X, Y)
    tr.plot.coefficients(est, ax=ax)
    assert "X2^2" in texts(ax)
    assert ax.images[0].get_array().shape[0] == len(est.row_support_) + 1
    X, y = np.asarray(X), np.asarray(Y)[:, 0]  # arrays of one dimension have names
    ax = tr.plot.coefficients(tr.SparseReducedRankRegressor(1, 3, None).fit(X, y))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["y"]
    assert all(label.get_text().startswith("x") for label in ax.get_yticklabels())


def test_only_the_figures_are_listed():
    assert dir(tr.plot) == sorted(tr.plot.__all__)


@pytest.mark.parametrize("predictors", [2, 5, 8])
def test_the_label_of_the_color_bar_is_inside_the_figure(predictors):
    X, Y = fits.paper()
    names = ["compressive strength after 28 days", "Y2"]
    for few in (Y, Y.iloc[:, :2].set_axis(names, axis=1)):
        ax = tr.plot.coefficients(tr.SparseReducedRankRegressor(1, predictors, None).fit(X, few))
        assert outside(ax.figure) == []
        label = ax.figure.axes[1].yaxis.label
        assert label.get_text().split() == ["standardized", "coefficient"]


def test_no_label_is_cut_off():
    est, (X, Y) = fits.given(), fits.paper()
    table = tr.selection.stability(tr.SparseReducedRankRegressor(1, 1, None), X, Y, n_resamples=3)
    blocks = np.kron(np.eye(2), np.ones((6, 5))) * 9
    matrix = blocks + np.random.default_rng(0).standard_normal(blocks.shape)
    svd = tr.SparseSVD(2, 6, 5, layers=True).fit(pd.DataFrame(matrix).add_prefix("column "))
    for ax in (
        tr.plot.stability(table),
        tr.plot.discoveries(tr.inference.select_predictors(X, Y, fdr=0.5)),
        tr.plot.intervals(tr.inference.confidence_intervals(est, X, Y)),
        tr.plot.path(tr.selection.path(est, X, Y)),
        tr.plot.selection(fits.searched()),
        tr.plot.correlation_circle(est, X, Y),
        tr.plot.loadings(svd),
        tr.plot.biclusters(svd, matrix),
        tr.plot.scree(svd, matrix),
    ):
        assert outside(ax.figure) == []


@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_without_a_font_have_a_note(ax, monkeypatch):
    import matplotlib.font_manager as fonts

    monkeypatch.setattr(fonts.fontManager, "ttflist", [])
    X, Y = fits.paper()
    renamed = X.rename(columns={name: f"\ue123{name}" for name in X})  # a private character
    tr.plot.coefficients(tr.SparseReducedRankRegressor(2, 5, None).fit(renamed, Y), ax=ax)
    assert ax.figure.get_supxlabel() == "Boxes: characters that no installed font has"


def test_names_use_an_installed_font_that_has_them(ax, monkeypatch):
    import matplotlib as mpl
    import matplotlib.font_manager as fonts

    # STIX has a character that the default font lacks, whatever is installed on the machine
    path = mpl.get_data_path() + "/fonts/ttf/STIXNonUniBol.ttf"
    own = set(fonts.get_font(path).get_charmap())
    lacking = own - set(fonts.get_font(fonts.findfont("DejaVu Sans")).get_charmap())
    entry = fonts.FontEntry(fname=path, name="STIXNonUnicode", weight=400)
    monkeypatch.setattr(fonts.fontManager, "ttflist", [*fonts.fontManager.ttflist, entry])
    X, Y = fits.paper()
    character = chr(min(lacking))
    renamed = X.rename(columns={name: f"{character}{name}" for name in X})
    tr.plot.coefficients(tr.SparseReducedRankRegressor(2, 5, None).fit(renamed, Y), ax=ax)
    families = {label.get_fontfamily()[-1] for label in ax.get_yticklabels()}
    assert not ax.figure.get_supxlabel()
    assert families
    assert all(
        chr(min(lacking)) in map(chr, fonts.get_font(fonts.findfont(name)).get_charmap())
        for name in families
    )
