"""
Matrix sensing: a matrix from random measurements
=================================================

A matrix Θ* of rank 2 with few non-zero rows and columns is known only through random linear
measurements, fewer than it has entries. :class:`thinrank.losses.Custom` takes the squared error of
the measurements, once with its gradient written by hand, and once as a PyTorch function, which
:meth:`thinrank.losses.Custom.from_torch` differentiates.
"""

import importlib.util

import matplotlib.pyplot as plt
import numpy as np

import thinrank as tr

# %%
# The measurements
# ----------------
# yᵢ = ⟨Aᵢ, Θ*⟩ for 600 matrices Aᵢ of normal random numbers. Θ* has 2000 entries, in 8 of its 50
# rows and 8 of its 40 columns.

rng = np.random.default_rng(0)
U, V = np.zeros((50, 2)), np.zeros((40, 2))
U[rng.choice(50, 8, replace=False)] = rng.standard_normal((8, 2))
V[rng.choice(40, 8, replace=False)] = rng.standard_normal((8, 2))
truth = tr.Factors(U, V)
A = rng.standard_normal((600, 50, 40))
y = np.tensordot(A, truth.theta)


def error(theta):
    return np.linalg.norm(np.asarray(theta) - truth.theta) / truth.norm()


# %%
# With NumPy
# ----------
# The loss is f(Θ) = 1/(2n) · Σ (⟨Aᵢ, Θ⟩ − yᵢ)², and ∇f = 1/n · Σ (⟨Aᵢ, Θ⟩ − yᵢ) Aᵢ. A solver needs
# the value and the products ∇f·V and ∇fᵀ·U.


def squared_error(factors):
    residual = np.tensordot(A, factors.theta) - y
    gradient = np.tensordot(residual, A, axes=1) / len(y)
    return 0.5 * np.mean(residual**2), gradient @ factors.V, gradient.T @ factors.U


sizes = {"rank": 2, "row_sparsity": 8, "column_sparsity": 8}
answer = tr.minimize(tr.losses.Custom(squared_error, shape=(50, 40)), **sizes)
print(answer.status)
print(f"relative error {error(answer.factors.theta):.1e}")

# %%
# With PyTorch
# ------------
# The value is enough. The iterations are the same, and the solution consists of tensors. This part
# needs PyTorch (the extra ``torch``).

if importlib.util.find_spec("torch") is not None:
    import torch

    A_tensor, y_tensor = torch.from_numpy(A), torch.from_numpy(y)

    def value_only(theta):
        return 0.5 * torch.mean((torch.tensordot(A_tensor, theta) - y_tensor) ** 2)

    loss = tr.losses.Custom.from_torch(value_only, shape=(50, 40))
    same = tr.minimize(loss, **sizes)
    print(same.status)
    print(f"relative error {error(same.factors.theta):.1e}")
else:
    print("PyTorch is not installed.")

# %%
# The matrix and its estimate
# ---------------------------
# Least squares without limits on rank and sparsity has many solutions that agree with the 600
# measurements. The shortest of them is shown for comparison.

shortest = np.linalg.lstsq(A.reshape(600, -1), y, rcond=None)[0].reshape(50, 40)
print(f"relative error of the shortest solution {error(shortest):.2f}")

pictures = {
    "truth": truth.theta,
    "rank 2, 8 rows, 8 columns": answer.factors.theta,
    "least squares, shortest": shortest,
}
limit = np.abs(truth.theta).max()
figure, axes = plt.subplots(1, 3, figsize=(9, 3.9), sharey=True, layout="constrained")
for axis, (title, theta) in zip(axes, pictures.items(), strict=True):
    image = axis.imshow(theta, cmap="RdBu_r", vmin=-limit, vmax=limit)
    axis.set(title=title, xlabel="column")
axes[0].set_ylabel("row")
figure.colorbar(image, ax=axes, label="entry")
plt.show()

# %%
# The error in each iteration
# ---------------------------
# Rows and columns change in the first iterations only; the dotted line
# is where they are those of the result. The
# run ends when the relative change of the factors is below 1e-7, the default of ``tol``.

errors, supports = [], []


def follow(record):
    errors.append(error(record.factors.theta))
    supports.append((record.row_support.tolist(), record.column_support.tolist()))


tr.minimize(tr.losses.Custom(squared_error, shape=(50, 40)), **sizes, callback=follow)
settled = 1 + supports.index(supports[-1])
figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
axis.semilogy(range(1, len(errors) + 1), errors)
axis.axvline(settled, color="grey", linestyle=":")
axis.set(xlabel="iteration", ylabel="relative error")
plt.show()
