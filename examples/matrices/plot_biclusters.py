"""
Biclusters in a word–document matrix
====================================

Which words go together, and in which documents? The documents are the descriptions of the
estimators of scikit-learn, which every installation has. The rows of the matrix are estimators, its
columns are words, and its entries are tf-idf weights. It is a sparse matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import all_estimators

import thinrank as tr

estimators = dict(all_estimators())
documents = [cls.__doc__ or "" for cls in estimators.values()]
vectorizer = TfidfVectorizer(
    stop_words="english", min_df=3, max_df=0.5, token_pattern=r"[a-z]{3,}", sublinear_tf=True
)
X = vectorizer.fit_transform(documents)
names, words = np.array(list(estimators)), vectorizer.get_feature_names_out()
print(X.shape, f"{X.nnz / np.prod(X.shape):.0%} of the entries are not zero")

# %%
# With ``layers=True`` every component has rows and columns of its own: those that stand out from
# the others. The number of layers is given here; with ``rank="auto"`` the search goes on until rows
# and columns that are left out of a fit show no further layer.

svd = tr.SparseSVD(rank=8, layers=True).fit(X)
for layer in range(svd.rank_):
    rows, columns = svd.get_indices(layer)
    top_rows = rows[np.argsort(-np.abs(svd.left_vectors_[rows, layer]))][:4]
    top_columns = columns[np.argsort(-np.abs(svd.components_[layer, columns]))][:6]
    print(f"{len(rows)} estimators, {len(columns)} words:")
    print("   ", ", ".join(names[top_rows]))
    print("   ", ", ".join(words[top_columns]))

# %%
# The matrix with the rows and columns of the layers first. Members of several layers stand in the
# first one.

tr.plot.biclusters(svd, X, max_rows=208, max_columns=800)
plt.show()

# %%
# The singular values of the layers, and those of the whole matrix. A layer has a smaller value than
# the whole matrix has, because it leaves out most rows and columns.

tr.plot.scree(svd, X)
plt.show()
