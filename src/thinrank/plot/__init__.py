"""Plots of fitted models and of how they were chosen.

Every function takes ``ax=None``, draws into these Axes or into those of a new figure, and returns
them. matplotlib comes with the extra ``plot`` and is imported when the first plot is
drawn, so this package can be imported without it.
"""

from thinrank.plot.curves import convergence, path, selection
from thinrank.plot.factor_plane import biplot, correlation_circle
from thinrank.plot.matrix_plots import biclusters, loadings, scree
from thinrank.plot.model_parts import coefficients, factors, network
from thinrank.plot.name_bars import discoveries, intervals, stability
from thinrank.plot.observed_points import observed_predicted

__all__ = [
    "biclusters",
    "biplot",
    "coefficients",
    "convergence",
    "correlation_circle",
    "discoveries",
    "factors",
    "intervals",
    "loadings",
    "network",
    "observed_predicted",
    "path",
    "scree",
    "selection",
    "stability",
]


def __dir__() -> list[str]:
    """The figures, without the modules that draw them."""
    return list(__all__)
