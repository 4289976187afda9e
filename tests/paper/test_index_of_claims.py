"""The index says which claims hold."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic_records as synthetic
from paper.claims import FAILS, HOLDS, NOT_RUN, check_claims
from paper.registry import claims

from paper import write_index, write_study

MARKS = {
    "Without noise": "figure-no-error",
    "Without sparsity": "figure-no-sparsity",
    "GDT is the fastest": "table5",
    "The speed": "table5",
    "In high dimension": "figure-high-dimension",
    "Early stopping helps, if": "figure-high-dimension",
    "Early stopping helps most": "figure-high-dimension",
    "On the Norwegian paper data GDT is": "norway",
    "On the Norwegian paper data GDT discards": "norway",
    "On a calcium movie (a public one) the five": "calcium",
    "On a calcium movie (a public one) r = 50": "calcium",
    "The estimation accuracy": "sensitivity",
    "Sub-Gaussian": "noise",
    "Heavy tails": "noise",
}


def claim(results, start):
    (found,) = [claim for claim in check_claims(claims(), results) if claim.text.startswith(start)]
    return found


def test_nothing_was_run():
    checked = check_claims(claims(), {})
    assert {c.verdict for c in checked} == {NOT_RUN}
    assert {c.evidence for c in checked} == {""}


def test_claims_of_one_study():
    for start, study in MARKS.items():
        found = claim(synthetic.every_study(), start)
        assert found.studies == (study,), start
        assert found.verdict == HOLDS, start
        assert found.evidence


@pytest.mark.parametrize(
    ("start", "records", "evidence"),
    [
        ("Without noise", synthetic.convergence(1.01), "rate 1.0100"),
        ("GDT is the fastest", synthetic.timing(gdt=2.5), "DPP 0.8 × GDT at ζ = 5"),
        ("The speed", synthetic.timing(start=0.6), "0.3 s and 0.2 s at ζ = 5"),
        ("On the Norwegian paper data GDT is", synthetic.norway(gdt=1.05), "best RCGL 0.990"),
        ("On the Norwegian paper data GDT discards", synthetic.norway(["X1"]), "`X1`"),
        ("On a calcium movie (a public one) the five", synthetic.calcium(missed=1), "4 of 5, mean"),
        (
            "On a calcium movie (a public one) r = 50",
            synthetic.calcium(rank_rsc=51),
            "r = 50; the criterion gives 51",
        ),
        (
            "The estimation accuracy",
            synthetic.sensitivity(1.6),
            "GDT +60.0 % at twice, +30.0 % at 4 times",
        ),
        ("Sub-Gaussian", synthetic.noise(1.2), "uniform +20.0 %"),
    ],
)
def test_claims_that_fail(start, records, evidence):
    found = claim({MARKS[start]: records}, start)
    assert found.verdict == FAILS
    assert evidence in found.evidence


def test_a_simulated_movie_decides_nothing_about_the_paper():
    results = {"calcium": synthetic.calcium(movie="simulated")}
    for start in ("On a calcium movie (a public one) the", "On a calcium movie (a public one) r"):
        assert claim(results, start).verdict == NOT_RUN


def test_claims_over_four_tables():
    results = synthetic.every_study()
    lowest = claim(results, "GDT has the lowest mean estimation")
    assert lowest.verdict == HOLDS
    assert "table1: GDT 0.0460, JRRS 0.0500" in lowest.evidence
    assert claim(results, "GDT and pursuit").verdict == HOLDS
    prediction = claim(results, "GDT has the lowest mean prediction")
    assert prediction.verdict == FAILS  # they are all alike in these records
    assert "table1: GDT 1.1000, DPP 1.1000 (difference 0.0000" in prediction.evidence
    with_pursuit = claim(results, "GDT still has the lowest")
    assert with_pursuit.verdict == FAILS
    assert "table1: GDT 0.0460, pursuit 0.0440 (difference 0.0020" in with_pursuit.evidence
    del results["table4"]
    lowest = claim(results, "GDT has the lowest mean estimation")
    assert lowest.verdict == NOT_RUN
    assert "table4: not run" in lowest.evidence
    results["table3"] = synthetic.accuracy(5, JRRS=0.045)  # a baseline wins
    lowest = claim(results, "GDT has the lowest mean estimation")
    assert lowest.verdict == FAILS
    assert "table3: GDT 0.2300, JRRS 0.2250 (difference 0.0050" in lowest.evidence


def test_errors_as_printed():
    results = {f"table{i}": synthetic.accuracy() for i in (1, 2, 3, 4)}
    gdt = claim(results, "GDT's mean estimation error")
    assert gdt.verdict == HOLDS  # below the printed is as good
    assert "table1: 0.0460, printed 0.0452 ± 0.0110, +0.1 sd" in gdt.evidence
    baselines = claim(results, "The baselines'")
    assert baselines.verdict == FAILS
    assert f"RCGL {(0.06 - 0.2775) / 0.0605:+.1f} sd (lower here)" in baselines.evidence
    assert "table1: 6 of 6;" in baselines.evidence
    worse = {name: synthetic.accuracy(GDT=0.9) for name in results}
    assert claim(worse, "GDT's mean estimation error").verdict == FAILS


def write_records(out, results):
    """Lay the records down as the runner does."""
    for name, records in results.items():
        folder = out / name / "records"
        folder.mkdir(parents=True)
        content = {"key": "k", "job": {}, "records": records}
        (folder / "k.json").write_text(json.dumps(content))
        summary = {"command": f"python -m paper {name} --jobs 2", "keys": ["k"]}
        (out / name / "summary.json").write_text(json.dumps(summary))


def test_index_pages(tmp_path):
    write_records(tmp_path, {"table5": synthetic.timing(), "norway": synthetic.norway()})
    (tmp_path / "norway" / "page.md").write_text("# Norway\n")
    write_index(tmp_path)
    text = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert (
        f"Of {len(claims())} claims, 4 hold and 0 do not; {len(claims()) - 4} were not run." in text
    )
    assert "| GDT is the fastest of the paper's methods at every ζ ≥ 5 | ✓ holds |" in text
    assert "| table1 | – not run |" in text
    assert "| [norway](norway/page.md) | `python -m paper norway --jobs 2` | 3 | 16 |" in text
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<a href="norway/page.html">norway</a>' in html
    assert "http:" not in html
    assert "https:" not in html
    assert "<script" not in html
    write_index(tmp_path / "new")
    assert "were not run." in (tmp_path / "new" / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_message_names_the_extra(library, tmp_path, monkeypatch):
    for module in [m for m in sys.modules if m == library or m.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{library}.*'\.\[report\]"):
        write_study("noise", synthetic.noise(), tmp_path)


@pytest.mark.slow
def test_import_of_the_package_needs_no_extra():
    """In a process of its own: a second copy of the modules would confuse other tests."""
    code = """
import sys
sys.modules.update(matplotlib=None, jinja2=None, markupsafe=None, pandas=None)
import thinrank.report
import paper
assert all(paper.find_study(name).jobs(True) for name in paper.study_names())
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
