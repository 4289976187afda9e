"""Families of twelve control tasks: CartPole, MountainCar and Acrobot with variations per task.

The equations of motion are those of Gymnasium's environments, for many episodes and tasks at once.
Observations are the state and noise variables; a feature map makes a Fourier basis of the state,
and passes the noise on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

TASKS, NOISE = 12, 100

Motion = Callable[[np.ndarray, np.ndarray, dict[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True, eq=False)
class Features:
    """A Fourier basis with at most two coordinates per function, then the noise variables."""

    low: np.ndarray
    high: np.ndarray
    order: int

    def __post_init__(self) -> None:
        every = product(range(self.order + 1), repeat=len(self.low))
        waves = [c for c in every if 0 < np.count_nonzero(c) <= 2]
        object.__setattr__(self, "waves", np.array(waves, dtype=float).T)

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """All features."""
        size = len(self.low)
        scaled = np.clip((states[:, :size] - self.low) / (self.high - self.low), 0, 1)
        return np.concatenate([np.cos(np.pi * scaled @ self.waves), states[:, size:]], axis=1)

    @property
    def informative(self) -> int:
        """Number of features that depend on the state."""
        return self.waves.shape[1]


@dataclass(frozen=True, eq=False)
class Family:
    """Tasks with the same states and actions. Arrays of ``own`` hold one number per task.

    Parameters
    ----------
    n_actions, steps, exploring, repeats : int
        Actions, decisions of an episode, decisions of a logged episode, and the number of times
        that the environment repeats the action of a decision.
    own : dict of ndarray
        Parameters of the tasks.
    move : callable
        ``move(states, actions, own)`` returns the next states.
    outcome : callable
        ``outcome(next_states, own)`` returns rewards and whether the episode ended.
    start, explore : callable
        ``start(n, rng)`` returns initial states of the evaluation, ``explore`` those of the logs.
    """

    name: str
    features: Features
    n_actions: int
    steps: int
    exploring: int
    repeats: int
    own: dict[str, np.ndarray]
    move: Motion
    outcome: Callable[[np.ndarray, dict[str, np.ndarray]], tuple[np.ndarray, np.ndarray]]
    start: Callable[[int, np.random.Generator], np.ndarray]
    explore: Callable[[int, np.random.Generator], np.ndarray]

    def step(
        self, states: np.ndarray, actions: np.ndarray, tasks: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Next states, rewards and ends; a task with ``reversed`` mirrors the actions."""
        own = {name: values[tasks] for name, values in self.own.items()}
        actions = np.where(own["reversed"] > 0, self.n_actions - 1 - actions, actions)
        following, (rewards, ended) = states, self.outcome(states, own)
        ended = np.zeros_like(ended)
        for _ in range(self.repeats):
            moved = self.move(following, actions, own)
            following = np.where(ended[:, None], following, moved)
            rewards, now = self.outcome(following, own)
            ended |= now
        return following, rewards, ended


def _signs(rng: np.random.Generator) -> np.ndarray:
    """Half of the tasks −1, half 1."""
    return rng.permutation(np.repeat([-1.0, 1.0], TASKS // 2))


def _own(rng: np.random.Generator, spread: float, **means: float) -> dict[str, np.ndarray]:
    """Parameters of the tasks: each mean times a factor from 1/(1 + spread) to 1 + spread."""
    width = np.log1p(spread)
    factors = {name: np.exp(rng.uniform(-width, width, TASKS)) for name in means}
    return {name: mean * factors[name] for name, mean in means.items()} | {
        "reversed": np.zeros(TASKS)
    }


def _cart_pole_move(
    states: np.ndarray, actions: np.ndarray, own: dict[str, np.ndarray]
) -> np.ndarray:
    x, v, angle, turn = states.T
    force = np.where(actions == 1, 1.0, -1.0) * own["force"]
    cos, sin = np.cos(angle), np.sin(angle)
    total = own["cart"] + own["pole"]
    moment = own["pole"] * own["length"]
    push = (force + moment * turn**2 * sin) / total
    bend = (own["gravity"] * sin - cos * push) / (
        own["length"] * (4 / 3 - own["pole"] * cos**2 / total)
    )
    speed = push - moment * bend * cos / total
    tau = 0.02
    return np.stack([x + tau * v, v + tau * speed, angle + tau * turn, turn + tau * bend], axis=1)


def _cart_pole(name: str, rng: np.random.Generator) -> Family:
    physics = {"gravity": 9.8, "cart": 1.0, "pole": 0.1, "length": 0.5, "force": 10.0}
    own = _own(rng, 0.5 if name == "physics" else 0.0, **physics)
    own["goal"] = np.zeros(TASKS)
    if name == "own goals":
        own["goal"] = rng.uniform(-1.2, 1.2, TASKS)
    if name == "reversed":
        own["reversed"] = (_signs(rng) > 0).astype(float)
    with_goal = name == "own goals"

    def outcome(states: np.ndarray, own: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        ended = (np.abs(states[:, 0]) > 2.4) | (np.abs(states[:, 2]) > 0.2095)
        near = np.clip(1 - np.abs(states[:, 0] - own["goal"]), 0, 1)
        return np.where(ended, 0.0, near if with_goal else 1.0), ended

    wide = np.array([1.5, 0.5, 0.1, 0.5]) if with_goal else np.full(4, 0.05)
    edge = np.array([2.4, 2.0, 0.21, 2.5])
    return Family(
        f"CartPole, {name}",
        Features(-edge, edge, 3),
        2,
        200,
        200,
        1,
        own,
        _cart_pole_move,
        outcome,
        lambda n, rng: rng.uniform(-0.05, 0.05, (n, 4)),
        lambda n, rng: rng.uniform(-wide, wide, (n, 4)),
    )


_VALLEY = -np.pi / 6  # the lowest point of sin(3x); the track is symmetric about it


def _mountain_car_move(
    states: np.ndarray, actions: np.ndarray, own: dict[str, np.ndarray]
) -> np.ndarray:
    x, v = states.T
    v = v + (actions - 1) * own["force"] - own["gravity"] * np.cos(3 * x)
    v = np.clip(v, -0.07, 0.07)
    x = x + v
    edge = 1.1 - 1e-9
    outside = np.abs(x - _VALLEY) >= edge
    return np.stack([np.clip(x, _VALLEY - edge, _VALLEY + edge), np.where(outside, 0.0, v)], axis=1)


def _mountain_car(name: str, rng: np.random.Generator) -> Family:
    own = _own(rng, 0.25 if name == "physics" else 0.0, force=0.001, gravity=0.0025)
    own["side"] = _signs(rng) if name == "either side" else np.ones(TASKS)

    def outcome(states: np.ndarray, own: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        # the goal is at 0.5 on Gymnasium's track
        return np.full(len(states), -1.0), own["side"] * (states[:, 0] - _VALLEY) >= 1.0236

    def start(n: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([rng.uniform(-0.6, -0.4, n), np.zeros(n)], axis=1)

    edge = np.array([1.1, 0.07])
    middle = np.array([_VALLEY, 0.0])
    return Family(
        f"MountainCar, {name}",
        Features(middle - edge, middle + edge, 5),
        3,
        50,
        15,
        4,
        own,
        _mountain_car_move,
        outcome,
        start,
        lambda n, rng: middle + rng.uniform(-0.9, 0.9, (n, 2)) * edge,
    )


def _acrobot_slope(s: np.ndarray, torque: np.ndarray, own: dict[str, np.ndarray]) -> np.ndarray:
    """Time derivatives of the angles and their speeds; the rod's moment of inertia is 1."""
    m1, m2, length, half, g = own["mass1"], own["mass2"], own["length"], own["length"] / 2, 9.8
    a, b, da, db = s.T
    d1 = m1 * half**2 + m2 * (length**2 + half**2 + 2 * length * half * np.cos(b)) + 2
    d2 = m2 * (half**2 + length * half * np.cos(b)) + 1
    phi2 = m2 * half * g * np.cos(a + b - np.pi / 2)
    phi1 = (
        -m2 * length * half * db**2 * np.sin(b)
        - 2 * m2 * length * half * db * da * np.sin(b)
        + (m1 * half + m2 * length) * g * np.cos(a - np.pi / 2)
        + phi2
    )
    ddb = (torque + d2 / d1 * phi1 - m2 * length * half * da**2 * np.sin(b) - phi2) / (
        m2 * half**2 + 1 - d2**2 / d1
    )
    dda = -(d2 * ddb + phi1) / d1
    return np.stack([da, db, dda, ddb], axis=1)


def _acrobot_move(
    states: np.ndarray, actions: np.ndarray, own: dict[str, np.ndarray]
) -> np.ndarray:
    torque, h = (actions - 1.0) * own["torque"], 0.2
    k1 = _acrobot_slope(states, torque, own)
    k2 = _acrobot_slope(states + h / 2 * k1, torque, own)
    k3 = _acrobot_slope(states + h / 2 * k2, torque, own)
    k4 = _acrobot_slope(states + h * k3, torque, own)
    after = states + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    angles = (after[:, :2] + np.pi) % (2 * np.pi) - np.pi
    limit = np.array([4 * np.pi, 9 * np.pi])
    return np.concatenate([angles, np.clip(after[:, 2:], -limit, limit)], axis=1)


def _acrobot(name: str, rng: np.random.Generator) -> Family:
    own = _own(rng, 0.2 if name == "physics" else 0.0, mass1=1.0, mass2=1.0, length=1.0, torque=1.0)
    if name == "reversed":
        own["reversed"] = (_signs(rng) > 0).astype(float)

    def outcome(states: np.ndarray, own: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        a, b = states[:, 0], states[:, 1]
        height = -own["length"] * (np.cos(a) + np.cos(a + b))
        return np.full(len(states), -1.0), height > 1

    wide = np.array([1.5, 1.5, 2.0, 3.0])
    edge = np.array([np.pi, np.pi, 5.0, 9.0])
    return Family(
        f"Acrobot, {name}",
        Features(-edge, edge, 3),
        3,
        100,
        15,
        2,
        own,
        _acrobot_move,
        outcome,
        lambda n, rng: rng.uniform(-0.1, 0.1, (n, 4)),
        lambda n, rng: rng.uniform(-wide, wide, (n, 4)),
    )


FAMILIES: dict[str, tuple[Callable[[str, np.random.Generator], Family], str]] = {
    f"{game}, {variant}": (make, variant)
    for game, make, variants in (
        ("CartPole", _cart_pole, ("physics", "own goals", "reversed")),
        ("MountainCar", _mountain_car, ("physics", "either side")),
        ("Acrobot", _acrobot, ("physics", "reversed")),
    )
    for variant in variants
}


def make_family(name: str, seed: int) -> Family:
    """The family of a name, with the parameters of its tasks drawn."""
    make, variant = FAMILIES[name]
    return make(variant, np.random.default_rng([seed, 0]))


def _noisy(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([states, rng.standard_normal((len(states), NOISE))], axis=1)


def random_log(family: Family, episodes: int, seed: int) -> dict[str, np.ndarray]:
    """Logged episodes of all tasks with random actions, as the arguments of ``Transitions``."""
    rng = np.random.default_rng([seed, 1])
    tasks = np.repeat(np.arange(TASKS), episodes)
    numbers = np.tile(np.arange(episodes), TASKS)
    seen = _noisy(family.explore(len(tasks), rng), rng)
    parts = []
    for _ in range(family.exploring):
        actions = rng.integers(family.n_actions, size=len(tasks))
        size = seen.shape[1] - NOISE
        following, rewards, ended = family.step(seen[:, :size], actions, tasks)
        following = _noisy(following, rng)
        parts.append((seen, actions, rewards, following, ended, tasks, numbers))
        live = ~ended
        seen, tasks, numbers = following[live], tasks[live], numbers[live]
        if not len(tasks):
            break
    names = ("states", "actions", "rewards", "next_states", "terminated", "tasks", "episodes")
    columns = zip(*parts, strict=True)
    return {n: np.concatenate(column) for n, column in zip(names, columns, strict=True)}


def returns(
    family: Family,
    act: Callable[[int, np.ndarray], np.ndarray],
    starts: int,
    seed: int,
) -> np.ndarray:
    """Mean return of every task; ``act(task, states)`` returns the actions."""
    rng = np.random.default_rng([seed, 2])
    tasks = np.repeat(np.arange(TASKS), starts)
    numbers = np.arange(len(tasks))
    earned = np.zeros(len(tasks))
    states = family.start(len(tasks), rng)
    for _ in range(family.steps):
        seen = _noisy(states, rng)
        actions = np.empty(len(tasks), dtype=np.int64)
        for task in np.unique(tasks):
            actions[tasks == task] = act(int(task), seen[tasks == task])
        states, rewards, ended = family.step(states, actions, tasks)
        earned[numbers] += rewards
        states, tasks, numbers = states[~ended], tasks[~ended], numbers[~ended]
        if not len(tasks):
            break
    return earned.reshape(TASKS, starts).mean(axis=1)
