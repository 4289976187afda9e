"""The rules of a game of blackjack."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

HIT, STAY, DOUBLE = 0, 1, 2
"""The actions: take a card; let the dealer play; double the stake, take one card and stay."""

ACTIONS = {"hit/stay": 2, "hit/stay/double": 3}
"""Number of actions by the name of the set of actions."""

_DECK = 52
# Enough cards for any hand of the player and the dealer together.
_LEFT_AT_LEAST = 26


@dataclass(frozen=True)
class Rules:
    """The rules that may differ between games.

    Common to all games: tens and faces count 10; an ace counts 11 unless the hand would go
    over 21, and a hand in which it does is soft. The dealer shows one card and takes the others
    after the player. A natural, 21 with two cards, beats every other hand; equal hands are a draw.
    A player who goes over 21 loses at once. Doubling is allowed at every turn; the doubled
    stake is also lost to a natural. There is no splitting and no insurance.

    Parameters
    ----------
    n_decks : int or None, default=None
        Number of decks, from which cards are dealt without replacement; None for infinitely many.
    dealer_stays : int, default=17
        The total at which the dealer stops, from 12 to 21.
    dealer_hits_soft : bool, default=False
        Whether the dealer takes another card if that total is soft.
    actions : {"hit/stay", "hit/stay/double"}, default="hit/stay"
        Actions of the player.
    natural : float, default=1.5
        Payoff of a player's natural, relative to the stake; 1.5 is "3:2".
    cut : int, default=52
        With finite decks, the number of cards that are gone when a hand begins is uniform between 0
        and ``cut``. At least 26 cards must be left.

    Examples
    --------
    >>> from paper import blackjack
    >>> blackjack.Rules(n_decks=6, dealer_hits_soft=True).label
    '6 decks, dealer stays at 17, hits soft 17'
    """

    n_decks: int | None = None
    dealer_stays: int = 17
    dealer_hits_soft: bool = False
    actions: str = "hit/stay"
    natural: float = 1.5
    cut: int = 52

    def __post_init__(self) -> None:
        if self.n_decks is not None and not _is_whole(self.n_decks, 1):
            raise ValueError(f"n_decks must be None or at least 1, got {self.n_decks!r}")
        if not _is_whole(self.dealer_stays, 12) or self.dealer_stays > 21:
            raise ValueError(f"dealer_stays must be from 12 to 21, got {self.dealer_stays!r}")
        if not isinstance(self.dealer_hits_soft, bool):
            raise TypeError(f"dealer_hits_soft must be a bool, got {self.dealer_hits_soft!r}")
        if self.actions not in ACTIONS:
            raise ValueError(f"actions must be one of {', '.join(ACTIONS)}, got {self.actions!r}")
        if not isinstance(self.natural, Real) or not 0 <= self.natural < float("inf"):
            raise ValueError(f"natural must be at least 0 and finite, got {self.natural!r}")
        if not _is_whole(self.cut, 0):
            raise ValueError(f"cut must be an integer, at least 0, got {self.cut!r}")
        if self.n_decks is not None and _DECK * self.n_decks - self.cut < _LEFT_AT_LEAST:
            raise ValueError(
                f"cut must leave {_LEFT_AT_LEAST} of the {_DECK * self.n_decks} cards, got "
                f"{self.cut}"
            )

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return ACTIONS[self.actions]

    @property
    def label(self) -> str:
        """Description of the rules that differ within a family."""
        decks = "infinite decks" if self.n_decks is None else f"{self.n_decks} decks"
        soft = f", hits soft {self.dealer_stays}" if self.dealer_hits_soft else ""
        return f"{decks}, dealer stays at {self.dealer_stays}{soft}"


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
