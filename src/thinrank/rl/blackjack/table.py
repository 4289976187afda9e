"""Blackjack as a task to sample from: many hands at once."""

from __future__ import annotations

import numpy as np

from thinrank.rl.blackjack.exact import policy_table
from thinrank.rl.blackjack.hands import ACE, BUST, RANKS, TEN, all_hands
from thinrank.rl.blackjack.rules import DOUBLE, HIT, STAY, Rules, no_natural
from thinrank.rl.tabular import Policy

__all__ = ["Blackjack"]

_NATURAL_PAYS = 1.5


class Blackjack:
    """A blackjack table.

    A state is a row of two integers: the hand, as :func:`~thinrank.rl.blackjack.all_hands`
    numbers them, and the rank of the dealer's card. The dealer has no natural: those are settled
    before there is anything to decide. Rewards are the payoffs at the end of a hand.

    Parameters
    ----------
    rules : Rules, optional
        Hit and stay, an unlimited shoe and a dealer who stays at 17, when missing.
    """

    episodic = True

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.n_actions = self.rules.n_actions

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take an action once in each state; see :class:`thinrank.rl.Task`."""
        hands = all_hands()
        hand, shown = np.asarray(states).T
        shoe = self._left(hand, shown)
        # By symmetry the hidden card is any of those left but one that would make a natural.
        hidden = _draw(shoe * no_natural(shown), rng)
        self._take(shoe, hidden)
        stake = 1.0
        if action != STAY:
            card = _draw(shoe, rng)
            self._take(shoe, card)
            hand = hands.after[hand, card]
            stake = 2.0 if action == DOUBLE else 1.0
        lost = hand == BUST
        if action == HIT:
            after = np.stack([np.where(lost, 0, hand), shown], axis=1)
            return np.where(lost, -1.0, 0.0), after, lost
        totals = np.where(lost, 0, hands.totals[hand])
        payoff = np.where(lost, -1.0, self._against_dealer(totals, shown, hidden, shoe, rng))
        after = np.stack([np.zeros_like(hand), shown], axis=1)
        return stake * payoff, after, np.ones(len(hand), dtype=bool)

    def deal(
        self, n_hands: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Deal hands.

        Returns
        -------
        states : ndarray of shape (n_hands, 2)
        settled : ndarray of shape (n_hands,), bool
            Whether a natural has ended the hand.
        payoffs : ndarray of shape (n_hands,)
            Of the hands that are settled.
        """
        hands = all_hands()
        shoe = np.tile(self.rules.shoe, (n_hands, 1))
        first, second, shown, hidden = (self._next(shoe, rng) for _ in range(4))
        hand = hands.after[hands.after[0, first], second]
        own = hand == hands.natural
        other = ((shown == ACE) & (hidden == TEN)) | ((shown == TEN) & (hidden == ACE))
        payoffs = np.where(own, _NATURAL_PAYS, 0.0)
        payoffs[other] = np.where(own[other], 0.0, -1.0)
        return np.stack([hand, shown], axis=1), own | other, payoffs

    def play(self, policy: Policy, n_hands: int, rng: np.random.Generator) -> np.ndarray:
        """Payoffs of whole hands, in parts of the first stake.

        Returns
        -------
        ndarray of shape (n_hands,)
            Minus its mean estimates the house edge; its standard deviation divided by the root
            of ``n_hands`` is the standard error.
        """
        table = policy_table(policy)
        states, settled, payoffs = self.deal(n_hands, rng)
        playing = np.flatnonzero(~settled)
        while playing.size:
            actions = table[states[playing, 0], states[playing, 1]]
            going_on = []
            for action in range(self.n_actions):
                these = playing[actions == action]
                if these.size:
                    rewards, after, ended = self.sample(states[these], action, rng)
                    payoffs[these] += rewards
                    states[these] = after
                    going_on.append(these[~ended])
            playing = np.concatenate(going_on)
        return payoffs

    def visited(self, n_states: int, rng: np.random.Generator) -> np.ndarray:
        """States that somebody meets who hits or stays at random, of shape (n_states, 2)."""
        found = np.empty((0, 2), dtype=int)
        while len(found) < n_states:
            states, settled, _ = self.deal(n_states, rng)
            states = states[~settled]
            met = [states]
            while len(states):
                states = states[rng.random(len(states)) < 0.5]
                _, after, ended = self.sample(states, HIT, rng)
                states = after[~ended]
                met.append(states)
            found = np.concatenate([found, rng.permutation(np.concatenate(met))])
        return found[:n_states]

    def _left(self, hand: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Cards of each rank that are left, of shape (n, 10)."""
        if self.rules.decks is None:
            return np.tile(self.rules.shoe, (len(hand), 1))
        left = self.rules.shoe - all_hands().counts[hand]
        left[np.arange(len(hand)), shown] -= 1
        if left.min(initial=0.0) < 0:
            raise ValueError(f"states hold hands that {self.rules.decks} decks cannot deal")
        return left

    def _take(self, shoe: np.ndarray, cards: np.ndarray) -> None:
        if self.rules.decks is not None:
            shoe[np.arange(len(cards)), cards] -= 1

    def _next(self, shoe: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        cards = _draw(shoe, rng)
        self._take(shoe, cards)
        return cards

    def _against_dealer(
        self,
        totals: np.ndarray,
        shown: np.ndarray,
        hidden: np.ndarray,
        shoe: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """1, 0 or −1 against the dealer's final total."""
        hands = all_hands()
        dealer = hands.after[hands.after[0, shown], hidden]
        drawing = np.flatnonzero(self.rules.dealer_draws(hands.totals[dealer], hands.soft[dealer]))
        while drawing.size:
            left = shoe[drawing]
            cards = self._next(left, rng)
            shoe[drawing] = left
            dealer[drawing] = hands.after[dealer[drawing], cards]
            now = dealer[drawing]
            again = self.rules.dealer_draws(hands.totals[now], hands.soft[now]) & (now != BUST)
            drawing = drawing[again]
        other = np.where(dealer == BUST, 0, hands.totals[dealer])
        return np.sign(totals - other).astype(float)


def _draw(shoe: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A card for each row, by the numbers that are left."""
    steps = np.cumsum(shoe, axis=1)
    at = rng.random(len(shoe)) * steps[:, -1]
    return np.minimum(np.sum(at[:, None] >= steps, axis=1), RANKS - 1)
