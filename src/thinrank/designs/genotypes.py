"""X as genotypes in a PLINK file, unpacked some variants at a time (NumPy only)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.imports import import_optional
from thinrank.core.resources import BLOCK_ENTRIES, threads_in_use
from thinrank.designs.dense import BlockwiseDesign, slices


class Genotypes(BlockwiseDesign):
    """Genotypes of a PLINK data set (.bed, .bim and .fam), never unpacked as a whole.

    A genotype takes 2 bits in the file. Products unpack some variants at a time, so that the memory
    does not depend on their number. Entries are the numbers of copies of the first allele of the
    .bim file (A1), 0, 1 or 2.

    A missing genotype is replaced by the mean of its variant over the samples of the design, also
    in cross-validation. A variant without any genotype is zero.

    Parameters
    ----------
    path : str or Path
        The .bed file. The .bim and .fam files are those of the same name in the same folder.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the products.

    Attributes
    ----------
    shape : (int, int)
        Numbers of samples and of variants.
    sample_ids : ndarray of str
        Individual identifiers of the .fam file; with the identifier of the family and ``_`` before
        them if they are not distinct.
    feature_names : ndarray of str
        Identifiers of the .bim file. Where they are missing or repeated, chromosome, position and
        alleles are added. A fitted estimator has them as ``feature_names_in_``.
    missing : ndarray of int, of shape (n_variants,)
        Number of missing genotypes of each variant; the file is read once for it.
    n_missing : int
        Number of all missing genotypes.

    Raises
    ------
    FileNotFoundError
        If one of the three files is missing.
    ValueError
        If a file is damaged or ends early, or if the files do not belong together.

    Notes
    -----
    The file is read with the library bed-reader, which the extra ``genotypes`` installs. It must
    not change while the design is in use.

    Examples
    --------
    >>> import numpy as np, tempfile, thinrank as tr
    >>> from bed_reader import to_bed
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = folder.name + "/small.bed"
    >>> to_bed(path, np.array([[0.0, 2.0], [1.0, np.nan], [2.0, 1.0]]),
    ...        properties={"iid": ["a", "b", "c"], "sid": ["rs1", "rs2"]})
    >>> X = tr.designs.Genotypes(path)
    >>> X
    Genotypes(3 samples, 2 variants)
    >>> X.n_missing
    1
    >>> X.for_samples(["c", "b"]).columns(np.array([0, 1]))
    array([[2., 1.],
           [1., 1.]])
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, dtype: str = "float64") -> None:
        if str(dtype) not in ("float64", "float32"):
            raise ValueError(f'dtype must be "float64" or "float32", got {dtype!r}')
        import_optional("bed_reader")  # the error comes before any work
        self.path, self.sample_ids, self.feature_names = _read_names(path)
        self.shape = len(self.sample_ids), len(self.feature_names)
        self.prototype = np.zeros(0, dtype=str(dtype))
        self._file_samples = self.shape[0]
        self._samples = np.arange(self.shape[0])  # their positions in the file
        self._imputed_from: Genotypes | None = None

    def __repr__(self) -> str:
        n, p = self.shape
        return f"{type(self).__name__}({n} samples, {p} variants)"

    @property
    def missing(self) -> np.ndarray:
        """Number of missing genotypes of each variant."""
        return self._counts[2]

    @property
    def n_missing(self) -> int:
        """Number of all missing genotypes."""
        return int(np.sum(self.missing))

    def for_samples(self, ids: Iterable[str]) -> Genotypes:
        """The design of some samples, in the given order.

        Missing genotypes are replaced by the means over these samples.

        Parameters
        ----------
        ids : iterable of str
            Identifiers of samples, such as the index of a data frame of responses.

        Returns
        -------
        Genotypes
        """
        wanted = [str(name) for name in ids]
        place = {name: i for i, name in enumerate(self.sample_ids)}
        unknown = [name for name in wanted if name not in place]
        if unknown:
            raise ValueError(
                f"ids must be samples of {self.path.with_suffix('.fam').name}, but "
                f"{len(unknown)} of {len(wanted)} are not, such as {first_names(unknown)}; the "
                f"samples are named like {first_names(self.sample_ids)}"
            )
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"ids must be distinct, got {len(wanted) - len(set(wanted))} repeated")
        return self._of(np.asarray([place[name] for name in wanted], dtype=np.int64), None)

    def rows(self, index: np.ndarray) -> Genotypes:
        """The design of the rows ``index``, with missing genotypes replaced as in this one."""
        return self._of(np.asarray(index), self._imputed_from or self)

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        n, _ = self.shape
        matrix = block if block.ndim == 2 else block[:, None]
        used = arrays.nonzero_rows(matrix)
        product = np.zeros((n, matrix.shape[1]), dtype=self.prototype.dtype)
        for some in slices(len(used), self._width):
            product += self.columns(used[some]) @ matrix[used[some]]
        return product if block.ndim == 2 else product[:, 0]

    def transposed_product(self, block: np.ndarray) -> np.ndarray:
        """Xᵀ @ block."""
        product = np.empty((self.shape[1], *block.shape[1:]), dtype=self.prototype.dtype)
        for some in slices(self.shape[1], self._width):
            product[some] = self.columns(np.arange(some.start, some.stop)).T @ block
        return product

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The variants ``index``, dense, with missing genotypes replaced."""
        genotypes = self._unpacked(np.asarray(index), self.prototype.dtype)
        if np.any(self._has_missing[index]):
            missing = np.isnan(genotypes)
            np.copyto(genotypes, self._means[index], where=missing, casting="same_kind")
        return genotypes

    def column_norms(self, row_scale: np.ndarray | None = None, center: Any = None) -> np.ndarray:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        if row_scale is not None:
            return super().column_norms(row_scale, center)
        center = 0.0 if center is None else center
        one, two, missing = self._counts  # the norms follow from the numbers of each genotype
        zero = self.shape[0] - one - two - missing
        squares = zero * np.square(0.0 - center) + one * np.square(1.0 - center)
        squares += two * np.square(2.0 - center) + missing * np.square(self._means - center)
        return np.sqrt(squares).astype(self.prototype.dtype)

    def column_means(self) -> np.ndarray:
        """Means of the columns, from the numbers of each genotype."""
        one, two, missing = self._counts
        total = one + 2.0 * two + missing * self._means
        return (total / max(self.shape[0], 1)).astype(self.prototype.dtype)

    @cached_property
    def _counts(self) -> np.ndarray:
        """Numbers of samples with genotype 1, with 2 and without one, for every variant."""
        counts = np.zeros((3, self.shape[1]), dtype=np.int64)
        for some in slices(self.shape[1], self._width):
            genotypes = self._unpacked(np.arange(some.start, some.stop), "int8")
            counts[0, some] = np.count_nonzero(genotypes == 1, axis=0)
            counts[1, some] = np.count_nonzero(genotypes == 2, axis=0)
            counts[2, some] = np.count_nonzero(genotypes < 0, axis=0)  # of the reader, for none
        return counts

    @cached_property
    def _means(self) -> np.ndarray:
        """What replaces a missing genotype of each variant."""
        source = self._imputed_from or self
        one, two, missing = source._counts
        return (one + 2.0 * two) / np.maximum(source.shape[0] - missing, 1)

    @cached_property
    def _has_missing(self) -> np.ndarray:
        return (self._imputed_from or self).missing > 0

    @property
    def _width(self) -> int:
        """Number of variants that are unpacked at a time."""
        return max(1, BLOCK_ENTRIES // max(self.shape[0], 1))

    def _unpacked(self, index: np.ndarray, dtype: Any) -> np.ndarray:
        """Genotypes of the variants ``index`` as they are in the file."""
        places = self._samples, index
        return self._reader.read(places, dtype=dtype, num_threads=threads_in_use())

    @cached_property
    def _reader(self) -> Any:
        return import_optional("bed_reader").open_bed(
            self.path,
            iid_count=self._file_samples,
            sid_count=self.shape[1],
            skip_format_check=True,
        )

    def _of(self, index: np.ndarray, imputed_from: Genotypes | None) -> Genotypes:
        other = object.__new__(type(self))
        for name in ("path", "feature_names", "prototype", "_file_samples"):
            setattr(other, name, getattr(self, name))
        other.sample_ids, other._samples = self.sample_ids[index], self._samples[index]
        other.shape = len(index), self.shape[1]
        other._imputed_from = imputed_from
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the open file, so that a design can be sent to another process."""
        return {name: value for name, value in vars(self).items() if name != "_reader"}


def first_names(names: Iterable[Any]) -> str:
    """Three names, for a message."""
    return ", ".join(repr(str(name)) for name in islice(names, 3))


def _read_names(path: str | Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """The .bed file and the names of its samples and variants, if three files belong together."""
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
    return bed, samples, variants


def _check_genotypes(bed: Path, samples: int, variants: int) -> None:
    with bed.open("rb") as file:
        header = file.read(3)  # the third byte is 1 if variants follow one another, 0 if samples do
    if header not in (b"\x6c\x1b\x01", b"\x6c\x1b\x00"):
        raise ValueError(
            f"{bed} is not a .bed file of PLINK 1.9: it begins with the bytes "
            f"{header.hex(' ') or 'of nothing'} instead of 6c 1b 01"
        )
    if header[2] == 0:
        raise ValueError(
            f"{bed} has one sample after the other; convert it to one variant after the other "
            "with: plink --bfile NAME --make-bed"
        )
    # a byte has four samples
    size, expected = bed.stat().st_size, len(header) + variants * -(-samples // 4)
    if size != expected:
        what = "ends early" if size < expected else "is too long"
        raise ValueError(
            f"{bed} {what}: it has {size} bytes, but {samples} samples in the .fam file and "
            f"{variants} variants in the .bim file take {expected}"
        )
    # What is left of the last byte of a variant is zero, which also means two copies of A1: the
    # last sample is none if it has them throughout and, by those of the others, hardly could.
    some = np.linspace(0, variants - 1, min(variants, 100)).astype(int)
    codes = np.memmap(bed, np.uint8, "r", len(header)).reshape(variants, -1)[some]
    twice = (codes[:, :, None] >> np.array([0, 2, 4, 6], np.uint8) & 3).reshape(len(some), -1) == 0
    shares = (twice[:, : samples - 1].sum(axis=1) + 1) / samples
    surplus = samples % 4 != 1 and twice[:, samples - 1].all() and np.prod(shares) < 1e-9
    if not twice[:, samples:].all() or surplus:
        has = "no genotypes of the last of" if surplus else "more samples than"
        raise ValueError(f"{bed} has {has} the {samples} in the .fam file; were its lines changed?")


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
        if len(line) != 6:
            raise ValueError(f"{file}, line {number}: expected 6 columns, got {len(line)}")
    return lines
