"""
Carts with goals of their own, learned together and separately
==============================================================

Six carts on a track are pushed to the left, not at all, or to the right. Each has a goal of its
own, and a short log of random pushes. :class:`thinrank.rl.MultiTaskFQI` writes the action values of
every task as a common part plus deviations of low rank. Features need not be named.
"""

import matplotlib.pyplot as plt
import numpy as np

import thinrank as tr

goals = np.array([-0.8, -0.5, -0.2, 0.1, 0.4, 0.7])


def drive(states, actions, goal, rng):
    """Rewards and next states: place and speed, at most 1 from the middle."""
    speed = 0.8 * states[:, 1] + 0.08 * (actions - 1) + 0.01 * rng.standard_normal(len(states))
    place = np.clip(states[:, 0] + speed, -1, 1)
    return -np.abs(place - goal), np.stack([place, speed], axis=1)


def random_log(goal, seed, episodes=10, steps=20):
    rng, parts = np.random.default_rng(seed), []
    states = np.stack([rng.uniform(-1, 1, episodes), np.zeros(episodes)], axis=1)
    for _ in range(steps):
        actions = rng.integers(3, size=episodes)
        rewards, after = drive(states, actions, goal, rng)
        parts.append((states, actions, rewards, after, rewards > 0, np.arange(episodes)))
        states = after
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return tr.rl.Transitions(*columns[:5], episodes=columns[5])


logs = [random_log(goal, seed) for seed, goal in enumerate(goals)]

# %%
# Three learners
# --------------
# Together, with one policy for all tasks, and every task by itself.

learners = {
    "together": tr.rl.MultiTaskFQI(discount=0.95),
    "one policy": tr.rl.MultiTaskFQI(discount=0.95, pooled=True),
    "separately": tr.rl.MultiTaskFQI(
        discount=0.95, regressor=tr.rl.CommonPart(None, None, common_ridge=np.inf)
    ),
}
for learner in learners.values():
    learner.fit_batch(logs)
print(learners["together"].best_params_)

# %%
# Where the carts go
# ------------------
# Ten carts per task from places all over the track; a dashed line is the goal.

figure, axes = plt.subplots(3, 6, figsize=(9, 4.5), sharex=True, sharey=True, layout="constrained")
for row, (name, learner) in zip(axes, learners.items(), strict=True):
    total = 0.0
    for task, (axis, goal) in enumerate(zip(row, goals, strict=True)):
        rng = np.random.default_rng(100 + task)
        states = np.stack([np.linspace(-1, 1, 10), np.zeros(10)], axis=1)
        places = [states[:, 0]]
        for _ in range(40):
            rewards, states = drive(states, learner.policy(task)(states), goal, rng)
            total += rewards.mean() / len(goals)
            places.append(states[:, 0])
        axis.plot(np.array(places), color="C0", lw=0.8)
        axis.axhline(goal, color="black", ls="--", lw=0.8)
    row[0].set_ylabel(name)
    print(f"{name:12} mean return of 40 steps {total:.2f}")
for axis in axes[-1]:
    axis.set_xlabel("step")
plt.show()
