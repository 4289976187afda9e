"""
Twenty decision processes, learned together and separately
==========================================================

Twenty Markov decision processes have the same states, actions and a hundred features. Only a few
features matter, and the coefficients of the optimal action values have rank 3. Fitted Q-iteration
with sparse reduced-rank regression uses both properties; with one ridge regression per task it uses
neither.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

import thinrank as tr

family = tr.rl.make_linear_family(n_tasks=20, n_features=100, random_state=0)
print(f"Θ* has shape {family.theta.shape}, {len(family.row_support)} non-zero rows and rank 3")

# %%
# Two learners
# ------------
# Both use the same design states, and take every action once in each of them in every iteration.
# The first one chooses rank, rows and ridge from the data. The ridge of the second one is the best
# of 1, 10, 100 and 1000 in terms of the true value error for 30 states, which is not known in
# practice.

literal = {"standardize": False, "fit_intercept": False}
regressors = {
    "together": tr.SparseReducedRankRegressor(column_sparsity=None, ridge="auto", **literal),
    "separately": Ridge(alpha=100.0, fit_intercept=False),
}
sizes = (30, 60, 120)
order = np.random.default_rng(0).permutation(2000)


def learn(regressor, n_states):
    learner = tr.rl.MultiTaskFQI(
        family.features,
        n_actions=3,
        discount=family.discount,
        regressor=regressor,
        n_iterations=20,
        tune_at="doubling",
        random_state=0,
    )
    return learner.fit(family.tasks, order[:n_states])


def error(learner):
    policies = [learner.policy(k) for k in range(len(family.tasks))]
    return tr.rl.value_error(family.tasks, policies, family.discount, family.q_star)


learners = {name: [learn(r, n) for n in sizes] for name, r in regressors.items()}
errors = {name: [error(learner) for learner in found] for name, found in learners.items()}
for name, found in errors.items():
    print(f"{name:10}", *(f"{value:.2g}" for value in found))

# %%
# Value error, and the coefficients of the last fit
# -------------------------------------------------
# Left: mean squared distance of the exact values of the learned policies from the optimal ones.
# Right: norm of every row of Θ, that is, every pair of an action and a feature; circles mark the
# true values.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, marker in (("together", "s"), ("separately", "D")):
    left.loglog(sizes, errors[name], marker=marker, label=name)
    norms = np.linalg.norm(learners[name][1].theta_, axis=1)
    right.plot(norms, lw=0.8, label=f"{name}, {sizes[1]} states")
left.set(xlabel="design states", ylabel="value error")
left.set_xticks(sizes, map(str, sizes))
left.minorticks_off()
left.legend(frameon=False)
true = np.linalg.norm(family.theta, axis=1)
right.plot(
    family.row_support, true[family.row_support], "o", mfc="none", mec="black", label="truth"
)
right.set(xlabel="row of Θ", ylabel="norm over the tasks")
right.legend(frameon=False)
plt.show()
