"""
An analysis that a methods section can cite
===========================================

From the data to a figure, the sentence for the methods section and the references. The data are 542
genes of yeast: how strongly each of 106 transcription factors binds to a gene, and the expression
of the gene at 18 times over two cell cycles. The file is downloaded on first use, so that the
documentation shows this script without running it:

.. code-block:: bash

    python examples/start/methods_section.py factors.pdf
"""

import sys

import matplotlib.pyplot as plt

import thinrank as tr

SEED = 0

# %%
# The data, and the fit with automatic sizes
# ------------------------------------------

yeast = tr.datasets.fetch_yeast(as_frame=True)
X, Y = yeast.data, yeast.target
est = tr.SparseReducedRankRegressor(random_state=SEED).fit(X, Y)
print(est.summary(max_rows=5))

# %%
# Which transcription factors, with few false ones among them
# -----------------------------------------------------------
# Selection by prediction and selection with a controlled rate of false discoveries are different
# questions. The experiments in the literature, which no fit has seen, are a check.

found = tr.inference.select_predictors(X, Y, fdr=0.1, random_state=SEED)
named = [X.columns[j] for j in found.selected]
confirmed = [name for name in named if name in yeast.confirmed_factors]
print(f"\n{len(named)} factors at a false discovery rate of 0.1: {', '.join(named)}")
print(
    f"{len(confirmed)} of them are among the {len(yeast.confirmed_factors)} confirmed regulators."
)

# %%
# The figure
# ----------

figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
tr.plot.coefficients(est, max_predictors=25, cluster=True, ax=axes[0])
tr.plot.correlation_circle(est, X, Y, ax=axes[1])
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "factors.pdf")

# %%
# The sentences for the methods section, and the reference
# --------------------------------------------------------

sizes = est.best_params_
print(f"""
We regressed the expression at {Y.shape[1]} times on {X.shape[1]} binding scores of n = {len(X)}
genes by sparse reduced-rank regression (thinrank {tr.__version__}, seed {SEED}). The rank
({sizes["rank"]}), the number of predictors ({len(est.row_support_)}), the number of responses
({len(est.column_support_)}) and the ridge were chosen by the error on held-out rows in 5-fold
cross-validation. Predictors with effects were selected at a false discovery rate of {found.fdr:g}
by the method "{found.method}" [1].

@article{{yu2020recovery,
  author  = {{Yu, Ming and Gupta, Varun and Kolar, Mladen}},
  title   = {{Recovery of simultaneous low rank and two-way sparse coefficient matrices,
             a nonconvex approach}},
  journal = {{Electronic Journal of Statistics}},
  volume  = {{14}},
  number  = {{1}},
  pages   = {{413--457}},
  year    = {{2020}},
}}""")
