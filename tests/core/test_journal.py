"""A journal recalls results bit by bit, drops what is torn or of another computation."""

import json

import numpy as np
import pytest

from thinrank.core.factors import Factors
from thinrank.core.journal import Journal, decoded, encoded, recalled, recording, stop_recording
from thinrank.core.result import Outcome, Sizes, Status


def through_json(value):
    return decoded(json.loads(json.dumps(encoded(value))))


ARRAYS = {
    "a number": np.float32(1.5),
    "no dimension": np.array(2.5),
    "empty": np.zeros((0, 3)),
    "columns first": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "transposed part": np.arange(24.0).reshape(4, 6)[1:3, ::2].T,
    "repeated": np.broadcast_to(np.arange(3.0), (4, 3)),
    "backwards": np.arange(5)[::-1],
    "odd numbers": np.array([1.5, np.nan, -np.inf, -0.0], dtype=np.float32),
    "truth values": np.array([True, False]),
}


@pytest.mark.parametrize("name", list(ARRAYS))
def test_arrays_keep_bits_and_layout(name):
    """Sums in another order would not be the same bit by bit."""
    before = ARRAYS[name]
    after = through_json(before)
    assert (type(after), after.dtype, after.shape) == (type(before), before.dtype, before.shape)
    assert after.tobytes() == before.tobytes()
    if isinstance(before, np.ndarray) and before.size:
        if min(before.strides, default=0) > 0:
            assert np.argsort(after.strides).tolist() == np.argsort(before.strides).tolist()
        assert after.flags.writeable


def test_objects_are_the_same():
    assert through_json((1, 2.5, [None, "a", True])) == (1, 2.5, [None, "a", True])
    assert through_json(Sizes(1, 2, 3, 0.1)) == Sizes(1, 2, 3, 0.1)
    assert through_json(Status(Outcome.CONVERGED, "done")) == Status(Outcome.CONVERGED, "done")
    U = np.ones((2, 1))
    assert through_json(Factors(U, U)).theta.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert type(through_json(np.float32(0.1))) is np.float32
    with pytest.raises(TypeError, match="a checkpoint holds NumPy arrays, but there is a set"):
        encoded({1})
    with pytest.raises(TypeError, match="arrays of numbers, not of dtype complex128"):
        encoded(np.array([1j]))


def results(path, values, identity=None):
    """What is recalled or computed, and how often something was computed."""
    computed = []

    def compute(value):
        computed.append(value)
        return value

    with recording(Journal(path, identity or {"X": "1"})):
        found = [recalled(f"step {value}", lambda v=value: compute(v)) for value in values]
    return found, len(computed)


def test_results_are_recalled_in_order(tmp_path):
    path = tmp_path / "journal"
    assert results(path, [1, 2, 3]) == ([1, 2, 3], 3)
    assert results(path, [1, 2, 3, 4]) == ([1, 2, 3, 4], 1)
    # after a different step nothing that follows is used
    assert results(path, [1, 5, 3]) == ([1, 5, 3], 2)
    assert results(path, [1, 5, 3]) == ([1, 5, 3], 0)


def test_a_torn_line_is_computed_again(tmp_path):
    path = tmp_path / "journal"
    results(path, [1, 2, 3])
    whole = path.read_bytes()
    for cut in (1, 5, len(whole.splitlines(keepends=True)[-1]) - 1):
        path.write_bytes(whole[:-cut])
        assert results(path, [1, 2, 3]) == ([1, 2, 3], 1)
        assert path.read_bytes() == whole


def test_other_files_and_other_fits_are_refused(tmp_path):
    path = tmp_path / "journal"
    path.write_text("something else\n")
    with pytest.raises(ValueError, match="is not a checkpoint of this version"):
        Journal(path, {})
    assert path.read_text() == "something else\n"
    path.unlink()
    results(path, [1], {"X": "1", "rank": "a", "tol": "b"})
    with pytest.raises(ValueError, match="another fit, which differs in rank, cv, tol; choose"):
        Journal(path, {"X": "1", "rank": "c", "cv": "d"})


def test_nothing_is_stored_after_an_interruption(tmp_path):
    path = tmp_path / "journal"
    with recording(Journal(path, {"X": "1"})):
        recalled("step 1", lambda: 1)
        with pytest.raises(KeyboardInterrupt):
            recalled("step 2", _interrupted)
        stop_recording()
        recalled("step 3", lambda: 3)
    assert results(path, [1, 3]) == ([1, 3], 1)
    assert recalled("without a journal", lambda: 4) == 4


def _interrupted():
    raise KeyboardInterrupt


@pytest.mark.parametrize("failure", [OSError("no space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_no_half_of_a_line(tmp_path, monkeypatch, failure):
    """What was there before stays, and the journal goes on as if nothing had been written."""
    path = tmp_path / "journal"
    with recording(Journal(path, {"X": "1"})):
        recalled("step 1", lambda: 1)
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(failure))
            with pytest.raises(type(failure)):
                recalled("step 2", lambda: "much longer than the next")
        assert path.read_bytes() == before
        recalled("step 2", lambda: 2)
    assert results(path, [1, 2]) == ([1, 2], 0)
