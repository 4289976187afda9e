"""Simulated data, real data sets that are part of the package, and real data sets to download."""

from thinrank.datasets.fetch import (
    fetch_american_gut,
    fetch_breast_mirna,
    fetch_cell_cycle,
    fetch_cereal,
    fetch_lsoa,
    fetch_mice_eqtl,
    fetch_multi_target,
    fetch_multidrug,
    fetch_nir,
    fetch_yeast,
)
from thinrank.datasets.remote_files import DownloadError, get_data_home
from thinrank.datasets.shipped import (
    load_concrete_slump,
    load_energy_efficiency,
    load_karate_club,
    load_norwegian_paper,
)
from thinrank.datasets.simulate import make_two_way_sparse

__all__ = [
    "DownloadError",
    "fetch_american_gut",
    "fetch_breast_mirna",
    "fetch_cell_cycle",
    "fetch_cereal",
    "fetch_lsoa",
    "fetch_mice_eqtl",
    "fetch_multi_target",
    "fetch_multidrug",
    "fetch_nir",
    "fetch_yeast",
    "get_data_home",
    "load_concrete_slump",
    "load_energy_efficiency",
    "load_karate_club",
    "load_norwegian_paper",
    "make_two_way_sparse",
]
