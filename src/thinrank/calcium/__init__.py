"""Calcium imaging: find neurons, their traces and spikes in a fluorescence movie."""

from thinrank.calcium.errors import MovieError
from thinrank.calcium.export import (
    export_results,
    read_regions,
    write_footprints,
    write_regions,
    write_spikes,
    write_traces,
)
from thinrank.calcium.export_nwb import write_nwb
from thinrank.calcium.imaging import CalciumImaging
from thinrank.calcium.scores import Scores, match_regions, pixel_auc, score_regions
from thinrank.calcium.simulate import MovieTruth, make_movie

__all__ = [
    "CalciumImaging",
    "MovieError",
    "MovieTruth",
    "Scores",
    "export_results",
    "make_movie",
    "match_regions",
    "pixel_auc",
    "read_regions",
    "score_regions",
    "write_footprints",
    "write_nwb",
    "write_regions",
    "write_spikes",
    "write_traces",
]
