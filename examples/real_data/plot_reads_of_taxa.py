"""
Reads of taxa: overdispersed counts, sequencing depth, rare taxa
================================================================

A table of a microbiome or a survey has a row per sample and a column per taxon. The counts vary far
more than Poisson counts do, the number of reads differs between samples, and some taxa are found in
few of them. The negative binomial family of :class:`thinrank.SparseReducedRankGLM` estimates the
overdispersion of each taxon, and the logarithm of the depth is an offset. The data are simulated,
so that the right answer is known.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

# %%
# Data
# ----
# Three of 12 conditions matter: taxa follow a gradient of acidity and moisture, and some depend on
# the depth of the soil. The last five taxa are rare. Depths differ by a factor of about 20.

rng = np.random.default_rng(1)
n, k = 120, 20
conditions = ["acidity", "moisture", "soil depth", *(f"condition {j}" for j in range(4, 13))]
X = rng.standard_normal((n, len(conditions)))
theta = np.zeros((len(conditions), k))
theta[:2, :12] = np.outer([0.9, -0.6], rng.uniform(-1, 1, 12))
theta[2, 8:15] = rng.uniform(-0.8, 0.8, 7)
share = np.concatenate([rng.uniform(-4, -2, 15), np.full(5, -8.0)])
depth = np.exp(rng.normal(np.log(1000), 0.7, n))
mean = depth[:, None] * np.exp(share + X @ theta)
counts = rng.poisson(mean * rng.gamma(2, 1 / 2, mean.shape)).astype(float)
print(f"{(counts == 0).mean():.0%} zeros, largest count {counts.max():.0f}")

# %%
# Which family?
# -------------
# The Poisson family takes a count of 1000 as a thousand independent events. A warning says by how
# much the variance exceeds that of the family, and names the one to use.

train, test = np.arange(n) < 90, np.arange(n) >= 90
offset = np.log(depth)
fits = {}
for family in ("poisson", "negative_binomial"):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SelectionWarning)
        est = tr.SparseReducedRankGLM(family).fit(X[train], counts[train], offset=offset[train])
    fits[family] = est
    used = [conditions[j] for j in est.row_support_]
    print(f"{family}: rank {est.rank_}, {', '.join(used)}")
    for each in told:
        print("   ", each.message)

# %%
# What the fit found
# ------------------
# The share of the deviance that is explained in new samples is the honest measure. Effects are
# those on the logarithm of the expected count, per standard deviation of a condition. Rare taxa say
# little, and low rank lets them share what the others tell.

est = fits["negative_binomial"]
explained = est.score(X[test], counts[test], offset=offset[test])
print(f"deviance explained in new samples: {explained:.2f}")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(2, 1))
rows = est.row_support_
effects = est.coef_[:, rows].T
largest = np.abs(effects).max()
image = axes[0].imshow(effects, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
axes[0].set_yticks(range(len(rows)), [conditions[j] for j in rows])
axes[0].set(xlabel="taxon", title="effects on the log of the expected count")
figure.colorbar(image, ax=axes[0])
axes[1].plot(theta[rows].ravel(), effects.ravel(), ".")
limits = [theta.min(), theta.max()]
axes[1].plot(limits, limits, color="black", linewidth=0.8)
axes[1].set(xlabel="true effect", ylabel="estimate")
plt.show()
