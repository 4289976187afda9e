"""
Linear convergence without noise
================================

The paper's figure "No error case". With Y = XΘ* exactly and the sizes known, gradient descent
with hard thresholding approaches Θ* by a constant factor per iteration, which is a straight line on
a logarithmic axis. The dimensions are the paper's, p = 100, k = 50, r = 8 and s₁ = s₂ = 10; the
paper does not print n, here it is 200.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import thinrank as tr

X, Y, truth = tr.datasets.make_two_way_sparse(
    n_samples=200,
    n_features=100,
    n_targets=50,
    rank=8,
    row_sparsity=10,
    column_sparsity=10,
    noise=0.0,
    random_state=0,
)
theta = truth.theta

# %%
# A callback that looks at the iterates
# -------------------------------------
# The callback gets the record of each iteration, the factors included. They are in the units
# that the solver works in; with ``standardize=False`` these are the user's.


def errors_of(start="auto", step="auto", max_iter=10_000):
    """‖Θ − Θ*‖ / ‖Θ*‖ after each iteration, and the fitted estimator."""
    errors = []

    def look(record):
        errors.append(np.linalg.norm(record.factors.theta - theta) / np.linalg.norm(theta))

    estimator = tr.SparseReducedRankRegressor(
        rank=8,
        row_sparsity=10,
        column_sparsity=10,
        standardize=False,
        fit_intercept=False,
        start=start,
        solver=tr.solvers.GDT(step=step, max_iter=max_iter, tol=1e-12),
        callback=look,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one run below is cut short
        estimator.fit(X, Y)
    return errors, estimator


# %%
# Two starts, three step rules
# ----------------------------
# ``step="theory"`` is the constant step of the paper's theorem. It is safe, and so short that
# 1,000 iterations show only the beginning of its line.

runs = {
    "lasso start": errors_of("lasso"),
    "spectral start": errors_of("spectral"),
    "lasso start, backtracking": errors_of("lasso", "backtracking"),
    "lasso start, theory step": errors_of("lasso", "theory", max_iter=1000),
}
for name, (errors, estimator) in runs.items():
    print(f"{name:26} last error {errors[-1]:.1e}  {estimator.status_}")

# %%
# The figure
# ----------

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, (errors, _) in runs.items():
    axis.semilogy(range(1, len(errors) + 1), errors, label=name)
axis.set(xlabel="iteration", ylabel="relative error of Θ", title="No error case")
axis.grid(alpha=0.3)
axis.legend()
plt.show()
