"""Learning from environments and Minari, and playing learned policies."""

import pickle
import sys
import warnings
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

from thinrank.rl import Identity, MultiTaskFQI, Transitions, evaluate
from thinrank.rl.gym import log_episodes
from thinrank.rl.minari import from_minari


class Chain(gymnasium.Env):
    """Walk right from 0 to 4 for a reward of 1; at most ten steps."""

    def __init__(self, reward=1.0):
        self.action_space = gymnasium.spaces.Discrete(2)
        self.observation_space = gymnasium.spaces.Box(0, 4, (2,), np.float64)
        self.reward = reward

    def seen(self):
        return np.array([self.place, 1.0])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = float(self.np_random.integers(3)), 0
        return self.seen(), {}

    def step(self, action):
        self.place = min(max(self.place + (1 if action else -1), 0.0), 4.0)
        self.steps += 1
        won = self.place == 4
        return self.seen(), self.reward * won - 0.1, won, self.steps >= 10, {}


@pytest.fixture(scope="module")
def fqi():
    learner = MultiTaskFQI(Identity(), 2, 0.9, n_iterations=15, random_state=0)
    return learner.fit([Chain(1.0), Chain(2.0)], n_episodes=30)


def test_environments_are_logged_and_learned(fqi):
    assert fqi.n_tasks_ == 2
    assert fqi.policy(0)(np.array([[0.0, 1.0], [3.0, 1.0]])).tolist() == [1, 1]
    alone = MultiTaskFQI(n_iterations=1).fit("CartPole-v1", n_episodes=2)  # one, without a list
    assert alone.n_tasks_ == 1
    with pytest.raises(ValueError, match=r"states must be left out for environments.*fit_batch"):
        fqi.fit([Chain(), Chain()], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="states must be given"):
        fqi.fit([SimpleNamespace(sample=None)])


def test_a_policy_takes_one_observation_and_can_be_pickled(fqi):
    policy = pickle.loads(pickle.dumps(fqi.policy(1)))
    action = policy(np.array([2.0, 1.0]))
    assert isinstance(action, int)
    assert action == 1
    log = log_episodes(Chain(), policy=policy, n_episodes=3)
    assert set(log.actions) == {1}
    assert log.terminated.sum() == 3
    with pytest.raises(ValueError, match=r"one state of shape \(2,\).*got shape \(1, 1, 2\)"):
        policy(np.zeros((1, 1, 2)))


def test_evaluation_has_an_interval(fqi):
    found = evaluate(Chain(), fqi.policy(0), 40, seed=1)
    steps = np.round((1.0 - found.returns) / 0.1).astype(int)
    assert set(steps) <= {2, 3, 4}  # the shortest ways
    error = found.returns.std(ddof=1) / 40**0.5
    assert found.low == pytest.approx(found.value - 2.0227 * error, abs=1e-4)
    assert found.high - found.value == pytest.approx(found.value - found.low)
    assert found.n_episodes == 40
    left = evaluate(Chain(), lambda state: 0, 3, discount=0.5)
    assert left.value == pytest.approx(-0.1 * (1 - 0.5**10) / 0.5)
    assert left.low == left.high
    assert evaluate(Chain(), lambda state: 0, 1).high == float("inf")


def test_minari(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    buffers = []
    for number, action in enumerate((1, 1, 0)):
        log = log_episodes(Chain(), lambda state, action=action: action, 1, seed=number)
        ended = log.terminated
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                id=number,
                observations=np.append(log.states, log.next_states[-1:], axis=0),
                actions=log.actions,
                rewards=log.rewards,
                terminations=ended,
                truncations=np.append(np.zeros(len(log) - 1, bool), not ended[-1]),
            )
        )
    space = {"observation_space": Chain().observation_space, "action_space": Chain().action_space}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an author and a policy that are not named
        minari.create_dataset_from_buffers("test/chain-v0", buffers, **space)
    log = from_minari("test/chain-v0")
    assert len(np.unique(log.episodes)) == 3
    assert log.terminated.sum() == 2
    assert set(log.actions[log.episodes == 2]) == {0}
    np.testing.assert_array_equal(
        log.next_states[:, 0], np.clip(log.states[:, 0] + 2 * log.actions - 1, 0, 4)
    )
    learner = MultiTaskFQI(Identity(), 2, 0.9, n_iterations=2)
    assert learner.fit_batch([log, log]).n_tasks_ == 2
    with pytest.raises(TypeError, match="that of task 1 is int"):
        learner.fit_batch([log, 3])
    assert learner.fit_batch([minari.load_dataset("test/chain-v0")] * 2).n_tasks_ == 2
    assert learner.fit_batch(["test/chain-v0", "test/chain-v0"]).n_tasks_ == 2


def test_datasets_that_cannot_be_read(monkeypatch):
    def of(**fields):
        episode = SimpleNamespace(
            **{
                "observations": np.zeros((3, 2)),
                "actions": np.array([0, 1]),
                "rewards": np.zeros(2),
                "terminations": np.zeros(2, bool),
                **fields,
            }
        )
        return SimpleNamespace(iterate_episodes=lambda: iter([episode]))

    assert isinstance(from_minari(of()), Transitions)
    with pytest.raises(ValueError, match=r"dataset must have discrete actions.*float64"):
        from_minari(of(actions=np.zeros(2)))
    with pytest.raises(ValueError, match="arrays as observations, got dict"):
        from_minari(of(observations={}))
    with pytest.raises(ValueError, match=r"must have 3 observations, got .*\(2, 2\)"):
        from_minari(of(observations=np.zeros((2, 2))))
    with pytest.raises(ValueError, match="with 2 actions must have 2 rewards, got an array"):
        from_minari(of(rewards=None))
    with pytest.raises(TypeError, match="a dataset of Minari or its name, got int"):
        from_minari(3)
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(ImportError, match=r"'\.\[minari\]"):
        from_minari("test/chain-v0")


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_nothing_need_be_named(name):
    """Features, and the number of actions, are those of the logs; Pendulum has three torques."""
    logs = [log_episodes(name, n_episodes=2, seed=seed) for seed in range(2)]
    learner = MultiTaskFQI(n_iterations=2).fit_batch(logs)
    found = evaluate(name, learner.policy(0), 1)
    assert np.isfinite(found.value)
    assert learner.n_actions_ == (2 if name == "CartPole-v1" else 3)
    assert np.all(np.isfinite(learner.q_values(1, 1e6 * logs[0].states)))


def test_names_of_datasets_belong_to_fit_batch():
    with pytest.raises(ValueError, match="learns from logs, such as datasets of Minari"):
        MultiTaskFQI().fit(["classic/cartpole-v0"])
    with pytest.raises(TypeError, match=r"a log of transitions .*use fit_batch"):
        MultiTaskFQI().fit(SimpleNamespace(iterate_episodes=None))
