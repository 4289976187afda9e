"""The numbers on the pages are those of the records."""

import re

import numpy as np
import pytest
import synthetic_records as synthetic
from paper.commands import own_command
from paper.markdown import render_markdown
from paper.registry import find_page

from paper import write_study
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
    """The page as Markdown, without its files."""
    with drawing():
        return render_markdown(find_page(name)(name, records))


@pytest.mark.parametrize(
    "name",
    [n if n in ("table5", "norway") else pytest.param(n, marks=pytest.mark.slow) for n in FIGURES],
)
def test_files(tmp_path, name):
    write_study(name, synthetic.every_study()[name], tmp_path)
    place = tmp_path / name
    end = (place / "page.md").read_text(encoding="utf-8")
    for figure in FIGURES[name]:
        assert (place / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (place / f"{figure}.svg").read_bytes()
        assert f"({figure}.svg)" in end
    text = (place / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|iframe)\b", text)  # needs no other file
    assert "@import" not in text
    assert "url(" not in text
    sources = re.findall(r'src="([^"]{0,30})', text)
    assert len(sources) == len(FIGURES[name])
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert f"| command | `python -m paper {name}` |" in end
    assert "| versions | thinrank 0.1.0, numpy 2.1.0 |" in end
    assert "| machine | Linux x86\\_64, 2 cores |" in end
    assert f"| replications | {REPLICATIONS.get(name, 1)} |" in end
    names = {path.name for path in place.iterdir()}
    assert names == {"page.md", "page.html"} | {
        f"{figure}.{suffix}" for figure in FIGURES[name] for suffix in ("png", "svg")
    }


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


def test_sentence_when_both_come_first():
    text = page("table1")
    assert (
        "pursuit has the lowest mean estimation error apart from the oracle, 0.0440; "
        "next is GDT, 0.0460. GDT and pursuit come first." in text
    )


def test_sentence_when_another_method_wins():
    records = synthetic.accuracy(JRRS=0.042, DPP=0.045)
    text = shown("table1", records)
    assert "JRRS has the lowest mean estimation error apart from the oracle, 0.0420" in text
    assert "GDT and pursuit do not both come first" in text
    assert "JRRS is better than GDT by 0.0040 (standard error 0.0000)" in text
    assert "DPP is better than GDT by 0.0010" in text
    assert "JRRS is better than pursuit by 0.0020" in text
    assert "DPP is better than pursuit" not in text
    assert "come first." not in text
    text = shown("table1", synthetic.accuracy(replications=1))
    assert row(text.split("## Prediction")[0], "GDT")[1] == "0.0470"  # no standard deviation
    assert "nan" not in text


def test_seconds_beside_the_printed_ones():
    text = page("table5")
    beside, _, rest = text.partition("## Printed seconds divided")
    assert row(beside, "GDT")[1:] == ["0.1 / 0.11", "0.5 / 0.2", "1 / 0.51"]
    assert row(beside, "EEA")[1:] == ["4 / 0.5", "20 / 35.6", "> 30 / 256"]
    assert row(beside, "pursuit")[1] == "0.05 / –"
    ratios, _, rest = rest.partition("## Seconds relative")
    assert row(ratios, "DPP")[1:] == ["0.95", "0.61", "1.59"]
    relative, _, parts = rest.partition("## Start")
    assert row(relative, "EEA")[3] == "> 30 / 502"
    assert row(parts, "GDT", "10") == ["GDT", "10", "0.1", "0.9", "10 %"]
    assert "the speed of the method does not come from the initialization step" in text
    assert "GDT is the fastest of the paper's methods at every ζ ≥ 5" in text
    assert "relative to pursuit: 2 × at ζ = 1, 2 × at ζ = 5, 2 × at ζ = 10." in text


def test_seconds_that_are_too_many():
    text = shown("table5", synthetic.timing(gdt=2.5))
    assert "GDT is not the fastest of the paper's methods at ζ = 5, 10" in text
    records = [{**r, "status": "> limit", "seconds": None} for r in synthetic.timing()]
    assert "were not both run at any ζ ≥ 5" in shown("table5", records)
    records = [{**r, "zeta": 20} for r in synthetic.timing() if r["zeta"] == 1]
    text = shown("table5", records)
    assert row(text.split("## Printed")[0], "EEA")[1] == "4 / > 2 h"
    assert row(text.split("## Printed")[1].split("## Seconds relative")[0], "EEA")[1] == "> 1.8e+03"


def test_norway():
    text = page("norway")
    assert row(text, "GDT", "1.000 ± 0.010")[2:] == ["1.002", "-0.2 %", "+1.0 %", "3"]
    assert row(text, "null")[1] == "1.300 ± 0.010"
    assert "Here, GDT discards exactly these." in text
    assert "RCGL has the lowest mean test error, 0.990; GDT has 1.000, 1.0 % above it" in text
    other = shown("norway", synthetic.norway(["X1^2"]))
    assert "Here, GDT discards `X1^2`." in other
    assert row(other, "GDT", "`X1^2`")[2:] == ["no", "123.400"]


def test_rate_of_convergence():
    for name, rate in (("figure-no-error", 0.8), ("figure-no-sparsity", 0.9)):
        assert f"rate {rate:.4f} per iteration, R² at least 1.0000" in page(name)


def test_early_stopping_in_numbers():
    text = page("figure-high-dimension")
    cells = ["500", "0.5500", "0.5000", "2", "0.1000", "3", "0.1100", "+10.0 %"]
    assert row(text, "500", "0.5500") == cells
    assert row(text, "1000", "0.5500")[-1] == "+0.0 %"
    assert row(text, "500", "4")[1:] == ["4", "0.5", "-87.5 %", "3", "20", "0.0001"]
    assert "fall from the lasso start; the error: 0.5000 to 0.1100 at n = 500" in text
    assert "at n = 500 the last error differs by +10.0 % from the best" in text


def test_sensitivity():
    text = page("sensitivity")
    assert row(text, "GDT")[1:] == [
        "0.0500 ± 0.0010",
        "0.0550 ± 0.0010 (+10 %)",
        "0.0650 ± 0.0010 (+30 %)",
    ]
    assert "Twice the true sizes change the mean estimation error by +10.0 % for GDT" in text


def test_noise():
    text = page("noise").split("## Weak signal, row and column sparse")[1]
    assert row(text, "uniform")[1] == "0.1020 ± 0.0010 (+2 %)"
    assert row(text, "student\\_t2")[2] == "0.1800 ± 0.0010 (+80 %)"
    assert row(text, "gaussian")[1] == "0.1000 ± 0.0010"


def test_no_records(tmp_path):
    for name in ("table5", "calcium"):
        write_study(name, [], tmp_path)
        assert "No replication of this study is finished" in (
            tmp_path / name / "page.md"
        ).read_text("utf-8")
    with pytest.raises(ValueError, match="no study 'table9'; choose from table1"):
        write_study("table9", [], tmp_path)


def test_command_machine_and_state_from_the_summary(tmp_path):
    place = tmp_path / "table1"
    place.mkdir()
    (place / "summary.json").write_text(
        '{"command": "python -m paper table1 --quick", "machine": {"cores": 2}, '
        '"jobs": 50, "jobs_finished": 4}'
    )
    write_study("table1", synthetic.accuracy(), tmp_path)
    text = (tmp_path / "table1" / "page.md").read_text(encoding="utf-8")
    assert "| command | `python -m paper table1 --quick` |" in text
    assert "| machine | 2 cores |" in text
    assert "This is the small version (`--quick`)" in text
    assert "Unfinished: 4 of 50 jobs" in text


def test_claims_have_a_mark_and_the_page_links_to_the_index(tmp_path):
    write_study("table5", synthetic.timing(), tmp_path)
    text = (tmp_path / "table5" / "page.md").read_text(encoding="utf-8")
    claims = text.split("## Claims that this study checks")[1].split("##")[0]
    assert row(claims, "GDT is the fastest of the paper's methods at every ζ ≥ 5")[1] == "✓ holds"
    assert "[← All results](../index.md)" in text
    html = (tmp_path / "table5" / "page.html").read_text(encoding="utf-8")
    assert '<a href="../index.html">← All results</a>' in html
    assert '<span class="verdict good"><span aria-hidden="true">✓</span> holds</span>' in html


@pytest.mark.parametrize(
    ("typed", "own"),
    [
        ("python -m paper", "python -m paper noise"),
        ("python -m paper all --quick", "python -m paper noise --quick"),
        (
            "python -m paper table1 noise --out noise --jobs 2 norway --limit 300",
            "python -m paper noise --out noise --jobs 2 --limit 300",
        ),
        ("python -m paper --out it's", "python -m paper noise --out 'it'\"'\"'s'"),
        ("python run_all.py", "python run_all.py"),
    ],
)
def test_every_study_shows_its_own_command(typed, own):
    assert own_command("noise", typed) == own
