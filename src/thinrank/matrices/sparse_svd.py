"""Singular value decomposition with few rows and few columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BiclusterMixin
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.progress import progress_bar
from thinrank.core.warnings import SelectionWarning
from thinrank.designs import Dense, Sparse
from thinrank.estimators.fit import SIZES, whole_fit
from thinrank.estimators.validation import check_matrix
from thinrank.matrices.decomposition import BLOCK_ENTRIES, Components
from thinrank.matrices.given_sizes import nearest
from thinrank.matrices.layers import Discovery, Size, discover, joined, leading, minus, refitted
from thinrank.minimize import check_size, seed_from

_NOTHING = (
    "No block of rows and columns stands out from the noise, so that the decomposition has rank 0. "
    "If all rows take part in the pattern (samples, for example), set row_sparsity=None; if all "
    "columns do, set column_sparsity=None; or give the sizes."
)
_SIZES_UNKNOWN = (
    "No block of rows and columns stands out from the noise, so that the automatic sizes keep all "
    "rows or columns. Give row_sparsity and column_sparsity to limit them."
)

_BACKGROUND = (
    " Before that, {} component(s) to which most rows and columns contribute were removed; their "
    "sum is background_."
)


@dataclass(eq=False, repr=False)
class SparseSVD(BiclusterMixin, Components):
    """Singular value decomposition that uses few rows and few columns of a matrix.

    It minimizes ‖X − Θ‖²_F over matrices Θ of low rank with few non-zero rows and columns. With
    ``layers=True`` Θ is a sum of matrices of rank one with rows and columns of their own, which
    are biclusters.

    Automatic sizes need no assumption about the noise level, and are meant for noise that is not
    white. They are found where rows and columns are divided by the scales of their noise. A row
    belongs to a layer if its score stands out from the scores of the other rows; if the columns of
    the noise are correlated, all scores vary more, and so does the limit. A layer is accepted only
    if rows, columns and cells that were left out of its fit show it, too. In consequence a factor
    to which *all* rows contribute is not found by default, because it cannot be distinguished from
    noise with correlated columns; ``row_sparsity=None`` looks for it.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Rank of Θ, or number of layers. "auto" may find rank 0.
    row_sparsity, column_sparsity : int, None or "auto", default="auto"
        Numbers of non-zero rows and columns, with ``layers=True`` those of each layer; None for
        all.
    layers : bool, default=False
        Whether each component has rows and columns of its own. The layers are found one after the
        other, and then fitted together by least squares; they need not be orthogonal.
    background : int or "auto", default="auto"
        Number of components that are removed before because most rows and columns contribute to
        them, such as column means and common factors of the noise, behind which a block may hide.
        "auto" removes them if a search finds nothing else, as far as cells that were left out show
        that they are there. It is 0 if no size is automatic, or if fewer than 10 % of the cells
        are not zero.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random block from which the singular vectors of large matrices are computed if
        all sizes are given; None is 0. Automatic sizes do not depend on it.
    verbose : int, default=0
        Whether to show the progress of the automatic search.

    Attributes
    ----------
    components_, left_vectors_ : arrays of shape (rank, n_columns) and (n_rows, rank)
        Right and left singular vectors: unit length, and orthogonal unless ``layers=True``. In each
        component the entry of largest absolute value is positive.
    singular_values_ : ndarray of shape (rank,)
        Singular values, decreasing.
    factors_, rank_ : Factors and int
        Θ = U Vᵀ, and its rank.
    row_support_, column_support_ : ndarray of int
        Sorted indices of the rows and columns that are not zero in Θ.
    rows_, columns_ : ndarray of bool of shape (rank, n_rows) and (rank, n_columns)
        Rows and columns of each layer, if ``layers=True``. ``biclusters_`` is the pair of both, and
        ``get_indices``, ``get_shape`` and ``get_submatrix`` are those of scikit-learn.
    background_ : Factors
        The sum of the components that were removed.
    search_ : dict of str to ndarray
        One entry per layer that the automatic search looked at, the last one usually rejected:
        "singular_value" (of the matrix with equal noise, if a size is automatic), the probabilities
        "rows" and "columns" that noise has as many outliers among the rows and columns left out
        (NaN if not tested), "agreement" with the cells left out in standard errors, and "accepted".
        Empty if nothing was chosen automatically.
    best_params_ : dict
        The sizes of the result.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of columns of X, and their names if X was a data frame.

    See Also
    --------
    SparsePCA : The same for samples in rows, of which none is left out.
    SparseMatrixCompletion : The same with missing cells.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 80))
    >>> X[:10, :8] += 3
    >>> svd = tr.SparseSVD().fit(X)
    >>> svd.rank_, svd.row_support_, svd.column_support_
    (1, array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), array([0, 1, 2, 3, 4, 5, 6, 7]))
    """

    rank: Any = "auto"
    row_sparsity: Any = "auto"
    column_sparsity: Any = "auto"
    _: KW_ONLY
    layers: bool = False
    background: Any = "auto"
    random_state: Any = None
    verbose: int = 0

    def _stored_shapes(self) -> dict[str, Any]:
        rows, rank = self.factors_.shape[0], self.factors_.rank
        own = {"left_vectors_": (rows, rank), "singular_values_": (rank,)}
        return {**super()._stored_shapes(), **own}

    def fit(self, X: Any, y: Any = None) -> SparseSVD:
        """Decompose a matrix.

        Parameters
        ----------
        X : array, data frame, sparse matrix, LinearOperator or Design, of shape \
(n_rows, n_columns)
            The matrix. It is not centered. Of a sparse matrix only blocks are made dense.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with whole_fit(self, X=X):
            A = _dense_if_small(check_matrix(self, X))
            rank, *limits = self._check_sizes(A.shape)
            seed = seed_from(self.random_state)
            if self.layers:
                found = self._discover(A, rank, *limits)
                factors = refitted(minus(A, found.background), found.layers)
            else:
                factors, found = self._joint(A, rank, limits, seed)
            self._keep_factors(factors)
            sizes: list[Any] = [len(self.row_support_), len(self.column_support_)]
            if self.layers:
                sizes = [np.count_nonzero(x, axis=1).tolist() for x in (self.rows_, self.columns_)]
            self.search_, self.background_ = _table(found), found.background
            self.best_params_ = dict(zip(SIZES, (self.rank_, *sizes), strict=True))
            self._n_features_out = self.rank_
        return self

    def _check_sizes(self, shape: tuple[int, int]) -> tuple[Size, Size, Size]:
        """Rank, rows and columns; None for those that are to be chosen."""
        words = (f"n_samples = {shape[0]}, rows of X", f"n_features = {shape[1]}, columns of X")
        rows = self._given("row_sparsity", shape[0], words[0])
        columns = self._given("column_sparsity", shape[1], words[1])
        if not is_auto(self.background):
            check_size("background", self.background, min(shape), f'or "auto"; {words[0]}', least=0)
        most = min(shape) if self.layers else min(rows or shape[0], columns or shape[1])
        return self._given("rank", most, f"the sizes, {words[0]}, {words[1]}"), rows, columns

    @property
    def _background(self) -> int | None:
        return None if is_auto(self.background) else int(self.background)

    def _discover(self, A: Design, rank: Size, rows: Size, columns: Size) -> Discovery:
        with progress_bar("layers", rank, show=bool(self.verbose)) as update:
            found = discover(
                A, rows, columns, rank=rank, background=self._background, progress=update
            )
        if not found.layers:
            message = _NOTHING if rank is None or self.layers else _SIZES_UNKNOWN
            if found.background.rank:
                message += _BACKGROUND.format(found.background.rank)
            warnings.warn(message, SelectionWarning, stacklevel=4)
        return found

    def _joint(
        self, A: Design, rank: Size, limits: Sequence[Size], seed: int
    ) -> tuple[Factors, Discovery]:
        found = Discovery([], leading(A, self._background or 0), [])
        # sizes that are smaller than the matrix belong to all layers together
        whole = [size if size == n else None for size, n in zip(limits, A.shape, strict=True)]
        if None in (rank, *limits):
            found = self._discover(A, rank, *whole)
        A = minus(A, found.background)
        rank = len(found.layers) if rank is None else rank
        if not rank:
            return Factors.zero(A.shape, A.prototype), found
        used = list(A.shape)
        if found.layers:
            factors = joined(A, found.layers, rank)
            if whole == limits:
                return factors, found
            supports = factors.row_support, factors.column_support
            used = [max(support.shape[0], rank) for support in supports]
        rows, columns = (n if size is None else size for n, size in zip(used, limits, strict=True))
        return nearest(A, min(rank, rows, columns), rows, columns, seed=seed), found

    @property
    def rows_(self) -> np.ndarray:
        """Rows of each layer."""
        return self._of_layers("left_vectors_").T

    @property
    def columns_(self) -> np.ndarray:
        """Columns of each layer."""
        return self._of_layers("components_")

    def _of_layers(self, name: str) -> np.ndarray:
        check_is_fitted(self, "factors_")
        if not self.layers:
            raise AttributeError(
                "biclusters are layers with rows and columns of their own: set layers=True"
            )
        return arrays.to_numpy(getattr(self, name)) != 0

    def _scores(self, design: Design) -> Array:
        V = self.components_.T
        return design @ arrays.namespace(V).linalg.pinv(V).T


def _dense_if_small(A: Design) -> Design:
    """A small sparse matrix as a dense one, whose blocks are copied much faster."""
    if isinstance(A, Sparse) and A.shape[0] * A.shape[1] <= BLOCK_ENTRIES:
        return Dense(A.matrix.toarray())
    return A


def _table(found: Discovery) -> dict[str, np.ndarray]:
    """What the search looked at, one entry per layer in each column."""
    tested = [evidence for _, evidence in found.tried if evidence is not None]
    return {
        "singular_value": np.array([value for value, _ in found.tried]),
        "rows": np.array([evidence.rows for evidence in tested]),
        "columns": np.array([evidence.columns for evidence in tested]),
        "agreement": np.array([evidence.agreement for evidence in tested]),
        "accepted": np.array([e is None or e.accepted for _, e in found.tried], dtype=bool),
    }
