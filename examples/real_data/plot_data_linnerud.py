"""
When there is nothing to find
=============================

scikit-learn's Linnerud data: 20 men, three exercises (chin-ups, sit-ups, jumps) and three
measurements of the body (weight, waist, pulse). Does fitness predict the measurements? The example
shows how a weak answer looks, and how not to take it for a strong one.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_linnerud
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import MultiTaskLassoCV, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

X, Y = load_linnerud(return_X_y=True, as_frame=True)

# %%
# What was found
# --------------
# One predictor, sit-ups, and some variance explained, also in held-out rows. But the sizes were
# chosen by just these held-out errors, among many, so that they are too optimistic.

est = tr.SparseReducedRankRegressor().fit(X, Y)
print(est.summary())

# %%
# Would other men give the same answer?
# -------------------------------------
# In random halves, many fits select nothing at all, and no predictor reaches the threshold.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", SelectionWarning)  # the remarks are printed
    table = tr.selection.stability(tr.SparseReducedRankRegressor(), X, Y, n_resamples=10)
print(table[["axis", "name", "frequency", "stable"]].to_string(index=False))
print(*table.attrs["remarks"], sep="\n")

# %%
# Does any method predict?
# ------------------------
# R² on men who took no part in the fit, nor in the choice of its sizes. The mean of the training
# rows is below 0 by construction. No method is far above it, and the order of the methods changes
# with the split. The honest answer is that 20 men do not show which exercise predicts what.

methods = {
    "mean": DummyRegressor(),
    "thinrank": tr.SparseReducedRankRegressor(),
    "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    "multi-task lasso": make_pipeline(StandardScaler(), MultiTaskLassoCV()),
    "PLS": GridSearchCV(PLSRegression(), {"n_components": [1, 2, 3]}),
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SelectionWarning)
    scores = pd.DataFrame(
        {
            f"split {seed}": {
                name: r2_score(
                    Y,
                    cross_val_predict(method, X, Y, cv=KFold(5, shuffle=True, random_state=seed)),
                )
                for name, method in methods.items()
            }
            for seed in range(3)
        }
    )
print(scores.round(2).to_string())

# %%
# The data: waist and sit-ups, the largest correlation.

print(pd.concat([X, Y], axis=1).corr().loc[X.columns, Y.columns].round(2).to_string())
figure, axis = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
axis.scatter(X["Situps"], Y["Waist"])
axis.set(xlabel="sit-ups", ylabel="waist")
plt.show()
