"""
Exercise and physiology: a small data set from start to end
===========================================================

scikit-learn's Linnerud data: three exercises and three physiological measurements of twenty men.
With so few samples the question is whether anything can be predicted at all.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_linnerud

import thinrank as tr

X, Y = load_linnerud(return_X_y=True, as_frame=True)
est = tr.SparseReducedRankRegressor().fit(X, Y)
print("chosen:", est.best_params_)
print("predictors:", *est.feature_names_in_[est.row_support_])
for name, seen, unseen in zip(Y.columns, est.r2_, est.held_out_r2_, strict=True):
    print(f"{name:6} R² {seen:5.2f} on the training data, {unseen:5.2f} on held-out rows")

# %%
# Observed against predicted
# --------------------------
# Each response in standard deviations from its mean. The predictions lie in a narrow range: little
# of the responses is predicted.

tr.plot.observed_predicted(est, X, Y)
plt.show()

# %%
# One response in its own units:

tr.plot.observed_predicted(est, X, Y, response="Waist")
plt.show()

# %%
# Is the selection stable?
# ------------------------
# :func:`thinrank.selection.stability` fits random halves of the data, here with one predictor. None
# is selected in three quarters of the halves, the threshold from which one is called stable: ten
# men are too few to tell situps and chin-ups apart.

one = tr.SparseReducedRankRegressor(rank=1, row_sparsity=1, column_sparsity=None)
table = tr.selection.stability(one, X, Y, n_resamples=50)
print(table.loc[table["axis"] == "row", ["name", "frequency", "stable"]])
tr.plot.stability(table)
plt.show()
