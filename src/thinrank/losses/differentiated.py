"""A function written in PyTorch, with the derivatives that a loss needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.core.imports import is_installed, missing_message

Argument = Literal["theta", "factors"]

# Two factorizations of one matrix may give values that differ by this number of rounding errors.
_ROUNDINGS = 1e5


def as_prototype(like: Any) -> Array:
    """An empty tensor of the dtype and device of ``like``, float64 on the processor if None."""
    if like is None:
        if not is_installed("torch"):
            raise ImportError(missing_message("torch"))
        return arrays.empty_tensor()
    if not arrays.is_tensor(like):
        raise TypeError(f"like must be a PyTorch tensor or None, got {type(like).__name__}")
    xp = arrays.namespace(like)
    if like.dtype not in (xp.float32, xp.float64):
        raise TypeError(f"like must have the dtype float32 or float64, got {like.dtype}")
    return arrays.zeros((0,), like=like)


class Differentiated:
    """Values and derivatives of a function of Θ or of (U, V), by reverse-mode differentiation.

    The derivatives of f(UVᵀ) with respect to U and V are ∇f·V and ∇fᵀ·U, which is what solvers
    need. No matrix of the shape of Θ is formed for a function of (U, V), unless the gradient at a
    dense Θ is requested.
    """

    def __init__(
        self, function: Callable[..., Any], shape: tuple[int, int], of: Argument, prototype: Array
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {type(function).__name__}")
        if of not in get_args(Argument):
            raise ValueError(f'of must be "theta" or "factors", got {of!r}')
        self.function = function
        self.shape = shape
        self.of = of
        self.prototype = prototype

    def at_factors(self, factors: Factors) -> tuple[float, Array, Array]:
        """f(UVᵀ), ∇f·V and ∇fᵀ·U."""
        value, (by_u, by_v) = self._derivatives([factors.U, factors.V])
        return value, by_u, by_v

    def at_theta(self, theta: Array) -> tuple[float, Array]:
        """f and ∇f at a dense Θ."""
        value, (gradient,) = self._derivatives([theta])
        return value, gradient

    def hessian_product(self, theta: Array, direction: Array) -> Array:
        """The second derivative of f at a dense Θ, applied to a matrix."""
        xp = arrays.namespace(theta)
        with xp.enable_grad():
            (leaf,) = leaves = _leaves([theta])
            value = self._value(leaves)
            (gradient,) = xp.autograd.grad(value, [leaf], create_graph=True)
            if not gradient.requires_grad:  # f is linear
                return theta * 0
            along = xp.sum(gradient * direction)
            (product,) = xp.autograd.grad(along, [leaf], allow_unused=True)
        return theta * 0 if product is None else product

    def largest_curvature(self) -> float:
        """The largest eigenvalue of the Hessian of f at zero."""
        xp = arrays.namespace(self.prototype)
        zero = arrays.zeros(self.shape, like=self.prototype)

        def product(block: Array) -> Array:
            columns = [
                xp.reshape(self.hessian_product(zero, xp.reshape(block[:, j], self.shape)), (-1, 1))
                for j in range(block.shape[1])
            ]
            return xp.concat(columns, axis=1)

        return linalg.largest_eigenvalue(product, self.shape[0] * self.shape[1], self.prototype)

    def check(self) -> None:
        """Raise an error unless the function has derivatives and is a function of UVᵀ."""
        m1, m2 = self.shape
        U = linalg.random_block(m1, 1, self.prototype, seed=0) / m1**0.5
        V = linalg.random_block(m2, 1, self.prototype, seed=1) / m2**0.5
        once, *_ = self._derivatives([U, V])
        again, *_ = self._derivatives([2 * U, V / 2])
        unequal = abs(once - again) > _ROUNDINGS * arrays.eps(U) * max(abs(once), abs(again))
        if math.isfinite(once) and unequal:
            rule = "not be random"
            if self.of == "factors":
                rule = "depend on U and V only through U @ V.T"
            raise ValueError(
                f"function must {rule}, but it returned {once!r} and {again!r} for U, V and "
                "2 * U, V / 2, two factorizations of one matrix"
            )

    def _derivatives(self, inputs: Sequence[Array]) -> tuple[float, tuple[Array, ...]]:
        """The value, and the gradient with respect to each of the inputs: Θ, or U and V."""
        xp = arrays.namespace(self.prototype)
        with xp.enable_grad():  # the caller may be inside torch.no_grad()
            leaves = _leaves(inputs)
            value = self._value(leaves)
            gradients = xp.autograd.grad(value, leaves, allow_unused=True)
        for name, gradient in zip(("U", "V"), gradients, strict=False):
            if gradient is None:
                raise ValueError(f"the value of function does not depend on {name}")
        number = float(value.detach())
        if not math.isfinite(number):  # a step that is too long; only at zero it is an error
            if not all(bool(xp.any(leaf.detach() != 0)) for leaf in leaves):
                raise ValueError(f"function must be finite at a matrix of zeros, got {number}")
        elif not all(bool(xp.all(xp.isfinite(gradient))) for gradient in gradients):
            raise ValueError(
                f"function returned {number!r}, but its gradient contains NaN or infinity there; "
                "common causes are a square root or a logarithm at 0, and torch.where"
            )
        return number, gradients

    def _value(self, leaves: Sequence[Array]) -> Array:
        """The function at Θ, or at U and V, as a tensor without axes."""
        with self._note_on_arguments():
            value = self.function(*self._arguments(leaves))
        if not arrays.is_tensor(value):
            raise TypeError(
                f"function must return a PyTorch tensor with one entry, got {type(value).__name__}"
            )
        if math.prod(value.shape) != 1:
            raise ValueError(
                "function must return a tensor with one entry, such as a sum or a mean, "
                f"got shape {tuple(value.shape)}"
            )
        if not value.requires_grad:
            raise ValueError(
                "the value of function does not depend on its arguments through operations of "
                "PyTorch, so that it cannot be differentiated; common causes are detach(), item(), "
                "a conversion to NumPy, and torch.no_grad() in the function"
            )
        return arrays.namespace(value).reshape(value, ())

    def _arguments(self, leaves: Sequence[Array]) -> tuple[Array, ...]:
        if self.of == "factors":
            return tuple(leaves) if len(leaves) == 2 else self._factorised(leaves[0])
        return (leaves[0] @ leaves[1].T,) if len(leaves) == 2 else (leaves[0],)

    def _factorised(self, theta: Array) -> tuple[Array, Array]:
        """Θ = UVᵀ with the smaller of two identity matrices as one of the factors."""
        m1, m2 = self.shape
        if m1 < m2:
            return arrays.identity(m1, like=self.prototype), theta.T
        return theta, arrays.identity(m2, like=self.prototype)

    @contextmanager
    def _note_on_arguments(self) -> Iterator[None]:
        """Add what the arguments are to errors of the function: dtypes and devices must agree."""
        try:
            yield
        except (RuntimeError, TypeError) as error:
            what = "theta is a tensor" if self.of == "theta" else "U and V are tensors"
            error.add_note(
                f"In the function of tr.losses.Custom.from_torch: {what} of dtype "
                f"{self.prototype.dtype} on {arrays.device_of(self.prototype)}; like= sets both."
            )
            raise


def _leaves(inputs: Sequence[Array]) -> list[Array]:
    """Copies with respect to which a result can be differentiated."""
    return [x.detach().clone().requires_grad_(True) for x in inputs]
