"""Completion of matrices with missing cells."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_choice, check_number, is_auto
from thinrank.core.factors import Factors
from thinrank.core.progress import progress_bar
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.fit import whole_fit
from thinrank.matrices.cells import (
    CENTRES,
    Centre,
    ObservedCells,
    check_cells,
    check_positions,
    empty_lines,
    filled_in,
    means,
)
from thinrank.matrices.completion_search import (
    Candidate,
    Limits,
    Search,
    fit_completion,
    table_of,
)
from thinrank.matrices.decomposition import Decomposition
from thinrank.matrices.masked_factors import EXACT, best_rows
from thinrank.minimize import check_size, seed_from

_NOTHING = (
    "No low-rank structure predicts held-out cells clearly better than {fill}, so that the rank is "
    "0 and missing cells are filled in with {fill}. Give rank=1 to see the first component."
)


@dataclass(eq=False, repr=False)
class SparseMatrixCompletion(OneToOneFeatureMixin, TransformerMixin, Decomposition):
    """Fill in the missing cells of a matrix of low rank with few non-zero rows and columns.

    It minimizes Σ (X_ij − Θ_ij)² over the observed cells plus 2·ridge times the sum of the singular
    values of Θ, over matrices Θ of low rank with few non-zero rows and columns. Without limits on
    the sizes this is the problem of soft-impute; with nothing missing and ``ridge=0`` it is the
    sparse SVD (:class:`SparseSVD`).

    Automatic sizes are chosen by the squared error in held-out cells: every cell is held out once,
    while its row and its column keep their other cells. Among models whose errors hardly differ (by
    half a standard error; one for a lower rank, two for rank 0) the one with fewest parameters is
    taken. All rows and columns with a ridge, and rank 0, are among the candidates. Rows and columns
    with too few cells for that are added in the end if all their cells together show that they
    belong to the block.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Rank of Θ. "auto" may find rank 0.
    row_sparsity, column_sparsity : int, None or "auto", default="auto"
        Numbers of non-zero rows and columns of Θ; None for all.
    ridge : float or "auto", default="auto"
        Penalty on the squares of both factors, in the units of X: without limits on the sizes and
        with nothing missing, it is subtracted from the singular values. "auto" chooses it with the
        sizes; it is 0 if all sizes are given and no cell is missing.
    center : {None, "columns", "rows", "both"}, default=None
        What rows and columns that are not in use are filled in with: zeros, the mean of the
        column, of the row, or the sum of a row and a column effect. Θ is the deviation from
        it. The default is zero, as for the SVD: then a row that is zero in Θ is zero. For tables
        whose columns have different units or levels use "columns", for ratings "both".
    cv : int, default=5
        Number of parts into which the observed cells are divided at random.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random division. None is 0, so that results are reproducible.
    verbose : int, default=0
        Whether to show the progress of the automatic search.

    Attributes
    ----------
    components_, left_vectors_, singular_values_, factors_, rank_, row_support_, column_support_
        See :class:`SparseSVD`; they describe Θ.
    row_center_, column_center_ : ndarray of shape (n_rows,) and (n_columns,)
        Their sums are what ``center`` asks for; zeros where nothing is removed.
    search_ : dict of str to ndarray
        One entry per candidate: "rank", "row_sparsity", "column_sparsity", "ridge" and "error",
        the mean squared error in held-out cells. Empty if nothing was chosen automatically.
    best_params_, ridge_ : dict and float
        Sizes and ridge of the result, and the ridge by itself.
    warnings_ : list of str
        What should be checked.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of columns of X, and their names if X was a data frame.

    See Also
    --------
    SparseReducedRankRegressor : Regression on other variables, with missing responses.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> rng = np.random.default_rng(0)
    >>> theta = np.zeros((40, 30))
    >>> theta[:12, :10] = np.outer(rng.uniform(1, 2, size=12), rng.uniform(1, 2, size=10))
    >>> X = theta + 0.1 * rng.standard_normal(theta.shape)
    >>> X[rng.random(X.shape) < 0.5] = np.nan
    >>> completion = tr.SparseMatrixCompletion().fit(X)
    >>> completion.best_params_["rank"], completion.row_support_.tolist()
    (1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    >>> filled = completion.fit_transform(X)
    >>> bool(np.isnan(filled).any()), round(float(np.abs(filled - theta)[np.isnan(X)].mean()), 2)
    (False, 0.01)
    """

    rank: Any = "auto"
    row_sparsity: Any = "auto"
    column_sparsity: Any = "auto"
    _: KW_ONLY
    ridge: Any = "auto"
    center: str | None = None
    cv: int = 5
    random_state: Any = None
    verbose: int = 0

    def _stored_shapes(self) -> dict[str, Any]:
        (rows, columns), rank = self.factors_.shape, self.factors_.rank
        return {
            **super()._stored_shapes(),
            "_loadings": (columns, rank),
            "row_center_": (rows,),
            "column_center_": (columns,),
            "left_vectors_": (rows, rank),
            "singular_values_": (rank,),
            "ridge_": (),
            "_least_gain": (),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> SparseMatrixCompletion:
        """Estimate Θ from the observed cells.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            NaN is missing. In a sparse matrix stored entries are observed, zeros too if they are
            stored, and all other cells are missing; nothing of the size of X is formed.
            Tensors of other libraries are copied to NumPy arrays.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with whole_fit(self, X=X):
            self._fit(check_cells(self, X)[0])
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Estimate Θ and fill in the missing cells.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            As in ``fit``.
        y : None
            Ignored.

        Returns
        -------
        array of shape (n_rows, n_columns)
            X with missing cells replaced by the center plus Θ, and observed cells as they were. It
            is dense; ``fit`` and ``predict_cells`` avoid that for large sparse matrices.
        """
        with whole_fit(self, X=X):
            cells, like = check_cells(self, X)
            self._fit(cells)
        centre = Centre(self.row_center_, self.column_center_)
        return arrays.from_numpy(filled_in(cells, self.factors_.U, self.factors_.V, centre), like)

    def transform(self, X: Any) -> Array:
        """Fill in the missing cells of rows, of the same or of other ones.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows with the columns of ``fit``. The scores of a row are found by ridge regression
            of its observed cells on the components. If ``row_sparsity`` limits the rows, a row is
            zero in Θ if its regression explains less than that of every row in use in ``fit``.

        Returns
        -------
        array of shape (n_rows, n_columns)
            X with missing cells filled in.
        """
        check_is_fitted(self, "factors_")
        cells, like = check_cells(self, X, reset=False)
        U, centre = self._scores(cells)
        return arrays.from_numpy(filled_in(cells, U, self._loadings, centre), like)

    def predict_cells(self, rows: Any, columns: Any) -> np.ndarray:
        """Chosen cells of the center plus Θ, without forming the matrix.

        Parameters
        ----------
        rows, columns : array-like of int
            Positions in the matrix of ``fit``; shapes that broadcast. One position per cell.

        Returns
        -------
        ndarray
            Estimates for these cells, observed or not, with the common shape of both.
        """
        check_is_fitted(self, "factors_")
        chosen = [
            check_positions(name, given, size)
            for name, given, size in zip(
                ("rows", "columns"), (rows, columns), self.factors_.shape, strict=True
            )
        ]
        i, j = np.broadcast_arrays(*chosen)
        theta = np.einsum("...k,...k->...", self.factors_.U[i], self.factors_.V[j])
        return theta + self.row_center_[i] + self.column_center_[j]

    def score(self, X: Any, y: Any = None) -> float:
        """Share of the sum of squares of the observed cells about the center that Θ explains.

        The scores of a row are estimated from the same cells, so the share is not that of missing
        cells; for these ``search_["error"]`` has the errors of candidates in held-out cells.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows with the columns of ``fit``.
        y : None
            Ignored.

        Returns
        -------
        float
            1 for a perfect fit, 0 if Θ = 0.
        """
        check_is_fitted(self, "factors_")
        cells, _ = check_cells(self, X, reset=False)
        U, centre = self._scores(cells)
        centred = centre.removed(cells)
        left = centred.values - centred.products(U, self._loadings)
        return 1.0 - float(left @ left) / centred.total if centred.total else 0.0

    def _fit(self, cells: ObservedCells) -> None:
        limits = self._limits(cells)
        self.warnings_ = []
        for text in empty_lines(cells, self._fill()):
            self._warn(text, UserWarning)
        centre = Centre.of(cells, self.center)
        chosen = limits
        tried: list[Candidate] = []
        if None in limits:
            with progress_bar("candidates", show=bool(self.verbose)) as update:
                search = Search(
                    cells,
                    limits,
                    centre=self.center,
                    cv=self.cv,
                    seed=seed_from(self.random_state),
                    report=lambda each: update(advance=1, text=_in_words(each, len(cells))),
                )
                best, tried = search.run()
            chosen = Limits(*best.sizes, best.ridge)
        U, self._loadings, self._least_gain = fit_completion(centre.removed(cells), chosen, limits)
        self.row_center_, self.column_center_ = centre.rows, centre.columns
        self._keep_factors(Factors(U, self._loadings).balanced())
        self.ridge_ = chosen.ridge
        self.search_ = table_of(tried, len(cells))
        self.best_params_ = {
            "rank": self.rank_,
            "row_sparsity": len(self.row_support_),
            "column_sparsity": len(self.column_support_),
            "ridge": self.ridge_,
        }
        if not self.rank_:
            self._warn(_NOTHING.format(fill=self._fill()), SelectionWarning)

    def _limits(self, cells: ObservedCells) -> Limits:
        """The parameters, checked; None for what is to be chosen."""
        n_rows, n_columns = cells.shape
        rows = self._given("row_sparsity", n_rows, "n_samples, the rows of X")
        columns = self._given("column_sparsity", n_columns, "n_features, the columns of X")
        most = min(rows or n_rows, columns or n_columns)
        rank = self._given("rank", most, "the smaller of row_sparsity and column_sparsity")
        if not is_auto(self.ridge):
            check_number("ridge", self.ridge, 'a non-negative number or "auto"')
        check_choice("center", self.center, CENTRES)
        ridge = None if is_auto(self.ridge) else float(self.ridge)
        given = Limits(rank, rows, columns, ridge)
        if cells.complete and ridge is None and None not in (rank, rows, columns):
            return Limits(rank, rows, columns, 0.0)
        if None in given:
            words = "the observed cells; or give rank, row_sparsity, column_sparsity and ridge"
            check_size("cv", self.cv, len(cells), words, least=2)
        return given

    def _fill(self) -> str:
        words = {None: "zeros", "columns": "column means", "rows": "row means"}
        return words.get(self.center, "row and column effects")

    def _scores(self, cells: ObservedCells) -> tuple[np.ndarray, Centre]:
        """Scores and center of rows from their observed cells."""
        rows = np.zeros(cells.shape[0])
        if self.center in ("rows", "both"):
            rows = means(cells.replaced(cells.values - self.column_center_[cells.columns]))
            rows[cells.counts == 0] = float(np.mean(self.row_center_))
        centre = Centre(rows, self.column_center_)
        U = np.zeros((cells.shape[0], self.rank_))
        if self.rank_:
            U, gains = best_rows(centre.removed(cells), self._loadings, len(U), self.ridge_)
            U[gains < self._least_gain * (1 - EXACT)] = 0.0  # rows of fit stay in spite of rounding
        return U, centre


def _in_words(tried: Candidate, cells: int) -> str:
    return (
        f"rank {tried.rank}, {tried.rows} rows, {tried.columns} columns: "
        f"error {tried.error / cells:.4g}"
    )
