"""The page of blackjack, from edges that are known."""

import pytest
import synthetic_records as synthetic

from thinrank.report.markdown import render_markdown
from thinrank.report.rl_blackjack import OPTIMUM, edges, rl_blackjack_page
from thinrank.report.style import drawing


def shown(records):
    with drawing():
        return render_markdown(rl_blackjack_page("rl-blackjack", records))


def test_edges_are_in_percent():
    curves = edges(synthetic.rl_blackjack(), "edge_exact")
    assert list(curves) == ["GDT", "pursuit", "group lasso", "pooled", OPTIMUM]
    assert curves["GDT"][250].mean == pytest.approx(0.9)
    assert curves[OPTIMUM][1000].mean == pytest.approx(0.5)


def test_the_verdict_lists_losses_in_order():
    text = shown(synthetic.rl_blackjack())
    assert "with 250 states pursuit 0.32, GDT 0.40, group lasso 0.80, pooled 1.60" in text
    assert "with 1000 states pursuit 0.08, GDT 0.10, group lasso 0.20, pooled 0.40." in text
    assert "they play 200,000 hands" in text
    assert "standard error of playing: 0.09" in text


def test_one_method_alone_decides_nothing():
    records = [r for r in synthetic.rl_blackjack(seeds=1) if r["method"] == "GDT"]
    assert "are not all in the records" in shown(records)
