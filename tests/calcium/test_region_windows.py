"""Regions as images, and squares cut out of images."""

import numpy as np

from thinrank.calcium.windows import mask_of, window


def test_mask_leaves_out_what_is_outside():
    mask = mask_of(np.array([[0, 0], [2, 3], [-1, 0], [3, 0], [0, 4]]), (3, 4))
    assert np.argwhere(mask).tolist() == [[0, 0], [2, 3]]


def test_window_in_the_middle_and_at_the_edge():
    image = np.arange(60.0 * 70).reshape(60, 70)
    assert np.array_equal(window(image, (30.4, 39.6)), image[16:45, 26:55])
    assert np.array_equal(window(image, (0, 69)), image[:29, 41:])
    assert np.array_equal(window(image, (-20, 200)), image[:29, 41:])


def test_window_of_a_small_image():
    image = np.arange(20.0 * 40).reshape(20, 40)
    assert np.array_equal(window(image, (3, 39)), image[:, 11:])
