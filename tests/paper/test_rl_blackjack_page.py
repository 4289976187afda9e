"""The page of blackjack, from edges that are known."""

import pytest
import synthetic_records as synthetic

from thinrank.paper.rl_blackjack import OPTIMUM, against_best_baseline, edges, make_page
from thinrank.report.markdown import render_markdown
from thinrank.report.style import drawing


def shown(records):
    with drawing():
        return render_markdown(make_page("rl-blackjack", records))


def test_edges_are_in_percent():
    curves = edges(synthetic.rl_blackjack(), "edge_exact")
    assert list(curves) == ["GDT", "pursuit", "group lasso", "pooled", OPTIMUM]
    assert curves["GDT"][250].mean == pytest.approx(0.9)
    assert curves[OPTIMUM][1000].mean == pytest.approx(0.5)


def test_the_verdict_is_against_the_best_baseline():
    text = shown(synthetic.rl_blackjack())
    assert "GDT-FQI -0.40 ± 0.00 (group lasso) with 250 states, -0.10 ± 0.00 (group" in text
    assert "pursuit-FQI -0.48 ± 0.00 (group lasso) with 250 states" in text
    assert "with 250, 1000 states: GDT 0.40, 0.10; pursuit 0.32, 0.08; group lasso" in text
    assert "they play 200,000 hands" in text
    assert "standard error from playing: 0.09" in text


def test_one_seed_has_no_standard_error():
    records = [r for r in synthetic.rl_blackjack(seeds=1) if r["states"] == 250]
    assert against_best_baseline(records, "GDT") == "-0.40 (group lasso)"
    assert against_best_baseline(records, "ridge") is None


def test_one_method_alone_decides_nothing():
    records = [r for r in synthetic.rl_blackjack(seeds=1) if r["method"] == "GDT"]
    assert "do not contain both" in shown(records)
