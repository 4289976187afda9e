"""
Which component of concrete changes what?
=========================================

103 mixes of concrete: the amounts of seven components are the predictors; slump, flow (how easily
the fresh concrete can be worked) and compressive strength are the responses. The question is which
component changes which property, how sure we can be, and how well the properties can be predicted.
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

concrete = tr.datasets.load_concrete_slump()
X, Y = concrete.data, concrete.target

# %%
# What was found
# --------------

est = tr.SparseReducedRankRegressor().fit(X, Y)
print(est.summary())

# %%
# How sure is it?
# ---------------
# The model is fitted to random halves of the mixes. ``frequency`` is the fraction of the fits in
# which a component has a coefficient for a property, and ``sign_agreement`` the fraction of these
# in which the coefficient has its more frequent sign. A frequency of 1 with an agreement of ½ is no
# effect: the component is kept for another property. The bound on wrong selections says nothing
# here, since each fit keeps most of the seven components; the remarks say so.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", SelectionWarning)  # the remarks are printed below
    table = tr.selection.stability(
        tr.SparseReducedRankRegressor(refit_rule="one_se"), X, Y, n_resamples=5, pairs=True
    )
pairs = table[table.axis == "pair"]
known = pairs[pairs.stable & (pairs.sign_agreement >= 0.95)]
print(
    known[["predictor", "response", "frequency", "sign", "sign_agreement"]].to_string(index=False)
)
print(*table.attrs["remarks"], sep="\n")

# %%
# Signed frequencies of all pairs: blue increases the property, red decreases it, and pale means
# that few fits agree.

agreed = pairs.frequency * (2 * pairs.sign_agreement - 1) * pairs.sign
grid = agreed.groupby([pairs.predictor, pairs.response], sort=False).sum().unstack(fill_value=0)
grid = grid.reindex(index=X.columns, columns=Y.columns, fill_value=0)
figure, axis = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
image = axis.imshow(grid, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
axis.set_xticks(range(grid.shape[1]), [name.replace(" ", "\n") for name in grid.columns])
axis.set_yticks(range(grid.shape[0]), grid.index)
figure.colorbar(image, label="fits that agree on the sign")
axis.set_title("components and properties")
plt.show()

# %%
# How well are the properties predicted?
# --------------------------------------
# R² on held-out mixes, for each property. All linear methods are alike: strength is predicted well,
# slump and flow poorly. With seven predictors there is little to leave out; what thinrank adds here
# is the table above, not accuracy.

methods = {
    "thinrank": tr.SparseReducedRankRegressor(),
    "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    "multi-task lasso": make_pipeline(StandardScaler(), MultiTaskLassoCV()),
    "PLS": GridSearchCV(PLSRegression(), {"n_components": range(1, 6)}),
}
cv = KFold(5, shuffle=True, random_state=0)
scores = {
    name: r2_score(Y, cross_val_predict(method, X, Y, cv=cv), multioutput="raw_values")
    for name, method in methods.items()
}
print(pd.DataFrame(scores, index=Y.columns).T.round(2).to_string())
