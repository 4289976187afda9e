"""Data on a device: what is copied, and what is said if a device is missing."""

import numpy as np
import pytest

import thinrank as tr


def test_what_is_kept_and_what_is_converted(torch):
    whole = np.arange(6).reshape(2, 3)
    moved = tr.to_device(whole, "cpu")
    assert moved.dtype == torch.float64
    np.testing.assert_array_equal(moved.numpy(), whole)
    assert tr.to_device(whole.astype(np.float32), "cpu").dtype == torch.float32
    assert tr.to_device(whole, "cpu", dtype="float32").dtype == torch.float32
    tensor = torch.ones(2, 2)
    assert tr.to_device(tensor, "cpu") is tensor


def test_data_frames_and_transposed_arrays(torch):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, -1.0]})
    np.testing.assert_array_equal(tr.to_device(frame, "cpu").numpy(), frame.to_numpy())
    turned = np.arange(6.0).reshape(2, 3).T[::-1]
    np.testing.assert_array_equal(tr.to_device(turned, "cpu").numpy(), turned)


def test_a_gpu_that_is_absent(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"'cuda:1' was asked for, but PyTorch .* finds no GPU"):
        tr.to_device(np.eye(2), "cuda:1")


@pytest.mark.parametrize("device", ["gpu", 3.5])
def test_what_is_no_device(torch, device):
    with pytest.raises(ValueError, match="device must be a device of PyTorch"):
        tr.to_device(np.eye(2), device)


def test_other_precision():
    with pytest.raises(ValueError, match="dtype must be"):
        tr.to_device(np.eye(2), "cpu", dtype="float16")
