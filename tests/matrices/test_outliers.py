import numpy as np
import pytest

from thinrank.matrices.outliers import joint_outliers, limit, null_scale, outliers


def test_limit_is_exceeded_at_the_stated_rate():
    draws = np.abs(np.random.default_rng(0).standard_normal((4000, 200))).max(axis=1)
    assert np.mean(draws > limit(200, 0.1)) == pytest.approx(0.1, abs=0.02)


def test_scale_is_not_changed_by_outliers():
    rng = np.random.default_rng(1)
    scores = 3 * rng.standard_normal(2000)
    scores[:800] += 100  # 40 %
    assert null_scale(scores, limit(2000)) == pytest.approx(3, rel=0.1)


def test_scale_of_counts_is_that_of_the_scores_that_are_not_zero():
    scores = np.zeros(100)
    scores[:10] = [1, -1, 2, -2, 1, -1, 2, -2, 1, -1]
    assert null_scale(scores, 4) > 0
    assert null_scale(np.zeros(5), 4) == 0


def test_outliers_do_not_depend_on_units():
    rng = np.random.default_rng(2)
    scores = rng.standard_normal(100)
    scores[[3, 50]] = 8, -9
    flags, scale = outliers(scores)
    assert np.flatnonzero(flags).tolist() == [3, 50]
    others, larger = outliers(1e6 * scores)
    np.testing.assert_array_equal(flags, others)
    assert larger == pytest.approx(1e6 * scale)


def test_joint_outliers_see_what_no_direction_shows():
    """Noise of two directions that vary together; a row that deviates from the common direction."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((300, 1)) @ [[1.0, 1.0]] + 0.1 * rng.standard_normal((300, 2))
    noise[7] = [1.2, -1.2]
    inside = np.zeros(300, dtype=bool)
    assert np.flatnonzero(joint_outliers(noise, inside)).tolist() == [7]
    assert not outliers(noise[:, 0])[0].any()


def test_joint_outliers_need_rows_outside():
    inside = np.ones(10, dtype=bool)
    np.testing.assert_array_equal(joint_outliers(np.ones((10, 2)), inside), inside)
