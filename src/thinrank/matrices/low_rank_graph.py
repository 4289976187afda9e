"""Low-rank structure of few nodes in a symmetric matrix."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thinrank.core.checks import check_choice, is_auto, positive_integer
from thinrank.core.factors import Factors
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.description import signs_of_largest
from thinrank.estimators.fit import whole_fit
from thinrank.matrices.decomposition import Decomposition
from thinrank.matrices.held_out_components import choose_components
from thinrank.matrices.held_out_pairs import GraphSizes, choose_graph_sizes, held_out
from thinrank.matrices.links import Links, pair_indices, score_pairs, strongest_pairs
from thinrank.matrices.pairs import LowRank, Pairs
from thinrank.matrices.sparse_pca import SparsePCA
from thinrank.matrices.symmetric_fit import best_nodes, fit_nodes, scatter
from thinrank.matrices.symmetric_input import KINDS, as_pairs, check_symmetric, kind_of, rows_of
from thinrank.minimize import check_size, seed_from


@dataclass(eq=False, repr=False)
class SparseLowRankGraph(Decomposition):
    r"""Low-rank structure of few nodes in a graph, a covariance or a correlation matrix.

    A symmetric matrix is approximated by

    .. math:: S \approx \mu + V \, \mathrm{diag}(\lambda) \, V^\top,

    with few components, eigenvalues of either sign (groups whose members are linked with each other
    have positive ones, groups that are linked with other groups negative ones), and rows of V that
    are zero except for few nodes. The mean μ of all pairs is optional. The fit minimizes the sum of
    squares over the known pairs: the diagonal can be ignored, and NaN means that a pair is unknown.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Number of components. 0 competes in the automatic choice.
    row_sparsity : int, None or "auto", default="auto"
        Number of nodes, that is, of rows of V that are not zero. None for no limit.
    kind : {"auto", "adjacency", "covariance", "correlation"}, default="auto"
        What the matrix is. It determines how sizes are chosen. "auto": a covariance matrix if the
        diagonal is positive and no entry exceeds the root of the product of its two variances, a
        correlation matrix if the diagonal is 1 as well, and an adjacency matrix otherwise.
    diagonal : {"auto", "keep", "ignore"}, default="auto"
        Whether the diagonal is part of the data. "auto" ignores it: a graph says nothing of a node
        and itself, and variances contain those of the noise. What is ignored is replaced by the
        fit's.
    center : bool or "auto", default="auto"
        Whether μ is estimated; otherwise it is 0. "auto": for an adjacency matrix with automatic
        sizes whichever predicts pairs left out better, and False otherwise.
    shrinkage : bool or "auto", default="auto"
        Whether the eigenvalues of an adjacency matrix are multiplied by the factors, from 0 to 1,
        with which they predict pairs left out best. "auto": if a size is chosen automatically.
    n_samples : int, default=None
        Number of samples from which a covariance or correlation matrix was computed. None: from
        the rank of the matrix, or from the median of its squared correlations.
    max_iter : int, default=50
        Largest number of rounds of imputation.
    random_state : int, RandomState instance or None, default=None
        Seed of the random parts into which pairs or nodes are divided; None is the same as 0.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (rank,)
        λ, in decreasing order of their absolute values before shrinkage.
    eigenvectors_, components_ : ndarray of shape (n_nodes, rank), and its transpose
        V. The entry of largest absolute value in each column is positive.
    mean_, rank_ : float and int
        μ, and the number of components.
    row_support_, support_ : ndarray of int, and the same as a mask of shape (n_nodes,)
        The nodes that have a row in V that is not zero.
    shrinkage_ : ndarray of shape (rank,)
        The factors of the eigenvalues; 1 without shrinkage.
    factors_ : Factors
        Balanced factors of V diag(λ) Vᵀ. Rows of ``factors_.U`` are positions of the nodes in a
        space in which near nodes are linked alike.
    kind_, n_samples_ : str, and int or None
        What the matrix was taken for, and the number of samples that was used; None for an
        adjacency matrix.
    best_params_ : dict
        ``rank``, ``row_sparsity`` and ``center`` of the fit.
    search_ : dict
        What the automatic choice compared; empty if nothing was chosen. For an adjacency matrix
        ``z``, the evidence for each component in standard errors, and ``errors``, the held-out mean
        squared error for each number of nodes. For other matrices ``components``, the records of
        :class:`SparsePCA`.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of nodes, and their names if S is a data frame.

    See Also
    --------
    sklearn.cluster.SpectralClustering : Groups of nodes.

    Notes
    -----
    **Graphs.** Each fifth of the pairs is left out in turn and predicted from the others. A
    component is kept if the pairs left out agree with it by three standard errors, and the number
    of nodes has the smallest error. Noise need not have the same variance for all pairs. With the
    mean subtracted, a graph whose links are independent with equal probabilities (Erdős–Rényi) has
    rank 0: no structure beyond its density. Degrees that differ are structure, a component.

    **Covariance.** Pairs left out do not help, since the noise of a sample covariance matrix is of
    low rank. `n_samples` random rows with this covariance matrix are drawn, which are as good as
    the data if these are normal, and the sizes are those that :class:`SparsePCA` chooses for them.
    For data with heavy tails use rank correlations.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> club = tr.datasets.load_karate_club()
    >>> graph = tr.SparseLowRankGraph().fit(club.adjacency)
    >>> graph.rank_ >= 1
    True
    >>> graph.predict_links(top=2).pairs.shape
    (2, 2)
    """

    rank: Any = "auto"
    row_sparsity: Any = "auto"
    _: KW_ONLY
    kind: str = "auto"
    diagonal: str = "auto"
    center: Any = "auto"
    shrinkage: Any = "auto"
    n_samples: int | None = None
    max_iter: int = 50
    random_state: Any = None

    def _stored_shapes(self) -> dict[str, Any]:
        nodes, rank = self.factors_.shape[1], self.factors_.rank
        return {
            **super()._stored_shapes(),
            "eigenvalues_": (rank,),
            "eigenvectors_": (nodes, rank),
            "shrinkage_": (rank,),
            "_known": (nodes, nodes),
            "_unknown": (len(self._unknown), 2),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> SparseLowRankGraph:
        """Fit the model to a symmetric matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_nodes, n_nodes)
            S. A pair with NaN on both sides of the diagonal is unknown. In a sparse matrix an entry
            that is not stored is a known 0, and a stored NaN is unknown. Sparse matrices with more
            than 1000 nodes are not made dense.
        y : None
            Ignored.

        Returns
        -------
        self : SparseLowRankGraph
        """
        with whole_fit(self, X=X):
            S = check_symmetric(self, X)
            rank, size = self._check_parameters(S.shape[0])
            self.kind_ = kind_of(S) if self.kind == "auto" else self.kind
            pairs = as_pairs(S, self.diagonal == "keep")
            if pairs.count == 0:
                raise ValueError("S must have a known pair, but all its pairs are NaN")
            self.search_ = {}
            self.n_samples_: int | None = None
            self._share, self._beside_factors, self._beside_values = 1.0, np.zeros(0), np.zeros(0)
            self._beside_vectors = np.zeros((S.shape[0], 0))
            seed, center, factors = seed_from(self.random_state), self.center is True, None
            if rank is not None and size is not None:
                if self.shrinkage is True:
                    factors = held_out(pairs, rank, size, center=center, seed=seed).shrinkage
            elif self.kind_ == "adjacency":
                sizes = self._graph_sizes(pairs, rank, size, seed)
                rank, size, center = sizes.rank, sizes.size, sizes.center
                if self.shrinkage is not False:
                    factors = sizes.tried.shrinkage[:rank]
            else:
                rank, size = self._covariance_sizes(S, rank, size, seed)
            nodes, fit = best_nodes(
                pairs, rank, size, center=center, rounds=self.max_iter, thorough=True
            )
            factors = np.ones(fit.rank) if factors is None else factors
            self._keep(pairs, scatter(fit, nodes, pairs.n_nodes), nodes, factors)
        return self

    def reconstruct(self, nodes: Any = None) -> np.ndarray:
        """Expected entries of the matrix, μ + V diag(λ) Vᵀ.

        Parameters
        ----------
        nodes : array-like of int, default=None
            Nodes for which the entries are computed; None for all.

        Returns
        -------
        ndarray of shape (n_nodes, n_nodes)
        """
        check_is_fitted(self)
        V = self.eigenvectors_ if nodes is None else self.eigenvectors_[np.asarray(nodes)]
        return self.mean_ + (V * self.eigenvalues_) @ V.T

    def predict_links(self, pairs: Any = None, top: int | None = None) -> np.ndarray | Links:
        """Scores of given pairs, or the strongest pairs that are not linked.

        The score of a pair is what is expected of it by the other pairs: where its own entry was
        known, its influence on the fit is taken out, to first order. If a graph has few nodes by
        choice, a fit of all nodes is added, with the factor that predicts left-out pairs best, so
        that pairs outside of these nodes have different scores.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2), default=None
            Indices or names of the two nodes of each pair.
        top : int, default=None
            Number of pairs to return if `pairs` is None, 10 if both are.

        Returns
        -------
        ndarray of shape (n_pairs,) or Links
            With `pairs` their scores. Otherwise ``pairs`` and ``scores`` of those with the largest
            scores (of a covariance or correlation matrix in absolute value) among the pairs whose
            entry was 0 or unknown.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        fit, influence = self._scores()
        unknown = self._unknown[:, 0], self._unknown[:, 1]
        known = Pairs(self._known, unknown, self.diagonal == "keep")
        if pairs is not None:
            if top is not None:
                raise ValueError("pairs and top cannot be given together")
            i, j = pair_indices(pairs, self.n_features_in_, names).T
            return score_pairs(fit, influence, known, i, j)
        number = 10 if top is None else positive_integer("top", top)
        absolute = self.kind_ != "adjacency"
        found, scores = strongest_pairs(fit, influence, known, number, absolute=absolute)
        return Links(found if names is None else names[found], scores)

    def _scores(self) -> tuple[LowRank, np.ndarray]:
        """The components that score pairs, and the influence of each node on its own ones."""
        if "_share" not in vars(self):  # a model that an earlier version saved
            fit = LowRank(self.mean_, self.eigenvalues_, self.eigenvectors_)
            return fit, self.eigenvectors_**2 @ self.shrinkage_
        factors = np.concatenate([self._share * self.shrinkage_, self._beside_factors])
        values = np.concatenate([self._share * self.eigenvalues_, self._beside_values])
        vectors = np.hstack([self.eigenvectors_, self._beside_vectors])
        return LowRank(self.mean_, values, vectors), vectors**2 @ factors

    def _graph_sizes(
        self, pairs: Pairs, rank: int | None, size: int | None, seed: int
    ) -> GraphSizes:
        """Sizes that predict pairs left out; components of all nodes that help to score pairs."""
        centers = (True, False) if is_auto(self.center) else (bool(self.center),)
        sizes = choose_graph_sizes(pairs, rank=rank, size=size, centers=centers, seed=seed)
        self.search_ = {
            "z": sizes.tried.z,
            "n_nodes": np.array(list(sizes.errors)),
            "errors": np.array(list(sizes.errors.values())),
        }
        self._share, self._beside_factors = sizes.share, sizes.everywhere
        every = fit_nodes(pairs, len(sizes.everywhere), center=sizes.center, rounds=self.max_iter)
        self._beside_values = every.values * sizes.everywhere
        self._beside_vectors = every.vectors
        return sizes

    def _covariance_sizes(
        self, S: np.ndarray, rank: int | None, size: int | None, seed: int
    ) -> tuple[int, int]:
        """Sizes that SparsePCA chooses for random rows with this covariance matrix."""
        if np.any(np.isnan(np.diag(S))) or np.any(np.diag(S) <= 0):
            raise ValueError(
                f'with kind="{self.kind_}" the diagonal of S must be positive: variances, or 1'
            )
        rows, self.n_samples_ = rows_of(np.nan_to_num(S, nan=0.0), self.n_samples, seed)
        share = SparsePCA.least_share
        choice = choose_components(rows, rank, size, least_share=share, seed=seed)
        self.search_ = {"components": choice.records}
        # there may be too few samples to choose the number of nodes for a given rank
        found, size = choice.rank or rank or 0, (*choice.features, len(S))[0]
        return found, size if found else 0

    def _keep(self, pairs: Pairs, fit: LowRank, nodes: np.ndarray, factors: np.ndarray) -> None:
        """Set the fitted attributes; components of eigenvalue 0 are none."""
        real = fit.values != 0
        fit = LowRank(fit.mean, fit.values[real], fit.vectors[:, real])
        factors = np.asarray(factors, dtype=float)[real]
        V = fit.vectors * signs_of_largest(fit.vectors)
        self.mean_ = float(fit.mean)
        self.shrinkage_, self.eigenvalues_ = factors, fit.values * factors
        self.eigenvectors_, self.components_ = V, V.T
        root = np.sqrt(np.abs(self.eigenvalues_))
        self.factors_ = Factors(V * root, V * (root * np.sign(self.eigenvalues_)))
        self.support_ = np.any(V != 0, axis=1)
        self.best_params_ = {
            "rank": fit.rank,
            "row_sparsity": len(nodes) if fit.rank else 0,
            "center": bool(fit.mean != 0),
        }
        self._known = pairs.known
        self._unknown = np.column_stack(pairs.unknown)
        if fit.rank == 0:
            warnings.warn(
                "no structure was found beyond "
                + ("the mean of the pairs" if self.kind_ == "adjacency" else "independent noise")
                + ": rank_ is 0 and all scores are equal. Give rank= to fit components anyway.",
                SelectionWarning,
                stacklevel=3,
            )

    def _check_parameters(self, n: int) -> tuple[int | None, int | None]:
        """The rank and the number of nodes, None where they are to be chosen."""
        check_choice("kind", self.kind, ("auto", *KINDS))
        check_choice("diagonal", self.diagonal, ("auto", "keep", "ignore"))
        for name in ("center", "shrinkage"):
            value = getattr(self, name)
            if not (is_auto(value) or isinstance(value, (bool, np.bool_))):
                raise ValueError(f'{name} must be True, False or "auto", got {value!r}')
        size = self._given("row_sparsity", n, "the number of nodes")
        rank = self._given("rank", size or n, "the number of nodes, or row_sparsity")
        positive_integer("max_iter", self.max_iter)
        if self.n_samples is not None:
            check_size("n_samples", self.n_samples, 10**9, "samples; or None", least=4)
        return rank, size
