"""Progress bars, drawn into a string."""

import io
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from thinrank.core.progress import progress_bar, with_progress_bar


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=120, force_terminal=False)


def drawn(console):
    return console.file.getvalue()


def test_bar_shows_description_count_and_text(console):
    with progress_bar("fitting", 10, console=console) as update:
        update(3, text="objective [1.5]")
    assert "fitting" in drawn(console)
    assert "3/10" in drawn(console)
    assert "objective [1.5]" in drawn(console)


def test_update_sets_only_what_is_given(console):
    with progress_bar("reading", 4, completed=1, console=console) as update:
        update(advance=1)
        update(text="second")
        update(description="solving")
    assert "solving" in drawn(console)
    assert "2/4" in drawn(console)
    assert "second" in drawn(console)


def test_unknown_total_counts_without_a_bar(console):
    with progress_bar("searching", console=console) as update:
        update(7, text="models")
    assert "searching 7 models" in drawn(console)


def test_without_count(console):
    with progress_bar("reading", 1.0, count=False, console=console) as update:
        update(0.5)
    assert "/" not in drawn(console)


def test_time_left(console):
    with progress_bar("study", 2, time_left=True, console=console) as update:
        update(1)
    assert "left" in drawn(console)


def test_bars_go_to_standard_error(capsys):
    with progress_bar("fitting", 2) as update:
        update(2)
    seen = capsys.readouterr()
    assert "fitting" in seen.err
    assert not seen.out


def test_hidden_bar_writes_nothing(capsys):
    with progress_bar("fitting", 2, show=False) as update:
        update(1, advance=1, description="other", text="text")
    assert capsys.readouterr() == ("", "")


def record(iteration):
    return SimpleNamespace(iteration=iteration)


def test_hidden_bar_leaves_the_callback_alone():
    def callback(record):
        return True

    with with_progress_bar(callback, str, "fitting", 2, show=False) as same:
        assert same is callback
    with with_progress_bar(None, str, "fitting", 2, show=False) as nothing:
        assert nothing is None


def test_shown_bar_calls_the_callback_and_returns_its_answer(capsys):
    seen = []

    def callback(record):
        seen.append(record.iteration)
        return record.iteration == 2

    def text(record):
        return f"iteration no. {record.iteration}"

    with with_progress_bar(callback, text, "fitting", 5, show=True) as both:
        assert [both(record(i)) for i in (1, 2)] == [False, True]
    assert seen == [1, 2]
    assert "2/5 iteration no. 2" in capsys.readouterr().err


def test_shown_bar_without_a_callback(capsys):
    with with_progress_bar(None, lambda record: "", "fitting", 5, show=True) as both:
        assert both(record(4)) is None
    assert "4/5" in capsys.readouterr().err


def test_rich_is_needed_only_by_a_bar_that_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    with progress_bar("fitting", 2, show=False) as update:
        update(1)
    with pytest.raises(ImportError), progress_bar("fitting", 2):
        pass
