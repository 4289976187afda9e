"""Data that are moved to an accelerator."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.imports import import_optional

_DTYPES = ("float32", "float64")


def to_device(X: Any, device: str = "cuda", dtype: str | None = None) -> Any:
    """Move data to a device, as a PyTorch tensor.

    An estimator that is fitted to tensors computes on their device, and its attributes and
    predictions are tensors there. Single precision is enough for most data and several times as
    fast on most GPUs. Arrays of CuPy are accepted by estimators as they are.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_columns)
        The data. The column names of a data frame are lost.
    device : str, default="cuda"
        A device of PyTorch, such as "cuda", "cuda:1" or "cpu".
    dtype : {"float32", "float64"} or None, default=None
        The precision; None keeps single precision and converts everything else to double.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    RuntimeError
        If the device does not exist here.

    Examples
    --------
    >>> import thinrank as tr
    >>> X = tr.to_device([[1.0, 2.0], [3.0, 4.0]], device="cpu", dtype="float32")  # doctest: +SKIP
    >>> X.dtype, X.device  # doctest: +SKIP
    (torch.float32, device(type='cpu'))
    """
    if dtype is not None and dtype not in _DTYPES:
        raise ValueError(f'dtype must be "float32", "float64" or None, got {dtype!r}')
    torch = import_optional("torch")
    _check_device(torch, device)
    if not arrays.is_tensor(X):
        values = arrays.to_numpy(X) if arrays.is_array(X) else np.asarray(X)
        X = torch.from_numpy(np.ascontiguousarray(arrays.as_float_array(values)))
    X = arrays.as_float_array(X)
    return X.to(device=device, dtype=X.dtype if dtype is None else getattr(torch, dtype))


def _check_device(torch: Any, device: str) -> None:
    """Raise an error that says what is missing, before anything is copied."""
    try:
        kind = torch.device(device).type
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f'device must be a device of PyTorch, such as "cuda" or "cpu", got {device!r}'
        ) from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(
            f"device {device!r} was asked for, but PyTorch {torch.__version__} finds no GPU here. "
            "Install a driver and a build of PyTorch for your GPU, or fit without to_device: "
            "NumPy arrays are fitted on the processor"
        )
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise RuntimeError(f"device {device!r} cannot be used: {error}") from error
