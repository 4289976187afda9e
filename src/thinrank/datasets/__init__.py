"""Simulated data, real data sets that are part of the package, and real data sets to download."""

from thinrank.datasets.concrete_slump import load_concrete_slump
from thinrank.datasets.energy_efficiency import load_energy_efficiency
from thinrank.datasets.fetch_cancers import fetch_breast_mirna, fetch_multidrug
from thinrank.datasets.fetch_genes import fetch_cell_cycle, fetch_mice_eqtl, fetch_yeast
from thinrank.datasets.fetch_multi_target import fetch_multi_target
from thinrank.datasets.fetch_spectra import fetch_cereal, fetch_nir
from thinrank.datasets.fetch_surveys import fetch_american_gut, fetch_lsoa
from thinrank.datasets.karate_club import load_karate_club
from thinrank.datasets.norwegian_paper import load_norwegian_paper
from thinrank.datasets.remote_files import DownloadError, get_data_home
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
