"""Files that are downloaded: addresses with checksums, where copies are kept, and the download."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from thinrank.core.imports import import_optional

# Names the folder of downloaded files where data_home is None.
_VARIABLE = "THINRANK_DATA_HOME"

# Seconds without an answer from the server after which a download fails.
_TIMEOUT = 30


class DownloadError(OSError):
    """A data file is neither in the folder of data files nor could it be downloaded."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on the network."""

    name: str  # name of the local copy
    address: str  # where it is. Addresses name a fixed version, so that the contents do not change
    sha256: str  # checksum of its contents


_RAW = "https://raw.githubusercontent.com"
_SPLS = f"{_RAW}/cran/spls/e3a2ab62ead4c84f78baf81bd3ecda4e70316961/data"
_SECURE = f"{_RAW}/cran/secure/183d0dfc4a91d69d863df857031bd8e375674fac/data"
_CHEMOMETRICS = f"{_RAW}/cran/chemometrics/5d3d7f76325ec2e0bba93cba13429cec8c1482fc/data"
_MIXOMICS = f"{_RAW}/cran/mixOmics/afb4ed352bd4e2e2ce8c072793e7de9943cda67f/data"
_GOFAR = f"{_RAW}/amishra-stats/gofar/429e113be9e2c198ab592708196734a46c8fb583/data_example"
_NBFAR = f"{_RAW}/amishra-stats/nbfar/b16afe61808a1d6601771f1042bdf0b41473593b/manuscript_file"
_MULAN = f"{_RAW}/tsoumakas/mulan/43f6389095ad71984264db4387a8074b22bc7d4a/data/multi-target"

# The checksums were computed from the files of these commits.
FILES = {
    file.name: file
    for file in (
        RemoteFile(
            "spls_yeast.RData",
            f"{_SPLS}/yeast.RData",
            "105a994fe20721529608eb1fdc1170f57f7930b734e07e97a889d8aa4568fbc4",
        ),
        RemoteFile(
            "spls_mice.RData",
            f"{_SPLS}/mice.RData",
            "6fbaba90a5a8d66766aea014693ff2102f7a6c63bb63f7bb73b7aa0fd9ca3caf",
        ),
        RemoteFile(
            "secure_CellCycle.RData",
            f"{_SECURE}/CellCycle.RData",
            "9e2c452f26b35350a8ec4ad823680e5b2b21814e955bb5ea5742697ce9a98438",
        ),
        RemoteFile(
            "chemometrics_NIR.rda",
            f"{_CHEMOMETRICS}/NIR.rda",
            "889f05cce6aa63bed2a79b85f1a4d8e8abd47f0dee08517e9eefdb5a94cdf0f2",
        ),
        RemoteFile(
            "chemometrics_cereal.rda",
            f"{_CHEMOMETRICS}/cereal.rda",
            "21c3cc234c0a55e87c9e79a7ee8d38b559903dc8b5082f9e5284f0b44a102904",
        ),
        RemoteFile(
            "mixOmics_multidrug.rda",
            f"{_MIXOMICS}/multidrug.rda",
            "dd8c8349d8952d89302b0b23bb7e59cf7093c3dc15f218c866933a2939e54853",
        ),
        RemoteFile(
            "mixOmics_breast.TCGA.rda",
            f"{_MIXOMICS}/breast.TCGA.rda",
            "0812db063ceee018470b59249a27289e8231909b9ec858c9b3e8fc9ead67af48",
        ),
        RemoteFile(
            "gofar_lsoa.rda",
            f"{_GOFAR}/lsoa_grrr_target44_feature294.rda",
            "882c0556ec75b8818aeb0002cff754ff69a7274ebba18d16b6b70a0366fd1f6b",
        ),
        RemoteFile(
            "nbfar_american_gut.rda",
            f"{_NBFAR}/final_ag_vio.rda",
            "9a145274ab4c07e6edc410d86984b85399755e930fbb16f8ed727108e9d3ce88",
        ),
        RemoteFile(
            "mulan_atp1d.arff",
            f"{_MULAN}/atp1d.arff",
            "ed935ba476c4994ba40d6712d590fb389709cceba7cf7dbbb33ef28c84762bb9",
        ),
        RemoteFile(
            "mulan_edm.arff",
            f"{_MULAN}/edm.arff",
            "37777374030f592a53cbcf597ae0aa6105238a1c696dd04ccb229be982f6bc5b",
        ),
        RemoteFile(
            "mulan_jura.arff",
            f"{_MULAN}/jura.arff",
            "78ce7655f49073e3622ef7ba25657b3900a2b279ba3d48cb82e353e56bac3d2a",
        ),
        RemoteFile(
            "mulan_oes10.arff",
            f"{_MULAN}/oes10.arff",
            "37f9fa429f6f2ece2cdfd08e84649971e61ee0b4e75d66166c082bacf3d36251",
        ),
        RemoteFile(
            "mulan_osales.arff",
            f"{_MULAN}/osales.arff",
            "c9c656c7e0131ad1c3f427cea7828f2ed315ec80da6d6f43c05b40b87257efe5",
        ),
        RemoteFile(
            "mulan_wq.arff",
            f"{_MULAN}/wq.arff",
            "4a0906b4a51bf52c986790ddaf261ba51faa3da9cffe823badabd88d38d252fe",
        ),
    )
}


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
    file, folder = FILES[name], get_data_home(data_home)
    path = folder / file.name
    if path.is_file() and pooch.file_hash(str(path), alg="sha256") == file.sha256:
        return path
    if not download_if_missing:
        state = "has another checksum than expected" if path.is_file() else "does not exist"
        raise DownloadError(f"{path} {state}, and download_if_missing is False. {_remedy(file)}")
    try:
        pooch.retrieve(
            file.address,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
        )
    except ValueError as error:  # the checksum; pooch has removed the file
        raise DownloadError(
            f"What {file.address} sent has another checksum than expected; it was not kept. "
            "The transfer was disturbed, or a proxy sent a page of its own: try again, or "
            f"download the file in another way. {_remedy(file)}"
        ) from error
    except OSError as error:  # network and disk
        raise DownloadError(
            f"Could not download {file.address} to {path} "
            f"({type(error).__name__}: {error}). {_remedy(file)}"
        ) from error
    return path


def _remedy(file: RemoteFile) -> str:
    return (
        f"Without a network: download {file.address} on another machine and save it as "
        f"{file.name} in this folder, or in one that you name with data_home or the environment "
        f"variable {_VARIABLE}."
    )
