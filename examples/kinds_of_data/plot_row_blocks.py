"""
Data larger than memory: a file in row blocks
=============================================

X is in an NPY file and is read in blocks of rows. The fit takes a few passes over the file and is
that of the same data in memory; the user guide explains what each pass computes ("Large data").
"""

import tempfile
from pathlib import Path

import numpy as np

import thinrank as tr

# %%
# A file
# ------
# 8000 samples of 2500 predictors in single precision, 80 MB. Twelve predictors act on 20 responses
# through two factors.

rng = np.random.default_rng(0)
X = rng.standard_normal((8000, 2500), dtype=np.float32)
effects = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 20))
Y = (X[:, :12] @ effects + 3 * rng.standard_normal((8000, 20))).astype(np.float32)
file = Path(tempfile.mkdtemp()) / "X.npy"
np.save(file, X)

# %%
# The fit
# -------
# Two blocks are in memory at a time: one that is used, and one that is read meanwhile.

blocks = tr.designs.Blocks(file, block_rows=1000)
print(blocks.shape, blocks.dtype)
est = tr.SparseReducedRankRegressor(rank=2, row_sparsity=12, column_sparsity=None).fit(blocks, Y)
print("passes:", est.n_passes_)
print("predictors:", est.row_support_)

# %%
# The same in memory
# ------------------

same = tr.SparseReducedRankRegressor(rank=2, row_sparsity=12, column_sparsity=None).fit(X, Y)
difference = np.abs(est.coef_ - same.coef_).max() / np.abs(same.coef_).max()
print("same predictors:", np.array_equal(est.row_support_, same.row_support_))
print(f"largest difference of coefficients: {difference:.0e} of the largest")

tr.plot.coefficients(est)
