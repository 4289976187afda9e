"""Every format gives the same frames; what is wrong with a file is said in words."""

import contextlib
import pickle

import h5py
import numpy as np
import pytest
import tifffile
from PIL import Image

from thinrank.calcium import CalciumImaging, MovieError, read_frame_rate
from thinrank.calcium.readers import open_movie


@pytest.fixture
def movie(rng):
    return rng.integers(0, 4000, (12, 9, 7)).astype(np.uint16)


def frames_of(source, dataset=None):
    with open_movie(source, dataset) as opened:
        assert opened.shape == (12, 9, 7)
        return opened.lines(0, 9)


def write_nwb(path, series):
    with h5py.File(path, "w") as file:
        for name, data in series.items():
            group = file.create_group(f"acquisition/{name}")
            group.attrs["neurodata_type"] = "TwoPhotonSeries"
            group["data"] = data


def write_hdf5(path, movie, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/frames", data=movie, **options)


def write_page_by_page(path, movie):
    with tifffile.TiffWriter(path) as tiff:
        for frame in movie:
            tiff.write(frame)


def write_in_two_parts(path, movie):
    with tifffile.TiffWriter(path) as tiff:
        tiff.write(movie[:5])
        tiff.write(movie[5:])


def write_page_after_page(path, movie):
    """As libtiff does: each page points to the next, which comes after its pixels."""
    first, *others = [Image.fromarray(frame) for frame in movie]
    first.save(path, save_all=True, append_images=others)


WRITERS = {
    "movie.tif": lambda path, movie: tifffile.imwrite(path, movie),
    "big.tiff": lambda path, movie: tifffile.imwrite(path, movie, bigtiff=True),
    "imagej.tif": lambda path, movie: tifffile.imwrite(path, movie, imagej=True),
    "swapped.tif": lambda path, movie: tifffile.imwrite(path, movie, byteorder=">"),
    "zipped.tif": lambda path, movie: tifffile.imwrite(path, movie, compression="zlib"),
    "pages.tif": write_page_by_page,
    "parts.tif": write_in_two_parts,
    "libtiff.tif": write_page_after_page,
    "gray.TIF": lambda path, movie: tifffile.imwrite(path, movie, photometric="minisblack"),
    "movie.npy": np.save,
    "movie.npz": lambda path, movie: np.savez_compressed(path, movie=movie, other=np.ones(3)),
    "movie.h5": lambda path, movie: write_hdf5(path, movie),
    "chunks.hdf5": lambda path, movie: write_hdf5(path, movie, chunks=True, compression="gzip"),
    "movie.nwb": lambda path, movie: write_nwb(path, {"TwoPhotonSeries": movie}),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(name, movie, tmp_path):
    path = tmp_path / name
    WRITERS[name](path, movie)
    frames = frames_of(path)
    assert frames.dtype == np.float32
    np.testing.assert_array_equal(frames, movie)
    np.testing.assert_array_equal(frames_of(str(path)), movie)


def test_named_datasets(movie, tmp_path):
    path = tmp_path / "two.npz"
    np.savez(path, first=movie, second=movie + 1)
    np.testing.assert_array_equal(frames_of(path, "second"), movie + 1)
    path = tmp_path / "two.h5"
    with h5py.File(path, "w") as file:
        file["g/first"], file["g/second"] = movie, movie + 1
    np.testing.assert_array_equal(frames_of(path, "/g/second"), movie + 1)
    path = tmp_path / "two.nwb"
    write_nwb(path, {"first": movie, "second": movie + 1})
    np.testing.assert_array_equal(frames_of(path, "second"), movie + 1)
    for file, message in (
        ("two.npz", "several movies.*first, second"),
        ("two.h5", "several movies.*g/first, g/second"),
        ("two.nwb", "several movies.*acquisition/first, acquisition/second"),
    ):
        with pytest.raises(MovieError, match=message):
            frames_of(tmp_path / file)
        with pytest.raises(MovieError, match="third"):
            frames_of(tmp_path / file, "third")


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("part", [0.5, 0.9])
def test_truncated_files(name, part, tmp_path, rng):
    path = tmp_path / name
    WRITERS[name](path, rng.integers(0, 60000, (12, 40, 40)).astype(np.uint16))
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    with pytest.raises(MovieError, match=name):
        CalciumImaging(frame_rate=7).fit(path)


@pytest.mark.parametrize("name", ["movie.tif", "movie.npy", "movie.npz", "movie.h5", "movie.nwb"])
def test_corrupt_and_empty_files(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"this is not a movie, whatever its name says" * 20)
    with pytest.raises(MovieError, match=f"{name}.*corrupt"):
        CalciumImaging(frame_rate=7).fit(path)
    path.write_bytes(b"")
    with pytest.raises(MovieError, match=f"{name}.*empty"):
        CalciumImaging(frame_rate=7).fit(path)


def test_files_that_are_no_movies(movie, tmp_path):
    def save(name, array, **options):
        tifffile.imwrite(tmp_path / name, array, **options)

    save("rgb.tif", np.zeros((5, 9, 7, 3), np.uint8), photometric="rgb")
    save("one_rgb.tif", np.zeros((9, 7, 3), np.uint8), photometric="rgb")
    save("one.tif", movie[:1])
    save("picture.tif", movie[0])
    save("constant.tif", np.full((20, 9, 7), 5, np.uint16))
    holed = movie.astype(np.float32)
    holed[3, 4, 5] = np.nan
    save("nan.tif", holed)
    np.save(tmp_path / "none.npy", movie[:0])
    np.save(tmp_path / "words.npy", np.full((5, 4, 4), "word"))
    np.savez(tmp_path / "flat.npz", a=movie[0], b=movie[1])
    with h5py.File(tmp_path / "bare.nwb", "w") as file:
        file["x"] = 1
    with h5py.File(tmp_path / "bare.h5", "w"):
        pass
    (tmp_path / "movie.avi").write_bytes(b"RIFF")
    for name, fault in {
        "rgb.tif": "RGB",
        "one_rgb.tif": "RGB",
        "one.tif": "single",
        "picture.tif": "single",
        "constant.tif": "constant",
        "nan.tif": "NaN.*frame 3, row 4, column 5",
        "none.npy": "empty",
        "words.npy": "real numbers",
        "flat.npz": "no array",
        "bare.nwb": "no TwoPhotonSeries",
        "bare.h5": "no array",
        "movie.avi": "unknown file type",
    }.items():
        with pytest.raises(MovieError, match=f"{name}.*{fault}") as caught:
            CalciumImaging(frame_rate=7).fit(tmp_path / name)
        assert isinstance(caught.value, ValueError)
    with pytest.raises(MovieError, match="not a file"):
        CalciumImaging(frame_rate=7).fit(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        CalciumImaging(frame_rate=7).fit(tmp_path / "nowhere.tif")


@pytest.mark.parametrize(
    ("array", "fault"),
    [
        (np.zeros((5, 4, 4, 3)), "RGB"),
        (np.zeros((4, 4)), "single picture"),
        (np.zeros((1, 4, 4)), "single frame"),
        (np.zeros((0, 4, 4)), "empty"),
        (np.zeros((9, 4, 4)), "constant"),
        (np.where(np.arange(9)[:, None, None] == 3, np.nan, np.eye(9)[:, :4, None]), "NaN in some"),
        (np.eye(9)[:, :4, None] * 1e30, "values up to 1e\\+30; change their unit"),
        (np.full((9, 4, 4), np.inf), "infinity"),
        (np.zeros((9, 4, 4), dtype=complex), "real numbers"),
        (np.ma.masked_array(np.zeros((9, 4, 4))), "masked"),
    ],
)
def test_arrays_that_are_no_movies(array, fault):
    with pytest.raises(MovieError, match=f"^movie: .*{fault}"):
        CalciumImaging(frame_rate=7).fit(array)


def test_a_dataset_of_what_has_none(movie, tmp_path):
    with pytest.raises(ValueError, match="dataset"):
        CalciumImaging(frame_rate=7).fit(movie, dataset="a")
    tifffile.imwrite(tmp_path / "a.tif", movie)
    with pytest.raises(MovieError, match="no named datasets"):
        CalciumImaging(frame_rate=7).fit(tmp_path / "a.tif", dataset="a")


def test_the_error_survives_pickling():
    error = pickle.loads(pickle.dumps(MovieError("a.tif", "is odd")))
    assert (str(error), error.name, error.fault) == ("a.tif: is odd", "a.tif", "is odd")


@pytest.mark.parametrize(("wrong", "right"), [("a.npy", "a.npz"), ("a.npz", "a.npy")])
def test_numpy_files_under_the_wrong_name(tmp_path, movie, wrong, right):
    {"a.npy": np.save, "a.npz": np.savez}[right](tmp_path / right, movie)
    (tmp_path / right).rename(tmp_path / wrong)
    with pytest.raises(MovieError, match=f"{wrong}.*not an NP"):
        frames_of(tmp_path / wrong)


@pytest.mark.parametrize("name", ["movie.npz", "chunks.hdf5", "movie.nwb"])
def test_damaged_files_are_named(tmp_path, movie, rng, name):
    """Whatever byte is wrong: frames, or a message with the name of the file."""
    path = tmp_path / name
    WRITERS[name](path, movie)
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    for _ in range(20):
        damaged = content.copy()
        damaged[rng.integers(0, len(content), 8)] = rng.integers(0, 256, 8)
        path.write_bytes(damaged.tobytes())
        # anything else than a MovieError, which names its file, is a failure here
        with contextlib.suppress(MovieError), open_movie(path) as opened:
            opened.lines(0, opened.shape[1])


def test_numbers_outside_of_the_file_are_not_read(tmp_path, movie):
    """Any file of the machine could be read as a movie: the file names it, not the user."""
    (tmp_path / "secret").write_bytes(bytes(range(256)) * 4)
    layout = h5py.VirtualLayout(movie.shape, movie.dtype)
    layout[:] = h5py.VirtualSource("gone.h5", "rest", movie.shape)
    with h5py.File(tmp_path / "movie.h5", "w") as file:
        kept = [(str(tmp_path / "secret"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("rest", movie.shape, movie.dtype, external=kept)
        file.create_virtual_dataset("virtual", layout)
    with pytest.raises(MovieError, match=r"another file.*secret"):
        frames_of(tmp_path / "movie.h5", "rest")
    with pytest.raises(MovieError, match=r"another file.*gone\.h5"):
        frames_of(tmp_path / "movie.h5", "virtual")


def test_a_link_to_another_file_names_it(tmp_path, movie):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["frames"] = movie
    with h5py.File(tmp_path / "movie.h5", "w") as file:
        file["link"] = h5py.ExternalLink("other.h5", "frames")
        file["own"], file["soft"] = movie, h5py.SoftLink("/own")
    with pytest.raises(MovieError, match=r"another file.*other\.h5.*open that file"):
        frames_of(tmp_path / "movie.h5", "link")
    assert np.array_equal(frames_of(tmp_path / "movie.h5", "soft"), movie)


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


def test_damaged_files_without_a_rate_are_named(tmp_path):
    (tmp_path / "film.tif").write_bytes(b"II*\0" + b"\xff" * 50)
    with pytest.raises(MovieError, match=r"film\.tif"):
        read_frame_rate(tmp_path / "film.tif")
    with pytest.raises(FileNotFoundError):
        read_frame_rate(tmp_path / "none.tif")
