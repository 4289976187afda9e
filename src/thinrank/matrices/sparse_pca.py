"""Principal components with few features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.warnings import SelectionWarning
from thinrank.designs import Standardization, standardize
from thinrank.estimators.description import signs_of_largest
from thinrank.estimators.fit import whole_fit
from thinrank.estimators.validation import check_matrix
from thinrank.matrices.decomposition import Components
from thinrank.matrices.held_out_components import choose_components
from thinrank.matrices.sparse_components import own_supports, shared_support
from thinrank.minimize import seed_from


@dataclass(eq=False, repr=False)
class SparsePCA(Components):
    """Principal component analysis with few features.

    With ``shared_support=True`` all components use the same features: of all sets of
    ``column_sparsity`` features, the one whose leading principal components have the largest
    variance is searched, and the components are the principal components of these features. They
    are orthonormal and their scores are uncorrelated. With ``shared_support=False`` components are
    computed one after another, each with features of its own, from the data without the
    projections on the components before it. Without limits both are ordinary principal component
    analysis.

    Automatic sizes are chosen by the variance that components explain in rows that were left out
    of the fit (10 splits). The number of features maximizes this variance, minus ``least_share``
    of the mean over all features for each feature that is used. A component is kept if it explains
    more of the held-out rows than its features do by themselves on average, and if this is
    significant; see the user guide. Features that are uncorrelated give rank 0, whatever their
    variances are.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Number of components; the automatic one is at most 20.
    column_sparsity : int, "auto" or None, default="auto"
        Number of features that the components use together, or, with ``shared_support=False``, that
        each component uses; None for no limit.
    standardize : bool, default=False
        Whether to scale features to unit variance. The sizes then do not depend on the units of the
        features. Constant features are not used.
    shared_support : bool, default=True
        Whether all components use the same features.
    least_share : float, default=0.25
        An automatic number of features contains a further feature if that adds at least this
        fraction of what the features explain on average. With 0, the number of features is the one
        that explains most; larger numbers give fewer features where all are correlated.
    random_state : int, RandomState, Generator or None, default=None
        Determines the splits; None is the same as 0.

    Attributes
    ----------
    components_ : array of shape (rank, n_features)
        The components, of length 1; in each one the entry with the largest absolute value is
        positive. In the units of the standardized features if ``standardize``.
    explained_variance_, explained_variance_ratio_ : arrays of shape (rank,)
        Variance that each component explains, with divisor n_samples − 1, and the same as a
        fraction of the variance of all features. If components are not orthogonal, what each
        explains in addition to those before it.
    singular_values_ : array of shape (rank,)
        Roots of the sums of squares that the components explain.
    mean_, scale_ : arrays of shape (n_features,)
        Means of the features, and standard deviations with divisor n_samples; ``scale_`` is None
        without ``standardize``.
    column_support_ : array of int
        Features with a non-zero entry in some component.
    rank_ : int
        Number of components. It is smaller than a given ``rank`` if the data have a smaller rank.
    factors_ : Factors
        The fitted centered (and scaled) matrix: scores of the training rows, and components.
    best_params_ : dict
        The sizes: ``rank`` and ``column_sparsity`` (a list with ``shared_support=False``).
    search_ : list of dict
        One record per rank that the automatic choice tried: the number of features, the variance
        that is explained in held-out rows (``explained_variance``), and how many standard errors
        the part that features have in common exceeds that of the last accepted rank
        (``null_errors`` under uncorrelated features, ``row_errors`` estimated from the rows).
        Empty if sizes are given.
    warnings_ : list of str
        Texts of the warnings of the last fit.
    n_features_in_, feature_names_in_ : int and array of str
        Number of features, and their names if X is a data frame whose column names are all strings.

    See Also
    --------
    SparseReducedRankRegressor : Components of predictors that explain responses.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 200))
    >>> X[:, :5] += 2 * rng.standard_normal((100, 1))
    >>> pca = tr.SparsePCA().fit(X)
    >>> pca.rank_, pca.column_support_
    (1, array([0, 1, 2, 3, 4]))
    >>> pca.components_[0, pca.column_support_].round(2)
    array([0.48, 0.45, 0.43, 0.44, 0.43])
    >>> pca.transform(X).shape
    (100, 1)
    """

    rank: Any = "auto"
    column_sparsity: Any = "auto"
    _: KW_ONLY
    standardize: bool = False
    shared_support: bool = True
    least_share: float = 0.25
    random_state: Any = None

    def _stored_shapes(self) -> dict[str, Any]:
        features, rank = self.factors_.shape[1], self.factors_.rank
        return {
            **super()._stored_shapes(),
            "_weights": (features, rank),
            "mean_": (features,),
            "explained_variance_ratio_": (rank,),
            **({} if self.scale_ is None else {"scale_": (features,)}),
        }

    @property
    def _n_features_out(self) -> int:
        return self.rank_

    def fit(self, X: Any, y: Any = None) -> SparsePCA:
        """Compute the components.

        Parameters
        ----------
        X : array, data frame, sparse matrix, LinearOperator or Design, of shape \
(n_samples, n_features)
            Data. Sparse matrices are centered implicitly.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with whole_fit(self, X=X):
            design = check_matrix(self, X)
            given = self._check_parameters(design.shape)
            self.warnings_ = []
            moved = standardize(design, scale=self.standardize)
            rank, features = self._sizes(design, *given)
            seed = seed_from(self.random_state)
            if rank == 0:
                V = Q = arrays.zeros((design.shape[1], 0), design.prototype)
            elif self.shared_support:
                V = Q = shared_support(moved.design, rank, features[0], seed)
            else:
                V, Q = own_supports(moved.design, features, seed)
            self._keep(moved, V, Q)
            self.best_params_ = {
                "rank": self.rank_,
                "column_sparsity": (features or [0])[0] if self.shared_support else features,
            }
        return self

    def _scores(self, design: Design) -> Array:
        moved = Standardization(design, self.mean_, self.scale_).applied_to(design)
        return moved @ self._weights

    def _in_units(self, rows: Array) -> Array:
        return (rows if self.scale_ is None else rows * self.scale_) + self.mean_

    def _check_parameters(self, shape: tuple[int, int]) -> tuple[int | None, int | None]:
        """The rank and the number of features, None where they are to be chosen."""
        n, p = shape
        if n < 2:
            raise ValueError(f"X must have at least 2 samples, got n_samples = {n}")
        limit, meaning = p, "the number of features"
        features = self._given("column_sparsity", p, meaning)
        if self.shared_support and features is not None and features < p:
            limit, meaning = features, "column_sparsity"
        if limit > n:
            limit, meaning = n, "the number of samples"
        rank = self._given("rank", limit, meaning)
        share = self.least_share
        if not isinstance(share, Real) or isinstance(share, bool) or not 0 <= float(share) < 1:
            raise ValueError(f"least_share must be a number from 0 to below 1, got {share!r}")
        return rank, features

    def _sizes(
        self, design: Design, rank: int | None, features: int | None
    ) -> tuple[int, list[int]]:
        """The rank, and the number of features of all components or of each."""
        p = design.shape[1]
        self.search_ = []
        if rank is not None and features is not None:
            return rank, [features] * (1 if self.shared_support else rank)
        choice = choose_components(
            design,
            rank,
            features,
            scale=self.standardize,
            shared=self.shared_support,
            least_share=float(self.least_share),
            seed=seed_from(self.random_state),
        )
        self.search_ = choice.records
        if choice.rank == 0 and rank is not None:  # too few rows for splits, or constant features
            self._warn(
                "there are too few samples to choose the number of features: all are used",
                SelectionWarning,
            )
            return rank, [p] * (1 if self.shared_support else rank)
        if choice.rank == 0:
            self._warn(
                "no component is supported by held-out samples: the rank is 0, and transform "
                "returns no columns. Set rank to a number to compute components nevertheless, or "
                "standardize=True if the features have different units",
                SelectionWarning,
            )
        return choice.rank, choice.features

    def _keep(self, moved: Standardization, V: Array, Q: Array) -> None:
        """Store the fitted attributes for directions V, orthogonalised from first to last as Q."""
        xp = arrays.namespace(V)
        V = V * signs_of_largest(V)
        n = moved.design.shape[0]
        rank = Q.shape[1]
        # the weights of the least squares fit; V itself if it is orthonormal
        self._weights = V if self.shared_support else V @ xp.linalg.inv(V.T @ V)
        scores = moved.design @ xp.concat([self._weights, Q], axis=1)
        explained = arrays.column_norms_squared(scores[:, rank:])
        total = arrays.norm(moved.design.column_norms()) ** 2
        self.components_ = V.T
        self.mean_, self.scale_ = moved.center, moved.scale
        self.explained_variance_ = explained / (n - 1)
        self.explained_variance_ratio_ = explained / total if total > 0 else explained * 0
        self.singular_values_ = xp.sqrt(explained)
        self.factors_ = Factors(scores[:, :rank], V)
