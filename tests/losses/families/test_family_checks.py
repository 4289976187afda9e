"""Messages about invalid responses and parameters, families by name, and choices of columns."""

import numpy as np
import pytest
from family_points import FAMILIES, Q, responses

from thinrank.losses.families import (
    Bernoulli,
    Family,
    Gaussian,
    Huber,
    Mixed,
    Multinomial,
    NegativeBinomial,
    Poisson,
    as_family,
)

NAMES = ["height", "alive", "visits"]
BAD = [
    (Gaussian(), np.nan, "finite numbers"),
    (Huber(), np.inf, "finite numbers"),
    (Bernoulli(), 1.5, "numbers from 0 to 1"),
    (Bernoulli(), -0.25, "numbers from 0 to 1"),
    (Bernoulli(), np.nan, "numbers from 0 to 1"),
    (Poisson(), -2.0, "not negative"),
    (Poisson(), np.inf, "not negative"),
    (NegativeBinomial(), -2.0, "not negative"),
    (Multinomial(), -1.0, "not negative"),
]


@pytest.mark.parametrize(("family", "value", "expected"), BAD)
def test_invalid_entries(family, value, expected):
    y = np.ones((4, 3))
    y[2, 1] = value
    with pytest.raises(ValueError, match=f"'alive' must contain .*{expected}.*{family.name}") as e:
        family.check(y, None, NAMES)
    assert f"{value:g} was found in row 2" in str(e.value)
    observed = np.ones((4, 3), dtype=bool)
    observed[2] = False
    family.check(y, observed, NAMES)


def test_multinomial_rows():
    y = np.eye(3)
    y[1] = 0.0
    with pytest.raises(ValueError, match=r"'height to visits'.*row 1 contains only zeros"):
        Multinomial().check(y, None, NAMES)
    observed = np.ones((3, 3), dtype=bool)
    observed[1, 0] = False
    with pytest.raises(ValueError, match=r"'kind'.*row 1 is observed in some"):
        Multinomial().check(np.eye(3), observed, ["kind"] * 3)
    observed[1] = False
    Multinomial().check(y, observed, NAMES)


def test_multinomial_number_of_categories():
    with pytest.raises(ValueError, match=r"at least 2 categories.*got 1"):
        Multinomial().check(np.ones((4, 1)), None, ["kind"])
    with pytest.raises(ValueError, match=r"must have 4 categories.*got 3"):
        Multinomial(4).check(np.eye(3), None, NAMES)


def test_mixed_names_the_response():
    family = Mixed([Poisson(), Gaussian(), Bernoulli()], [[2], [0], [1]])
    y = np.array([[-1.5, 1.0, 0.0], [3.0, 0.0, -1.0]])
    with pytest.raises(ValueError, match=r"'visits'.*'poisson', but -1 was found in row 1"):
        family.check(y, None, NAMES)


# ------------------------------------------------------------------------------ names, parameters


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gaussian", Gaussian),
        ("bernoulli", Bernoulli),
        ("poisson", Poisson),
        ("negative_binomial", NegativeBinomial),
        ("multinomial", Multinomial),
        ("huber", Huber),
    ],
)
def test_families_by_name(name, kind):
    family = as_family(name)
    assert type(family) is kind
    assert family.name == name
    assert as_family(family) is family


@pytest.mark.parametrize("name", ["binomial", "mixed", "Gaussian", None, Gaussian])
def test_unknown_names(name):
    with pytest.raises(ValueError, match=r"family must be .*'negative_binomial'.*, got "):
        as_family(name)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [[1.0]]])
def test_invalid_scales(value):
    with pytest.raises(ValueError, match="scale must be"):
        Gaussian(value)
    with pytest.raises(ValueError, match="threshold must be"):
        Huber(value)


def test_invalid_dispersions():
    assert NegativeBinomial(0.0).dispersion == 0.0
    with pytest.raises(ValueError, match="dispersion must be"):
        NegativeBinomial([0.1, -0.1])


# ------------------------------------------------------------------------------ columns


@pytest.mark.parametrize("name", FAMILIES)
def test_some_columns(name):
    family, y = FAMILIES[name], responses(name, 12)
    eta = np.random.default_rng(0).standard_normal((12, Q))
    columns = np.array([2, 0, 1] if isinstance(family, Multinomial) else [2, 0])
    found = family.take(columns).for_fit(y[:, columns], eta[:, columns])
    for one, whole in zip(found, family.for_fit(y, eta), strict=True):
        np.testing.assert_allclose(one, whole[:, columns], rtol=1e-9, atol=1e-9)


def test_multinomial_is_taken_whole():
    for family, columns in [
        (Multinomial(3), [0, 1]),
        (Multinomial(), [1, 2]),
        (Multinomial(), [1]),
    ]:
        with pytest.raises(ValueError, match="must be taken together"):
            family.take(columns)
    assert isinstance(Multinomial(3).take(np.arange(3)), Family)
