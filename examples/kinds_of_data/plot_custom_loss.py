"""
Your own loss: regression that outliers do not spoil
====================================================

:class:`thinrank.losses.Custom` takes any smooth function of Θ = UVᵀ. Here it is the
pseudo-Huber loss of the residuals, which grows like a square near zero and like an absolute
value far out.
"""

import matplotlib.pyplot as plt
import numpy as np

import thinrank as tr

# %%
# Data with gross errors
# ----------------------
# One entry of Y in twenty gets an error thirty times the noise.

X, Y, truth = tr.datasets.make_two_way_sparse(n_samples=200, rank=3, random_state=0)
rng = np.random.default_rng(1)
hit = rng.random(Y.shape) < 0.05
spoiled = np.where(hit, Y + 30 * rng.standard_normal(Y.shape), Y)
n = X.shape[0]

# %%
# The loss
# --------
# f(Θ) = 1/n · Σ δ²·(√(1 + (e/δ)²) − 1), summed over the entries e of XΘ − Y. The function
# returns the value and two thin products with the gradient ∇f = Xᵀψ/n, where ψ holds the
# derivatives of the summands: ∇f·V of shape (p, r) and ∇fᵀ·U of shape (k, r). ∇f itself, of
# shape (p, k), is never formed.

DELTA = 1.5


def pseudo_huber(factors):
    scores = X @ factors.U
    residual = scores @ factors.V.T - spoiled
    root = np.sqrt(1 + (residual / DELTA) ** 2)
    psi = residual / root
    value = DELTA**2 * np.sum(root - 1) / n
    return value, X.T @ (psi @ factors.V) / n, psi.T @ scores / n


loss = tr.losses.Custom(pseudo_huber, shape=(X.shape[1], Y.shape[1]))

# %%
# Check the gradient
# ------------------
# A wrong gradient is the usual mistake. Compare it with a difference quotient in a random
# direction before anything else; the two numbers agree to many digits.

U, V = rng.standard_normal((X.shape[1], 3)), rng.standard_normal((Y.shape[1], 3))
step_u, step_v = rng.standard_normal(U.shape), rng.standard_normal(V.shape)
_, gradient_u, gradient_v = pseudo_huber(tr.Factors(U, V))
h = 1e-6
ahead = pseudo_huber(tr.Factors(U + h * step_u, V + h * step_v))[0]
behind = pseudo_huber(tr.Factors(U - h * step_u, V - h * step_v))[0]
print(f"difference quotient {(ahead - behind) / (2 * h):.6f}")
print(f"gradient            {np.sum(gradient_u * step_u) + np.sum(gradient_v * step_v):.6f}")

# %%
# Minimize
# --------
# The sizes are the true ones for both losses.

sizes = {"rank": 3, "row_sparsity": 10, "column_sparsity": 10}
answers = {
    "least squares": tr.minimize(tr.losses.LeastSquares(X, spoiled), **sizes),
    "pseudo-Huber": tr.minimize(loss, **sizes),
}
for name, answer in answers.items():
    error = np.linalg.norm(answer.factors.theta - truth.theta) / truth.norm()
    rows = np.intersect1d(answer.factors.row_support, truth.row_support).size
    columns = np.intersect1d(answer.factors.column_support, truth.column_support).size
    print(f"{name:14} error {error:.3f}, {rows} of 10 predictors, {columns} of 10 responses")
    print(f"{'':14} {answer.status}")

# %%
# The estimates
# -------------
# Rows and columns outside the true supports are left out of the picture, except those that one
# of the estimates has taken for true.

everyone = [truth, *(answer.factors for answer in answers.values())]
rows = np.unique(np.concatenate([one.row_support for one in everyone]))
columns = np.unique(np.concatenate([one.column_support for one in everyone]))
limit = np.abs(truth.theta).max()

figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), sharey=True, layout="constrained")
for axis, name, one in zip(axes, ["truth", *answers], everyone, strict=True):
    image = axis.imshow(
        one.theta[np.ix_(rows, columns)], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto"
    )
    axis.set(title=name, xlabel="response")
    axis.set_xticks(range(len(columns)), columns, fontsize=7)
    axis.set_yticks(range(len(rows)), rows, fontsize=7)
axes[0].set_ylabel("predictor")
figure.colorbar(image, ax=axes, label="coefficient")
plt.show()
