"""Plots of fitted models and of how they were chosen.

Every function takes ``ax=None``, draws into these Axes or into those of a new figure, and returns
them. matplotlib comes with ``pip install thinrank[plot]`` and is imported when the first plot is
drawn, so this package can be imported without it.
"""

from thinrank.plot.coefficient_map import coefficients
from thinrank.plot.component_bars import loadings
from thinrank.plot.discovery_bars import discoveries
from thinrank.plot.factor_bars import factors
from thinrank.plot.factor_network import network
from thinrank.plot.interval_bars import intervals
from thinrank.plot.iteration_curve import convergence
from thinrank.plot.observed_points import observed_predicted
from thinrank.plot.path_lines import path
from thinrank.plot.reordered_matrix import biclusters
from thinrank.plot.sample_biplot import biplot
from thinrank.plot.scree_bars import scree
from thinrank.plot.search_curves import selection
from thinrank.plot.stable_bars import stability

__all__ = [
    "biclusters",
    "biplot",
    "coefficients",
    "convergence",
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
