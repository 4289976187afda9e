"""Reinforcement learning: fitted Q-iteration for several related Markov decision processes."""

from thinrank.rl import gym, minari
from thinrank.rl.action_values import GreedyPolicy
from thinrank.rl.common_part import CommonPart
from thinrank.rl.features import Fourier, Identity, Lookup, Tabular
from thinrank.rl.fqi import MultiTaskFQI, QHistory, QRecord
from thinrank.rl.policy_values import (
    PolicyValue,
    evaluate,
    fitted_q_evaluation,
)
from thinrank.rl.tasks import ExpectedTask, GenerativeTask
from thinrank.rl.transitions import Transitions

__all__ = [
    "CommonPart",
    "ExpectedTask",
    "Fourier",
    "GenerativeTask",
    "GreedyPolicy",
    "Identity",
    "Lookup",
    "MultiTaskFQI",
    "PolicyValue",
    "QHistory",
    "QRecord",
    "Tabular",
    "Transitions",
    "evaluate",
    "fitted_q_evaluation",
    "gym",
    "minari",
]
