"""
Objective and change in every iteration
=======================================

``history_`` has one record per iteration of the final fit. Gradient descent with hard thresholding
needs hundreds of iterations, and the plot shows whether it converged; pursuit, the default, is
exact on the current predictors and needs few.
"""

import matplotlib.pyplot as plt

import thinrank as tr

X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
sizes = {"rank": 8, "row_sparsity": 10, "column_sparsity": 10}
descent = tr.SparseReducedRankRegressor(**sizes, solver="gdt").fit(X, Y)
print(descent.status_)

# %%
# The objective minus its least value falls along a line on a logarithmic scale: convergence is
# linear, as the paper proves. The change is what the solver compares with ``tol``.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
tr.plot.convergence(descent, show="excess", ax=axes[0])
tr.plot.convergence(descent, show="change", ax=axes[1])
plt.show()

# %%
# A weak signal and a rough start: the dotted line is the iteration after which the selected
# predictors and responses did not change any more.

X, Y, truth = tr.datasets.make_two_way_sparse(signal=0.2, random_state=0)
spectral = tr.SparseReducedRankRegressor(**sizes, solver="gdt", start="spectral").fit(X, Y)
print(spectral.status_)
tr.plot.convergence(spectral)
plt.show()

# %%
# Pursuit on a weak signal with correlated predictors:

X, Y, truth = tr.datasets.make_two_way_sparse(
    n_samples=100, n_features=300, signal=0.2, correlation=0.7, random_state=1
)
pursuit = tr.SparseReducedRankRegressor(**sizes, start="screening").fit(X, Y)
print(pursuit.status_)
tr.plot.convergence(pursuit)
plt.show()
