"""Games of blackjack with different rules: simulator, exact values, features and families.

Tens and faces count 10; an ace counts 11 unless the hand would go over 21, and a hand in which it
does is soft. The dealer shows one card and takes the others after the player, who hits or stays. A
natural, 21 with two cards, beats every other hand and pays 3:2; equal hands are a draw. A player
who goes over 21 loses at once. There is no doubling, no splitting and no insurance.

A state is a row of 13 integers: the player's total; 1 if an ace counts 11 in it, else 0; the
dealer's card, 1 for an ace; and the numbers of cards of the values 1 to 10 that have been seen
since the decks were shuffled, including those on the table. With infinitely many decks the last ten
are zero in returned states and ignored in given ones. Naturals are settled when cards are dealt, so
a state with total 21 is never a natural.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

HIT, STAY = 0, 1
"""The actions: take a card; let the dealer play."""

VALUES = np.arange(1, 11)  # the ten values that a card can have
_SUITS = np.array([4] * 9 + [16])
_DECK = 52
CHANCES = _SUITS / _DECK  # probability of each value
_NATURAL_PAYS = 1.5
# Scores of the dealer's hand, which are compared with the total of a player who stays.
_LOST, _NATURAL = 0, 22

_HANDS = (22, 2, 11)  # shape of a table with one entry per total, softness and dealer's card
# A hand starts with at least 2 (an ace counted as 1), each card adds at least 1, and above 21 the
# hand is over.
_SWEEPS = 20

# The usual card count: +1 for a low card that is gone, −1 for a ten or an ace that is gone.
_COUNT = np.array([-1, 1, 1, 1, 1, 1, 0, 0, 0, -1])

Hands = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States, rewards so far, and whether each hand is over."""

Policy = Callable[[np.ndarray], np.ndarray]
"""``policy(states) -> (n,)`` actions."""


@dataclass(frozen=True)
class Rules:
    """The rules that differ between games."""

    n_decks: int | None = None  # dealt without replacement; None for infinitely many
    dealer_stays: int = 17  # the total at which the dealer stops
    dealer_hits_soft: bool = False  # whether the dealer takes another card if that total is soft

    def dealer_goes_on(self, total: np.ndarray, soft: np.ndarray) -> np.ndarray:
        """Whether the dealer takes another card."""
        at_the_limit = (total == self.dealer_stays) & soft & self.dealer_hits_soft
        return (total < self.dealer_stays) | at_the_limit


def with_card(total: Any, soft: Any, card: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return totals and softness after one more card per hand; one without a card is 0, False."""
    high = (card == 1) & (total <= 10)
    total = total + card + 10 * high
    soft = soft | high
    over = soft & (total > 21)
    return total - 10 * over, soft & ~over


class Deck:
    """Cards dealt without replacement from some decks, or from infinitely many (None).

    Of infinitely many the cards seen do not matter, and their counts stay at zero.
    """

    def __init__(self, n_decks: int | None) -> None:
        self._full = None if n_decks is None else (n_decks * _SUITS).astype(np.int16)

    def begin(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the cards that are gone: a uniform number up to 52, all equally likely."""
        seen = np.zeros((count, len(VALUES)), dtype=np.int16)
        if self._full is None:
            return seen
        gone = rng.integers(_DECK + 1, size=count)
        # the count of each value given the counts of the values before it is hypergeometric
        for index, cards in enumerate(self._full[:-1]):
            others = self._full[index + 1 :].sum()
            seen[:, index] = rng.hypergeometric(cards, others, gone)
            gone = gone - seen[:, index]
        seen[:, -1] = gone
        return seen

    def draw(self, seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a card for each hand; return the cards and the counts of seen cards."""
        if self._full is None:
            # thirteen ranks are equally likely, of which four count ten
            return np.minimum(rng.integers(1, 14, size=len(seen)), 10), np.zeros_like(seen)
        left = np.cumsum(self._full - seen, axis=1, dtype=np.int16)
        which = rng.integers(left[:, -1]) if len(seen) else np.zeros(0, dtype=np.int64)
        index = np.sum(left <= which[:, None], axis=1)
        seen = seen.copy()
        seen[np.arange(len(seen)), index] += 1
        return VALUES[index], seen


def make_states(
    total: np.ndarray, soft: np.ndarray, shown: np.ndarray, seen: np.ndarray | int = 0
) -> np.ndarray:
    """Return states made from their parts."""
    states = np.empty((len(total), 3 + len(VALUES)), dtype=np.int16)
    states[:, 0], states[:, 1], states[:, 2], states[:, 3:] = total, soft, shown, seen
    return states


def all_states() -> np.ndarray:
    """Return all hands with no card seen, of shape (280, 13): hard 4 to 21, then soft 12 to 21."""
    hands = [(total, 0) for total in range(4, 22)] + [(total, 1) for total in range(12, 22)]
    rows = [(total, soft, shown) for total, soft in hands for shown in VALUES]
    return make_states(*np.array(rows).T)


def hand_of(states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return total, softness and dealer's card: indices into tables with an entry per hand."""
    return states[:, 0], states[:, 1], states[:, 2]


class Blackjack:
    """A task whose episodes are hands of blackjack, with a stake of 1."""

    episodic = True
    n_actions = 2

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = Rules() if rules is None else rules
        self._deck = Deck(self.rules.n_decks)

    def deal(self, count: int, rng: np.random.Generator) -> Hands:
        """Deal hands; return states, rewards, and whether a natural of the player ended them."""
        seen = self._deck.begin(count, rng)
        first, seen = self._deck.draw(seen, rng)
        second, seen = self._deck.draw(seen, rng)
        shown, seen = self._deck.draw(seen, rng)
        total, soft = with_card(*with_card(0, False, first), second)
        natural = total == 21
        rewards = np.zeros(count)
        scores = self._play_dealer(shown[natural], seen[natural], rng)
        rewards[natural] = np.where(scores == _NATURAL, 0.0, _NATURAL_PAYS)
        return make_states(total, soft, shown, seen), rewards, natural

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take one action in each hand; return rewards, next states, and which hands are over."""
        total, soft, shown = _integers(states)
        seen = states[:, 3:]
        if action == HIT:
            card, seen = self._deck.draw(seen, rng)
            total, soft = with_card(total, soft, card)
        lost = total > 21
        over = lost if action == HIT else np.ones(len(total), dtype=bool)
        rewards = np.where(lost, -1.0, 0.0)
        shows = np.flatnonzero(over & ~lost)
        scores = self._play_dealer(shown[shows], seen[shows], rng)
        rewards[shows] = np.sign(total[shows] - scores)
        return rewards, make_states(total, soft, shown, seen), over

    def _play_dealer(
        self, shown: np.ndarray, seen: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Play the dealer's hands to the end from the cards shown, and return their scores."""
        card, seen = self._deck.draw(seen, rng)
        total, soft = with_card(*with_card(0, False, shown), card)
        natural = total == 21
        live = np.flatnonzero(self.rules.dealer_goes_on(total, soft))
        while len(live):
            card, seen[live] = self._deck.draw(seen[live], rng)
            total[live], soft[live] = with_card(total[live], soft[live], card)
            live = live[self.rules.dealer_goes_on(total[live], soft[live])]
        return np.where(natural, _NATURAL, np.where(total > 21, _LOST, total))

    @cached_property
    def score_chances(self) -> np.ndarray:
        """Probabilities of the dealer's scores, of shape (11, 23): by card shown, then by score."""
        bust = 22
        total, soft = (part.ravel() for part in np.indices((bust + 1, 2)))
        live = self.rules.dealer_goes_on(total, soft > 0)
        step = np.diag(~live).astype(float)  # from every hand to those with one more card
        for card, chance in zip(VALUES, CHANCES, strict=True):
            after, soft_after = with_card(total[live], soft[live] > 0, card)
            step[live, 2 * np.minimum(after, bust) + soft_after] += chance
        first, soft_first = with_card(0, False, VALUES)
        two_cards = step[2 * first + soft_first]
        chances = np.zeros((11, _NATURAL + 1))
        chances[1:, _NATURAL] = two_cards[:, total == 21].sum(axis=1)
        two_cards[:, total == 21] = 0.0
        scores = (two_cards @ np.linalg.matrix_power(step, _SWEEPS)).reshape(10, bust + 1, 2)
        chances[1:, :bust] = scores[:, :bust].sum(axis=2)
        chances[1:, _LOST] = scores[:, bust].sum(axis=1)
        return chances


def _integers(states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Totals, softness and cards shown, in types that do not overflow."""
    total, soft, shown = hand_of(np.asarray(states))
    return total.astype(np.int64), soft > 0, shown.astype(np.int64)


def play(task: Blackjack, policy: Policy, dealt: Hands, rng: np.random.Generator) -> Hands:
    """Play hands to the end; return all states visited, rewards, and that the hands are over."""
    states, rewards, over = (array.copy() for array in dealt)
    live = np.flatnonzero(~over)
    visited = [states[live]]
    while len(live):
        actions = np.asarray(policy(states[live]))
        for action in (HIT, STAY):
            hands = live[actions == action]
            rewards[hands], states[hands], over[hands] = task.sample(states[hands], action, rng)
        live = live[~over[live]]
        visited.append(states[live])
    return np.concatenate(visited), rewards, over


def edge_of(rewards: np.ndarray) -> tuple[float, float]:
    """Return the house edge and its standard error from the rewards of independent hands."""
    return -float(rewards.mean()), float(rewards.std(ddof=1) / np.sqrt(len(rewards)))


def exact_q(task: Blackjack, policy: Policy | None = None) -> np.ndarray:
    """Return Q of a policy, or Q*, at ``all_states()`` with infinitely many decks: (280, 2)."""
    if task.rules.n_decks is not None:
        raise ValueError(f"exact values need infinitely many decks, got {task.rules}")
    states = all_states()
    total, soft, shown = _integers(states)
    stay = np.sign(np.arange(22)[:, None] - np.arange(_NATURAL + 1)) @ task.score_chances.T
    totals, softs = with_card(total[:, None], soft[:, None], VALUES)
    lost = totals > 21
    following = np.where(lost, 0, totals), softs.astype(int), shown[:, None]
    table, q = np.zeros(_HANDS), np.zeros((len(states), task.n_actions))
    actions = None if policy is None else np.asarray(policy(states))
    q[:, STAY] = stay[total, shown]
    for _ in range(_SWEEPS):
        q[:, HIT] = np.where(lost, -1.0, table[following]) @ CHANCES
        table[hand_of(states)] = q.max(axis=1) if actions is None else q[np.arange(len(q)), actions]
    return q


def optimal_policy(task: Blackjack) -> Policy:
    """Return the policy with the smallest house edge: ``policy(states) -> (n,)`` actions."""
    best = np.zeros(_HANDS, dtype=np.int64)
    best[hand_of(all_states())] = exact_q(task).argmax(axis=1)
    return lambda states: best[hand_of(states)]


def exact_house_edge(task: Blackjack, policy: Policy) -> float:
    """Return the expected loss per hand with infinitely many decks, as a fraction of the stake."""
    states, q = all_states(), exact_q(task, policy)
    table = np.full(_HANDS, np.nan)
    table[hand_of(states)] = q[np.arange(len(q)), policy(states)]
    naturals = _NATURAL_PAYS * (1 - task.score_chances[:, _NATURAL])
    first, second, shown = np.meshgrid(VALUES, VALUES, VALUES, indexing="ij")
    total, soft = with_card(*with_card(0, False, first), second)
    worth = np.where(total == 21, naturals[shown], table[total, soft.astype(int), shown])
    return -float(np.einsum("ijk,i,j,k", worth, CHANCES, CHANCES, CHANCES))


class HandFeatures:
    """Steps in the player's total and in the dealer's card, their products, and a card count.

    The features of the player's hand are a constant, whether it is soft, the steps 1{total ≥ t} for
    t = 5 to 21, and the same for soft hands, t = 13 to 21. Each is multiplied by a constant and by
    the steps 1{dealer's card ≥ d} for d = 3 to 10 and the ace, which comes last. These 28 × 10
    products span all functions of the hand, so that Q* has no model error. The values jump at few
    totals and change little in between, so that few steps are needed; with indicators of single
    totals, all of them would be needed.

    The other 12 are of the cards seen: the excess of each value over its expectation, the balance
    of low and high cards, and the number of cards. They matter little with two decks, less with
    more, and not at all with infinitely many. All are zero if no card has been seen.
    """

    n_features = 292

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """Return the features of the states, of shape (n, 292)."""
        return np.hstack([self._table[hand_of(states)], _history(states)])

    @cached_property
    def _table(self) -> np.ndarray:
        """Features of the hand, of shape (22, 2, 11, 280): by total, softness and dealer's card."""
        total, soft, shown = np.indices(_HANDS)
        high = np.where(shown == 1, 11, shown)
        player = [np.ones_like(total), soft, *(total >= t for t in range(5, 22))]
        player += [soft * (total >= t) for t in range(13, 22)]
        dealer = [np.ones_like(total), *(high >= d for d in range(3, 12))]
        return np.stack([p * d for p in player for d in dealer], axis=-1).astype(np.float64)


def _history(states: np.ndarray) -> np.ndarray:
    """Return the features of the cards seen, scaled to about 1 after one deck."""
    seen = states[:, 3:].astype(np.float64)
    cards = seen.sum(axis=1, keepdims=True)
    excess = (seen - cards * CHANCES) / np.sqrt(_DECK * CHANCES * (1 - CHANCES))
    balance = seen @ _COUNT / np.sqrt(_DECK * CHANCES @ np.square(_COUNT))
    return np.hstack([excess, balance[:, None], cards / _DECK])


def make_family(decks: Sequence[int | None], dealer_stays: Sequence[int]) -> tuple[Blackjack, ...]:
    """Return one game for every combination of rules, the last one varying fastest.

    The same three rules vary in D. Calandriello, A. Lazaric and M. Restelli, Sparse multi-task
    reinforcement learning, NIPS 2014.
    """
    return tuple(Blackjack(Rules(*rules)) for rules in product(decks, dealer_stays, (False, True)))


def design_states(tasks: Sequence[Blackjack], count: int, seed: int) -> np.ndarray:
    """Return states that a player visits who hits or stays with equal probability."""
    rng = np.random.default_rng(seed)
    fewest = min(tasks, key=lambda task: task.rules.n_decks or np.inf)
    # about 19 of 20 hands need a decision; the others are naturals
    dealt = fewest.deal(2 * count + 20, rng)
    visited = play(fewest, lambda s: rng.choice([HIT, STAY], len(s)), dealt, rng)[0]
    return rng.permutation(visited)[:count]
