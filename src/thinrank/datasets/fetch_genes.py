"""Genes: transcription factors and expression, markers and expression."""

from __future__ import annotations

import os

from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.r_files import named_matrix, read_r_file
from thinrank.datasets.remote_files import local_copy

# Transcription factors of which experiments have shown that they regulate the cell cycle.
_CONFIRMED = (
    "ABF1",
    "ACE2",
    "BAS1",
    "CBF1",
    "FKH1",
    "FKH2",
    "GCN4",
    "GCR1",
    "GCR2",
    "LEU3",
    "MBP1",
    "MCM1",
    "MET31",
    "NDD1",
    "REB1",
    "SKN7",
    "STB1",
    "STE12",
    "SWI4",
    "SWI5",
    "SWI6",
)

_YEAST = """\
Yeast cell cycle and transcription factors
------------------------------------------

Number of samples: 542 genes
Number of predictors: 106 transcription factors; how strongly each binds to the gene (ChIP-chip)
Number of responses: 18, the expression of the gene every 7 minutes over two cell cycles
Missing values: none

Source: the data set yeast of the R package spls 2.2-3. Licence of the package: GPL (version 2 or
later).

References: T. I. Lee et al., Transcriptional regulatory networks in Saccharomyces cerevisiae,
Science 298 (2002). P. T. Spellman et al., Molecular Biology of the Cell 9 (1998). H. Chun and
S. Keles, Sparse partial least squares regression for simultaneous dimension reduction and variable
selection, Journal of the Royal Statistical Society B 72 (2010). L. Wang, G. Chen and H. Li, Group
SCAD regression analysis for microarray time course gene expression data, Bioinformatics 23 (2007),
for the 21 confirmed factors.
"""

_CELL_CYCLE = """\
Yeast cell cycle with missing entries
-------------------------------------

Number of samples: 1790 genes
Number of predictors: 113 transcription factors; how strongly each binds to the gene (ChIP-chip)
Number of responses: 18, the expression of the gene every 7 minutes over two cell cycles
Missing values: 626 entries of the responses, NaN

Source: the data set CellCycle of the R package secure 0.6. Licence of the package: GPL (version 3
or later).

References: T. I. Lee et al., Transcriptional regulatory networks in Saccharomyces cerevisiae,
Science 298 (2002). A. Mishra, D. K. Dey and K. Chen, Sequential co-sparse factor regression,
Journal of Computational and Graphical Statistics 26 (2017).
"""

_MICE = """\
Markers and gene expression of mice
-----------------------------------

Number of samples: 60 mice
Number of predictors: 145 microsatellite markers on 19 chromosomes
Number of responses: 83 transcripts, measured in the liver
Missing values: none

Source: the data set mice of the R package spls 2.2-3. Licence of the package: GPL (version 2 or
later).

References: H. Lan et al., Combined expression trait correlations and expression quantitative trait
locus mapping, PLoS Genetics 2 (2006). H. Chun and S. Keles, Expression quantitative trait loci
mapping with multivariate sparse partial least squares regression, Genetics 182 (2009).
"""


def fetch_yeast(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch the yeast cell cycle (transcription factors, expression over time).

    542 genes, 106 predictors that say how strongly each transcription factor binds to a gene, and
    18 responses, its expression over two cell cycles. The file is downloaded on first use (0.4 MB).

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of downloaded files; see :func:`thinrank.datasets.get_data_home`.
    download_if_missing : bool, default=True
        Whether the file may be downloaded if it is not in that folder.
    as_frame : bool or "auto", default="auto"
        Whether to return pandas data frames in place of arrays; "auto" if pandas is installed.

    Returns
    -------
    Bunch
        A dictionary whose values are also attributes:

        data : DataFrame or ndarray of shape (542, 106)
            The predictors X.
        target : DataFrame or ndarray of shape (542, 18)
            The responses Y.
        frame : DataFrame or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        confirmed_factors : list of str
            The 21 transcription factors that experiments have confirmed as regulators of the cell
            cycle.
        DESCR : str
            A description of the data, with source, licence and references.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded. The message says what to do without a network.

    References
    ----------
    H. Chun and S. Keles, Sparse partial least squares regression for simultaneous dimension
    reduction and variable selection, Journal of the Royal Statistical Society B 72 (2010). The data
    set ``yeast`` of the R package spls, licence GPL.
    """
    path = local_copy("spls_yeast.RData", data_home, download_if_missing=download_if_missing)
    yeast = read_r_file(path)["yeast"]
    data, target = named_matrix(yeast["x"]), named_matrix(yeast["y"])
    # The names of the file end in the growth medium, which is the same for all.
    factors = [name.removesuffix("_YPD") for name in data.columns]
    return make_bunch(
        data.values,
        target.values,
        factors,
        target.columns,
        _YEAST,
        as_frame=as_frame,
        confirmed_factors=list(_CONFIRMED),
    )


def fetch_cell_cycle(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch the yeast cell cycle with missing entries (more genes than ``fetch_yeast``).

    1790 genes, 113 predictors that say how strongly each transcription factor binds to a gene, and
    18 responses, its expression over two cell cycles, with 626 missing entries (NaN). The file is
    downloaded on first use (0.3 MB).

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of downloaded files; see :func:`thinrank.datasets.get_data_home`.
    download_if_missing : bool, default=True
        Whether the file may be downloaded if it is not in that folder.
    as_frame : bool or "auto", default="auto"
        Whether to return pandas data frames in place of arrays; "auto" if pandas is installed.

    Returns
    -------
    Bunch
        A dictionary whose values are also attributes:

        data : DataFrame or ndarray of shape (1790, 113)
            The predictors X.
        target : DataFrame or ndarray of shape (1790, 18)
            The responses Y.
        frame : DataFrame or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        confirmed_factors : list of str
            The 21 transcription factors that experiments have confirmed as regulators of the cell
            cycle.
        DESCR : str
            A description of the data, with source, licence and references.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded. The message says what to do without a network.

    References
    ----------
    A. Mishra, D. K. Dey and K. Chen, Sequential co-sparse factor regression, Journal of
    Computational and Graphical Statistics 26 (2017). The data set ``CellCycle`` of the R package
    secure, licence GPL.
    """
    path = local_copy("secure_CellCycle.RData", data_home, download_if_missing=download_if_missing)
    cycle = read_r_file(path)["CellCycle"]
    data, target = named_matrix(cycle["X"]), named_matrix(cycle["Y"])
    return make_bunch(
        data.values,
        target.values,
        data.columns,
        target.columns,
        _CELL_CYCLE,
        as_frame=as_frame,
        index=target.rows,
        confirmed_factors=list(_CONFIRMED),
    )


def fetch_mice_eqtl(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch markers and gene expression of mice (eQTL mapping).

    60 mice, 145 predictors, the genotypes at microsatellite markers, and 83 responses, transcripts
    measured in the liver. The file is downloaded on first use (10 kB).

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of downloaded files; see :func:`thinrank.datasets.get_data_home`.
    download_if_missing : bool, default=True
        Whether the file may be downloaded if it is not in that folder.
    as_frame : bool or "auto", default="auto"
        Whether to return pandas data frames in place of arrays; "auto" if pandas is installed.

    Returns
    -------
    Bunch
        A dictionary whose values are also attributes:

        data : DataFrame or ndarray of shape (60, 145)
            The predictors X.
        target : DataFrame or ndarray of shape (60, 83)
            The responses Y.
        frame : DataFrame or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        DESCR : str
            A description of the data, with source, licence and references.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded. The message says what to do without a network.

    References
    ----------
    H. Chun and S. Keles, Expression quantitative trait loci mapping with multivariate sparse
    partial least squares regression, Genetics 182 (2009). The data set ``mice`` of the R package
    spls, licence GPL.
    """
    path = local_copy("spls_mice.RData", data_home, download_if_missing=download_if_missing)
    mice = read_r_file(path)["mice"]
    data, target = named_matrix(mice["x"]), named_matrix(mice["y"])
    return make_bunch(
        data.values, target.values, data.columns, target.columns, _MICE, as_frame=as_frame
    )
