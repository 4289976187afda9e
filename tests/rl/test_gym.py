"""Environments of Gymnasium, against values that are known and against their own steps."""

import sys

import gymnasium
import numpy as np
import pytest

from thinrank.rl.gym import log_episodes


def test_log_of_cart_pole():
    env = gymnasium.make("CartPole-v1", max_episode_steps=12)
    log = log_episodes(env, lambda state: int(state[2] > 0), n_episodes=4, seed=1)
    assert log.states.shape == (48, 4)
    assert not log.terminated.any()  # cut off by the time limit, not over
    assert np.array_equal(log.next_states[:11], log.states[1:12])
    assert not np.array_equal(log.next_states[11], log.states[12])
    again = log_episodes(env, lambda state: int(state[2] > 0), n_episodes=4, seed=1)
    assert np.array_equal(log.states, again.states)
    log = log_episodes("CartPole-v1", n_episodes=5, seed=0)  # random actions
    assert log.terminated.sum() == 5
    assert set(log.actions) == {0, 1}
    assert np.all(log.rewards == 1)


class Counter(gymnasium.Env):
    """Counts its steps in one array that it writes over; three make an episode."""

    def __init__(self, action_space):
        self.action_space, self.taken = action_space, []
        self.observation_space = gymnasium.spaces.Box(0, 3, (1,))
        self.steps = np.zeros(1)

    def reset(self, *, seed=None, options=None):
        self.steps[:] = 0
        return self.steps, {}

    def step(self, action):
        self.taken.append(action)
        self.steps += 1
        return self.steps, 0.0, bool(self.steps[0] == 3), False, {}


def test_states_are_copied_and_actions_count_from_0():
    env = Counter(gymnasium.spaces.Discrete(2, start=5))
    log = log_episodes(env, n_episodes=4)
    assert log.states[:, 0].tolist() == [0, 1, 2] * 4
    assert log.next_states[:, 0].tolist() == [1, 2, 3] * 4
    assert set(log.actions) == {0, 1}
    assert env.taken == (log.actions + 5).tolist()


@pytest.mark.parametrize("space", ["MultiBinary", "MultiDiscrete"])
def test_other_actions_are_refused(space):
    sizes = 3 if space == "MultiBinary" else [2, 2]
    with pytest.raises(
        ValueError, match=f"env must have discrete actions or one in an interval, got {space}"
    ):
        log_episodes(Counter(getattr(gymnasium.spaces, space)(sizes)))


def test_what_is_missing_is_said(monkeypatch):
    with pytest.raises(ValueError, match=r"is not an environment of Gymnasium .*fit_batch"):
        log_episodes("classic/cartpole-v0")
    with pytest.raises(ValueError, match="n_episodes must be a positive integer"):
        log_episodes("CartPole-v1", n_episodes=0)
    with pytest.raises(ValueError, match="policy must return actions from 0 to 1, got -1"):
        log_episodes("CartPole-v1", lambda state: -1)
    with pytest.raises(TypeError, match="policy must be a function of states or None, got 'left'"):
        log_episodes("CartPole-v1", "left")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"'\.\[rl\]"):
        log_episodes("CartPole-v1")
