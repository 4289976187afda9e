"""Two-way sparse reduced-rank regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.designs.blocks import RowBlocks
from thinrank.estimators.base import FactorRegressor, SelectedModel
from thinrank.estimators.validation import check_loss, check_responses, in_memory

if TYPE_CHECKING:
    from thinrank.estimators.responses import Responses


@dataclass(eq=False, repr=False)
class SelectedRegressor(FactorRegressor, SelectedModel):
    """A regression with squared or robust errors."""

    _: KW_ONLY
    loss: Any = "squared"

    def _responses(
        self, design: Design, y: Any, names: Any, entry_weight: Any, offset: Any = None
    ) -> tuple[Any, bool, Responses | None]:
        Y, family = check_responses(self, y, design, missing=True), check_loss(self.loss)
        single = len(Y.shape) == 1
        Y = Y[:, None] if single else Y
        # row blocks are complete
        missing = not isinstance(Y, RowBlocks) and bool(arrays.namespace(Y).any(Y != Y))
        if family is None and entry_weight is None and not missing:
            return Y, single, None
        from thinrank.estimators.responses import numeric_responses  # few fits need it

        responses = numeric_responses(in_memory(Y), entry_weight, family, names)
        return responses.Y, single, responses


@dataclass(eq=False, repr=False)
class SparseReducedRankRegressor(SelectedRegressor):
    """Multi-response regression with a low-rank, row-sparse and column-sparse coefficient matrix.

    Minimizes 1/(2n)·‖Y − XΘ‖² + ridge/2·‖Θ‖² over Θ of rank at most ``rank`` with at most
    ``row_sparsity`` non-zero rows (predictors in use) and at most ``column_sparsity`` non-zero
    columns (responses that they predict), by pursuit (exact fits and exchanges of predictors) or
    by gradient descent with hard thresholding (Yu, Gupta & Kolar).

    By default rank, sparsities and ridge are chosen by the error on held-out rows. The candidates
    include rank 0, which predicts the means, and ridge regression on all predictors.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Largest rank of Θ. "auto" leaves the choice to ``criterion``.
    row_sparsity : int, None or "auto", default="auto"
        Largest number of predictors with non-zero coefficients; None for no limit. "auto" leaves
        the choice to ``criterion``.
    column_sparsity : int, None or "auto", default="auto"
        Largest number of responses that are predicted by more than their mean; None for no limit.
        "auto" leaves the choice to ``criterion``.
    ridge : float or "auto", default="auto"
        Weight of ½‖Θ‖², on the coefficients of the standardized predictors. "auto" chooses it
        together with the sizes, from 0 and 22 values between 1e-5 and 100 times the mean
        curvature of the loss (which is 1 if the predictors are standardized). If ``rank``,
        ``row_sparsity`` and ``column_sparsity`` are all given, "auto" is 0.
    always_keep : list of str or int, boolean mask or None, default=None
        Names (if X is a data frame) or indices of predictors that are in every model, such as
        age, sex or batch. Their coefficients are neither limited in rank or sparsity nor shrunk
        by ``ridge``, and they are not counted in ``row_sparsity``. They are regressed out of Y and
        of the other predictors, which are then standardized; in cross-validation, in each training
        part separately. Rank 0 is the least squares fit on them instead of the means.
    impute : {"mean"} or None, default=None
        What replaces missing cells (NaN) of X, an array or a data frame: the mean of the observed
        cells of the column, in a search for sizes of those in the training part of each split. The
        summary counts them. None makes missing cells an error.
    standardize : bool, default=True
        Whether to scale the predictors to unit root mean square about their mean (about zero
        without intercept), and the responses by the noise in them; see Notes. X is not copied,
        and a sparse X stays sparse. For gradient descent with a fixed step size the responses are
        not scaled.
    loss : {"squared", "huber"} or Family, default="squared"
        "huber" is quadratic for residuals up to 1.345 times a robust estimate of the noise in the
        response and linear beyond, so that outliers count less;
        ``tr.losses.families.Huber(threshold)`` has another threshold.
    solver : {"auto", "pursuit", "gdt"} or Solver, default="auto"
        "pursuit", the same as "auto", fits exactly on the current predictors and exchanges
        predictors while that decreases the objective. "gdt" is gradient descent with hard
        thresholding, the algorithm of the paper. An object of :mod:`thinrank.solvers` has further
        options, such as the step size of ``tr.solvers.GDT(step="theory")``. The search for sizes
        always uses pursuit (with the options of ``solver`` if that is a Pursuit object), because
        the scores of other ranks and numbers of responses follow from an exact fit.
    exchange : bool or "auto", default="auto"
        Whether the fit exchanges predictors after backward elimination from the ridge fit, which is
        better for strong, sparse signals, but not with few samples of correlated predictors. "auto"
        chooses with the sizes, by the same score, and is True if all sizes are given.
    start : str, array of shape (n_features, n_targets), Factors or Start, default="auto"
        Starting point of the fits: "auto" (depends on the solver and the predictors, see
        :class:`thinrank.starts.Auto`), "backward", "lasso", "group_lasso", "proximal",
        "screening", "spectral", coefficients in the units of X and Y, or an object of
        :mod:`thinrank.starts`. Coefficients are used in the final fit only, since in a search
        they could contain information about held-out rows.
    fit_intercept : bool, default=True
        Whether to center X and Y.
    max_iter : int or None, default=None
        Largest number of iterations of every fit; None for the default of the solver, 100 for
        "pursuit" and 10,000 for "gdt". If the final fit reaches it, a ``ConvergenceWarning`` is
        issued. Must be None if ``solver`` is an object, which has its own.
    tol : float, default=1e-7
        Relative change in an iteration below which a solver stops. Pursuit measures the change of
        the objective, gradient descent that of the factors. Not used if ``solver`` is an object,
        which has its own.
    criterion : {"auto", "cv", "pic", "aic", "bic", "gic", "ebic", "gcv"} or Criterion, \
default="auto"
        How the sizes that are "auto" are chosen. "auto" and "cv" are the mean squared error on
        held-out rows. The others are computed on the training rows only, which is faster; they
        assume noise that is independent across responses, and select too many predictors if it
        is not. See :class:`thinrank.selection.Criterion`.
    cv : int, cross-validation splitter or iterable of (train, test), default=5
        The splits. An integer is the number of folds of a random partition, whose seed comes from
        ``random_state``; with at most 500 rows there are two partitions, with at most 333 three.
        A splitter or an iterable is used without further partitions. Not used with other
        criteria, or if all sizes are given.
    refit_rule : {"best", "one_se", "thinnest"}, default="best"
        Which model is chosen by the errors on held-out rows and fitted to all rows: that with the
        fewest predictors, and then responses, of those whose error is allowed. More error is
        allowed in proportion to the fraction of the predictors that a model omits; see
        :func:`thinrank.selection.choice.allowance` for the amounts. Responses are left out only if
        that is shown not to hurt, and rank 0 is chosen unless the best model is clearly better.

        - "best" allows a small increase, and none if the most accurate model has few predictors
          for the number of samples.
        - "thinnest" allows more, for far fewer predictors at some loss of accuracy.
        - "one_se" also allows one standard error of the mean over the splits and, of several
          models with the fewest predictors, chooses the one with the fewest degrees of freedom.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random partition into folds and of randomized decompositions in the starts.
        None is 0, so that results are reproducible.
    n_jobs : int or None, default=None
        Number of threads of the search for sizes, over splits and models.
    verbose : int, default=0
        Whether to show progress on standard error.
    callback : callable or None, default=None
        Called with a :class:`~thinrank.core.result.Record` after each model of the search
        (``record.stage == "search"``) and each iteration of the final fit (``"fit"``, with factors
        of the standardized problem). If it returns True, the stage ends: the best model so far is
        fitted, as after Ctrl-C; a fit that was stopped is marked in ``status_``.

    Attributes
    ----------
    factors_ : Factors
        U of shape (n_features, rank) and V of shape (n_targets, rank), in the units of X and Y.
        The scores X @ U (centered) of the training rows are orthogonal and ordered by decreasing
        variance. The columns of V are orthonormal if each response is divided by its standard
        deviation (with ``standardize=False``, without that); in each of them the entry of largest
        absolute value is positive. The rows of predictors that are always kept are zero.
    factor_means_ : array of shape (rank,)
        Means of X @ U over the training rows, which :meth:`transform` subtracts; zeros without
        intercept.
    factor_scale_ : ndarray of shape (rank,)
        Standard deviations of the factors over the training rows, decreasing.
    explained_variance_ratio_ : ndarray of shape (rank,)
        Share of the variance of the responses that each factor explains in the training rows; all
        responses count the same, with ``standardize=False`` by their variance. The shares add up
        to what the factors explain together.
    r2_ : ndarray of shape (n_targets,)
        R² of each response in the training rows: the share of the squares about the mean (about
        zero without intercept) that the fit explains; with ``loss="huber"`` of the deviance. nan
        for constant responses.
    held_out_r2_ : ndarray of shape (n_targets,), or None
        R² of each response in rows that the fit did not see: 1 − Σ(y − ŷ)²/Σ(y − ȳ)² over all
        splits, where ȳ is the mean of the training rows of the split. It is too high, by about 0.2
        with 20 samples and 0.03 with 40, because the sizes were chosen by the same errors. None if
        they were given or chosen by a criterion.
    n_samples_ : int
        Number of rows of positive weight.
    feature_scale_ : ndarray of shape (n_features,)
        Standard deviations of the predictors (root mean squares without intercept). nan for
        predictors that are not in use if X is an operator and ``standardize=False``.
    target_scale_ : ndarray of shape (n_targets,)
        Standard deviations of the observed responses (root mean squares without intercept); 1 for
        constant ones.
    warnings_ : list of str
        The messages of the warnings that the fit issued about its result.
    coef_ : array of shape (n_targets, n_features), or (n_features,) for a one-dimensional Y
        Coefficients, computed from ``factors_`` and ``kept_coef_`` at each call.
    intercept_ : array of shape (n_targets,), or float for a one-dimensional Y
        Intercept.
    kept_ : ndarray of int
        Sorted indices of the predictors that are always kept.
    kept_coef_ : array of shape (n_targets, n_kept), or (n_kept,) for a one-dimensional Y
        Their coefficients.
    rank_ : int
        Rank of the other coefficients, possibly lower than ``rank``; 0 if only means are predicted.
    row_support_, column_support_ : ndarray of int
        Sorted indices of the predictors and responses with non-zero coefficients, without ``kept_``
        and ``kept_coef_``.
    best_params_ : dict
        The rank, row_sparsity, column_sparsity, ridge and exchange of the fit, chosen or given.
    search_ : list of Record
        The models that were tried, with their scores; empty if all sizes were given. With
        ``standardize=True`` held-out errors are in units of the noise in each response, not of Y.
    n_iter_, n_passes_ : int
        Number of iterations of the final fit, and of passes over X, if it is in row blocks.
    status_ : Status
        How the fit ended; ``str(status_)`` is a sentence.
    history_ : History
        One record per iteration: objective, change, supports, seconds.
    imputed_means_ : ndarray of shape (n_features,)
        What replaces missing cells of X in the fit to all rows and in predictions; only with
        ``impute="mean"``.
    feature_categories_ : dict of str to list of str
        The categories of each column of X that is of pandas' dtype ``category``; only if there are
        any. The first, the most frequent, is what the others are compared with; each of the others
        is a predictor with the name "column=category".
    n_features_in_ : int
        Number of predictors.
    feature_names_in_, target_names_in_ : ndarray of str
        Names of the predictors, if X is a data frame, and of the responses, if Y is one.

    Warns
    -----
    thinrank.core.warnings.SelectionWarning
        If sizes were chosen and the result should be checked: no model is better than the means;
        the number of predictors exceeds half of the number of samples; the ridge or the number of
        predictors is the largest that was allowed; the search was interrupted.
    sklearn.exceptions.ConvergenceWarning
        If the final fit reaches ``max_iter`` or diverges.

    See Also
    --------
    SparseReducedRankRegressorCV : The same search with grids, groups and ``cv_results_``.
    thinrank.selection.stability : How stable a selection of predictors is.

    Notes
    -----
    With ``standardize=True`` the responses are scaled by the noise in them: first by their standard
    deviations, then by the standard deviations of the residuals of a fit, but by no less than a
    tenth of their own. With given sizes the fit is repeated in this way until the supports do not
    change, at most three times in all, unless there is a single response or ``row_sparsity``
    exceeds half of the number of samples without a ridge. If sizes are chosen, two looks at few
    models come before the search, to estimate the noise. Supports and predictions then do not
    depend on the units of any predictor or response, nor on those that are constant (zero, without
    intercept), which are left out.

    A model without ridge has fewer predictors than samples; with a ridge it may have all of them.
    With more than 2000 samples and more than 2000 predictors, only models with at most about 2000
    predictors are compared.

    References
    ----------
    M. Yu, V. Gupta and M. Kolar, Recovery of simultaneous low rank and two-way sparse coefficient
    matrices, a nonconvex approach, Electronic Journal of Statistics 14 (2020).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
    >>> est = tr.SparseReducedRankRegressor().fit(X, Y)  # or rank=8, row_sparsity=10, ...
    >>> bool((est.row_support_ == truth.row_support).all())
    True
    >>> est.coef_.shape
    (50, 100)
    """

    rank: int | str = "auto"
    row_sparsity: int | str | None = "auto"
    column_sparsity: int | str | None = "auto"
    _: KW_ONLY
    ridge: float | str = "auto"
    criterion: Any = "auto"
