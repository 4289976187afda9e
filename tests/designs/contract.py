"""What every design can do, against the dense matrix that it stands for."""

import tracemalloc

import numpy as np


class NumPy:
    """Like the fixture ``library``, for designs that know NumPy only."""

    def array(self, x, dtype="float64"):
        return np.asarray(x, dtype=dtype)

    index = numpy = staticmethod(np.asarray)

    def check(self, *outputs, dtype="float64"):
        for out in outputs:
            assert type(out) is np.ndarray
            assert out.dtype == dtype


def assert_acts_like(design, X, library=None, dtype="float64", tol=None):
    """Every method of the contract, against the explicit X."""
    library = library or NumPy()
    tol = tol or {"float32": 2e-4, "float64": 1e-10}[dtype]
    rng = np.random.default_rng(3)
    n, p = X.shape
    assert tuple(design.shape) == (n, p)
    assert design.prototype.shape == (0,)
    library.check(design.prototype, dtype=dtype)
    index, scale, center = np.array([p // 2, 0, p - 1]), rng.uniform(0, 2, n), rng.normal(size=p)
    some, to = library.index(index), lambda x: library.array(x, dtype)
    wide, tall = rng.standard_normal((p, 4)), rng.standard_normal((n, 4))
    pairs = [
        *((design @ to(b), X @ b) for b in (wide, wide[:, 0])),
        *((design.transposed_product(to(b)), X.T @ b) for b in (tall, tall[:, 0])),
        (design.columns(some), X[:, index]),
        (design.gram(some), X[:, index].T @ X[:, index]),
        (design.gram(), X.T @ X),
        (design.column_norms(), np.linalg.norm(X, axis=0)),
        (design.column_norms(to(scale)), np.linalg.norm(scale[:, None] * X, axis=0)),
        (design.column_norms(None, to(center)), np.linalg.norm(X - center, axis=0)),
        (
            design.column_norms(to(scale), to(center)),
            np.linalg.norm(scale[:, None] * (X - center), axis=0),
        ),
    ]
    size = max(np.abs(X).max(), 1.0) ** 2
    for out, expected in pairs:
        library.check(out, dtype=dtype)
        assert tuple(out.shape) == expected.shape
        np.testing.assert_allclose(library.numpy(out), expected, rtol=tol, atol=tol * size)


def peak_of(work):
    """The memory that some work takes, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
