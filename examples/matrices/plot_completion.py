"""
Missing pixels of handwritten digits
====================================

Half of the pixels of some images are removed at random. :class:`thinrank.SparseMatrixCompletion`
fills them in from the pixels that are left: images of the same digit are combinations of a few
components, which do not use the pixels at the margin.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import thinrank as tr

# %%
# Data
# ----
# One row per image of the digit 3, one column per pixel, with values from 0 to 16.

digits = load_digits()
images = digits.data[digits.target == 3].astype(float)
missing = np.random.default_rng(0).random(images.shape) < 0.5
X = np.where(missing, np.nan, images)
print(f"{len(X)} images of {X.shape[1]} pixels, {missing.mean():.0%} of them removed")

# %%
# Filling in
# ----------
# Pixels have different means, which ``center="columns"`` takes out. Every image is a combination of
# the components, so that the number of rows has no limit. Rank, number of pixels and ridge are
# chosen by the error in observed pixels that are held out.

completion = tr.SparseMatrixCompletion(center="columns", row_sparsity=None)
filled = completion.fit_transform(X)
print(completion.best_params_)
means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
for name, guess in (("pixel means", means), ("completion", filled)):
    error = np.sqrt(np.mean((guess - images)[missing] ** 2))
    print(f"root mean squared error of removed pixels, {name}: {error:.2f}")

# %%
# Five images: with pixels removed, filled in, and as they were.

figure, axes = plt.subplots(3, 5, figsize=(7, 4.4), layout="constrained")
for row, (name, shown) in enumerate((("observed", X), ("filled in", filled), ("true", images))):
    for axis, image in zip(axes[row], shown[:5], strict=True):
        axis.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axis.set(xticks=[], yticks=[])
    axes[row, 0].set_ylabel(name)
plt.show()

# %%
# Held-out errors
# ---------------
# The smallest error of each rank among the candidates of the search. Rank 0 is the mean of each
# pixel.

search = completion.search_
ranks = np.unique(search["rank"])
errors = [np.min(search["error"][search["rank"] == rank]) for rank in ranks]
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.plot(ranks, errors, "o-")
axis.axvline(completion.rank_, color="0.7", zorder=0)
axis.set(xlabel="rank", ylabel="mean squared error of held-out pixels")
plt.show()
