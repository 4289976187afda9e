"""Tasks on few states with everything known, written without the package."""

import numpy as np


class Table:
    """P of shape (A, S, S) and R of shape (A, S); reaching a state of ``ends`` is the end."""

    def __init__(self, P, R, ends=None, episodic=False):
        self.P, self.R = np.asarray(P), np.asarray(R)
        self.ends = np.zeros(self.P.shape[1], bool) if ends is None else np.asarray(ends)
        self.episodic = episodic

    def sample(self, states, action, rng):
        steps = np.cumsum(self.P[action], axis=1)
        steps[:, -1] = 1.0
        following = (rng.uniform(size=len(states))[:, None] > steps[states]).sum(axis=1)
        return self.R[action, states], following, self.ends[following]

    def expect(self, states, action, value):
        everything = np.where(self.ends, 0.0, value(np.arange(self.P.shape[1])))
        return self.R[action, states], self.P[action][states] @ everything

    def optimum(self, discount, iterations=100):
        """Q* of shape (S, A) by value iteration, and the values after every iteration."""
        Q = np.zeros(self.R.shape)
        path = []
        for _ in range(iterations):
            Q = self.R + discount * self.P @ np.where(self.ends, 0.0, Q.max(axis=0))
            path.append(Q.T)
        return path


def random_table(seed, states=8, actions=3, deterministic=False):
    rng = np.random.default_rng(seed)
    if deterministic:
        P = np.eye(states)[rng.integers(states, size=(actions, states))]
    else:
        P = rng.dirichlet(np.full(states, 0.3), size=(actions, states))
    return Table(P, rng.uniform(size=(actions, states)))


class LinearFamily:
    """k decision processes that are linear in few of p features of S states.

    P(s′|s, a) = Σⱼ φⱼ(s)·μ(s′|j, a, task) over the active j, which are the corners of a simplex;
    rewards likewise. So Q of every Bellman image is linear in the active features.
    """

    def __init__(self, seed=0, states=60, features=12, active=3, tasks=4, actions=2):
        rng = np.random.default_rng(seed)
        self.phi = rng.standard_normal((states, features)) * 0.3
        self.active = np.sort(rng.choice(features, active, replace=False))
        self.phi[:, self.active] = rng.dirichlet(np.ones(active), size=states)
        shares = self.phi[:, self.active]
        self.tasks = [
            Table(
                np.stack([shares @ rng.dirichlet(np.ones(states), active) for _ in range(actions)]),
                np.stack([shares @ rng.uniform(size=active) for _ in range(actions)]),
            )
            for _ in range(tasks)
        ]

    def features(self, states):
        return self.phi[states]
