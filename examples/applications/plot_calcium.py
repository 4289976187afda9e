"""
Neurons in a calcium movie
==========================

This example finds the neurons and their spikes in a simulated movie of 500 frames. It has twelve
neurons, including four pairs that are so close that they overlap. At the brightest pixel of a
neuron, a spike is three times as large as the standard deviation of the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import thinrank as tr

movie, truth = tr.calcium.make_movie(random_state=80100)
imaging = tr.calcium.CalciumImaging(frame_rate=7).fit(movie)
scores = imaging.score(truth.regions)
print(f"{imaging.n_neurons_} neurons, {scores.n_matched} of {scores.n_labelled} true ones found")
print(f"combined score {scores.combined:.2f}")

# %%
# Locations
# ---------
# Left: the mean of the movie, which shows the neurons at rest. Right: the activity of each pixel in
# the fit, with the outlines of the estimated regions. Crosses are the true centers.

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
axes[0].imshow(movie.mean(axis=0), cmap="gray")
axes[0].set_title("mean of the movie")
axes[1].imshow(imaging.pixel_energy_, cmap="magma")
axes[1].set_title("activity and estimated regions")
for region in imaging.region_coordinates_:
    mask = np.zeros(movie.shape[1:])
    mask[tuple(region.T)] = 1
    axes[1].contour(mask, [0.5], colors="white", linewidths=0.8)
for axis in axes:
    axis.plot(*truth.centres.T[::-1], "x", color="deepskyblue", ms=4)
    axis.set_axis_off()

# %%
# Traces
# ------
# A close pair: the movie at one pixel, the true traces and the estimated ones. Both neurons
# contribute to the pixel; they are separated because they fire in different frames. The estimated
# traces are lower than the true ones, because frames are smoothed before the fit, which lowers the
# peaks of the footprints.

matches = {j: i for i, j in tr.calcium.match_regions(imaging.region_coordinates_, truth.regions)}
figure, axes = plt.subplots(3, 1, figsize=(8, 4.2), sharex=True, layout="constrained")
row, column = np.round(truth.centres[:2].mean(axis=0)).astype(int)
seconds = np.arange(len(movie)) / imaging.frame_rate
axes[0].plot(seconds, movie[:, row, column], color="gray", lw=0.7)
axes[0].set_title("the movie at a pixel between the two neurons", loc="left")
for neuron, axis in enumerate(axes[1:]):
    axis.plot(seconds, truth.traces[neuron], color="deepskyblue", label="true")
    if neuron in matches:
        estimated = imaging.traces_[matches[neuron]]
        axis.plot(seconds, estimated, color="black", lw=0.9, label="estimated")
    axis.set_title(f"neuron {neuron + 1}", loc="left")
axes[1].legend(loc="upper left")
axes[2].set_xlabel("seconds")
plt.show()
