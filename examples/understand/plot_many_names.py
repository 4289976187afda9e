"""
Five thousand predictors in one picture
=======================================

Plots show the strongest names and say how many there are, shorten long names in the middle, and
fit into Axes that you give them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import thinrank as tr

rng = np.random.default_rng(0)
genes = [f"ENSG{i:011d} hypothetical protein {i}" for i in range(5000)]
drugs = [f"drug {i}" for i in range(80)]
X = pd.DataFrame(rng.standard_normal((300, 5000)), columns=genes)
effects = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 80))
Y = pd.DataFrame(X.to_numpy()[:, :60] @ effects, columns=drugs)
Y += 2 * rng.standard_normal(Y.shape)

est = tr.SparseReducedRankRegressor(rank=2, row_sparsity=60, column_sparsity=None, ridge=0.01)
est.fit(X, Y)
print(f"{len(est.row_support_)} predictors, {np.sum(est.row_support_ < 60)} of them right")

# %%
tr.plot.coefficients(est)
plt.show()

# %%
# Several plots in one figure. In small Axes fewer names are shown, so that they can be read.

figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
tr.plot.factors(est, ax=axes[0, 0])
tr.plot.network(est, max_predictors=15, max_responses=15, ax=axes[0, 1])
tr.plot.observed_predicted(est, X, Y, ax=axes[1, 0])
tr.plot.biplot(est, X, max_arrows=8, ax=axes[1, 1])
plt.show()
