"""The loss of a generalised linear model."""

import numpy as np
import pytest
from family_problems import (
    FAMILIES,
    K,
    N,
    P,
    arguments,
    blocks_of,
    literal,
    loss_of,
    quotients,
)

from thinrank import Factors
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import Gaussian

R = 2
everything = pytest.mark.parametrize("parts", ["bare", "everything", "entries"])
every_family = pytest.mark.parametrize("name", FAMILIES)


def point(seed=2):
    rng = np.random.default_rng(seed)
    return Factors(0.5 * rng.standard_normal((P, R)), 0.5 * rng.standard_normal((K, R)))


@everything
@every_family
def test_value_is_that_of_the_definition(name, parts):
    loss, factors = loss_of(name, parts), point()
    expected = literal(name, arguments(name, parts), factors.theta)
    assert loss.value(factors) == pytest.approx(expected, rel=1e-9)
    assert loss.value_and_gradient(factors)[0] == pytest.approx(loss.value(factors))
    zero = literal(name, arguments(name, parts), np.zeros((P, K)))
    assert loss.magnitude == pytest.approx(zero, rel=1e-9)


@everything
@every_family
def test_gradients_are_difference_quotients(name, parts):
    loss, factors = loss_of(name, parts), point()
    expected = quotients(lambda theta: loss.value(Factors(theta, np.eye(K))), factors.theta, h=1e-4)
    value, full = loss.full_gradient(factors.theta)
    assert value == pytest.approx(loss.value(factors), rel=1e-8)
    np.testing.assert_allclose(full, expected, atol=2e-6)
    _, gradient_u, gradient_v = loss.value_and_gradient(factors)
    np.testing.assert_allclose(gradient_u, full @ factors.V, atol=1e-6)
    np.testing.assert_allclose(gradient_v, full.T @ factors.U, atol=1e-6)


def _part(factors, rows, inner):
    """Rows and columns of factors, zero where the restricted loss has fixed columns."""
    U, V = factors.U[rows], factors.V[np.array(inner.targets)]
    return Factors(U, V if inner.fixed is None else V * np.array(inner.fixed)[:, None])


def quadratic_value(form, theta):
    """The form at Θ."""
    phi = theta * form.column_scale
    H, C = form.gram(np.arange(theta.shape[0])), form.cross_columns(0, theta.shape[1])
    return 0.5 * form.constant - np.sum(C * phi) + 0.5 * np.sum(phi * (H @ phi))


@pytest.mark.parametrize(("parts", "damping"), [("bare", 4.0), ("everything", 1.0)])
@every_family
def test_the_form_touches_the_loss(name, parts, damping):
    loss, factors = loss_of(name, parts), point()
    form = loss.majorizer(factors, damping=damping)
    value, gradient = loss.full_gradient(factors.theta)
    assert quadratic_value(form, factors.theta) == pytest.approx(value, rel=1e-9)
    slopes = quotients(lambda theta: quadratic_value(form, theta), factors.theta, h=1e-3)
    np.testing.assert_allclose(slopes, gradient, atol=1e-5)
    other = loss.with_ridge(0.7).majorizer(factors, damping=damping)
    np.testing.assert_allclose(
        quadratic_value(form.with_ridge(0.7), np.eye(P, K)),
        quadratic_value(other, np.eye(P, K)),
        rtol=1e-8,
    )


@pytest.mark.parametrize("parts", ["bare", "intercept", "weights"])
def test_the_form_of_squared_errors_is_the_loss(parts):
    """Where all entries are observed and predictors are orthogonal to the free ones."""
    given = arguments("gaussian", parts)
    if "free" in given:
        weight = given.get("sample_weight", np.ones(N))
        given["X"] -= weight @ given["X"] / weight.sum()
    loss = GeneralizedLinear(family=FAMILIES["gaussian"], **given)
    form = loss.majorizer(point())
    ridge = given.get("ridge", 0.0)
    for seed in range(3):
        theta = np.random.default_rng(seed).standard_normal((P, K))
        # the ridge of the form is a mean over the responses
        scale = form.column_scale**2
        uneven = ridge / 2 * np.sum((theta - point().theta) ** 2 * (scale / scale.mean() - 1))
        expected = loss.full_gradient(theta)[0] + uneven
        assert quadratic_value(form, theta) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("parts", ["bare", "everything"])
@every_family
def test_restricted_losses_have_the_same_values(name, parts):
    loss = loss_of(name, parts)
    if parts == "everything":  # what was computed before must not matter
        assert loss.magnitude > 0
        loss.value(point())
    rows, columns = np.array([1, 2, 4]), np.array([0, 1])
    inner = loss.restrict(rows, columns)
    whole = sorted({0, 1}.union(*(b for b in blocks_of(name) if {0, 1} & set(b)), set()))
    assert np.array(inner.targets).tolist() == whole
    if inner.fixed is not None:
        assert np.array(inner.fixed).tolist() == [float(j in (0, 1)) for j in whole]
    part = _part(point(), rows, inner)
    full = Factors(np.zeros((P, R)), np.zeros((K, R)))
    full.U[rows], full.V[whole] = part.U, part.V
    value, gradient_u, gradient_v = inner.value_and_gradient(part)
    expected, right_u, right_v = loss.value_and_gradient(full)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient_u, right_u[rows], atol=1e-6)
    np.testing.assert_allclose(gradient_v, right_v[whole], atol=1e-6)
    assert inner.magnitude == pytest.approx(loss.magnitude, rel=1e-9)
    assert inner.nearly_quadratic in (True, False)  # asked of losses with their own weights
    again = inner.restrict(np.array([0, 2]), np.arange(len(whole)))
    few = Factors(part.U[[0, 2]], part.V)
    fewer = Factors(part.U * np.array([[1.0], [0.0], [1.0]]), part.V)
    assert again.value(few) == pytest.approx(inner.value(fewer), rel=1e-9)


@every_family
def test_another_ridge(name):
    loss = loss_of(name, "everything")
    given = arguments(name, "everything") | {"ridge": 1.7}
    new = GeneralizedLinear(family=FAMILIES[name], **given)
    for found, right in zip(
        loss.with_ridge(1.7).value_and_gradient(point()),
        new.value_and_gradient(point()),
        strict=True,
    ):
        np.testing.assert_allclose(found, right, atol=1e-6)
    assert loss.ridge == 0.3
    least = GeneralizedLinear(family=FAMILIES[name], least_ridge=0.1, **given).with_ridge(0.0)
    assert least.ridge == 0.1


def test_parts_of_the_rows():
    given = arguments("poisson", "everything")
    loss, index = loss_of("poisson", "everything"), np.array([0, 3, 4, 7, 8, 12, 20, 21])
    by_row = ("X", "Y", "free", "sample_weight", "entry_weight", "offset")
    few = {key: x[index] if key in by_row else x for key, x in given.items()}
    expected = GeneralizedLinear(family=FAMILIES["poisson"], **few)
    assert loss.of_rows(index).value(point()) == pytest.approx(expected.value(point()), rel=1e-9)


def test_entries_of_weight_zero_do_not_matter():
    given = arguments("poisson", "everything")
    one = GeneralizedLinear(family=FAMILIES["poisson"], **given)
    given["Y"] = np.where(given["entry_weight"] == 0, 12345.0, given["Y"])
    other = GeneralizedLinear(family=FAMILIES["poisson"], **given)
    for a, b in zip(
        one.value_and_gradient(point()), other.value_and_gradient(point()), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"Y": np.ones(3)}, r"Y must be a matrix with 3 rows, got shape \(3,\)"),
        ({"free": np.ones((2, 1))}, "free must be a matrix with 3 rows"),
        ({"sample_weight": [1.0, np.nan, 1.0]}, "sample_weight must be finite"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, "sample_weight must not be negative"),
        ({"sample_weight": [1.0, 1.0]}, r"sample_weight must contain 3 numbers, got shape \(2,\)"),
        ({"unit": [1.0, np.inf]}, "unit must be finite"),
        ({"entry_weight": [[1.0, 1.0]] * 2 + [[1.0, np.nan]]}, "entry_weight must be finite"),
        ({"offset": [[0.0, 0.0]] * 2}, "offset must be a matrix with 3 rows and 2 columns"),
    ],
)
def test_arguments_are_named(keywords, message):
    with pytest.raises(ValueError, match=message):
        GeneralizedLinear(np.eye(3), **({"Y": np.ones((3, 2)), "family": Gaussian()} | keywords))


@pytest.mark.parametrize("family", [None, "poisson", Gaussian])
def test_a_family_is_an_object(family):
    with pytest.raises(TypeError, match="family must be an object of tr"):
        GeneralizedLinear(np.eye(3), np.ones((3, 2)), family)


@pytest.mark.parametrize("name", ["ridge", "least_ridge"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), "0.1"])
def test_ridges_are_finite_and_not_negative(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a finite non-negative number, got "):
        GeneralizedLinear(np.eye(3), np.ones((3, 2)), Gaussian(), **{name: value})
