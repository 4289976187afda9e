"""Blackjack: rules, exact values, a simulator of many hands at once, and features."""

from thinrank.rl.blackjack.exact import action_values, house_edge
from thinrank.rl.blackjack.features import HandFeatures, TableFeatures
from thinrank.rl.blackjack.hands import all_hands, all_states, find_hand
from thinrank.rl.blackjack.rules import DOUBLE, HIT, STAY, Rules, rule_family
from thinrank.rl.blackjack.table import Blackjack

__all__ = [
    "DOUBLE",
    "HIT",
    "STAY",
    "Blackjack",
    "HandFeatures",
    "Rules",
    "TableFeatures",
    "action_values",
    "all_hands",
    "all_states",
    "find_hand",
    "house_edge",
    "rule_family",
]
