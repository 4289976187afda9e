"""scikit-learn's own checks: of all baselines when they choose, of some with given parameters."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from thinrank import baselines

GIVEN = {"rank": 1, "penalty": 0.01, "row_threshold": 0.0, "column_threshold": 0.0, "ridge": 0.01}
# few candidates: the checks fit some eighty times
CHOSEN = {"n_penalties": 3, "n_thresholds": 3, "n_ridges": 3, "cv": 2, "column_threshold": 0.0,
          "ridge": "auto"}  # fmt: skip
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.no_cover,  # the same lines many times
]


def check(name, values):
    """Run the checks of a baseline with those of the values that it takes."""
    make = getattr(baselines, name)
    taken = make().get_params()
    given = {key: value for key, value in values.items() if key in taken}
    check_estimator(make(**given), on_skip=None)


# the others share all code that the checks enter
@pytest.mark.parametrize("name", ["NullRegressor", "RankConstrainedGroupLasso", "SeparateRidges"])
def test_given(name):
    check(name, GIVEN)


@pytest.mark.slow
@pytest.mark.parametrize("name", baselines.__all__)
def test_chosen(name):
    check(name, CHOSEN)
