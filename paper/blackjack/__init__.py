"""Blackjack as a public environment: rules, simulator, exact values, features and families."""

from paper.blackjack.exact import exact_house_edge, optimal_policy, optimal_q, policy_q
from paper.blackjack.family import BlackjackFamily, make_blackjack_family
from paper.blackjack.features import HandFeatures
from paper.blackjack.rules import ACTIONS, DOUBLE, HIT, STAY, Rules
from paper.blackjack.simulator import Blackjack, edge_of, house_edge, play
from paper.blackjack.states import all_states

__all__ = [
    "ACTIONS",
    "DOUBLE",
    "HIT",
    "STAY",
    "Blackjack",
    "BlackjackFamily",
    "HandFeatures",
    "Rules",
    "all_states",
    "edge_of",
    "exact_house_edge",
    "house_edge",
    "make_blackjack_family",
    "optimal_policy",
    "optimal_q",
    "play",
    "policy_q",
]
