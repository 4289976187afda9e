"""
What drives the energy need of a building?
==========================================

768 simulated buildings: twelve shapes, combined with orientations and windows. The responses are
the heating and the cooling load. The example encodes categories, reads the model, and compares two
ways to hold out data, which give opposite answers to the question of what predicts best.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import MultiTaskLassoCV, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thinrank as tr

energy = tr.datasets.load_energy_efficiency()
codes = ["orientation", "glazing distribution"]
X = pd.get_dummies(energy.data.astype(dict.fromkeys(codes, int)), columns=codes, dtype=float)
Y = energy.target

# %%
# What was found
# --------------
# ``refit_rule="one_se"`` keeps as few predictors as the standard error of the held-out error
# allows. Of the sixteen columns, those for the orientation are not needed.
# ``glazing distribution_0`` marks buildings without windows.

est = tr.SparseReducedRankRegressor(refit_rule="one_se").fit(X, Y)
print(est.summary())

# %%
# Correlated predictors
# ---------------------
# The shape has five predictors, of which the surface is exactly the wall area plus twice the roof
# area, and the compactness is almost a function of the surface. The negative coefficient of the
# relative compactness does not say that compact buildings need more energy if nothing else changes:
# nothing else *can* stay the same. The correlation with the loads is positive. Coefficients of such
# predictors describe the prediction, not the effect of each
# (:doc:`/guide/correlated_predictors`).

shape = ["relative compactness", "surface area", "wall area", "roof area", "overall height"]
print(X[shape].corr().round(2).to_string())
print(pd.concat([X[shape], Y], axis=1).corr().loc[shape, Y.columns].round(2).to_string())

# %%
# Held-out error: known shapes, and new ones
# ------------------------------------------
# Random splits leave every shape in the training part: boosted trees, which are not linear, then
# predict almost perfectly, far better than any linear model. If whole shapes are held out, they
# have nothing to go by and are no better than the mean, while linear models extrapolate. Among
# these, the multi-task lasso is the best here.

methods = {
    "thinrank": tr.SparseReducedRankRegressor(),
    "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    "multi-task lasso": make_pipeline(StandardScaler(), MultiTaskLassoCV(max_iter=5000)),
    "boosted trees": MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=50)),
}
shapes = energy.data["relative compactness"]  # each of the twelve shapes has its own
splits = {
    "known shapes": list(KFold(6, shuffle=True, random_state=0).split(X)),
    "new shapes": list(GroupKFold(6).split(X, groups=shapes)),
}
scores = pd.DataFrame(
    {
        kind: {
            name: r2_score(Y, cross_val_predict(method, X, Y, cv=cv))
            for name, method in methods.items()
        }
        for kind, cv in splits.items()
    }
)
print(scores.round(2).to_string())

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
scores.plot.barh(ax=axis, color=["tab:gray", "tab:blue"])
axis.invert_yaxis()
axis.axvline(0, color="black", lw=0.8)
axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
axis.set_xlabel("R² on held-out buildings, mean of heating and cooling load")
plt.show()
