"""What intervals assume, and what deserves attention, in words."""

from __future__ import annotations

import numpy as np

from thinrank.inference.fitted_supports import FittedSupports

# Singular values that differ by fewer standard errors than this may belong to mixed layers: the
# perturbations of first order divide by their difference.
_CLOSE_LAYERS = 6.0


def assumptions(found: FittedSupports, of: str, observations: bool) -> list[str]:
    """What the intervals assume."""
    model = found.model
    shape = "normal" if observations else "near normal"
    lines = [
        f"rows are independent, with {shape} noise of the same covariance in every row; this "
        f"covariance between responses is estimated ({model.df} degrees of freedom)",
    ]
    if found.adjust == "supports":
        lines.append(
            f"predictors other than the {len(found.rows)} of the model have no effect, or are "
            "nearly uncorrelated with these"
        )
    else:
        lines.append(f"no others than the {len(found.adjusted)} predictors have an effect")
    if found.model.projected and found.rank < min(len(found.rows), len(found.columns)):
        lines.append(f"the coefficients have rank at most {found.rank}")
    if of == "layers":
        lines.append("the singular values differ clearly from one another")
    return lines


def remarks(found: FittedSupports) -> list[str]:
    """What deserves attention."""
    lines = []
    if len(found.added):
        names = ", ".join(found.predictor_names[i] for i in found.added)
        lines.append(f"adjusted for predictors that the fit lacks but the data show: {names}")
    if found.asked_rank == "auto" and found.rank > found.fitted_rank:
        lines.append(
            f"rank {found.fitted_rank} of the fit is rejected (Bartlett's test), rank "
            f"{found.rank} is used"
        )
    if found.unclear_layer and found.asked_rank == "auto" and not found.model.projected:
        lines.append(
            "the weakest layer hardly exceeds the noise: least squares without the low rank is "
            f"used; rank={found.rank} has narrower intervals that may miss more often"
        )
    elif found.unclear_layer and found.asked_rank is not None:
        lines.append(
            "the weakest layer hardly exceeds the noise; in simulations with such layers intervals "
            "of level 0.95 covered 0.90 to 0.93"
        )
    return lines


def close_layers(values: np.ndarray, errors: np.ndarray) -> list[str]:
    """Remarks on layers whose singular values are close to one another.

    Shapes: ``values``, ``errors`` (rank,).
    """
    gaps = (values[:-1] - values[1:]) / np.hypot(errors[:-1], errors[1:])
    return [
        f"the singular values of layers {i + 1} and {i + 2} are close: their left vectors may be "
        "mixtures, and the intervals for these too narrow"
        for i in np.flatnonzero(gaps < _CLOSE_LAYERS)
    ]


def chosen_by_fit(found: FittedSupports) -> str:
    """A remark on tables of predictors that the fit chose."""
    count = int((~found.constant).sum())
    return (
        "the fit chose these predictors with the same data: adjusted p-values are corrected for "
        f"all {count} predictors, but intervals of barely selected ones miss more often"
    )
