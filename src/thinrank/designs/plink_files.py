"""The three files of a PLINK data set: names of samples and variants, and checks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# The first two bytes of every .bed file; the third is 1 if variants follow one another, 0 if
# samples do.
_MAGIC = b"\x6c\x1b"
_VARIANT_MAJOR, _SAMPLE_MAJOR = 1, 0
_HEADER = 3
# Samples per byte.
_PER_BYTE = 4
# Columns of a .fam and of a .bim file.
_COLUMNS = 6


@dataclass(frozen=True, eq=False)
class PlinkFiles:
    """A data set whose files belong together."""

    bed: Path  # the file of genotypes
    samples: np.ndarray  # identifiers of the samples, all different
    variants: np.ndarray  # names of the variants, all different


def read_plink_files(path: str | Path) -> PlinkFiles:
    """Read the .fam and .bim files beside a .bed file and check that its size is what they say."""
    bed = Path(path)
    if bed.suffix != ".bed":
        raise ValueError(f"path must be that of a .bed file, got {str(path)!r}")
    fam, bim = bed.with_suffix(".fam"), bed.with_suffix(".bim")
    for file in (bed, fam, bim):
        if not file.is_file():
            raise FileNotFoundError(
                f"{file} does not exist; a PLINK data set consists of the files "
                f"{bed.name}, {bim.name} and {fam.name} in one folder"
            )
    samples, variants = _samples(fam), _variants(bim)
    _check_genotypes(bed, len(samples), len(variants))
    return PlinkFiles(bed, samples, variants)


def _check_genotypes(bed: Path, samples: int, variants: int) -> None:
    with bed.open("rb") as file:
        header = file.read(_HEADER)
    if header[:2] != _MAGIC or len(header) < _HEADER or header[2] > _VARIANT_MAJOR:
        raise ValueError(
            f"{bed} is not a .bed file of PLINK 1.9: it begins with the bytes "
            f"{header.hex(' ') or 'of nothing'} instead of 6c 1b 01"
        )
    if header[2] == _SAMPLE_MAJOR:
        raise ValueError(
            f"{bed} has one sample after the other; convert it to one variant after the other "
            "with: plink --bfile NAME --make-bed"
        )
    size, expected = bed.stat().st_size, _HEADER + variants * -(-samples // _PER_BYTE)
    if size != expected:
        what = "ends early" if size < expected else "is too long"
        raise ValueError(
            f"{bed} {what}: it has {size} bytes, but {samples} samples in the .fam file and "
            f"{variants} variants in the .bim file take {expected}"
        )


def _samples(fam: Path) -> np.ndarray:
    """Individual identifiers, with those of the family before them unless they are distinct."""
    lines = _lines(fam)
    own = [line[1] for line in lines]
    if len(set(own)) < len(own):
        own = [f"{line[0]}_{line[1]}" for line in lines]
    repeated = [name for name, count in Counter(own).items() if count > 1]
    if repeated:
        raise ValueError(f"{fam} has several samples {repeated[0]!r}; their names must differ")
    return np.asarray(own, dtype=object)


def _variants(bim: Path) -> np.ndarray:
    """Names of the variants; those that are missing or repeated are completed by the place."""
    lines = _lines(bim)
    names = [line[1] for line in lines]
    counts = Counter(names)
    for i, line in enumerate(lines):
        if names[i] in (".", "0") or counts[names[i]] > 1:
            place = ":".join((line[0], line[3], line[4], line[5]))
            names[i] = place if names[i] in (".", "0") else f"{names[i]}:{place}"
    seen: Counter[str] = Counter()
    for i, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[i] = f"{name}:{seen[name]}"
    return np.asarray(names, dtype=object)


def _lines(file: Path) -> list[list[str]]:
    """The lines of a .fam or .bim file, split at white space."""
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not a text file in UTF-8") from error
    if not lines:
        raise ValueError(f"{file} is empty")
    for number, line in enumerate(lines, start=1):
        if len(line) != _COLUMNS:
            raise ValueError(f"{file}, line {number}: expected {_COLUMNS} columns, got {len(line)}")
    return lines
