"""
Classes in the plane of two factors
===================================

scikit-learn's wine data: thirteen chemical measurements of 178 wines from three growers. The
classifier describes the classes by two factors of a few measurements, so that all of it fits into
one picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import thinrank as tr

data = load_wine(as_frame=True)
X, y = data.data, np.asarray(["grower A", "grower B", "grower C"])[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

est = tr.SparseReducedRankClassifier(rank=2, row_sparsity=5, ridge=0.05).fit(X_train, y_train)
print("measurements:", *est.feature_names_in_[est.row_support_])
print("accuracy on test data:", est.score(X_test, y_test))

# %%
# The wines by their scores, and the selected measurements as arrows: a wine in the direction of an
# arrow tends to have a large value of the measurement.

tr.plot.biplot(est, X, groups=y, arrows="predictors")
plt.show()

# %%
# With ``arrows="responses"`` the arrows are the classes.

tr.plot.biplot(est, X, groups=y, arrows="responses")
plt.show()

# %%
# Are the probabilities right?
# ----------------------------
# For classes, :func:`thinrank.plot.observed_predicted` compares predicted probabilities with
# observed frequencies.

tr.plot.observed_predicted(est, X_test, y_test)
plt.show()

# %%
# The coefficients of the classes:

tr.plot.coefficients(est)
plt.show()
