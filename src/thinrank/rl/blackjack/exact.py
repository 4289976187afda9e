"""Exact values of blackjack with cards drawn with replacement, by dynamic programming."""

from __future__ import annotations

from functools import cache

import numpy as np

from thinrank.rl.blackjack.hands import ACE, RANKS, TEN, all_hands, all_states
from thinrank.rl.blackjack.rules import DOUBLE, HIT, STAY, Rules, no_natural
from thinrank.rl.tabular import Policy

__all__ = ["action_values", "dealer_totals", "house_edge", "policy_table"]

_NATURAL_PAYS = 1.5


def dealer_totals(rules: Rules) -> np.ndarray:
    """Probabilities of the dealer's final totals by the card shown, given no natural.

    Returns
    -------
    ndarray of shape (10, 22)
        Entry (card, total); total 0 is bust.
    """
    hands, shoe = all_hands(), _shoe(rules)
    draws = rules.dealer_draws(hands.totals, hands.soft)
    final = np.zeros((len(hands) + 1, 22))
    final[-1, 0] = 1  # bust
    # another card raises the sum of a hand, and hands are sorted by it
    for i in range(len(hands) - 1, 0, -1):
        if draws[i]:
            final[i] = shoe @ final[hands.after[i]]
        else:
            final[i, hands.totals[i]] = 1
    shown = np.arange(RANKS)
    second = shoe * no_natural(shown)
    second /= second.sum(axis=1, keepdims=True)
    pairs = hands.after[hands.after[0]]
    return np.einsum("uc,uct->ut", second, final[pairs])


@cache
def _stay_values(rules: Rules) -> np.ndarray:
    """Mean payoff of staying with each hand, of shape (H, 10)."""
    chances = dealer_totals(rules)
    own, other = all_hands().totals[:, None], np.arange(22)
    return np.sign(own - other) @ chances.T


def action_values(rules: Rules, policy: Policy | None = None) -> np.ndarray:
    """Mean payoffs of every action with every hand, given that the dealer has no natural.

    Parameters
    ----------
    rules : Rules
        With ``decks=None``.
    policy : callable, optional
        How play goes on; the best way when missing. It may look at every card of the hand.

    Returns
    -------
    ndarray of shape (H, 10, A)
        By hand, dealer's card and action.
    """
    hands, shoe = all_hands(), _shoe(rules)
    table = None if policy is None else policy_table(policy)
    stay = _stay_values(rules)
    q = np.zeros((len(hands), RANKS, rules.n_actions))
    values = np.full((len(hands) + 1, RANKS), -1.0)  # the last is bust
    settled = np.concatenate([stay, np.full((1, RANKS), -1.0)])
    for total in range(hands.sums[-1], -1, -1):
        here = np.flatnonzero(hands.sums == total)
        after = hands.after[here]
        q[here, :, STAY] = stay[here]
        q[here, :, HIT] = np.einsum("c,hcu->hu", shoe, values[after])
        if rules.double:
            q[here, :, DOUBLE] = 2 * np.einsum("c,hcu->hu", shoe, settled[after])
        if table is None:
            values[here] = q[here].max(axis=2)
        else:
            values[here] = np.take_along_axis(q[here], table[here, :, None], axis=2)[..., 0]
    return q


def house_edge(rules: Rules, policy: Policy | None = None) -> float:
    """What the player loses on average, in parts of the first stake.

    Parameters
    ----------
    rules : Rules
        With ``decks=None``; :meth:`~thinrank.rl.blackjack.Blackjack.play` is for the others.
    policy : callable, optional
        States to actions; the best policy when missing.

    Examples
    --------
    >>> round(100 * house_edge(Rules()), 3)
    2.421
    """
    hands, shoe = all_hands(), _shoe(rules)
    q = action_values(rules, policy)
    if policy is None:
        values = q.max(axis=2)
    else:
        values = np.take_along_axis(q, policy_table(policy)[..., None], axis=2)[..., 0]
    beaten = np.zeros(RANKS)  # chance of a dealer's natural by the card shown
    beaten[ACE], beaten[TEN] = shoe[TEN], shoe[ACE]
    pairs = hands.after[hands.after[0]]
    payoff = np.where(
        (pairs == hands.natural)[..., None],
        (1 - beaten) * _NATURAL_PAYS,
        (1 - beaten) * values[pairs] - beaten,
    )
    return -float(np.einsum("a,b,u,abu->", shoe, shoe, shoe, payoff))


def policy_table(policy: Policy) -> np.ndarray:
    """The actions of a policy in all states, of shape (H, 10); to stay where there is no choice."""
    states = all_states()
    table = np.full((len(all_hands()), RANKS), STAY)
    table[states[:, 0], states[:, 1]] = policy(states)
    return table


def _shoe(rules: Rules) -> np.ndarray:
    if rules.decks is not None:
        raise ValueError(
            f"rules must have decks=None for exact values, got decks={rules.decks}: "
            "use Blackjack(rules).play"
        )
    return rules.shoe
