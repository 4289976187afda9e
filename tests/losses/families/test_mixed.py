"""Several families side by side."""

import numpy as np
import pytest

from thinrank.losses.families import (
    Gaussian,
    Huber,
    Mixed,
    Multinomial,
    NegativeBinomial,
    Poisson,
)

N = 25
PIECES = [
    (Gaussian([2.0, 0.5]), [5, 0]),
    (Multinomial(), [1, 2, 3]),
    (NegativeBinomial([0.3]), [4]),
    (Multinomial(), [8, 6]),
    (Huber(scale=3.0), [7]),
]
FAMILY = Mixed([family for family, _ in PIECES], [columns for _, columns in PIECES])


def data():
    rng = np.random.default_rng(0)
    y = 3 * rng.standard_normal((N, 9))
    y[:, [1, 2, 3]] = np.eye(3)[rng.integers(0, 3, N)]
    y[:, 4] = rng.poisson(3, N)
    y[:, [6, 8]] = np.eye(2)[rng.integers(0, 2, N)]
    return y, rng.standard_normal((N, 9)), rng.integers(1, 3, (N, 1)) * np.ones((N, 9))


def pieces(function, *given):
    """The results of the pieces, put in place one column at a time."""
    first = function(PIECES[0][0], *(x[:, PIECES[0][1]] for x in given))
    out = np.full((*first.shape[:-1], 9), np.nan)
    for family, columns in PIECES:
        result = function(family, *(x[:, columns] for x in given))
        for place, column in enumerate(columns):
            out[..., column] = result[..., place]
    return out


@pytest.mark.parametrize("method", ["value", "derivative", "deviance", "hessian_product"])
def test_equals_the_pieces(method):
    y, eta, _ = data()
    given = (y, eta, eta**2) if method == "hessian_product" else (y, eta)
    expected = pieces(lambda family, *parts: getattr(family, method)(*parts), *given)
    np.testing.assert_allclose(getattr(FAMILY, method)(*given), expected, rtol=1e-9)


def test_means_and_intercepts_equal_the_pieces():
    y, eta, weight = data()
    mean = pieces(lambda family, part: family.mean(part), eta)
    np.testing.assert_allclose(FAMILY.mean(eta), mean, rtol=1e-9)
    link = pieces(lambda family, part: family.link(part), mean)
    np.testing.assert_allclose(FAMILY.link(mean), link, rtol=1e-9)
    null = pieces(lambda family, *parts: family.null_link(*parts), y, weight)
    np.testing.assert_allclose(FAMILY.null_link(y, weight), null, rtol=1e-9)


def test_estimates_equal_the_pieces():
    y, eta, weight = data()
    freedom = np.linspace(10.0, 20.0, 9)
    fitted = FAMILY.fitted_to(y, eta, weight, freedom)
    for (family, columns), found in zip(PIECES, fitted.families, strict=True):
        parts = (x[:, columns] for x in (y, eta, weight))
        expected = family.fitted_to(*parts, freedom[columns])
        assert type(found) is type(expected)
        np.testing.assert_allclose(found.scale_of(len(columns)), expected.scale_of(len(columns)))
    np.testing.assert_allclose(fitted.scale_of(9)[[5, 0]], fitted.families[0].scale)
    np.testing.assert_array_equal(fitted.scale_of(9)[1:5], 1.0)


def test_some_columns_of_some_families():
    y, eta, _ = data()
    columns = np.array([4, 6, 0, 8])
    taken = FAMILY.take(columns)
    assert [family.name for family in taken.families] == [
        "gaussian",
        "negative_binomial",
        "multinomial",
    ]
    found = taken.value(y[:, columns], eta[:, columns])
    np.testing.assert_allclose(found, FAMILY.value(y, eta)[:, columns], rtol=1e-9)


def test_part_of_a_multinomial_response_is_refused():
    with pytest.raises(ValueError, match=r"columns \[1, 2, 3\] of a multinomial response"):
        FAMILY.take([0, 1, 2])


@pytest.mark.parametrize("columns", [[[0], [0]], [[0], [2]], [[0, 1]], [[1], [2]], [[0], []]])
def test_columns_must_be_a_partition(columns):
    with pytest.raises(ValueError, match="column from 0 once"):
        Mixed([Gaussian(), Poisson()], columns)
