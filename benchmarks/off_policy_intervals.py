"""How often intervals of importance sampling contain the exact value of a policy.

    python benchmarks/off_policy_intervals.py --markdown docs/benchmarks/off_policy_intervals.md

Logs of a decision process with four states; the behaviour policy takes each action of the policy
to be evaluated with probability .3 to .5, so that few episodes have most of the weight.
"""

from __future__ import annotations

import numpy as np
from output import arguments_of, machine, publish, table

import thinrank as tr
from thinrank.rl.estimates import mean_with_interval

DISCOUNT, LEVEL = 0.8, 0.95
EPISODES = (50, 200, 1000)
REPORT_SEED, RUNS = 40_000, 400
CHANCE_OF_ONE = np.array([0.5, 0.7, 0.4, 0.5])  # probability of action 1 in each state
POLICY = np.array([1, 0, 1, 0])


def process() -> tr.rl.TabularMDP:
    """The decision process; state 3 ends an episode."""
    rng = np.random.default_rng(3)
    kernel = rng.dirichlet(np.ones(4), size=(4, 2))
    return tr.rl.TabularMDP(kernel, rng.uniform(size=(4, 2)), terminal=[False] * 3 + [True])


def random_log(mdp: tr.rl.TabularMDP, n: int, rng: np.random.Generator) -> tr.rl.Transitions:
    """Episodes from the states 0 to 2, step by step for all of them."""
    states, episodes = rng.integers(3, size=n), np.arange(n)
    parts = []
    while len(states):
        actions = (rng.random(len(states)) < CHANCE_OF_ONE[states]).astype(int)
        rewards, after = np.empty(len(states)), np.empty_like(states)
        ended = np.empty(len(states), dtype=bool)
        for action in range(2):
            own = actions == action
            rewards[own], after[own], ended[own] = mdp.sample(states[own], action, rng)
        parts.append((states, actions, rewards, after, ended, episodes))
        states, episodes = after[~ended], episodes[~ended]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return tr.rl.Transitions(*columns[:5], episodes=columns[5])


def behaviour(states: np.ndarray) -> np.ndarray:
    """Probabilities of both actions."""
    return np.stack([1 - CHANCE_OF_ONE[states], CHANCE_OF_ONE[states]], axis=1)


def policy(states: np.ndarray) -> np.ndarray:
    """The policy to be evaluated."""
    return POLICY[states]


def main() -> None:
    parser = arguments_of(__doc__, repetitions=RUNS)
    options = parser.parse_args()
    mdp = process()
    q = mdp.q_of(policy, DISCOUNT)
    exact = float(np.mean([q[s, POLICY[s]] for s in range(3)]))
    lines = []
    for n in EPISODES:
        found: dict[str, list[tr.rl.PolicyValue]] = {}
        for run in range(options.repetitions):
            log = random_log(mdp, n, np.random.default_rng([REPORT_SEED + run, n]))
            for weighted in (False, True):
                value = tr.rl.importance_sampling(
                    log, policy, 2, DISCOUNT, behaviour=behaviour, weighted=weighted, level=LEVEL
                )
                found.setdefault("weighted" if weighted else "as is", []).append(value)
            plain = mean_with_interval(found["as is"][-1].returns, LEVEL, "Student")
            found.setdefault("as is, Student's t alone", []).append(plain)
        for method, values in found.items():
            inside = np.mean([v.low <= exact <= v.high for v in values])
            width = np.median([v.high - v.low for v in values])
            error = np.sqrt(np.mean([(v.value - exact) ** 2 for v in values]))
            lines.append([str(n), method, f"{inside:.1%}", f"{width:.2f}", f"{error:.2f}"])
    publish(
        [
            *table(["episodes", "weights", "covered", "median width", "error"], lines, text=2),
            "",
            f"{options.repetitions} logs per line, intervals of level {LEVEL:.0%}. The exact value "
            f"is {exact:.3f}; “error” is the root mean square error of the estimates.",
            "",
            f"Machine: {machine()}.",
            "Command: `python benchmarks/off_policy_intervals.py`.",
        ],
        options.markdown,
    )


if __name__ == "__main__":
    main()
