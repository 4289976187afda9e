"""The frame rate in files of ScanImage."""

import numpy as np
import pytest
import tifffile

from thinrank.calcium import MovieError, read_frame_rate

FRAMES = np.zeros((12, 5, 6), dtype=np.int16)
NEW = "SI.VERSION_MAJOR = '2016b'\nSI.hRoiManager.scanFrameRate = 30.0123\nSI.hScan2D.x = 1"
OLD = "state.configPath='x'\rstate.acq.frameRate=3.906\rstate.acq.numberOfFrames=4"


def test_versions_of_scanimage(tmp_path):
    tifffile.imwrite(tmp_path / "new.tif", FRAMES, software=NEW)
    tifffile.imwrite(tmp_path / "old.tiff", FRAMES, description=OLD, metadata=None)
    assert read_frame_rate(tmp_path / "new.tif") == 30.0123
    assert read_frame_rate(str(tmp_path / "old.tiff")) == 3.906


def test_files_without_a_rate(tmp_path):
    for value in ("0", "nan", "fast", ""):
        tifffile.imwrite(tmp_path / "film.tif", FRAMES, software=NEW.replace("30.0123", value))
        assert read_frame_rate(tmp_path / "film.tif") is None
    tifffile.imwrite(tmp_path / "imagej.tif", FRAMES, imagej=True)
    np.save(tmp_path / "film.npy", FRAMES)
    for name in ("imagej.tif", "film.npy"):
        assert read_frame_rate(tmp_path / name) is None


def test_damaged_files_are_named(tmp_path):
    (tmp_path / "film.tif").write_bytes(b"II*\0" + b"\xff" * 50)
    with pytest.raises(MovieError, match=r"film\.tif"):
        read_frame_rate(tmp_path / "film.tif")
    with pytest.raises(FileNotFoundError):
        read_frame_rate(tmp_path / "none.tif")
