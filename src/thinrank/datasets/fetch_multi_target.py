"""Benchmark sets for regression with several responses, collected by the authors of Mulan."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from thinrank.datasets.bunches import AsFrame, make_bunch
from thinrank.datasets.remote_files import local_copy


@dataclass(frozen=True)
class _MultiTarget:
    """What is known of a set: the responses are the last columns of its file."""

    responses: int
    about: str
    reference: str


_SPYROMITROS = (
    "E. Spyromitros-Xioufis, G. Tsoumakas, W. Groves and I. Vlahavas, Multi-target regression via "
    "input space expansion, Machine Learning 104 (2016)."
)

_SETS = {
    "atp1d": _MultiTarget(
        6,
        "337 days; 411 predictors from prices of flights, 6 responses: the lowest price of the "
        "next day for six kinds of flight. 41 predictors are constant.",
        _SPYROMITROS,
    ),
    "edm": _MultiTarget(
        2,
        "154 states of an electrical discharge machine; 16 predictors, 2 responses with the values "
        "-1, 0 and 1: how a human operator changes flow and gap.",
        "A. Karalic and I. Bratko, First order regression, Machine Learning 26 (1997).",
    ),
    "jura": _MultiTarget(
        3,
        "359 places in the Swiss Jura; 15 predictors: position, land use, rock, and four metals in "
        "the soil; 3 responses: cadmium, cobalt and copper, in mg/kg.",
        "P. Goovaerts, Geostatistics for Natural Resources Evaluation, Oxford University Press "
        "(1997).",
    ),
    "oes10": _MultiTarget(
        16,
        "403 cities; 298 predictors and 16 responses: the number of employees in each of 314 "
        "occupations.",
        _SPYROMITROS,
    ),
    "osales": _MultiTarget(
        12,
        "639 products; 401 predictors, 12 responses: online sales in each of the first twelve "
        "months. 10,012 entries of 25 predictors are missing (NaN).",
        "The Kaggle competition Online Product Sales. " + _SPYROMITROS,
    ),
    "wq": _MultiTarget(
        14,
        "1060 samples of water from Slovenian rivers; 16 predictors, chemical and physical, and 14 "
        "responses: the abundance of seven plants and seven animals: 0, 1, 3 or 5.",
        "S. Dzeroski, D. Demsar and J. Grbovic, Predicting chemical parameters of river water "
        "quality from bioindicator data, Applied Intelligence 13 (2000).",
    ),
}

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

    Frame : DataFrame or None Predictors and responses in one frame.

    References
    ----------
    E. Spyromitros-Xioufis, G. Tsoumakas, W. Groves and I. Vlahavas, Multi-target regression via
    input space expansion: treating targets as inputs, Machine Learning 104 (2016).
    """
    if name not in _SETS:
        raise ValueError(f"name must be one of {', '.join(_SETS)}, got {name!r}")
    from scipy.io import arff  # 40 ms, which other data sets do not need

    known = _SETS[name]
    file = f"mulan_{name}.arff"
    path = local_copy(file, data_home, download_if_missing=download_if_missing)
    with path.open(encoding="utf-8") as lines:
        records, header = arff.loadarff(lines)
    columns = [_name(column) for column in header.names()]
    table = np.column_stack([records[column] for column in header.names()])
    split = len(columns) - known.responses
    return make_bunch(
        table[:, :split].copy(),
        table[:, split:].copy(),
        columns[:split],
        columns[split:],
        _description(name, known),
        as_frame=as_frame,
    )


def _name(column: str) -> str:
    plain = column.replace('"', "").replace("'", "")
    return _SPECIES.get(plain, plain)


def _description(name: str, known: _MultiTarget) -> str:
    return (
        f"{name}\n{'-' * len(name)}\n\n{known.about}\n\n"
        "Source: the folder data/multi-target of the repository tsoumakas/mulan, which states no "
        f"licence for the data.\n\nReference: {known.reference}\n"
    )
