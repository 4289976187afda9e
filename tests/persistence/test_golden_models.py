"""Models that earlier versions saved can be loaded, and predict what they predicted."""

from pathlib import Path

import example_models
import numpy as np
import pytest

import thinrank as tr
from thinrank.persistence import read_extra

GOLDEN = Path(__file__).parent / "golden"
FOLDERS = sorted(path.parent for path in GOLDEN.glob("*/*/model.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: f"{each.parent.name}-{each.name}")
def test_golden_model(folder):
    model = tr.load(folder)
    assert read_extra(folder) == {"example": folder.name}
    with np.load(folder / "expected.npz", allow_pickle=False) as file:
        expected = dict(file)
    given = expected.pop("given", None)
    if hasattr(model, "feature_names_in_") and hasattr(model, "transform"):
        pd = pytest.importorskip("pandas")
        given = pd.DataFrame(given, columns=model.feature_names_in_)
    found = example_models.predictions(model, given)
    assert set(found) == set(expected)
    for key, value in expected.items():
        if value.dtype.kind == "f":  # products round differently on other machines
            tolerance = 1e-5 if value.dtype == np.float32 else 1e-10
            np.testing.assert_allclose(found[key], value, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(found[key], value)


def test_this_version_has_golden_files():
    version = ".".join(tr.__version__.split(".")[:2])
    assert {each.name for each in FOLDERS if each.parent.name == version} == {
        *example_models.EXAMPLES
    }
