"""
Principal components with few measurements
==========================================

scikit-learn's breast cancer data: 30 measurements of cell nuclei in 569 images. Ordinary principal
components are combinations of all 30. :class:`thinrank.SparsePCA` uses as many as it is given, or
as many as held-out samples support: here, where all are correlated, all for five components.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

import thinrank as tr

data = load_breast_cancer(as_frame=True)
X = data.data

# %%
# The measurements have different units, hence ``standardize=True``. The numbers of components and
# of measurements are chosen by what components explain in samples that were left out.

pca = tr.SparsePCA(standardize=True).fit(X)
print("components:", pca.rank_)
print("measurements:", len(pca.column_support_), "of", X.shape[1])
print("explained variance:", pca.explained_variance_ratio_.round(2))

# %%
# Scree plot: the variance that each number of components explains in held-out samples. Filled
# points are accepted: the component explains more than its measurements do by themselves on
# average.

ranks = [record["rank"] for record in pca.search_]
share = np.array([record["explained_variance"] for record in pca.search_]) / X.shape[1]
accepted = np.array([record["accepted"] for record in pca.search_])
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.plot(ranks, share, color="0.6")
ax.scatter(ranks, share, c=np.where(accepted, "C0", "white"), edgecolors="C0", zorder=2)
ax.set(xlabel="number of components", ylabel="explained in held-out samples", ylim=(0, 1))
plt.show()

# %%
# Two components for a picture, each with six measurements of its own
# --------------------------------------------------------------------

two = tr.SparsePCA(2, 6, standardize=True, shared_support=False).fit(X)
for number, component in enumerate(two.components_):
    print(
        f"component {number}: {100 * two.explained_variance_ratio_[number]:.0f} % of the variance"
    )
    for j in np.argsort(-np.abs(component))[:6]:
        print(f"  {component[j]:5.2f}  {two.feature_names_in_[j]}")

dense = PCA(2).fit(scale(X))
print("two ordinary components:", dense.explained_variance_ratio_.round(2))

# %%
# The scores, colored by the diagnosis, which was not used:

scores = two.transform(X)
fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for value, name in enumerate(data.target_names):
    ax.scatter(*scores[data.target == value].T, s=8, label=name)
ax.set(xlabel="component 0", ylabel="component 1")
ax.legend()
plt.show()
