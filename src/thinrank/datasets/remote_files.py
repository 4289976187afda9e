"""Files that are downloaded, by the table of sources: where copies are kept, and the download."""

from __future__ import annotations

import os
from pathlib import Path

from thinrank.core.imports import import_optional
from thinrank.datasets.bunches import FOLDER

SOURCES = FOLDER.joinpath("sources.txt")
"""Name, checksum and address of every file."""

# Names the folder of downloaded files where data_home is None.
_VARIABLE = "THINRANK_DATA_HOME"

# Seconds without an answer from the server after which a download fails.
_TIMEOUT = 30


class DownloadError(OSError):
    """A data file is neither in the folder of data files nor could it be downloaded."""


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder in which the ``fetch_*`` functions keep downloaded files.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder. None stands for the environment variable ``THINRANK_DATA_HOME`` if it is set,
        and for the cache folder of the operating system otherwise (``~/.cache/thinrank`` on Linux).

    Returns
    -------
    pathlib.Path
        Its path. The folder is created when the first file is downloaded.

    Examples
    --------
    >>> import thinrank as tr
    >>> tr.datasets.get_data_home("downloads").name
    'downloads'
    """
    chosen = data_home if data_home is not None else os.environ.get(_VARIABLE)
    if not chosen:
        chosen = import_optional("pooch").os_cache("thinrank")
    return Path(chosen).expanduser()


def local_copy(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    download_if_missing: bool = True,
) -> Path:
    """Return the path of a file, which is downloaded if it is not there yet."""
    pooch = import_optional("pooch")
    sources = pooch.create(path=get_data_home(data_home), base_url="")
    with SOURCES.open(encoding="utf-8") as table:
        sources.load_registry(table)
    address, path = sources.get_url(name), Path(sources.path) / name
    remedy = (
        f"Without a network: download {address} on another machine and save it as {name} in this "
        "folder, or in one that you name with data_home or the environment variable "
        f"{_VARIABLE}."
    )
    checksum = sources.registry[name].removeprefix("sha256:")
    if path.is_file() and pooch.file_hash(str(path), alg="sha256") == checksum:
        return path
    if not download_if_missing:
        state = "has another checksum than expected" if path.is_file() else "does not exist"
        raise DownloadError(f"{path} {state}, and download_if_missing is False. {remedy}")
    try:
        sources.fetch(name, downloader=pooch.HTTPDownloader(timeout=_TIMEOUT))
    except ValueError:  # the checksum; pooch has removed the file
        raise DownloadError(
            f"What {address} sent has another checksum than expected; it was not kept. "
            "The transfer was disturbed, or a proxy sent a page of its own: try again, or "
            f"download the file in another way. {remedy}"
        ) from None
    except OSError as error:  # network and disk
        raise DownloadError(
            f"Could not download {address} to {path} ({type(error).__name__}: {error}). {remedy}"
        ) from None
    return path
