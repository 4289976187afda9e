"""Surveys: aging, and diet and bacteria of the gut."""

from __future__ import annotations

import os

import numpy as np
from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.r_files import named_matrix, read_r_file
from thinrank.datasets.remote_files import local_copy

_LSOA = """\
Longitudinal study of aging
---------------------------

Number of samples: 3988 persons
Number of predictors: 294, answers in the second wave of interviews, scaled to [-1, 1]
Number of responses: 44, answers in the third wave: 3 with 4 or 5 levels, 41 binary
Missing values: 20 % of the responses, NaN

Source: the file lsoa_grrr_target44_feature294.rda of the repository amishra-stats/gofar. Licence of
the R package gofar: GPL (version 3 or later). The data come from the Second Longitudinal Study of
Aging of the National Center for Health Statistics.

Reference: A. Mishra, D. K. Dey, Y. Chen and K. Chen, Generalized co-sparse factor regression,
Computational Statistics & Data Analysis 157 (2021).
"""

_GUT = """\
American Gut: diet, life style and bacteria
-------------------------------------------

Number of samples: 627 persons
Number of predictors: 350, answers about diet and life style; of the 360 of the file, those that are
constant are left out
Number of responses: 39 families of bacteria, counts
Missing values: none

Source: the file final_ag_vio.rda of the repository amishra-stats/nbfar. Licence of the R package
nbfar: GPL (version 3 or later).

References: A. Mishra and C. L. Mueller, Negative binomial factor regression with application to
microbiome data analysis, Statistics in Medicine 41 (2022). D. McDonald et al., American Gut: an
open platform for citizen science microbiome research, mSystems 3 (2018).
"""


def fetch_lsoa(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch the longitudinal study of aging (mixed responses, 20 % missing).

    3988 persons, 294 predictors, answers in one interview, and 44 responses, answers some years
    later: 3 with several levels, 41 binary. Missing responses are NaN. The file is downloaded on
    first use (0.4 MB).

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

        data : DataFrame or ndarray of shape (3988, 294)
            The predictors X.
        target : DataFrame or ndarray of shape (3988, 44)
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
    A. Mishra, D. K. Dey, Y. Chen and K. Chen, Generalized co-sparse factor regression,
    Computational Statistics & Data Analysis 157 (2021). The repository amishra-stats/gofar, licence
    GPL.
    """
    path = local_copy("gofar_lsoa.rda", data_home, download_if_missing=download_if_missing)
    found = read_r_file(path)
    data, target = named_matrix(found["feature294"]), named_matrix(found["target44"])
    questions = [str(text).lower() for text in found["target44.names"]["FEATURE_DISC"]]
    return make_bunch(data.values, target.values, data.columns, questions, _LSOA, as_frame=as_frame)


def fetch_american_gut(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch diet, life style and bacteria of the gut (counts).

    627 persons, 350 predictors about diet and life style, and 39 responses, counts of families of
    bacteria. The file is downloaded on first use (0.9 MB).

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

        data : DataFrame or ndarray of shape (627, 350)
            The predictors X.
        target : DataFrame or ndarray of shape (627, 39)
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
    A. Mishra and C. L. Mueller, Negative binomial factor regression with application to microbiome
    data analysis, Statistics in Medicine 41 (2022). The repository amishra-stats/nbfar, licence
    GPL.
    """
    path = local_copy("nbfar_american_gut.rda", data_home, download_if_missing=download_if_missing)
    found = read_r_file(path)["agdata_vio"]
    # Some answers are factors of R: their labels, not their codes, are the numbers.
    answers = {str(name): np.asarray(column, float) for name, column in found.sam_data.items()}
    varying = [name for name, column in answers.items() if np.ptp(column) > 0]
    counts = named_matrix(found.otu_table)  # a row for each family, a column for each person
    return make_bunch(
        np.column_stack([answers[name] for name in varying]),
        counts.values.T.copy(),
        varying,
        counts.rows or [],
        _GUT,
        as_frame=as_frame,
        index=counts.columns,
    )
