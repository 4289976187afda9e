"""Decompositions of bare matrices: sparse SVD, principal components, completion and graphs.

Here are the computations; the classes with the interface of scikit-learn that use them are in
:mod:`thinrank.estimators`.
"""
