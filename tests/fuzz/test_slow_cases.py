"""Fuzzed cases with nearly separable categories, which took very many evaluations of the loss."""

from __future__ import annotations

import contextlib
import warnings
import zlib

import numpy as np
import pytest
from fuzz_estimators import attempt_of
from fuzz_trial import Trial

from thinrank.core.warnings import SelectionWarning
from thinrank.losses import profile


@pytest.mark.parametrize(
    ("name", "seed", "most", "message"),
    [
        # before: 11,000, 16,000 and 71,000 evaluations
        pytest.param(
            "SparseReducedRankGLM", 291, 5_000, "no finite optimum", marks=pytest.mark.slow
        ),
        ("SparseReducedRankGLM", 540, 5_000, "no finite optimum"),
        ("SparseReducedRankClassifier", 497, 25_000, "all coefficients are zero"),
    ],
)
def test_few_evaluations(name, seed, most, message, tmp_path, monkeypatch):
    """Steps grow while they are accepted, and no start is worse than zero coefficients."""
    entries, count = profile._entries, [0]

    def counted(*arguments):
        count[0] += 1
        return entries(*arguments)

    monkeypatch.setattr(profile, "_entries", counted)
    rng = np.random.default_rng([zlib.crc32(f"fit:{name}".encode()), seed])
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        # of data with other predictors; coefficients that are not finite raise another error
        with contextlib.suppress(ValueError):
            attempt_of(name)(Trial(rng, tmp_path))
    texts = [str(each.message) for each in told if each.category is SelectionWarning]
    assert any(message in text for text in texts)
    assert 100 < count[0] < most
