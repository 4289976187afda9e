"""The commands on the page about the command line print what the page shows."""

import re
from pathlib import Path

import numpy as np
import pytest
from messy_files import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "command_line.md"


@pytest.mark.slow
def test_the_page_shows_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", text, re.S).group(1), {})
    commands = re.findall(r"```bash\nthinrank (.*)\n```", text)
    shown = re.findall(r"```text\n(.*?)```", text, re.S)
    fit, predict = (next(each for each in commands if each.startswith(w)) for w in ("fit", "pred"))
    done = run(*fit.split())
    assert done.code == 0
    assert done.out == shown[0]
    # on a slow machine lines about the progress come after some seconds
    lines = [line for line in done.err.splitlines() if not re.search(r" in \d+ s$", line)]
    assert lines == shown[1].splitlines()
    stability = next(each for each in commands if each.startswith("stability"))
    assert run(*stability.split()).out == shown[2]
    (tmp_path / "X.csv").rename(tmp_path / "new.csv")
    assert run(*predict.split()).code == 0
    failing = next(each for each in commands if each.endswith("--json"))
    (tmp_path / "new.csv").rename(tmp_path / "X.csv")
    assert run(*failing.replace("none.csv", "none.csv -o other").split()).out == shown[3]


def test_a_model_in_python_predicts_what_the_command_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, model = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    exec(data, {})
    sizes = ("--rank", "1", "--predictors", "3", "--responses", "2")
    assert run("fit", "X.csv", "Y.csv", "-o", "model", *sizes).code == 0
    (tmp_path / "X.csv").rename(tmp_path / "new.csv")
    assert run("predict", "model", "new.csv", "-o", "p.npy").code == 0
    names = {}
    exec(model, names)
    np.testing.assert_allclose(names["predicted"], np.load("p.npy"))


@pytest.mark.slow
def test_the_commands_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S).group(1), {})
    (tmp_path / "NEW.csv").write_bytes((tmp_path / "X.csv").read_bytes())
    readme = (PAGE.parents[2] / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```bash\n(thinrank .*?)```", readme, re.S)
    commands = [line.removeprefix("thinrank ") for line in block.splitlines()]
    assert [command.split()[0] for command in commands] == ["fit", "report", "predict"]
    for command in commands:
        done = run(*command.split())
        assert done.code == 0, done.err
    assert (tmp_path / "model" / "report.html").stat().st_size > 10_000
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 61
