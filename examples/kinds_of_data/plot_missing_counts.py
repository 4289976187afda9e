"""
Counts with missing entries and different exposures
===================================================

Counts of 12 species at 200 sites. Sites were observed for different numbers of hours, not every
species was counted at every site, and three of 25 environmental variables matter.
:class:`thinrank.SparseReducedRankGLM` with the Poisson family takes the hours as an offset and
leaves missing entries out.
"""

import matplotlib.pyplot as plt
import numpy as np

import thinrank as tr

# %%
# Data
# ----
# The expected count is the number of hours times a rate, whose logarithm is linear in the
# variables. The variables act through one gradient, to which eight of the species respond.

rng = np.random.default_rng(0)
n, p, k = 200, 25, 12
X = rng.standard_normal((n, p))
theta = np.zeros((p, k))
theta[np.ix_([2, 5, 11], range(8))] = np.outer([0.6, -0.5, 0.4], rng.uniform(-1.2, 1.2, size=8))
hours = rng.uniform(0.5, 8, size=n)
rate = np.exp(rng.uniform(-1, 1, size=k) + X @ theta)
counts = rng.poisson(hours[:, None] * rate).astype(float)
counts[rng.random(counts.shape) < 0.3] = np.nan
print(f"{np.isnan(counts).mean():.0%} of the entries are missing")

# %%
# Two fits
# --------
# Both choose rank, sparsities and ridge by the deviance of held-out rows. The second does not know
# the hours.

fits = {
    "with offset": tr.SparseReducedRankGLM("poisson").fit(X, counts, offset=np.log(hours)),
    "without offset": tr.SparseReducedRankGLM("poisson").fit(X, counts),
}
for name, est in fits.items():
    error = np.linalg.norm(est.coef_.T - theta) / np.linalg.norm(theta)
    print(f"{name:15} rank {est.rank_}, variables {est.row_support_}, error {error:.2f}")

# %%
# Rates at the entries that are missing
# -------------------------------------
# Predictions are available for all entries. Without an offset ``predict`` returns rates per
# hour. The fit that does not know the hours can only predict counts for sites of average hours, so
# it is divided by these.

missing = np.isnan(counts)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True, layout="constrained")
for axis, (name, est) in zip(axes, fits.items(), strict=True):
    predicted = est.predict(X) / (1 if name == "with offset" else hours.mean())
    axis.loglog(rate[missing], predicted[missing], ".", markersize=3)
    limits = [rate.min(), rate.max()]
    axis.loglog(limits, limits, color="black", linewidth=0.8)
    axis.set(title=name, xlabel="true rate of a missing entry")
axes[0].set_ylabel("predicted rate")
plt.show()
