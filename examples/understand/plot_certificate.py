"""
How clear a selection is: the certificate of a fit
==================================================

A certificate says what is known about a fit without knowing the truth: what the objective loses if
a selected predictor is replaced by another one, and how much better any other model of the same
sizes could be.
"""

import matplotlib.pyplot as plt

import thinrank as tr

X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
est = tr.SparseReducedRankRegressor(rank=3, row_sparsity=6, column_sparsity=None).fit(X, Y)
found = tr.theory.certificate(est, X, Y)
print(found)

# %%
# With 9 predictors all 84 sets of 6 can be tried, so that the fit is known to be the global
# minimum. The margins differ: X1 is irreplaceable, while X1² in place of X2² is almost as good.

margins = found.to_frame()
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(margins.index, margins["loss_percent"])
for place, other in enumerate(margins["replacement"]):
    ax.annotate(f" replaced by {other}", (margins["loss_percent"].iloc[place], place), va="center")
ax.set_xlabel("increase of the objective in percent")
ax.set_xlim(right=1.4 * margins["loss_percent"].max())
plt.show()
