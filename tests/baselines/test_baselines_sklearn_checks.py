"""scikit-learn's own checks: of all baselines when they choose, of some with given parameters."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from thinrank import baselines

GIVEN = {"rank": 1, "penalty": 0.01, "row_threshold": 0.0, "column_threshold": 0.0, "ridge": 0.01}
# the others share all code that the checks enter
SOME = "NullRegressor", "RankConstrainedGroupLasso", "SeparateRidges"
# few candidates: the checks fit some eighty times
CHOSEN = {"n_penalties": 3, "n_thresholds": 3, "n_ridges": 3, "cv": 2, "column_threshold": 0.0,
          "ridge": "auto"}  # fmt: skip


def with_parameters(name, values):
    """A baseline with those of the values that it takes."""
    make = getattr(baselines, name)
    taken = make().get_params()
    return make(**{key: value for key, value in values.items() if key in taken})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.no_cover  # the same lines many times
class TestChecks:
    @parametrize_with_checks([with_parameters(name, GIVEN) for name in SOME])
    def test_given(self, estimator, check):
        check(estimator)

    @pytest.mark.slow
    @parametrize_with_checks([with_parameters(name, CHOSEN) for name in baselines.__all__])
    def test_chosen(self, estimator, check):
        check(estimator)
