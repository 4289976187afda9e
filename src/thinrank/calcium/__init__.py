"""Calcium imaging: find neurons, their traces and spikes in a fluorescence movie."""

from thinrank.calcium.decisions import Decisions, accepted_neurons, read_decisions
from thinrank.calcium.deconvolution import deconvolve
from thinrank.calcium.export import export_results, read_regions, write_regions
from thinrank.calcium.fluorescence import Fluorescence, Quality
from thinrank.calcium.imaging import CalciumImaging, select_neurons
from thinrank.calcium.pipeline import Neurons
from thinrank.calcium.readers import MovieError, read_frame_rate
from thinrank.calcium.registration import Registration, register
from thinrank.calcium.scores import Scores, match_regions, score_regions
from thinrank.calcium.simulate import MovieTruth, make_movie

__all__ = [
    "CalciumImaging",
    "Decisions",
    "Fluorescence",
    "MovieError",
    "MovieTruth",
    "Neurons",
    "Quality",
    "Registration",
    "Scores",
    "accepted_neurons",
    "deconvolve",
    "export_results",
    "make_movie",
    "match_regions",
    "read_decisions",
    "read_frame_rate",
    "read_regions",
    "register",
    "score_regions",
    "select_neurons",
    "write_regions",
]
