"""
Groups and missing links of a social graph
==========================================

Zachary's karate club: 34 members, and 78 links between members who met outside the club. After a
conflict the club split in two. The graph alone shows the two groups.
"""

import matplotlib.pyplot as plt
import numpy as np

import thinrank as tr

club = tr.datasets.load_karate_club()
graph = tr.SparseLowRankGraph().fit(club.adjacency)
print("rank:", graph.rank_, " eigenvalues:", np.round(graph.eigenvalues_, 1))
print("evidence in standard errors:", np.round(graph.search_["z"], 1))

# %%
# Members at the positions that two components give them. Members that are linked with the same
# others are near each other. The color is the club that a member joined after the conflict, which
# the fit has not seen.

position = tr.SparseLowRankGraph(2, None).fit(club.adjacency).factors_.U
figure, axes = plt.subplots(figsize=(6, 5))
links = np.argwhere(np.triu(club.adjacency.to_numpy()))
for i, j in links:
    axes.plot(*position[[i, j]].T, color="0.85", linewidth=0.7, zorder=1)
for faction, name in enumerate(("instructor's club", "administrator's club")):
    axes.scatter(*position[club.faction == faction].T, label=name, zorder=2)
for k in (0, 33):
    axes.annotate(club.names[k], position[k], xytext=(4, 4), textcoords="offset points")
axes.set(xlabel="component 1", ylabel="component 2")
axes.legend()
plt.show()

# %%
# Which members are expected to be linked, but are not?

found = graph.predict_links(top=8)
for (a, b), score in zip(found.pairs, found.scores, strict=True):
    print(f"{a:10} {b:10} {score:5.2f}")

# %%
# The observed matrix and the fit, with the members ordered by club and number of links.

order = np.lexsort((-club.adjacency.to_numpy().sum(axis=0), club.faction))
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5))
axes[0].imshow(club.adjacency.to_numpy()[np.ix_(order, order)], cmap="Greys")
axes[0].set_title("links")
axes[1].imshow(graph.reconstruct(order), cmap="Greys", vmin=0, vmax=1)
axes[1].set_title("expected")
plt.show()

# %%
# Pairs that were not recorded are NaN. Here every seventh pair is hidden and predicted.

S = club.adjacency.to_numpy()
pairs = np.argwhere(np.triu(np.ones_like(S), 1))[::7]
hidden = S.copy()
hidden[pairs[:, 0], pairs[:, 1]] = hidden[pairs[:, 1], pairs[:, 0]] = np.nan
scores = tr.SparseLowRankGraph().fit(hidden).predict_links(pairs)
truth = S[pairs[:, 0], pairs[:, 1]] == 1
print("mean score of hidden links:    ", np.round(scores[truth].mean(), 2))
print("mean score of hidden non-links:", np.round(scores[~truth].mean(), 2))
