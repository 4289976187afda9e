"""A loss given by the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.losses.differentiated import Argument, Differentiated, as_prototype


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
        prototype = as_prototype(like)
        differentiated = Differentiated(function, _checked_shape(shape), of, prototype)
        differentiated.check()
        if isinstance(smoothness, str):
            if smoothness != "hessian":
                raise ValueError(
                    f'smoothness must be a positive number, "hessian" or None, got {smoothness!r}'
                )
            smoothness = differentiated.largest_curvature()
        return cls(
            differentiated.at_factors,
            shape,
            full_gradient=differentiated.at_theta,
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
