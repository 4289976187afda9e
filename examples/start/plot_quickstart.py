"""
A first fit: which predictors, which responses, how many factors
================================================================

The paper's setting "strong signal, row and column sparse": 50 samples, 100 predictors and 50
responses. Ten predictors act on ten responses through eight latent factors; everything else in
the coefficient matrix Θ* is zero.

The picture on the front page comes from this script:

.. code-block:: bash

    python examples/start/plot_quickstart.py docs/_static/quickstart.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import SymLogNorm
from sklearn.linear_model import MultiTaskLassoCV

import thinrank as tr

X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
print(f"X {X.shape}, Y {Y.shape}, rank of the truth {truth.rank}")

# %%
# Three fits
# ----------
# The first one chooses rank, predictors and responses itself. The second one is told the rank and
# allowed twice as many predictors and responses, as a careful user might guess. scikit-learn's
# multi-task lasso, which selects predictors but neither responses nor a rank, chooses its penalty
# by cross-validation.

automatic = tr.SparseReducedRankRegressor()
generous = tr.SparseReducedRankRegressor(rank=8, row_sparsity=20, column_sparsity=20)
lasso = MultiTaskLassoCV(cv=5)

fits = {
    "thinrank": automatic.fit(X, Y).coef_.T,
    "thinrank, supports doubled": generous.fit(X, Y).coef_.T,
    "MultiTaskLassoCV": lasso.fit(X, Y).coef_.T,
}
print("chosen:", automatic.best_params_)

# %%
# How far from the truth, and how many predictors and responses are in use
# ------------------------------------------------------------------------
# The error is ‖Θ̂ − Θ*‖ / ‖Θ*‖ in Frobenius norm.

print(f"{'':27} error  predictors  responses  rank")
for name, theta in fits.items():
    error = np.linalg.norm(theta - truth.theta) / np.linalg.norm(truth.theta)
    predictors = np.count_nonzero(np.any(theta != 0, axis=1))
    responses = np.count_nonzero(np.any(theta != 0, axis=0))
    rank = np.linalg.matrix_rank(theta)
    print(f"{name:27} {error:.3f} {predictors:11} {responses:10} {rank:5}")

# %%
# The predictors that were found, beside the true ones:

print("found:", automatic.row_support_)
print("true: ", truth.row_support)

# %%
# The coefficient matrices
# ------------------------
# One row a predictor, one column a response, and one color scale for all: linear up to 0.1,
# logarithmic beyond, so that small coefficients show too. The pale middle is zero.

shown = {
    "truth": truth.theta,
    "thinrank": fits["thinrank"],
    "MultiTaskLassoCV": fits["MultiTaskLassoCV"],
}
limit = float(np.abs(truth.theta).max())
scale = SymLogNorm(linthresh=0.1, linscale=0.5, vmin=-limit, vmax=limit)

figure, axes = plt.subplots(1, 3, figsize=(8.4, 4.6), sharey=True, layout="constrained")
for axis, (name, theta) in zip(axes, shown.items(), strict=True):
    image = axis.imshow(theta, cmap="RdBu_r", norm=scale, aspect="auto", interpolation="nearest")
    axis.set(title=name, xlabel="response")
axes[0].set_ylabel("predictor")
figure.colorbar(image, ax=axes, shrink=0.8, label="coefficient")

if sys.argv[-1].endswith(".png"):
    figure.savefig(sys.argv[-1], dpi=110)
