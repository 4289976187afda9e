"""Spectra and what is to be measured with them."""

from __future__ import annotations

import os

from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.r_files import named_matrix, read_r_file
from thinrank.datasets.remote_files import local_copy

_NIR = """\
Near-infrared spectra of fermentation mashes
--------------------------------------------

Number of samples: 166 mashes of rye, wheat and corn
Number of predictors: 235, first derivatives of the absorbance at 1115 to 2285 nm
Number of responses: 2, the concentrations of glucose and ethanol in g/L
Missing values: none

Source: the data set NIR of the R package chemometrics 1.4.4. Licence of the package: GPL (version 3
or later).

Reference: B. Liebmann, A. Friedl and K. Varmuza, Determination of glucose and ethanol in bioethanol
production by near infrared spectroscopy and chemometrics, Analytica Chimica Acta 642 (2009).
"""

_CEREAL = """\
Infrared spectra of cereals
---------------------------

Number of samples: 15 cereals: barley (B), maize (M), rye (R), triticale (T) and wheat (W)
Number of predictors: 145, infrared spectra at 1126 to 2278 nm
Number of responses: 6, heating value, carbon, hydrogen, nitrogen, starch and ash
Missing values: none

Source: the data set cereal of the R package chemometrics 1.4.4. Licence of the package: GPL
(version 3 or later).

Reference: K. Varmuza and P. Filzmoser, Introduction to Multivariate Statistical Analysis in
Chemometrics, CRC Press (2009).
"""


def fetch_nir(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch near-infrared spectra of fermentation mashes.

    166 mashes, 235 predictors, first derivatives of their spectra, named by wavelength in nm, and 2
    responses, the concentrations of glucose and ethanol. The file is downloaded on first use (0.3
    MB).

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

        data : DataFrame or ndarray of shape (166, 235)
            The predictors X.
        target : DataFrame or ndarray of shape (166, 2)
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
    B. Liebmann, A. Friedl and K. Varmuza, Determination of glucose and ethanol in bioethanol
    production by near infrared spectroscopy and chemometrics, Analytica Chimica Acta 642 (2009).
    The data set ``NIR`` of the R package chemometrics, licence GPL.
    """
    path = local_copy("chemometrics_NIR.rda", data_home, download_if_missing=download_if_missing)
    nir = read_r_file(path)["NIR"]
    data, target = named_matrix(nir["xNIR"]), named_matrix(nir["yGlcEtOH"])
    return make_bunch(
        data.values,
        target.values,
        _wavelengths(data.columns),
        target.columns,
        _NIR,
        as_frame=as_frame,
    )


def fetch_cereal(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch infrared spectra of cereals.

    15 cereals, 145 predictors, their spectra, named by wavelength in nm, and 6 responses. The file
    is downloaded on first use (20 kB).

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

        data : DataFrame or ndarray of shape (15, 145)
            The predictors X.
        target : DataFrame or ndarray of shape (15, 6)
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
    K. Varmuza and P. Filzmoser, Introduction to Multivariate Statistical Analysis in Chemometrics,
    CRC Press (2009). The data set ``cereal`` of the R package chemometrics, licence GPL.
    """
    path = local_copy("chemometrics_cereal.rda", data_home, download_if_missing=download_if_missing)
    cereal = read_r_file(path)["cereal"]
    data, target = named_matrix(cereal["X"]), named_matrix(cereal["Y"])
    return make_bunch(
        data.values,
        target.values,
        _wavelengths(data.columns),
        target.columns,
        _CEREAL,
        as_frame=as_frame,
        index=data.rows,
    )


def _wavelengths(columns: list[str]) -> list[str]:
    """Return "1115 nm" for "X1115.0"."""
    return [f"{name.removeprefix('X').removesuffix('.0')} nm" for name in columns]
