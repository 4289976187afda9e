"""The index says which claims hold."""

import pytest
import synthetic_records as synthetic
from paper.pages import FAILS, HOLDS, NOT_RUN, check_claims, write_index

from paper import STUDIES

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
    """The verdict on the claim that begins so, and the numbers."""
    (found,) = [c for c in check_claims(STUDIES, results) if c[0].startswith(start)]
    return found[1:]


def test_nothing_was_run():
    assert {(verdict, told) for _, verdict, told in check_claims(STUDIES, {})} == {(NOT_RUN, "")}


def test_claims_of_one_study():
    results = synthetic.every_study()
    for start, study in MARKS.items():
        verdict, told = claim({study: results[study]}, start)
        assert verdict == HOLDS, start
        assert told


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
    verdict, told = claim({MARKS[start]: records}, start)
    assert verdict == FAILS
    assert evidence in told


def test_claims_over_four_tables():
    results = {name: synthetic.every_study()[name] for name in STUDIES if name[:5] == "table"}
    start = "GDT has the lowest mean estimation"
    verdict, told = claim(results, start)
    assert verdict == HOLDS
    assert "table1: GDT 0.0460, JRRS 0.0500" in told
    verdict, told = claim(results, "GDT has the lowest mean prediction")
    assert verdict == FAILS  # they are all alike in these records
    assert "(difference 0.0000" in told
    del results["table4"]
    verdict, told = claim(results, start)
    assert verdict == NOT_RUN
    assert "table4: not run" in told
    results["table3"] = synthetic.accuracy(5, study="table3", JRRS=0.045)  # a baseline wins
    verdict, told = claim(results, start)
    assert verdict == FAILS
    assert "table3: GDT 0.2300, JRRS 0.2250 (difference 0.0050" in told


def test_errors_as_printed():
    results = {f"table{i}": synthetic.accuracy(study=f"table{i}") for i in (1, 2, 3, 4)}
    verdict, told = claim(results, "GDT's mean estimation error")
    assert verdict == HOLDS  # below the printed is as good
    assert "table1: 0.0460, printed 0.0452 ± 0.0110, +0.1 sd" in told
    verdict, told = claim(results, "The baselines'")
    assert verdict == FAILS
    assert f"RCGL {(0.06 - 0.2775) / 0.0605:+.1f} sd (lower here)" in told
    assert "table1: 6 of 6;" in told
    worse = {name: synthetic.accuracy(study=name, GDT=0.9) for name in results}
    assert claim(worse, "GDT's mean estimation error")[0] == FAILS


def test_index_pages(tmp_path):
    results = {"table5": synthetic.timing(), "norway": synthetic.norway()}
    synthetic.write_records(tmp_path, results)
    write_index(STUDIES, tmp_path)
    text = (tmp_path / "index.md").read_text(encoding="utf-8")
    count = len(check_claims(STUDIES, {}))
    assert f"Of {count} claims, 4 hold and 0 do not; {count - 4} were not run." in text
    assert "| GDT is the fastest of the paper's methods at every ζ ≥ 5 | ✓ holds |" in text
    assert "| table1 | – not run |" in text
    assert "| [norway](norway/page.md) | `make reproduce STUDY=norway` | 3 | 16 |" in text
    write_index(STUDIES, tmp_path / "new")
    assert "were not run." in (tmp_path / "new" / "index.md").read_text(encoding="utf-8")
