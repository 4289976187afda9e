"""Calcium imaging: the page, and its claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from paper.calcium.images import from_text
from paper.claims import Claim, Finding
from paper.statistics import group, number, pm, spread
from paper.studies import StudyRecord
from thinrank.calcium import Scores
from thinrank.core.imports import import_optional
from thinrank.report.calcium_movie import EXPLANATION, label_names, neuron_names, score_table
from thinrank.report.calcium_pictures import (
    ESTIMATED,
    LABELLED,
    Pair,
    RegionPanel,
    contours,
    side_by_side,
)
from thinrank.report.document import (
    WIDTH,
    Block,
    Cell,
    Page,
    Picture,
    Section,
    Table,
    Text,
    Verdict,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AFTER = "after separation"
_SCORES = ("recall", "precision", "combined", "inclusion", "exclusion")


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of the study."""
    page = Page("Calcium imaging")
    page.add(Text(_verdict(records), stress=True), Text(_setting(records)))
    page.add(*_paper_figure(records), *_labelled(records), *_known(records))
    return page


def found_regions(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether the five most significant labelled regions of a real movie are all found."""
    regions = _of(records, "region")
    if not regions or _is_simulated(records):
        return None
    found = [r for r in regions if r["found"]]
    told = f"{len(found)} of {len(regions)}"
    if found:
        told += ", " + ", ".join(
            f"mean {field} {np.mean([r[field] for r in found]):.2f}"
            for field in ("inclusion", "exclusion", "correlation")
        )
    return len(found) == len(regions), told


def rank_beside_criterion(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether r is at least the rank by the rank selection criterion on a real movie."""
    sizes = _sizes(records)
    if not sizes or _is_simulated(records):
        return None
    told = f"r = {sizes['rank']}; the criterion gives {sizes['rank_rsc']}"
    return sizes["rank"] >= sizes["rank_rsc"], told


def _of(records: list[StudyRecord], kind: str) -> list[StudyRecord]:
    return [record for record in records if record.get("kind") == kind]


def _sizes(records: list[StudyRecord]) -> StudyRecord:
    found = _of(records, "sizes")
    return found[0] if found else {}


def _is_simulated(records: list[StudyRecord]) -> bool:
    return any(str(r.get("movie") or "").startswith("simulated") for r in records)


def _verdict(records: list[StudyRecord]) -> str:
    told = []
    regions, sizes = _of(records, "region"), _sizes(records)
    if regions:
        found = sum(bool(r["found"]) for r in regions)
        told.append(f"{found} of the {len(regions)} most significant labelled regions are found")
    if sizes and sizes["strong_pixels"]:
        part = sizes["strong_pixels_kept"] / sizes["strong_pixels"]
        told.append(
            f"{100 * part:.1f} % of the {sizes['strong_pixels']} pixels of the "
            f"{sizes['strong_regions']} significant regions are kept"
        )
    known = group([r for r in _of(records, "known") if r["stage"] == _AFTER], "amplitude")
    if known:
        scores = ", ".join(
            f"{np.mean([r['combined'] for r in known[a]]):.2f} at amplitude {a:g}" for a in known
        )
        told.append(f"mean combined score on movies with known neurons: {scores}")
    return "; ".join(told) + "." if told else "No part of this study is finished."


def _setting(records: list[StudyRecord]) -> str:
    text = (
        "The paper fits Y = G⁻¹SA + E, where fluorescence is a filter of the spikes S of neurons "
        "with footprints A, to a movie of 559 frames and 135 × 131 pixels with r = 50, s₁ = 100 "
        "frames and s₂ = 3000 pixels. That movie is not available."
    )
    sizes = _sizes(records)
    if not sizes:
        return text
    source = (
        "a simulated one, because no real one was available"
        if _is_simulated(records)
        else f"a public one with labels ({sizes['movie']})"
    )
    labels = "The labels were not used in the fit."
    if not _is_simulated(records):
        labels = (
            "The labels were not used in the fit, but the defaults of the preprocessing and of the "
            "separation were chosen with scores on this movie in view, so scores on other movies "
            "may be lower."
        )
    return (
        f"{text} The movie here is {source}: {sizes['frames']} frames, {sizes['height']} × "
        f"{sizes['width']} pixels, r = {sizes['rank']}, s₁ = {sizes['rows']}, "
        f"s₂ = {sizes['columns']}. {labels}"
    )


def _names(records: list[StudyRecord]) -> dict[int, str]:
    """Return the name of each labelled region by its number in the file of the labels."""
    for picture in _of(records, "picture"):
        neurons = picture["neuron_of_label"]
        matches = [(neuron - 1, label) for label, neuron in enumerate(neurons) if neuron]
        return dict(enumerate(label_names(matches, len(neurons)), start=1))
    return {r["region"]: str(r["neuron"]) for r in _of(records, "region") if r["found"]}


def _paper_figure(records: list[StudyRecord]) -> list[Block]:
    regions = sorted(_of(records, "region"), key=lambda r: r["place"])
    if not regions:
        return []
    names = _names(records)
    named = [(names.get(r["region"], "–"), r) for r in regions]
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            str(r["region"]),
            number(r["significance"], 1),
            Verdict("found", True) if r["found"] else Verdict("not found", False),
            *(number(r.get(field), 2) for field in ("distance", "inclusion", "exclusion")),
            number(r.get("correlation"), 2),
        )
        for name, r in named
    ]
    header = ("neuron", "number in the file of labels", "peak SNR", "result", "distance")
    return [
        Section("The most significant labelled regions, and the estimated ones"),
        Picture(
            "regions",
            side_by_side([_pair(name, r) for name, r in named]),
            "The paper's last figure. Top: labelled regions on the mean of the movie. Bottom: the "
            "footprints estimated there, with their outlines; the labelled outlines are dashed. "
            + EXPLANATION,
        ),
        Table((*header, "inclusion", "exclusion", "correlation of traces"), rows),
        Picture(
            "traces",
            _paired_traces([_traces(name, r) for name, r in named]),
            "Mean of the movie over the labelled region (grey) and trace of the neuron found there "
            "(dark), each scaled from its minimum to its maximum.",
        ),
    ]


def _title(name: str, record: StudyRecord) -> str:
    return f"{'neuron' if record['found'] else 'region'} {name}"


def _pair(name: str, record: StudyRecord) -> Pair:
    labelled = from_text(record["labelled"]) > 0
    nothing = np.zeros(labelled.shape)
    return Pair(
        title=_title(name, record),
        image=from_text(record["image"]).astype(float),
        labelled=labelled,
        footprint=from_text(record["footprint"]).astype(float) if record["found"] else nothing,
        estimated=from_text(record["estimated"]) > 0 if record["found"] else nothing > 0,
    )


def _traces(name: str, record: StudyRecord) -> tuple[str, list[float], list[float] | None]:
    return _title(name, record), record["trace_labelled"], record.get("trace_estimated")


def _labelled(records: list[StudyRecord]) -> list[Block]:
    blocks: list[Block] = []
    for picture in _of(records, "picture"):
        labelled, estimated = (
            _regions(from_text(picture[kind])) for kind in ("labelled", "estimated")
        )
        names = _names(records)
        panels = [
            _panel("labelled", labelled, names, LABELLED),
            _panel(
                "estimated",
                estimated,
                dict(enumerate(neuron_names(max(estimated, default=0)), start=1)),
                ESTIMATED,
            ),
        ]
        figure = contours(from_text(picture["image"]).astype(float), panels)
        caption = (
            "Mean of the movie with all labelled regions, and with all estimated ones. "
            + EXPLANATION
        )
        blocks += [Section("All regions"), Picture("contours", figure, caption)]
    scores, sizes = _of(records, "scores"), _sizes(records)
    if scores and sizes:
        kinds = {"strong": f"peak SNR from {sizes['strong_from']:.3g}", "all": "all labelled"}
        rows = {
            f"{kinds[r['labels']]}, {r['stage']}": _as_scores(r)
            for r in sorted(scores, key=lambda r: (r["labels"] != "strong", r["stage"] == _AFTER))
        }
        blocks += [
            score_table(rows),
            Text(
                "NeuroFinder's scores; regions match if their centers are within 5 pixels. Before "
                "separation, a region is a connected piece of at least 10 kept pixels. Precision "
                "against the significant regions alone counts all other neurons as wrong."
            ),
        ]
    if sizes:
        blocks += [Section("Sizes"), _size_table(sizes)]
    return blocks


def _regions(labels: np.ndarray) -> dict[int, np.ndarray]:
    """Return the visible pixels of each region by its number."""
    return {int(label): np.argwhere(labels == label) for label in np.unique(labels) if label}


def _panel(
    title: str, regions: dict[int, np.ndarray], names: dict[int, str], color: str
) -> RegionPanel:
    shown = [names.get(number, "") for number in regions]
    return RegionPanel(title, list(regions.values()), shown, color)


def _as_scores(record: StudyRecord) -> Scores:
    names = {field.name for field in fields(Scores)}
    return Scores(**{name: value for name, value in record.items() if name in names})


def _size_table(sizes: StudyRecord) -> Table:
    pixels = sizes["strong_pixels"]
    part = f"{sizes['strong_pixels_kept'] / pixels:.1%} of {pixels}" if pixels else ""
    rows = [
        ("rank limit r", str(sizes["rank"])),
        ("rank by the criterion of Bunea et al.", str(sizes["rank_rsc"])),
        ("rank by the authors' script", str(sizes["rank_authors"])),
        ("frames with spikes", str(sizes["active_frames"])),
        ("pixels kept", str(sizes["active_pixels"])),
        ("pixels of significant regions kept", part),
        ("area under the ROC curve, pixels of all regions", number(sizes["pixel_auc"], 3)),
        ("neurons", str(sizes["neurons"])),
        ("seconds", number(sizes.get("seconds"), 1)),
    ]
    return Table(("quantity", "value"), list(rows))


def _known(records: list[StudyRecord]) -> list[Block]:
    known = _of(records, "known")
    if not known:
        return []
    rows = []
    for amplitude, some in group(known, "amplitude").items():
        for stage, same in group(some, "stage").items():
            cells = [pm(spread(same, field), 2) for field in _SCORES]
            traces = sum(r["traces"] for r in same)
            close = f"{sum(r['traces_close'] for r in same)} of {traces}" if traces else ""
            last = close if stage == _AFTER else ""
            rows.append((f"{amplitude:g}, {stage}", *cells, last, str(len(same))))
    first = known[0]
    header = ("amplitude", *_SCORES, "close traces", "movies")
    return [
        Section("Movies with known neurons"),
        Text(
            f"Simulated: {first['frames']} frames of {first['height']} × {first['width']} pixels, "
            f"{first['neurons']} neurons with Gaussian footprints of standard deviation 3 pixels, "
            f"{first['pairs']} pairs of them 6 to 7 pixels apart; a spike adds the amplitude, in "
            "standard deviations of a pixel's noise, at the brightest pixel. The number of frames "
            f"with spikes is limited to s₁ = {first['rows']}; everything else is automatic. A "
            "trace is close if its correlation with the true trace of the matched neuron is at "
            "least 0.8. Mean ± standard deviation."
        ),
        Table(header, list(rows)),
    ]


CLAIMS = (
    Claim(
        "On a calcium movie (a public one) the five most significant labelled regions match the "
        "estimated ones: each has one within 5 pixels",
        ("calcium",),
        found_regions,
    ),
    Claim(
        "On a calcium movie (a public one) r = 50 is at least the rank by the criterion of Bunea, "
        "She and Wegkamp",
        ("calcium",),
        rank_beside_criterion,
    ),
)


def _paired_traces(lines: Sequence[tuple[str, Sequence[float], Sequence[float] | None]]) -> Figure:
    """Draw the traces of labelled regions and, if there is one, the estimated trace."""
    figure: Figure = import_optional("matplotlib.figure").Figure(
        (WIDTH, 0.5 + 0.62 * len(lines)), layout="constrained"
    )
    axes = figure.subplots(len(lines), 1, squeeze=False, sharex=True)[:, 0]
    for axis, (title, labelled, estimated) in zip(axes, lines, strict=True):
        axis.plot(labelled, color="#b5b5b5", lw=0.8)
        if estimated is not None:
            axis.plot(estimated, color="#0b3c5d", lw=0.9)
        axis.set_xlim(0, len(labelled) - 1)
        axis.set_title(title, fontsize=9, pad=2)
        axis.tick_params(labelleft=False, left=False)
        axis.spines["left"].set_visible(False)
    axes[-1].set_xlabel("frame")
    return figure
