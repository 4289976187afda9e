"""Small images as text, because a record holds JSON scalars and short lists only."""

from __future__ import annotations

import base64
import zlib

import numpy as np


def as_text(image: np.ndarray) -> str:
    """Encode an image of dtype uint8 as one line of text."""
    if image.ndim != 2 or image.dtype != np.uint8:
        raise TypeError(
            f"expected a 2-D image of dtype uint8, got {image.dtype} of shape {image.shape}"
        )
    data = base64.b64encode(zlib.compress(image.tobytes(), 9)).decode("ascii")
    return f"{image.shape[0]}x{image.shape[1]}:{data}"


def from_text(text: str) -> np.ndarray:
    """Decode an image that :func:`as_text` encoded."""
    size, _, data = text.partition(":")
    height, _, width = size.partition("x")
    content = zlib.decompress(base64.b64decode(data))
    return np.frombuffer(content, dtype=np.uint8).reshape(int(height), int(width))


def shades(image: np.ndarray) -> np.ndarray:
    """Scale an image to 256 grey levels, from its 1st percentile to its maximum."""
    values = np.asarray(image, dtype=float)
    low, high = np.percentile(values, 1), float(values.max())
    scaled = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return np.round(255 * np.clip(scaled, 0, 1)).astype(np.uint8)
