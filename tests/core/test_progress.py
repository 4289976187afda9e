"""Progress bars, on standard error."""

from types import SimpleNamespace

from thinrank.core.progress import progress_bar, with_progress_bar


def test_bar_shows_description_count_and_text(capsys):
    with progress_bar("fitting", 10) as update:
        update(3, text="objective [1.5]")
    shown = capsys.readouterr().err
    assert "fitting" in shown
    assert "3/10" in shown
    assert "objective [1.5]" in shown


def test_bars_go_to_standard_error_unless_they_are_hidden(capsys):
    with progress_bar("fitting", 2, show=False) as update:
        update(1, advance=1, text="text")
    assert capsys.readouterr() == ("", "")
    with progress_bar("fitting", 2) as update:
        update(2)
    seen = capsys.readouterr()
    assert "fitting" in seen.err
    assert not seen.out


def record(iteration):
    return SimpleNamespace(iteration=iteration)


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
