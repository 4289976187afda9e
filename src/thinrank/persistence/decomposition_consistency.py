"""Whether the parts of a loaded decomposition of a bare matrix fit together."""

from __future__ import annotations

from typing import Any

from thinrank.persistence.errors import ModelFileError, as_model_file_error
from thinrank.persistence.parts import check_factors, check_shapes


def check_svd(model: Any) -> None:
    """Check a SparseSVD."""
    rows, columns, rank = _sizes(model)
    check_shapes(
        model,
        {
            "components_": (rank, columns),
            "left_vectors_": (rows, rank),
            "singular_values_": (rank,),
        },
    )


def check_components(model: Any) -> None:
    """Check a SparsePCA."""
    _, features, rank = _sizes(model)
    expected: dict[str, tuple[int, ...]] = {
        "components_": (rank, features),
        "_weights": (features, rank),
        "mean_": (features,),
        "explained_variance_ratio_": (rank,),
    }
    if vars(model).get("scale_") is not None:
        expected["scale_"] = (features,)
    check_shapes(model, expected)


def check_completion(model: Any) -> None:
    """Check a SparseMatrixCompletion."""
    rows, columns, rank = _sizes(model)
    check_shapes(
        model,
        {
            "_loadings": (columns, rank),
            "row_center_": (rows,),
            "column_center_": (columns,),
            "components_": (rank, columns),
            "left_vectors_": (rows, rank),
            "singular_values_": (rank,),
        },
    )
    for name in ("ridge_", "_least_gain"):
        if not isinstance(vars(model).get(name), float):
            raise ModelFileError(f"{name} must be a number")


def check_graph(model: Any) -> None:
    """Check a SparseLowRankGraph."""
    _, nodes, rank = _sizes(model)
    check_shapes(
        model, {"eigenvalues_": (rank,), "eigenvectors_": (nodes, rank), "shrinkage_": (rank,)}
    )
    with as_model_file_error("its parts do not fit together"):
        if model._known.shape != (nodes, nodes):
            raise ModelFileError(f"_known must have the shape {(nodes, nodes)}")
        model.predict_links([[0, 1]])


def _sizes(model: Any) -> tuple[int, int, int]:
    """Rows, columns and rank of the factors, if the number of columns is that of the data."""
    check_factors(model.factors_)
    rows, columns = model.factors_.shape
    if vars(model).get("n_features_in_") != columns:
        raise ModelFileError(f"n_features_in_ must be {columns}, the columns of the factors")
    return rows, columns, model.factors_.rank
