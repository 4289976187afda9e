"""What a fitted model found, and what to distrust in it, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinrank.estimators.findings import Findings, strongest

# Number of factors that sentences describe, and of names that they list.
_MOST_FACTORS = 5
_MOST_NAMES = 5
# Held-out R² is called much lower than R² in the training rows if it is lower by this much and
# less than this fraction of it. Rules of thumb.
_LOWER_BY = 0.1
_LOWER_THAN = 0.7
# Below this number of samples another sample often leads to other predictors. Rule of thumb.
_FEW_SAMPLES = 30
# Below this number of samples the held-out R² of the best of many models is noticeably too high: of
# the Linnerud data (20 samples) it is 0.17, where nested cross-validation has -0.2 to 0.0 depending
# on the seed (examples/plot_data_linnerud.py), of the concrete data (103) 0.51 instead of 0.48.
_CHOSEN_BY_LUCK = 100
# ... unless it is as high as in the training rows, up to this. Rule of thumb.
_LUCK_MATTERS = 0.02
# By how much the held-out R² exceeds that on new rows with 20 samples; with 40 it is 0.03.
_OPTIMISM = 0.2
# With more predictors than this a sentence names a thinner model. Rule of thumb.
_MANY_TO_READ = 10
# A negative R² below this is not due to rounding.
_NEGATIVE = -0.005


def sentences(found: Findings) -> list[str]:
    """What was found."""
    said = [_sizes(found)]
    if len(found.kept) and found.rank:
        names = [found.predictor_names[i] for i in found.kept]
        verb = "is" if len(names) == 1 else "are"
        said.append(f"In addition {listed(names)} {verb} in the model in any case.")
    if not found.rank:
        return said
    if len(found.response_names) == 1:
        said.append(_direction(found))
    else:
        said += [_factor(found, j) for j in range(min(found.rank, _MOST_FACTORS))]
        if found.rank > _MOST_FACTORS:
            rest = found.shares[_MOST_FACTORS:]
            said.append(
                f"The other {len(rest)} factors explain {percent(float(rest.sum()))} together."
            )
    return [*said, _quality(found), *_thinner(found)]


def cautions(found: Findings) -> list[str]:
    """What to distrust."""
    said = list(found.warnings)
    if found.rank:
        said += [*_without_held_out(found), *_crowded(found), *_too_optimistic(found)]
    if found.n_samples < _FEW_SAMPLES:
        said.append(
            f"There are only {found.n_samples} samples: with others the choice of predictors may "
            "be different. See thinrank.selection.stability."
        )
    return said


def listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Names as "a, b and c", the last of many as "3 more"."""
    few = list(names[:most])
    if len(names) > most:
        few.append(f"{len(names) - most} more")
    return few[0] if len(few) == 1 else f"{', '.join(few[:-1])} and {few[-1]}"


def percent(share: float) -> str:
    """A share as text, such as "21 %" or "0.3 %", "–" for nan."""
    if share != share:
        return "–"
    number = 100 * share
    digits = 1 if 0 < abs(number) < 1 else 0
    return f"{number:.{digits}f} %" if abs(number) >= 0.05 or number == 0 else "less than 0.1 %"


def number(x: float) -> str:
    """Two decimals, more just below 1; no sign for what is rounded to zero, "–" for nan."""
    if x != x:
        return "–"
    digits = 2
    while digits < 5 and abs(x) < 1 <= abs(round(x, digits)):
        digits += 1
    return f"{x if abs(x) >= 0.005 else 0.0:.{digits}f}"


def _mean(values: np.ndarray) -> float:
    """The mean of those that are not nan; nan if all are, as for constant responses."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _sizes(found: Findings) -> str:
    p, k = len(found.predictor_names) - len(found.kept), len(found.response_names)
    s1, s2 = len(found.selected), len(found.responses)
    if not found.rank:
        null = "the mean of each response"
        if found.deviance:
            null = "the same for all samples"
        if len(found.kept):
            names = [found.predictor_names[i] for i in found.kept]
            return f"No predictor was selected: the model predicts from {listed(names)} only."
        return f"No predictor was selected: the model predicts {null}."
    who = f"{s1} of {p} predictors" if s1 < p else f"{'Both' if p == 2 else f'All {p}'} predictors"
    who = "The only predictor" if p == 1 else who
    verb = "predicts" if s1 == 1 else "predict"
    if k == 1:
        return f"{who} {verb} {found.response_names[0]}."
    nouns = "classes" if found.noun == "class" else "responses"
    every = "both" if k == 2 else f"all {k}"
    what = f"{s2} of {k} {nouns}" if s2 < k else f"{every} {nouns}"
    return f"{who} {verb} {what} through {found.rank} factor{'s' * (found.rank > 1)}."


def _factor(found: Findings, j: int) -> str:
    selected = [found.predictor_names[i] for i in found.selected]
    up, down = _signed(found.predictor_loadings[:, j], selected)
    rises, falls = _signed(found.response_loadings[:, j], found.response_names)
    parts = []
    if rises:
        parts.append(f"{listed(rises)} {_change(found, rises, up=True)}")
    if falls:
        parts.append(f"{listed(falls)} {_change(found, falls, up=False)}")
    return (
        f"Factor {j + 1} explains {percent(float(found.shares[j]))} of the {found.share_of}: "
        f"{_conditions(up, down)}, {' and '.join(parts)}."
    )


def _conditions(up: list[str], down: list[str]) -> str:
    """Which values of the predictors increase a factor."""
    parts = []
    if up:
        parts.append(f"higher {listed(up)}")
    if down:
        parts.append(f"lower {listed(down)}")
    return f"with {' and '.join(parts)}"


def _direction(found: Findings) -> str:
    """The strongest predictors of a single response."""
    selected = [found.predictor_names[i] for i in found.selected]
    up, down = _signed(found.predictor_loadings[:, 0] * found.response_loadings[0, 0], selected)
    parts = []
    verbs = ("increases", "decreases")
    if found.noun == "class":
        verbs = ("is more likely", "is less likely")
    if up:
        parts.append(f"{verbs[0]} with {'higher ' * (found.noun == 'class')}{listed(up)}")
    if down:
        parts.append(f"{verbs[1]} with {'higher ' * (found.noun == 'class')}{listed(down)}")
    return f"{found.response_names[0]} {' and '.join(parts)}."


def _signed(loadings: np.ndarray, names: list[str]) -> tuple[list[str], list[str]]:
    named = strongest(loadings, names)
    return [n for n, size in named if size > 0], [n for n, size in named if size < 0]


def _change(found: Findings, names: Sequence[str], *, up: bool) -> str:
    """What responses or probabilities of classes do."""
    if found.noun == "class":
        return f"{'is' if len(names) == 1 else 'are'} {'more' if up else 'less'} likely"
    return f"{'increase' if up else 'decrease'}{'s' * (len(names) == 1)}"


def _quality(found: Findings) -> str:
    of = "" if len(found.response_names) == 1 or found.noun == "class" else " of the responses"
    mean = percent(_mean(found.r2))
    text = f"The model explains {mean} of the {found.share_of}{of} in the training rows"
    if found.held_out_r2 is None:
        return f"{text}."
    held_out = percent(_mean(found.held_out_r2))
    return f"{text} and {held_out} in held-out rows, by which the sizes were chosen."


def _thinner(found: Findings) -> list[str]:
    """That a model with fewer predictors is almost as good, if there are many to read."""
    fewer = found.fewer_predictors
    if fewer is None or len(found.selected) <= _MANY_TO_READ:
        return []
    return [
        f"With {fewer} predictors the held-out error is larger by less than its standard error; "
        'refit_rule="thinnest" prefers such models.'
    ]


def _without_held_out(found: Findings) -> list[str]:
    if found.chosen == "held out":
        return []
    how = "given" if found.chosen == "given" else "chosen by a criterion on the training rows"
    return [
        f"The sizes were {how}, so that there is no held-out {found.measure}; new samples are "
        "predicted less well than the training rows. Use cross_val_score to see how much."
    ]


def _crowded(found: Findings) -> list[str]:
    """Many predictors for few samples, if the search has not said so."""
    count = len(found.selected)
    said = any("more than half of the" in message for message in found.warnings)
    if said or 2 * count <= found.n_samples:
        return []
    return [
        f"The model has {count} predictors for {found.n_samples} samples: do not read it as a "
        "selection of predictors."
    ]


def _too_optimistic(found: Findings) -> list[str]:
    """Held-out R² that is much lower than in the training rows, or negative."""
    if found.held_out_r2 is None:
        return []
    said = []
    inside = found.r2[found.responses]
    outside = found.held_out_r2[found.responses]
    mean, held_out = _mean(inside), _mean(outside)
    if found.n_samples < _FEW_SAMPLES:
        amount = "" if found.deviance else f", by about {_OPTIMISM} with 20 samples"
        said.append(
            f"With {found.n_samples} samples the held-out {found.measure} is optimistic{amount}, "
            "because the sizes were chosen by the same errors. cross_val_score, which "
            "repeats the choice in every fold, has no such bias."
        )
    elif found.n_samples < _CHOSEN_BY_LUCK and mean - held_out > _LUCK_MATTERS:
        said.append(
            f"The sizes were chosen by the error on held-out rows, so that with {found.n_samples} "
            f"samples the held-out {found.measure} of the chosen model is too high. "
            "cross_val_score, which repeats the choice in every fold, has no such bias."
        )
    if mean - held_out > _LOWER_BY and held_out < _LOWER_THAN * mean:
        said.append(
            f"In held-out rows the mean {found.measure} of the predicted responses is "
            f"{held_out:.2f}, much lower than {mean:.2f} in the training rows: the coefficients "
            "fit noise as well."
        )
    bad = found.responses[outside < _NEGATIVE]
    if len(bad):
        names = listed([found.response_names[j] for j in bad])
        verb, null = ("is", "by its mean") if len(bad) == 1 else ("are", "by their means")
        if found.deviance:
            null = "without predictors"
        said.append(f"In held-out rows {names} {verb} predicted worse than {null}.")
    return said
