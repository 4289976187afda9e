"""
Which settings of a paper machine matter?
=========================================

A designed experiment at a Norwegian paper factory: 29 samples, three control variables with their
squares and products, and 13 measures of quality. With so few samples, the question is not only what
was found but whether to believe it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import MultiTaskLassoCV, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

paper = tr.datasets.load_norwegian_paper()
X, Y = paper.data, paper.target

# %%
# What was found
# --------------

est = tr.SparseReducedRankRegressor(refit_rule="one_se").fit(X, Y)
print(est.summary())

# %%
# Which predictors are stable?
# ----------------------------
# Four predictors at rank 3, in random halves of 14 samples. Only X1 is selected nearly always. The
# bound on wrong selections is above the number of stable predictors, so that it says nothing: a
# warning, which is printed here, and the remarks of the table say so.

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always", SelectionWarning)
    table = tr.selection.stability(
        tr.SparseReducedRankRegressor(3, 4, None), X, Y, n_resamples=20, pairs=True
    )
print(told[0].message)
predictors = table[table.axis == "row"].sort_values("frequency")
figure, axis = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
axis.barh(predictors.name, predictors.frequency, color=np.where(predictors.stable, "C0", "0.7"))
axis.axvline(table.attrs["threshold"], color="black", lw=0.8, ls="--")
axis.set_xlabel("selection frequency in half-samples")
plt.show()

# %%
# The effects of X1 whose sign is the same in every fit:

effects = table[(table.predictor == "X1") & table.stable & (table.sign_agreement == 1)]
print(effects[["response", "frequency", "sign"]].to_string(index=False))

# %%
# How well is the quality predicted?
# ----------------------------------
# R² on held-out samples, for each response. Many responses cannot be predicted at all (R² below 0
# is worse than the mean). On average thinrank is no better than the mean on these few samples,
# while PLS and ridge, which shrink all predictors and select none, are: if only the prediction
# counts, use them. The held-out R² in the summary is larger, since it is that of the sizes that
# were chosen by it; here whole fits, choice included, are tested.

methods = {
    "thinrank": tr.SparseReducedRankRegressor(),
    "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    "multi-task lasso": make_pipeline(StandardScaler(), MultiTaskLassoCV()),
    "PLS": GridSearchCV(PLSRegression(), {"n_components": range(1, 6)}),
}
cv = KFold(5, shuffle=True, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SelectionWarning)
    scores = {
        name: r2_score(Y, cross_val_predict(method, X, Y, cv=cv), multioutput="raw_values")
        for name, method in methods.items()
    }
scores = pd.DataFrame(scores, index=Y.columns)
scores.loc["mean"] = scores.mean()
print(scores.round(2).to_string())
