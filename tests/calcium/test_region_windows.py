"""Regions as images, and squares cut out of images."""

import numpy as np

from thinrank.calcium.windows import mask_of, window


def test_mask_leaves_out_what_is_outside():
    mask = mask_of(np.array([[0, 0], [2, 3], [-1, 0], [3, 0], [0, 4]]), (3, 4))
    assert np.argwhere(mask).tolist() == [[0, 0], [2, 3]]


def test_window_in_the_middle_and_at_the_edge():
    image = np.arange(60.0 * 70).reshape(60, 70)
    assert np.array_equal(window(image, (30.4, 39.6)), image[16:45, 26:55])
    corner = window(image, (0, 69))
    assert corner.shape == (29, 29)
    assert np.array_equal(corner[14:, :15], image[:15, 55:])
    assert not corner[:14].any()
    assert not corner[:, 15:].any()
    assert np.array_equal(window(image, (-20, 200)), corner)
