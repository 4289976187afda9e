"""Comparison of regions with labeled ones: NeuroFinder's scores and pixel-wise AUC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from thinrank.calcium.regions import centres_of, mask_of


@dataclass(frozen=True)
class Scores:
    """NeuroFinder's five scores, all between 0 and 1, and the numbers of regions.

    Attributes
    ----------
    recall, precision : float
        Fractions of the labeled and of the estimated regions that are matched.
    combined : float
        Harmonic mean of recall and precision.
    inclusion, exclusion : float
        Fractions of the pixels of a labeled region and of its match that both have; means over the
        matches.
    n_matched, n_estimated, n_labelled : int
        Numbers of matched, estimated and labeled regions.
    pixel_auc : float or None
        Area under the ROC curve of an image of activity, where the pixels of all labeled regions
        are the positives; None if no image was given.
    """

    recall: float
    precision: float
    combined: float
    inclusion: float
    exclusion: float
    n_matched: int
    n_estimated: int
    n_labelled: int
    pixel_auc: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """All attributes as a dictionary."""
        return asdict(self)


def score_regions(
    estimated: Any, labelled: Any, threshold: float = 5.0, *, energy: Any = None
) -> Scores:
    """Compare regions with labeled ones by the rules of the Python package ``neurofinder``.

    Parameters
    ----------
    estimated, labelled : list of arrays of shape (n_pixels, 2), or array
        The rows and columns of each region; or boolean masks of shape
        (n_regions, height, width); or a label image of shape (height, width), in which 0 means no
        region.
    threshold : float, default=5.0
        Distance in pixels below which two centers match.
    energy : array of shape (height, width), default=None
        Activity of each pixel, for ``pixel_auc``.

    Returns
    -------
    Scores
        Without a match, inclusion is 0 and exclusion is 1, as in NeuroFinder. Precision is 0 if
        there is no estimated region.

    Examples
    --------
    >>> from thinrank.calcium import score_regions
    >>> labeled = [[[0, 0], [0, 1], [1, 0], [1, 1]], [[10, 10], [10, 11]]]
    >>> scores = score_regions([[[0, 0], [0, 1], [1, 0]]], labeled)
    >>> scores.recall, scores.precision, scores.inclusion, scores.exclusion
    (0.5, 1.0, 0.75, 1.0)
    """
    found, true = as_regions(estimated, "estimated"), as_regions(labelled, "labelled")
    if not true:
        raise ValueError("labelled must contain at least one region, but it is empty")
    pairs = match_regions(found, true, threshold)
    shares = []
    for i, j in pairs:
        both = np.unique(np.concatenate([found[i], true[j]]), axis=0)
        shared = len(found[i]) + len(true[j]) - len(both)
        shares.append((shared / len(true[j]), shared / len(found[i])))
    inclusion, exclusion = np.mean(shares, axis=0).tolist() if pairs else (0.0, 1.0)
    recall = len(pairs) / len(true)
    precision = len(pairs) / len(found) if found else 0.0
    return Scores(
        recall=recall,
        precision=precision,
        combined=2 * recall * precision / (recall + precision) if pairs else 0.0,
        inclusion=inclusion,
        exclusion=exclusion,
        n_matched=len(pairs),
        n_estimated=len(found),
        n_labelled=len(true),
        pixel_auc=None if energy is None else _auc_of_regions(energy, true),
    )


def match_regions(estimated: Any, labelled: Any, threshold: float = 5.0) -> list[tuple[int, int]]:
    """Match estimated with labeled regions whose centers are close to each other.

    The matching is greedy, as in NeuroFinder: each labeled region in turn is matched with the
    nearest estimated region that is still free, if its center is closer than the threshold. The
    pairs can therefore depend on the order of the labeled regions, if these are closer to each
    other than the threshold.

    Parameters
    ----------
    estimated, labelled : list of arrays of shape (n_pixels, 2), or array
        As for :func:`score_regions`.
    threshold : float, default=5.0
        Distance in pixels below which two centers match; may be infinite.

    Returns
    -------
    list of (int, int)
        Indices of the estimated and the labeled region of each pair, in the order of the
        labeled regions.
    """
    if not threshold > 0:
        raise ValueError(f"threshold must be above 0, got {threshold!r}")
    found, true = as_regions(estimated, "estimated"), as_regions(labelled, "labelled")
    centres = centres_of(found)
    free = np.ones(len(found), dtype=bool)
    pairs = []
    for j, region in enumerate(true):
        distances = np.linalg.norm(centres - region.mean(axis=0), axis=1)
        distances[~free] = np.inf
        if free.any() and distances.min() < threshold:
            nearest = int(np.argmin(distances))
            free[nearest] = False
            pairs.append((nearest, j))
    return pairs


def _auc_of_regions(energy: Any, regions: list[np.ndarray]) -> float | None:
    """Pixel AUC; None if all pixels of the image, or none, are in a region."""
    mask = np.any([mask_of(region, np.shape(energy)) for region in regions], axis=0)
    if mask.all() or not mask.any():
        return None
    return float(roc_auc_score(mask.ravel(), np.ravel(energy)))


def as_regions(regions: Any, name: str = "regions") -> list[np.ndarray]:
    """Regions as a list of integer arrays of distinct rows and columns."""
    if isinstance(regions, np.ndarray) and regions.dtype != object:
        if regions.ndim == 3 and regions.dtype == bool:
            masks = list(regions)
        elif regions.ndim == 2 and np.issubdtype(regions.dtype, np.integer):
            masks = [regions == label for label in np.unique(regions) if label != 0]
        else:
            raise ValueError(
                f"{name} as an array must be boolean masks (N, H, W) or integer labels (H, W), got "
                f"{regions.dtype} of shape {regions.shape}"
            )
        if not all(mask.any() for mask in masks):
            raise ValueError(f"{name} contains an empty mask")
        return [np.argwhere(mask) for mask in masks]
    if not isinstance(regions, Sequence) or isinstance(regions, str):
        raise TypeError(
            f"{name} must be a list of regions, a stack of masks or a label image, "
            f"got {type(regions).__name__}"
        )
    return [_coordinates(region, f"{name}[{i}]") for i, region in enumerate(regions)]


def _coordinates(region: Any, name: str) -> np.ndarray:
    points = np.asarray(region)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(
            f"{name} must be a list of (row, column) pairs and not empty, got shape {points.shape}"
        )
    whole = points.astype(np.int64)
    if np.any(whole != points):
        raise ValueError(f"{name} must contain whole numbers")
    return np.unique(whole, axis=0)
