"""A loss given by the user, as values with gradients or as a function in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, get_args

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.core.imports import is_installed, missing_message

Argument = Literal["theta", "factors"]


class Custom:
    """Any smooth loss f(Θ), given by its value and the products of its gradient with U and V.

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(factors) -> (f, ∇f·V, ∇fᵀ·U)`` at Θ = factors.U @ factors.V.T: a
        number and arrays of shapes (m1, r) and (m2, r). The rank r is at least 1.
    shape : (int, int)
        Shape (m1, m2) of Θ.
    full_gradient : callable, default=None
        ``full_gradient(theta) -> (f, ∇f)`` at a dense Θ. The convex starts need it together with
        ``smoothness`` (and a penalty given as a number).
    smoothness : float, default=None
        L with ‖∇f(A) − ∇f(B)‖ ≤ L‖A − B‖.
    like : array, default=None
        Any array of the library, dtype and device to compute in; None for NumPy float64.

    See Also
    --------
    Custom.from_torch : The same from a function in PyTorch, without derivatives.

    Examples
    --------
    Denoising with a weight for every entry:

    >>> import numpy as np, thinrank as tr
    >>> rng = np.random.default_rng(0)
    >>> M = np.outer([5.0, 0.0, 5.0, 0.0], [1.0, 1.0, 0.0]) + 0.1 * rng.standard_normal((4, 3))
    >>> W = rng.uniform(0.5, 1.5, size=M.shape)
    >>> def weighted(factors):
    ...     residual = W * (factors.theta - M)
    ...     value = 0.5 * np.sum(residual * (factors.theta - M))
    ...     return value, residual @ factors.V, residual.T @ factors.U
    >>> loss = tr.losses.Custom(weighted, shape=M.shape)
    >>> tr.minimize(loss, rank=1, row_sparsity=2, column_sparsity=2).factors.row_support
    array([0, 2])
    """

    def __init__(
        self,
        value_and_gradient: Callable[[Factors], tuple[Any, Array, Array]],
        shape: tuple[int, int],
        *,
        full_gradient: Callable[[Array], tuple[Any, Array]] | None = None,
        smoothness: float | None = None,
        like: Array | None = None,
    ) -> None:
        if not callable(value_and_gradient):
            raise TypeError(
                "value_and_gradient must be a function of tr.Factors, "
                f"got {type(value_and_gradient).__name__}"
            )
        self.shape = _checked_shape(shape)
        if smoothness is not None and not 0 < smoothness < float("inf"):
            raise ValueError(f"smoothness must be a positive number, got {smoothness!r}")
        self.prototype = arrays.zeros((0,), like=np.zeros(0) if like is None else like)
        self.magnitude = 0.0
        self._value_and_gradient = value_and_gradient
        self._full_gradient = full_gradient
        self._smoothness = None if smoothness is None else float(smoothness)
        given = {"full_gradient": full_gradient, "smoothness": smoothness}
        self.capabilities = frozenset(name for name, what in given.items() if what is not None)

    @classmethod
    def from_torch(
        cls,
        function: Callable[..., Any],
        shape: tuple[int, int],
        *,
        of: Argument = "theta",
        smoothness: float | Literal["hessian"] | None = None,
        like: Array | None = None,
    ) -> Self:
        """A loss from a function written in PyTorch, which is differentiated automatically.

        The solution is in PyTorch, too: ``solution.factors.U`` and ``V`` are tensors of the dtype
        and device of ``like``; ``numpy.asarray`` converts those on the processor.

        Parameters
        ----------
        function : callable
            ``function(theta)`` for a tensor of shape (m1, m2), or ``function(U, V)`` for tensors of
            shapes (m1, r) and (m2, r) with any r, which returns the loss as a tensor with one
            entry. It must be bounded below and deterministic.
        shape : (int, int)
            Shape (m1, m2) of Θ.
        of : {"theta", "factors"}, default="theta"
            What ``function`` takes. A function of "factors" must depend on U and V only through
            U @ V.T, and need not form this product, which is useful if Θ is large.
        smoothness : float, "hessian" or None, default=None
            L with ‖∇f(A) − ∇f(B)‖ ≤ L‖A − B‖, which the convex starts need. "hessian" computes the
            largest eigenvalue of the Hessian at zero. This is L for a quadratic function; for
            others it may be too small.
        like : tensor, default=None
            Any tensor of the dtype and device of the arguments of ``function``; None for float64
            on the processor.

        Returns
        -------
        Custom
            With the capability "full_gradient", and "smoothness" unless it is None.

        Examples
        --------
        Absolute errors instead of squares, smoothed near zero:

        >>> import torch, thinrank as tr  # doctest: +SKIP
        >>> M = torch.zeros(4, 3)  # doctest: +SKIP
        >>> M[[0, 2], :2] = 5.0  # doctest: +SKIP
        >>> def absolute(theta):  # doctest: +SKIP
        ...     return torch.sum(torch.sqrt((theta - M) ** 2 + 0.01))
        >>> loss = tr.losses.Custom.from_torch(absolute, M.shape, like=M)  # doctest: +SKIP
        >>> tr.minimize(loss, rank=1, row_sparsity=2).factors.row_support  # doctest: +SKIP
        tensor([0, 2])
        """
        prototype = _as_prototype(like)
        differentiated = _Differentiated(function, _checked_shape(shape), of, prototype)
        differentiated.check()
        if isinstance(smoothness, str):
            if smoothness != "hessian":
                raise ValueError(
                    f'smoothness must be a positive number, "hessian" or None, got {smoothness!r}'
                )
            smoothness = differentiated.largest_curvature()
        return cls(
            lambda factors: differentiated.derivatives(factors.U, factors.V),
            shape,
            full_gradient=differentiated.derivatives,
            smoothness=smoothness,
            like=prototype,
        )

    def value_and_gradient(self, factors: Factors) -> tuple[float, Array, Array]:
        """f(UVᵀ), ∇f·V and ∇fᵀ·U from the user's function, after a check of the shapes."""
        value, gradient_u, gradient_v = self._value_and_gradient(factors)
        for name, array, expected in (
            ("∇f·V", gradient_u, factors.U.shape),
            ("∇fᵀ·U", gradient_v, factors.V.shape),
        ):
            if tuple(array.shape) != tuple(expected):
                raise ValueError(
                    f"value_and_gradient returned {name} of shape {tuple(array.shape)}, "
                    f"expected {tuple(expected)}"
                )
        return float(value), gradient_u, gradient_v

    def full_gradient(self, theta: Array) -> tuple[float, Array]:
        """f and ∇f from the user's function, if 'full_gradient' is among the capabilities."""
        assert self._full_gradient is not None
        value, gradient = self._full_gradient(theta)
        return float(value), gradient

    def smoothness(self) -> float:
        """The user's L, if 'smoothness' is among the capabilities."""
        assert self._smoothness is not None
        return self._smoothness


def _checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    if len(shape) != 2 or any(int(size) != size or size < 1 for size in shape):
        raise ValueError(f"shape must be two positive integers, got {shape!r}")
    return int(shape[0]), int(shape[1])


def _as_prototype(like: Any) -> Array:
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


class _Differentiated:
    """Values and derivatives of a function of Θ or of (U, V), by reverse-mode differentiation."""

    def __init__(
        self, function: Callable[..., Any], shape: tuple[int, int], of: Argument, prototype: Array
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {type(function).__name__}")
        if of not in get_args(Argument):
            raise ValueError(f'of must be "theta" or "factors", got {of!r}')
        self.function, self.shape, self.of, self.prototype = function, shape, of, prototype

    def largest_curvature(self) -> float:
        """The largest eigenvalue of the Hessian of f at zero."""
        xp = arrays.namespace(self.prototype)
        zero = arrays.zeros(self.shape, like=self.prototype)
        hvp = xp.autograd.functional.hvp

        def product(block: Array) -> Array:
            directions = [xp.reshape(block[:, j], self.shape) for j in range(block.shape[1])]
            with xp.enable_grad():
                images = [hvp(lambda theta: self._value([theta]), zero, x)[1] for x in directions]
            return xp.stack([xp.reshape(image, (-1,)) for image in images], axis=1)

        return linalg.largest_eigenvalue(product, self.shape[0] * self.shape[1], self.prototype)

    def check(self) -> None:
        """Raise an error unless the function has derivatives and is a function of UVᵀ."""
        m1, m2 = self.shape
        U = linalg.random_block(m1, 1, self.prototype, seed=0) / m1**0.5
        V = linalg.random_block(m2, 1, self.prototype, seed=1) / m2**0.5
        once, *_ = self.derivatives(U, V)
        again, *_ = self.derivatives(2 * U, V / 2)
        # two factorizations of one matrix may differ by this number of rounding errors
        unequal = abs(once - again) > 1e5 * arrays.eps(U) * max(abs(once), abs(again))
        if math.isfinite(once) and unequal:
            rule = "not be random"
            if self.of == "factors":
                rule = "depend on U and V only through U @ V.T"
            raise ValueError(
                f"function must {rule}, but it returned {once!r} and {again!r} for U, V and "
                "2 * U, V / 2, two factorizations of one matrix"
            )

    def derivatives(self, *inputs: Array) -> Any:
        """The value, and the gradient with respect to each of the inputs: Θ, or U and V."""
        xp = arrays.namespace(self.prototype)
        with xp.enable_grad():  # the caller may be inside torch.no_grad()
            leaves = [x.detach().clone().requires_grad_(True) for x in inputs]
            value = self._value(leaves)
            gradients = xp.autograd.grad(value, leaves, allow_unused=True)
        for name, gradient in zip(("U", "V"), gradients, strict=False):
            if gradient is None:
                raise ValueError(f"the value of function does not depend on {name}")
        number = float(value.detach())
        if not math.isfinite(number):  # a step that is too long; only at zero it is an error
            if not all(bool(xp.any(x != 0)) for x in inputs):
                raise ValueError(f"function must be finite at a matrix of zeros, got {number}")
        elif not all(bool(xp.all(xp.isfinite(gradient))) for gradient in gradients):
            raise ValueError(
                f"function returned {number!r}, but its gradient contains NaN or infinity there; "
                "common causes are a square root or a logarithm at 0, and torch.where"
            )
        return number, *gradients

    def _value(self, leaves: Sequence[Array]) -> Array:
        """The function at Θ, or at U and V, as a tensor without axes."""
        if self.of == "theta":
            leaves = leaves if len(leaves) == 1 else [leaves[0] @ leaves[1].T]
        elif len(leaves) == 1:
            leaves = [leaves[0], arrays.identity(self.shape[1], like=self.prototype)]
        try:
            value = self.function(*leaves)
        except (RuntimeError, TypeError) as error:  # dtypes and devices must agree
            what = "theta is a tensor" if self.of == "theta" else "U and V are tensors"
            error.add_note(
                f"In the function of tr.losses.Custom.from_torch: {what} of dtype "
                f"{self.prototype.dtype} on {arrays.device_of(self.prototype)}; like= sets both."
            )
            raise
        is_tensor = arrays.is_tensor(value)
        if not is_tensor or math.prod(value.shape) != 1:
            got = f"shape {tuple(value.shape)}" if is_tensor else type(value).__name__
            raise (ValueError if is_tensor else TypeError)(
                "function must return a PyTorch tensor with one entry, such as a sum or a mean, "
                f"got {got}"
            )
        if not value.requires_grad:
            raise ValueError(
                "the value of function does not depend on its arguments through operations of "
                "PyTorch, so that it cannot be differentiated; common causes are detach(), item(), "
                "a conversion to NumPy, and torch.no_grad() in the function"
            )
        return arrays.namespace(value).reshape(value, ())
