"""The table of the neurons of a movie, and decisions about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.calcium import Quality
from thinrank.calcium.decisions import DECISIONS, centres_of
from thinrank.calcium.export import Segmentation
from thinrank.calcium.quality import LEAST_CORRELATION, LEAST_SNR
from thinrank.report.page import Block, Cell, Choice, Choices, Number, Section, Table, Text

_CLEAR = 0.2  # fraction of a neuron's largest spike from which the table counts a spike


def neuron_blocks(imaging: Segmentation, movie: str, review: bool) -> list[Block]:
    """The section with one row per neuron."""
    quality: Quality | None = getattr(imaging, "quality_", None)
    header = ["neuron", "row", "column", "pixels", "peak", "clear spikes"]
    rows: list[list[Cell]] = [_measures(imaging, i) for i in range(len(imaging.traces_))]
    about = (
        "Row and column of the centre, number of pixels of the region, maximum of the trace, and "
        f"number of spikes larger than {_CLEAR:.0%} of the neuron's largest spike."
    )
    if quality is not None:
        header += ["SNR", "correlation", "doubtful"]
        for i, row in enumerate(rows):
            row += _quality(quality, i)
        about += (
            " SNR is the height of the largest transient in the raw light, in standard deviations "
            "of its noise; correlation is that of the trace with the raw light, from which the "
            f"neuropil was regressed out. Neurons with an SNR below {LEAST_SNR:g} or a correlation "
            f"below {LEAST_CORRELATION:g} are doubtful."
        )
    blocks: list[Block] = [Section("Neurons")]
    if review:
        header.append("accept")
        for i, row in enumerate(rows):
            row.append(_choice(imaging, quality, i))
        about += (
            " The button above the table saves the ticked neurons as decisions.json; the same "
            "command with `--accept decisions.json` and another folder then writes these only."
        )
        blocks.append(_choices(imaging, movie))
    table = Table(
        tuple(header),
        [tuple(row) if review else tuple(map(_text, row)) for row in rows],
        caption="Neurons" if review else "",
        sortable=review,
    )
    return [*blocks, table, Text(about)]


def _text(cell: Cell) -> Cell:
    """The text of a number, which only tables that sort need."""
    return cell.text if isinstance(cell, Number) else cell


def _measures(imaging: Segmentation, i: int) -> list[Cell]:
    region, train = imaging.region_coordinates_[i], imaging.spike_trains_[i]
    row, column = region.mean(axis=0).tolist()
    peak = float(np.max(imaging.traces_[i]))
    spikes = int(np.count_nonzero(train > _CLEAR * np.max(train, initial=0.0)))
    return [
        str(i + 1),
        Number(row, f"{row:.1f}"),
        Number(column, f"{column:.1f}"),
        Number(len(region), str(len(region))),
        Number(peak, f"{peak:.3g}"),
        Number(spikes, str(spikes)),
    ]


def _quality(quality: Quality, i: int) -> list[Cell]:
    snr, correlation = float(quality.snr[i]), float(quality.correlation[i])
    doubtful = bool(quality.doubtful[i])
    return [
        Number(snr, f"{snr:.1f}"),
        Number(correlation, f"{correlation:.2f}"),
        Number(doubtful, "doubtful" if doubtful else ""),
    ]


def _choice(imaging: Segmentation, quality: Quality | None, i: int) -> Choice:
    row, column = centres_of(imaging.region_coordinates_)[i].tolist()
    accepted = quality is None or not quality.doubtful[i]
    about: dict[str, str | int | float] = {
        "id": i + 1,
        "row": round(row, 3),
        "column": round(column, 3),
    }
    return Choice(f"accept neuron {i + 1}", bool(accepted), about)


def _choices(imaging: Segmentation, movie: str) -> Choices:
    height, width = imaging.mean_image_.shape
    about: dict[str, Any] = {
        "format": DECISIONS,
        "movie": movie,
        "frames": int(imaging.traces_.shape[1]),
        "height": int(height),
        "width": int(width),
    }
    return Choices("decisions.json", "neurons", "accepted", about)
