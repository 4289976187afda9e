"""
Which predictors enter first: the path of a fit
===============================================

Fits with one predictor, two predictors, and so on. Predictors that enter early and stay are
important whatever the number is; those that are replaced stand for others.

The data are scikit-learn's diabetes data, on which paths of the lasso are often shown: ten
measurements of 442 patients, and the progression of the disease a year later. A single response is
a special case of rank 1.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import thinrank as tr

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
est = tr.SparseReducedRankRegressor().fit(X, y)
print("chosen:", *est.feature_names_in_[est.row_support_])

# %%
# :func:`thinrank.selection.path` computes the fits, and the plot shows the strength of each
# predictor, the norm of its standardized coefficients over the responses. Here that is the absolute
# value of one coefficient.

found = tr.selection.path(est, X, y)
tr.plot.path(found)
plt.show()

# %%
# The predictors ``s1`` and ``s2``, two measures of cholesterol, are strongly correlated. Once both
# are in the model their coefficients grow, and ``s3``, which was in all models of four to seven
# predictors, is dropped: with correlated predictors, several selections are about equally good.

print("correlation of s1 and s2:", round(X["s1"].corr(X["s2"]), 2))
print(found.to_frame().round(2))

# %%
# The score of the same fits on their own data. It rises with every predictor, so it does not tell
# where to stop; the error on held-out rows does (:func:`thinrank.plot.selection`).

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
tr.plot.path(found, show="score", ax=axes[0])
tr.plot.selection(est, ax=axes[1])
plt.show()
