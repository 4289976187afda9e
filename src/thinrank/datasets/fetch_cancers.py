"""Cancers: drugs and transporters, microRNA and proteins."""

from __future__ import annotations

import os

import numpy as np
from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.r_files import named_matrix, read_r_file
from thinrank.datasets.remote_files import local_copy

_MULTIDRUG = """\
Drug activity and transporters
------------------------------

Number of samples: 60 cancer cell lines (the NCI-60 panel)
Number of predictors: 853 compounds, by their NSC numbers; the activity of each as GI50. The file
has 1429; those with missing activities are left out
Number of responses: 48 human ABC transporters, expression by RT-PCR
Missing values: one entry of the responses, NaN

Source: the data set multidrug of the R package mixOmics 6.3.2. Licence of the package: GPL (version
2 or later).

Reference: G. Szakacs et al., Predicting drug sensitivity and resistance: profiling ABC transporter
genes in cancer cells, Cancer Cell 6 (2004).
"""

_BREAST = """\
MicroRNA and proteins of breast cancers
---------------------------------------

Number of samples: 150 breast cancers, of the subtypes Basal, Her2 and LumA
Number of predictors: 184 microRNAs
Number of responses: 142 proteins
Missing values: none

Source: the training part of the data set breast.TCGA of the R package mixOmics 6.3.2, a filtered
subset of data of The Cancer Genome Atlas. Licence of the package: GPL (version 2 or later).

Reference: A. Singh et al., DIABLO: an integrative approach for identifying key molecular drivers
from multi-omics assays, Bioinformatics 35 (2019).
"""


def fetch_multidrug(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch drug activity and transporters (60 cancer cell lines).

    60 cell lines, 853 predictors, the activity of compounds, and 48 responses, the expression of
    ABC transporters, with one missing entry (NaN). Compounds with missing activities are left out.
    The file is downloaded on first use (0.3 MB).

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

        data : DataFrame or ndarray of shape (60, 853)
            The predictors X.
        target : DataFrame or ndarray of shape (60, 48)
            The responses Y.
        frame : DataFrame or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        tissues : list of str
            The tissue of origin of each cell line.
        compounds : list of str
            The names of the compounds; ``feature_names`` are their NSC numbers.
        DESCR : str
            A description of the data, with source, licence and references.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded. The message says what to do without a network.

    References
    ----------
    G. Szakacs et al., Predicting drug sensitivity and resistance: profiling ABC transporter genes
    in cancer cells, Cancer Cell 6 (2004). The data set ``multidrug`` of the R package mixOmics,
    licence GPL.
    """
    path = local_copy("mixOmics_multidrug.rda", data_home, download_if_missing=download_if_missing)
    found = read_r_file(path)["multidrug"]
    data, target = named_matrix(found["compound"]), named_matrix(found["ABC.trans"])
    complete = np.flatnonzero(~np.isnan(data.values).any(axis=0))
    cells = found["cell.line"]
    return make_bunch(
        data.values[:, complete],
        target.values,
        [data.columns[j] for j in complete],
        target.columns,
        _MULTIDRUG,
        as_frame=as_frame,
        index=[str(name) for name in cells["Sample"]],
        tissues=[str(tissue) for tissue in cells["Class"]],
        compounds=[str(found["comp.name"][j]) for j in complete],
    )


def fetch_breast_mirna(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch microRNA and proteins of 150 breast cancers.

    150 samples, 184 predictors, microRNAs, and 142 responses, proteins. The file is downloaded on
    first use (0.7 MB).

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

        data : DataFrame or ndarray of shape (150, 184)
            The predictors X.
        target : DataFrame or ndarray of shape (150, 142)
            The responses Y.
        frame : DataFrame or None
            Predictors and responses in one frame; None for arrays.
        feature_names, target_names : list of str
            Names of the predictors and of the responses.
        subtypes : list of str
            The subtype of each cancer.
        DESCR : str
            A description of the data, with source, licence and references.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded. The message says what to do without a network.

    References
    ----------
    A. Singh et al., DIABLO: an integrative approach for identifying key molecular drivers from
    multi-omics assays, Bioinformatics 35 (2019). The data set ``breast.TCGA`` of the R package
    mixOmics, licence GPL.
    """
    path = local_copy(
        "mixOmics_breast.TCGA.rda", data_home, download_if_missing=download_if_missing
    )
    train = read_r_file(path)["breast.TCGA"]["data.train"]
    data, target = named_matrix(train["mirna"]), named_matrix(train["protein"])
    return make_bunch(
        data.values,
        target.values,
        data.columns,
        target.columns,
        _BREAST,
        as_frame=as_frame,
        index=data.rows,
        subtypes=[str(subtype) for subtype in train["subtype"]],
    )
