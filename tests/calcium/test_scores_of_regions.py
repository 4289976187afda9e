"""NeuroFinder's scores on hand-made cases, and against another way to compute them."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from thinrank.calcium import match_regions, score_regions


def square(row, column, side=2):
    return [[row + i, column + j] for i in range(side) for j in range(side)]


def test_perfect():
    regions = [square(0, 0), square(10, 10, 3)]
    scores = score_regions(regions[::-1], regions)
    assert (scores.recall, scores.precision, scores.combined) == (1, 1, 1)
    assert (scores.inclusion, scores.exclusion) == (1, 1)
    assert (scores.n_matched, scores.n_estimated, scores.n_labelled) == (2, 2, 2)
    assert match_regions(regions[::-1], regions) == [(1, 0), (0, 1)]


def test_the_threshold_itself_is_too_far():
    labelled, estimated = [square(0, 0)], [square(3, 4)]
    assert score_regions(estimated, labelled, threshold=5).n_matched == 0
    assert score_regions(estimated, labelled, threshold=5.01).n_matched == 1
    assert score_regions([square(90, 90)], labelled, threshold=np.inf).n_matched == 1


def test_labels_take_turns():
    """The first label takes what is nearest to it, though the second is nearer to that."""
    labelled = [square(0, 0), square(0, 6)]
    assert match_regions([square(0, 4)], labelled) == [(0, 0)]
    assert match_regions([square(0, 4)], labelled[::-1]) == [(0, 0)]
    assert match_regions([square(0, 4), square(0, 7)], labelled) == [(0, 0), (1, 1)]
    once = score_regions([square(0, 0) * 2], [square(0, 0), square(1, 1)])  # pixels count once
    assert (once.n_matched, once.recall, once.precision, once.exclusion) == (1, 0.5, 1, 1)


def test_nothing_estimated_and_nothing_matched():
    for estimated in ([], [square(50, 50)]):
        scores = score_regions(estimated, [square(0, 0)])
        assert (scores.recall, scores.precision, scores.combined) == (0, 0, 0)
        assert (scores.inclusion, scores.exclusion) == (0, 1)


def test_the_three_ways_to_give_regions():
    labels = np.zeros((12, 14), dtype=int)
    labels[1:4, 1:4], labels[6:10, 8:12] = 1, 7
    masks = np.stack([labels == 1, labels == 7])
    points = [np.argwhere(mask) for mask in masks]
    for given in (labels, masks, points, [p.tolist() for p in points]):
        assert score_regions(given, points).combined == 1
        assert score_regions(points, given).exclusion == 1


def neurofinder(estimated, labelled, threshold):
    """Recall, precision, inclusion and exclusion by loops over Python sets."""

    def centre(region):
        return [sum(axis) / len(region) for axis in zip(*region, strict=True)]

    left, recall, included, excluded = list(range(len(estimated))), 0, [], []
    for region in labelled:
        gaps = {
            i: sum((a - b) ** 2 for a, b in zip(centre(region), centre(estimated[i]), strict=True))
            for i in left
        }
        if gaps and min(gaps.values()) < threshold**2:
            nearest = min(gaps, key=gaps.get)
            left.remove(nearest)
            recall += 1
            shared = len(region & estimated[nearest])
            included.append(shared / len(region))
            excluded.append(shared / len(estimated[nearest]))
    return (
        recall / len(labelled),
        recall / len(estimated),
        sum(included) / len(included),
        sum(excluded) / len(excluded),
    )


@pytest.mark.parametrize("seed", range(2))
def test_against_an_implementation_by_loops(seed):
    rng = np.random.default_rng(seed)

    def draw(count):
        corners = rng.integers(0, 40, (count, 2))
        return [{tuple(p) for p in square(*corner, rng.integers(2, 6))} for corner in corners]

    estimated, labelled = draw(25), draw(20)
    scores = score_regions([list(r) for r in estimated], [list(r) for r in labelled])
    found = (scores.recall, scores.precision, scores.inclusion, scores.exclusion)
    assert found == pytest.approx(neurofinder(estimated, labelled, 5))
    assert 0.2 < scores.recall < 1


def test_scores_with_pixels(rng):
    labelled = [square(2, 3), square(3, 4)]
    energy = rng.random((10, 12))
    mask = np.zeros((10, 12), dtype=bool)
    mask[tuple(np.concatenate(labelled).T)] = True
    assert score_regions(labelled, labelled).pixel_auc is None
    scores = score_regions(labelled, labelled, energy=energy)
    assert scores.pixel_auc == roc_auc_score(mask.ravel(), energy.ravel())
    assert score_regions(labelled, [square(50, 50)], energy=energy).pixel_auc is None


HERE, EMPTY = [square(0, 0)], np.zeros((1, 4, 5), dtype=bool)
TWO = np.ones((2, 2))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (score_regions, (HERE, []), "labelled must contain at least one"),
        (score_regions, (3, HERE), "estimated must be a list"),
        (score_regions, ([[[0, 0.5]]], HERE), r"estimated\[0\] must contain whole numbers"),
        (score_regions, ([[]], HERE), r"estimated\[0\] must be a list of \(row, column\) pairs"),
        (score_regions, (TWO, HERE), "boolean masks .* or integer labels .* got float64"),
        (score_regions, (EMPTY, HERE), "estimated contains an empty mask"),
        (match_regions, ([], [], 0), "threshold must be above 0"),
    ],
)
def test_bad_arguments(function, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        function(*arguments)
