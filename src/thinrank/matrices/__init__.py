"""Sparse SVD, principal components, completion and graphs: estimators of bare matrices."""
