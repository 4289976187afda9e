"""
How the rank and the number of predictors are chosen
====================================================

By default the sizes are chosen by the error on held-out rows. The plot shows the models that were
tried, the one that was chosen, and the thinnest one within one standard error of the best.
"""

import matplotlib.pyplot as plt

import thinrank as tr

X, Y, truth = tr.datasets.make_two_way_sparse(
    n_samples=80,
    n_features=60,
    n_targets=20,
    rank=3,
    row_sparsity=8,
    column_sparsity=12,
    noise=3.0,
    random_state=0,
)
est = tr.SparseReducedRankRegressor().fit(X, Y)
print("chosen:", est.best_params_)
print("truth: rank", truth.rank, "with", len(truth.row_support), "predictors")

# %%
# One line per rank. Bars are one standard error over the five splits, of the models with the
# chosen rank that were fitted. The search does not try all models: it fits a few, predicts which
# others may be better, and fits those.

tr.plot.selection(est)
plt.show()

# %%
# A grid and the one-standard-error rule
# --------------------------------------
# :class:`thinrank.SparseReducedRankRegressorCV` with lists of sizes tries all of them, so the lines
# are complete. With ``refit_rule="one_se"`` a thinner model is chosen. With few samples this rule
# compares the best models again on further splits, so its choice may differ from the ring.

grid = tr.SparseReducedRankRegressorCV(
    ranks=[1, 2, 3, 4],
    row_sparsities=[4, 6, 8, 10, 12, 16],
    column_sparsities=[None],
    ridges=[0.0],
    refit_rule="one_se",
).fit(X, Y)
print("chosen:", grid.best_params_)

tr.plot.selection(grid)
plt.show()
