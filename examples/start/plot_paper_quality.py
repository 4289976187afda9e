"""
What a fit found: coefficients, factors and network
===================================================

The Norwegian paper data, which ship with the package: 29 samples of paper, 13 measures of their
quality, and 9 predictors made from three settings of the machine. Three plots show one fit in
different ways.
"""

import matplotlib.pyplot as plt

import thinrank as tr

X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
est = tr.SparseReducedRankRegressor(rank=3, row_sparsity=6, column_sparsity=None).fit(X, Y)
print("predictors:", *est.feature_names_in_[est.row_support_])
print("share of the variance of the responses:", est.explained_variance_ratio_.round(2))

# %%
# The coefficients
# ----------------
# One row per selected predictor, one column per response. Coefficients are standardized: a value
# of 0.5 means that the response rises by half of its standard deviation if the predictor rises by
# one standard deviation. Similar rows and similar columns are next to each other.

tr.plot.coefficients(est)
plt.show()

# %%
# The factors
# -----------
# All 13 responses depend on three factors, each a combination of predictors. Read a column from
# top to bottom: the predictors whose bars point to the right raise the factor, and the factor
# raises the responses whose bars point to the right.

tr.plot.factors(est)
plt.show()

# %%
# The network
# -----------
# The same loadings as edges: red is positive, blue negative, and a path of two edges of the same
# color raises the response.

tr.plot.network(est)
plt.show()

# %%
# ``through="coefficients"`` leaves the factors out. Here are the 25 strongest coefficients.

tr.plot.network(est, through="coefficients", max_edges=25)
plt.show()
