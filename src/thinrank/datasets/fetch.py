"""Public data sets that are downloaded on first use."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from thinrank.core.imports import import_optional
from thinrank.datasets.bunches import FETCHED, AsFrame, documented, make_bunch
from thinrank.datasets.remote_files import local_copy

# Transcription factors of which experiments have shown that they regulate the cell cycle.
_CONFIRMED = (
    "ABF1 ACE2 BAS1 CBF1 FKH1 FKH2 GCN4 GCR1 GCR2 LEU3"
    " MBP1 MCM1 MET31 NDD1 REB1 SKN7 STB1 STE12 SWI4 SWI5 SWI6"
)
_CONFIRMED_TEXT = (
    "The 21 transcription factors that experiments have confirmed as regulators of the cell\n"
    "        cycle."
)
# Sets of Mulan, with the number of responses, which are the last columns of the file.
_MULTI_TARGET = {"atp1d": 6, "edm": 2, "jura": 3, "oes10": 16, "osales": 12, "wq": 14}
# The names of the responses in the file wq.arff are the codes of its comments.
_SPECIES = {
    "25400": "Cladophora sp.",
    "29600": "Gongrosira incrustans",
    "30400": "Oedogonium sp.",
    "33400": "Stigeoclonium tenue",
    "17300": "Melosira varians",
    "19400": "Nitzschia palea",
    "34500": "Audouinella chalybea",
    "38100": "Erpobdella octoculata",
    "49700": "Gammarus fossarum",
    "50390": "Baetis rhodani",
    "55800": "Hydropsyche sp.",
    "57500": "Rhyacophila sp.",
    "59300": "Simulium sp.",
    "37880": "Tubifex sp.",
}


class Matrix(NamedTuple):
    """A numeric matrix or data frame of R."""

    values: np.ndarray  # NaN for NA
    rows: list[str] | None  # names of the rows
    columns: list[str]  # names of the columns


Objects = dict[str, Any]
"""The objects of an R data file, by name."""
Parts = tuple[Matrix, Matrix, dict[str, Any]]
"""Predictors, responses, and further parts of a data set."""


def _fetches(
    file: str, data: str, target: str, **more: str
) -> Callable[[Any], Callable[..., Bunch]]:
    """Turn a function of what an R data file contains into one that fetches the data set.

    ``data``, ``target``: shapes for the documentation; ``more``: what further parts are.
    """

    def decorate(parts_of: Callable[[Objects], Parts]) -> Callable[..., Bunch]:
        def fetch(
            *,
            data_home: str | os.PathLike[str] | None = None,
            download_if_missing: bool = True,
            as_frame: AsFrame = "auto",
        ) -> Bunch:
            X, Y, others = parts_of(_read(file, data_home, download_if_missing))
            name = parts_of.__name__.removeprefix("fetch_")
            return make_bunch(name, X.values, Y.values, X.columns, Y.columns, as_frame, **others)

        fetch.__name__ = fetch.__qualname__ = parts_of.__name__
        fetch.__doc__ = parts_of.__doc__
        return documented(FETCHED, data, target, **more)(fetch)

    return decorate


def _read(name: str, data_home: Any, download_if_missing: bool) -> Objects:
    """All objects of an R data file (.rda, .RData)."""
    path = local_copy(name, data_home, download_if_missing=download_if_missing)
    rdata = import_optional("rdata")
    with warnings.catch_warnings():
        # Old files do not state the encoding of names; those read here are ASCII.
        warnings.filterwarnings("ignore", "Unknown encoding")
        # Classes of other R packages: the underlying lists are what is needed.
        warnings.filterwarnings("ignore", "Missing constructor")
        objects: Objects = rdata.read_rda(str(path))
    return objects


@_fetches("spls_yeast.RData", "(542, 106)", "(542, 18)", confirmed_factors=_CONFIRMED_TEXT)
def fetch_yeast(found: Objects) -> Parts:
    """Fetch the yeast cell cycle (transcription factors, expression over time).

    542 genes, 106 predictors that say how strongly each transcription factor binds to a gene, and
    18 responses, its expression over two cell cycles. The file is downloaded on first use (0.4 MB).

    References
    ----------
    H. Chun and S. Keles, Sparse partial least squares regression for simultaneous dimension
    reduction and variable selection, Journal of the Royal Statistical Society B 72 (2010). The data
    set ``yeast`` of the R package spls, license GPL.
    """
    data, target = (_matrix(found["yeast"][name]) for name in "xy")
    # The names of the file end in the growth medium, which is the same for all.
    factors = [name.removesuffix("_YPD") for name in data.columns]
    return data._replace(columns=factors), target, {"confirmed_factors": _CONFIRMED.split()}


@_fetches("secure_CellCycle.RData", "(1790, 113)", "(1790, 18)", confirmed_factors=_CONFIRMED_TEXT)
def fetch_cell_cycle(found: Objects) -> Parts:
    """Fetch the yeast cell cycle with missing entries (more genes than ``fetch_yeast``).

    1790 genes, 113 predictors that say how strongly each transcription factor binds to a gene, and
    18 responses, its expression over two cell cycles, with 626 missing entries (NaN). The file is
    downloaded on first use (0.3 MB).

    References
    ----------
    A. Mishra, D. K. Dey and K. Chen, Sequential co-sparse factor regression, Journal of
    Computational and Graphical Statistics 26 (2017). The data set ``CellCycle`` of the R package
    secure, license GPL.
    """
    data, target = (_matrix(found["CellCycle"][name]) for name in "XY")
    return data, target, {"index": target.rows, "confirmed_factors": _CONFIRMED.split()}


@_fetches("spls_mice.RData", "(60, 145)", "(60, 83)")
def fetch_mice_eqtl(found: Objects) -> Parts:
    """Fetch markers and gene expression of mice (eQTL mapping).

    60 mice, 145 predictors, the genotypes at microsatellite markers, and 83 responses, transcripts
    measured in the liver. The file is downloaded on first use (10 kB).

    References
    ----------
    H. Chun and S. Keles, Expression quantitative trait loci mapping with multivariate sparse
    partial least squares regression, Genetics 182 (2009). The data set ``mice`` of the R package
    spls, license GPL.
    """
    data, target = (_matrix(found["mice"][name]) for name in "xy")
    return data, target, {}


@_fetches(
    "mixOmics_multidrug.rda",
    "(60, 853)",
    "(60, 48)",
    tissues="The tissue of origin of each cell line.",
    compounds="The names of the compounds; ``feature_names`` are their NSC numbers.",
)
def fetch_multidrug(found: Objects) -> Parts:
    """Fetch drug activity and transporters (60 cancer cell lines).

    60 cell lines, 853 predictors, the activity of compounds, and 48 responses, the expression of
    ABC transporters, with one missing entry (NaN). Compounds with missing activities are left out.
    The file is downloaded on first use (0.3 MB).

    References
    ----------
    G. Szakacs et al., Predicting drug sensitivity and resistance: profiling ABC transporter genes
    in cancer cells, Cancer Cell 6 (2004). The data set ``multidrug`` of the R package mixOmics,
    license GPL.
    """
    drugs = found["multidrug"]
    data, cells = _matrix(drugs["compound"]), drugs["cell.line"]
    complete = np.flatnonzero(~np.isnan(data.values).any(axis=0))
    numbers = [data.columns[j] for j in complete]
    more = {
        "index": _texts(cells["Sample"]),
        "tissues": _texts(cells["Class"]),
        "compounds": [str(drugs["comp.name"][j]) for j in complete],
    }
    return Matrix(data.values[:, complete], None, numbers), _matrix(drugs["ABC.trans"]), more


@_fetches(
    "mixOmics_breast.TCGA.rda",
    "(150, 184)",
    "(150, 142)",
    subtypes="The subtype of each cancer.",
)
def fetch_breast_mirna(found: Objects) -> Parts:
    """Fetch microRNA and proteins of 150 breast cancers.

    150 samples, 184 predictors, microRNAs, and 142 responses, proteins. The file is downloaded on
    first use (0.7 MB).

    References
    ----------
    A. Singh et al., DIABLO: an integrative approach for identifying key molecular drivers from
    multi-omics assays, Bioinformatics 35 (2019). The data set ``breast.TCGA`` of the R package
    mixOmics, license GPL.
    """
    train = found["breast.TCGA"]["data.train"]
    data, target = _matrix(train["mirna"]), _matrix(train["protein"])
    return data, target, {"index": data.rows, "subtypes": _texts(train["subtype"])}


@_fetches("chemometrics_NIR.rda", "(166, 235)", "(166, 2)")
def fetch_nir(found: Objects) -> Parts:
    """Fetch near-infrared spectra of fermentation mashes.

    166 mashes, 235 predictors, first derivatives of their spectra, named by wavelength in nm, and 2
    responses, the concentrations of glucose and ethanol. The file is downloaded on first use (0.3
    MB).

    References
    ----------
    B. Liebmann, A. Friedl and K. Varmuza, Determination of glucose and ethanol in bioethanol
    production by near infrared spectroscopy and chemometrics, Analytica Chimica Acta 642 (2009).
    The data set ``NIR`` of the R package chemometrics, license GPL.
    """
    return _spectra(found["NIR"]["xNIR"]), _matrix(found["NIR"]["yGlcEtOH"]), {}


@_fetches("chemometrics_cereal.rda", "(15, 145)", "(15, 6)")
def fetch_cereal(found: Objects) -> Parts:
    """Fetch infrared spectra of cereals.

    15 cereals, 145 predictors, their spectra, named by wavelength in nm, and 6 responses. The file
    is downloaded on first use (20 kB).

    References
    ----------
    K. Varmuza and P. Filzmoser, Introduction to Multivariate Statistical Analysis in Chemometrics,
    CRC Press (2009). The data set ``cereal`` of the R package chemometrics, license GPL.
    """
    data = _spectra(found["cereal"]["X"])
    return data, _matrix(found["cereal"]["Y"]), {"index": data.rows}


@_fetches("gofar_lsoa.rda", "(3988, 294)", "(3988, 44)")
def fetch_lsoa(found: Objects) -> Parts:
    """Fetch the longitudinal study of aging (mixed responses, 20 % missing).

    3988 persons, 294 predictors, answers in one interview, and 44 responses, answers some years
    later: 3 with several levels, 41 binary. Missing responses are NaN. The file is downloaded on
    first use (0.4 MB).

    References
    ----------
    A. Mishra, D. K. Dey, Y. Chen and K. Chen, Generalized co-sparse factor regression,
    Computational Statistics & Data Analysis 157 (2021). The repository amishra-stats/gofar, license
    GPL.
    """
    target = _matrix(found["target44"])
    questions = [str(text).lower() for text in found["target44.names"]["FEATURE_DISC"]]
    return _matrix(found["feature294"]), target._replace(columns=questions), {}


@_fetches("nbfar_american_gut.rda", "(627, 350)", "(627, 39)")
def fetch_american_gut(found: Objects) -> Parts:
    """Fetch diet, life style and bacteria of the gut (counts).

    627 persons, 350 predictors about diet and life style, and 39 responses, counts of families of
    bacteria. The file is downloaded on first use (0.9 MB).

    References
    ----------
    A. Mishra and C. L. Mueller, Negative binomial factor regression with application to microbiome
    data analysis, Statistics in Medicine 41 (2022). The repository amishra-stats/nbfar, license
    GPL.
    """
    gut = found["agdata_vio"]
    # Some answers are factors of R: their labels, not their codes, are the numbers.
    answers = {str(name): np.asarray(column, float) for name, column in gut.sam_data.items()}
    varying = [name for name, column in answers.items() if np.ptp(column) > 0]
    counts = _matrix(gut.otu_table)  # a row for each family, a column for each person
    data = Matrix(np.column_stack([answers[name] for name in varying]), None, varying)
    target = Matrix(counts.values.T.copy(), None, counts.rows or [])
    return data, target, {"index": counts.columns}


@documented(FETCHED, "(n_samples, n_features)", "(n_samples, n_targets)")
def fetch_multi_target(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: AsFrame = "auto",
) -> Bunch:
    """Fetch one of the benchmark sets that the authors of Mulan have collected.

    The files are downloaded on first use (14 kB to 1.1 MB). The values are those of the file:
    constant predictors are kept, and missing predictors are NaN. Two more sets of the collection
    are part of this package: :func:`thinrank.datasets.load_energy_efficiency` (enb) and
    :func:`thinrank.datasets.load_concrete_slump` (slump).

    ``name`` is one of "atp1d", "edm", "jura", "oes10", "osales" and "wq".

    References
    ----------
    E. Spyromitros-Xioufis, G. Tsoumakas, W. Groves and I. Vlahavas, Multi-target regression via
    input space expansion: treating targets as inputs, Machine Learning 104 (2016).
    """
    if name not in _MULTI_TARGET:
        raise ValueError(f"name must be one of {', '.join(_MULTI_TARGET)}, got {name!r}")
    from scipy.io import arff  # 40 ms, which other data sets do not need

    path = local_copy(f"mulan_{name}.arff", data_home, download_if_missing=download_if_missing)
    with path.open(encoding="utf-8") as lines:
        records, header = arff.loadarff(lines)
    table = np.column_stack([records[column] for column in header.names()])
    plain = [column.replace('"', "").replace("'", "") for column in header.names()]
    columns = [_SPECIES.get(column, column) for column in plain]
    split = len(columns) - _MULTI_TARGET[name]
    X, Y = table[:, :split].copy(), table[:, split:].copy()
    return make_bunch(name, X, Y, columns[:split], columns[split:], as_frame)


def _matrix(found: Any) -> Matrix:
    """A matrix (a DataArray of xarray) or a data frame (of pandas)."""
    if hasattr(found, "columns"):
        values = found.to_numpy(dtype=float, na_value=np.nan)
        return Matrix(values, _texts(found.index), _texts(found.columns))
    rows = _texts(found.coords["dim_0"].values) if "dim_0" in found.coords else None
    return Matrix(np.array(found.values, dtype=float), rows, _texts(found.coords["dim_1"].values))


def _spectra(found: Any) -> Matrix:
    """A matrix whose columns are named "1115 nm" in place of "X1115.0"."""
    matrix = _matrix(found)
    names = [f"{name.removeprefix('X').removesuffix('.0')} nm" for name in matrix.columns]
    return matrix._replace(columns=names)


def _texts(names: Any) -> list[str]:
    return [str(name) for name in names]
