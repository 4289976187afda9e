"""The numbers on the pages are those of the records."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import synthetic_records as synthetic
from paper.pages import markdown, write_study
from paper.rl_sparse_family import falls_as_bounded, q_error_bound, states_needed

from paper import STUDIES
from thinrank.report.document import drawing

FIGURES = {
    "table1": ["estimation"],
    "table2": ["estimation"],
    "table5": ["seconds"],
    "norway": ["rmse"],
    "calcium": ["regions", "traces", "contours"],
    "figure-no-error": ["convergence"],
    "figure-no-sparsity": ["convergence"],
    "figure-high-dimension": ["estimation", "objective"],
    "sensitivity": ["sensitivity"],
    "noise": ["noise"],
    "rl-sparse-family": ["value_error"],
    "rl-blackjack": ["house_edge"],
}


REPLICATIONS = {"table1": 4, "table2": 4, "norway": 3, "calcium": 2, "sensitivity": 3, "noise": 3}
REPLICATIONS |= {"rl-sparse-family": 6, "rl-blackjack": 3}


def page(name):
    """The page of a study as Markdown."""
    return shown(name, synthetic.every_study()[name])


def row(text, *cells):
    """The only table row that begins with these cells, as a list."""
    start = "| " + " | ".join(cells) + " |"
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def shown(name, records):
    """The blocks of the study as Markdown, without its files."""
    with drawing():
        return markdown(name, STUDIES[name].page(pd.DataFrame(records)))


@pytest.mark.parametrize(
    "name",
    [n if n in ("table5", "norway") else pytest.param(n, marks=pytest.mark.slow) for n in FIGURES],
)
def test_files(tmp_path, name):
    synthetic.write_records(tmp_path, {name: synthetic.every_study()[name]})
    write_study(STUDIES[name], tmp_path)
    place = tmp_path / name
    end = (place / "page.md").read_text(encoding="utf-8")
    for figure in FIGURES[name]:
        assert b"<svg" in (place / f"{figure}.svg").read_bytes()
        assert f"({figure}.svg)" in end
    assert f"| command | `make reproduce STUDY={name}` |" in end
    assert "| versions | thinrank 0.1.0, numpy 2.1.0 |" in end
    assert "| machine | Linux, x86\\_64, 2 cores |" in end
    assert f"| replications | {REPLICATIONS.get(name, 1)} |" in end
    names = {path.name for path in place.iterdir()}
    files = {"page.md", "records", "summary.json"}
    assert names == files | {f"{figure}.svg" for figure in FIGURES[name]}


def test_errors_beside_the_printed_ones():
    text = page("table1")
    section = text.split("## Estimation error")[1].split("## Prediction")[0]
    errors = np.array([0.047, 0.045, 0.047, 0.045])
    assert row(section, "GDT") == [
        "GDT",
        f"{errors.mean():.4f} ± {errors.std(ddof=1):.4f}",
        "0.0452 ± 0.0110",
        f"{(errors.mean() - 0.0452) / 0.0110:+.1f}",
        f"{1.1 * errors.mean():.4f} ± {1.1 * errors.std(ddof=1):.4f}",
    ]
    assert row(section, "pursuit")[2:4] == ["", ""]
    assert row(section, "null")[1].startswith("1.0000")
    assert "spectral norm is what the paper prints" in text


def test_prediction_and_supports_beside_the_printed_ones():
    text = page("table2")
    prediction = text.split("## Prediction error")[1].split("## Supports")[0]
    fresh, same = (1.1 - 1.0353) / 0.0167, (1.05 - 1.0353) / 0.0167
    assert row(prediction, "GDT")[1:] == [
        "1.1000 ± 0.0115",
        f"{fresh:+.1f}",
        "1.0353 ± 0.0167",
        f"{same:+.1f}",
        "1.0500 ± 0.0000",
    ]
    supports = text.split("## Supports")[1]
    assert row(supports, "RCGL") == [
        "RCGL",
        "11.50 ± 1.29",
        "42.06 ± 7.93",
        f"{(11.5 - 42.06) / 7.93:+.1f}",
        "50.00 ± 0.00",
        "50.00 ± 0.00",
        "",  # the printed sd is 0
        "8.00 ± 0.00",
        "25 %",
        "0.25",
        "4",
    ]


def test_one_replication_has_no_standard_deviation():
    text = shown("table1", synthetic.accuracy(replications=1))
    assert row(text.split("## Prediction")[0], "GDT")[1] == "0.0470"
    assert "nan" not in text


def test_seconds_beside_the_printed_ones():
    text = page("table5")
    beside, _, parts = text.partition("## Start")
    assert row(beside, "GDT")[1:] == ["0.1 / 0.11", "0.5 / 0.2", "1 / 0.51"]
    assert row(beside, "EEA")[1:] == ["4 / 0.5", "20 / 35.6", "> 30 / 256"]
    assert row(beside, "pursuit")[1] == "0.05 / –"
    assert row(parts, "GDT", "10") == ["GDT", "10", "0.1", "0.9", "10 %"]
    assert "the speed of the method does not come from the initialization step" in text


def test_seconds_that_are_too_many():
    records = [{**r, "status": "> limit", "seconds": None} for r in synthetic.timing()]
    text = shown("table5", records)
    assert row(text.split("## Start")[0], "EEA")[1] == "> 30 / 0.5"
    records = [{**r, "zeta": 20} for r in synthetic.timing() if r["zeta"] == 1]
    text = shown("table5", records)
    assert row(text.split("## Start")[0], "EEA")[1] == "4 / > 2 h"


def test_command_and_machine_from_the_summary(tmp_path):
    synthetic.write_records(tmp_path, {"table5": synthetic.timing()})
    file = tmp_path / "table5" / "summary.json"
    about = {"command": "make reproduce STUDY=table5 QUICK=1", "quick": True}
    file.write_text(json.dumps(json.loads(file.read_text()) | about))
    write_study(STUDIES["table5"], tmp_path)
    text = (tmp_path / "table5" / "page.md").read_text(encoding="utf-8")
    assert "| command | `make reproduce STUDY=table5 QUICK=1` |" in text
    assert "This is the small version (`QUICK=1`)" in text
    claims = text.split("## Claims that this study checks")[1].split("##")[0]
    assert row(claims, "GDT is the fastest of the paper's methods at every ζ ≥ 5")[1] == "✓ holds"
    assert "[← All results](../index.md)" in text


# ---------------------------------------------------------------- reinforcement learning


def test_the_printed_bound():
    found = q_error_bound(20, feature_norm=2.0)
    expected = 1 / 0.1**4 * (1 / 60 * 10**2 * 2.0**4 * (3 + 10 / 20 * (3 + math.log(600))))
    assert found == pytest.approx(expected, rel=1e-9)


def test_states_are_interpolated_in_logarithms():
    curve = {20: 4.0, 80: 1.0}
    assert states_needed(curve, 2.0) == (pytest.approx(40), False)
    assert states_needed(curve, 5.0) == (20, False)
    assert states_needed(curve, 0.5) == (80, True)
    # a curve that rises counts where it first falls below
    assert states_needed({20: 4.0, 40: 1.0, 80: 3.0}, 1.0) == (pytest.approx(40), False)


def test_the_best_baseline_decides():
    records = synthetic.rl_sparse_family(worse={"group lasso": 3.0, "ridge": 8.0})
    text = shown("rl-sparse-family", records)
    assert "best baseline, group lasso, needs 3.00 times the states of GDT" in text
    assert "| ridge | 320 | 8.00 |" in text
    assert "GDT −1.00" in text


def test_slope_and_claim():
    records = pd.DataFrame(synthetic.rl_sparse_family())
    holds, numbers = falls_as_bounded(records)
    assert holds
    assert "−1.00" in numbers
    assert not falls_as_bounded(records.assign(value_error=records["states"] ** -0.5))[0]
