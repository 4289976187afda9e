"""Reinforcement learning: fitted Q-iteration for several related Markov decision processes."""

from thinrank.rl import blackjack, gym
from thinrank.rl.bound import q_error_bound
from thinrank.rl.families import Family, make_linear_family, make_optimal_value_family
from thinrank.rl.features import Fourier, Identity, Lookup, RadialBasis, Tabular
from thinrank.rl.fqi import MultiTaskFQI
from thinrank.rl.history import QHistory, QRecord
from thinrank.rl.tabular import TabularMDP, value_error
from thinrank.rl.tasks import ExpectedTask, GenerativeTask
from thinrank.rl.transitions import Transitions

__all__ = [
    "ExpectedTask",
    "Family",
    "Fourier",
    "GenerativeTask",
    "Identity",
    "Lookup",
    "MultiTaskFQI",
    "QHistory",
    "QRecord",
    "RadialBasis",
    "Tabular",
    "TabularMDP",
    "Transitions",
    "blackjack",
    "gym",
    "make_linear_family",
    "make_optimal_value_family",
    "q_error_bound",
    "value_error",
]
