"""Learning decision processes from the command line."""

import importlib.util
import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import thinrank as tr
from thinrank.cli import app
from thinrank.rl.transition_files import read_folder

runner = CliRunner()
COLUMNS = ["episode", "place", "light", "action", "reward", "terminated"]
SMALL = ["rl", "--tasks", "2", "--episodes", "4", "--iterations", "5"]


def chain(seed, episodes=15):
    """Walks from 0 to 4, where a reward of 1 ends the episode; the first is cut off."""
    rng, lines = np.random.default_rng(seed), []
    for episode in range(episodes):
        place, over = int(rng.integers(4)), False
        for _ in range(12 if episode else 2):
            action = int(rng.integers(2))
            after = min(max(place + 2 * action - 1, 0), 4)
            over = after == 4
            lines.append((episode, place, 0.5, action, 1.0 * over, int(over)))
            place = after
            if over:
                break
    return pd.DataFrame(
        lines, columns=["episode", "place", "light", "action", "reward", "terminated"]
    )


def test_simulated_carts(tmp_path):
    out = tmp_path / "[red]rl"  # a path with markup is printed as it is
    result = runner.invoke(app, [*SMALL, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "2 tasks, 160 transitions" in result.output
    returns = re.search("these policies (.*), one policy for all (.*), every", result.output)
    assert all(float(value) < 0 for value in returns.groups())
    assert f"The results are in {out}" in result.output
    assert "<table" in (out / "index.html").read_text()
    again = runner.invoke(app, [*SMALL, "--out", str(out)])
    assert again.exit_code == 2
    assert "--overwrite" in again.output
    (out / "notes.txt").write_text("by hand")
    again = runner.invoke(app, [*SMALL, "--out", str(out), "--overwrite"])
    assert again.exit_code == 2
    assert "it holds notes.txt" in " ".join(again.output.split())
    (out / "notes.txt").unlink()
    again = runner.invoke(app, [*SMALL, "--out", str(out), "--overwrite"])
    assert again.exit_code == 0, again.output
    assert len(json.loads((out / "summary.json").read_text())["tasks"]) == 2


def test_a_folder_of_logs(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # no page
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    for seed in range(2):
        chain(seed).to_csv(logs / f"walk {seed}.csv", index=False)
    result = runner.invoke(app, ["rl", str(logs), "--discount", "0.8", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert ".[report]" in result.output
    values = pd.read_csv(out / "values.csv")
    assert set(values["task"]) == {"walk 0", "walk 1"}
    np.testing.assert_array_equal(values["policy"], 1)  # to the right everywhere
    policy = tr.load(out / "model").policy(0)
    assert policy(np.array([2.0, 0.5])) == 1
    best = values.groupby("place")["value"].mean()
    np.testing.assert_allclose(best, 0.8 ** np.arange(3, -1, -1), atol=0.15)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.drop(columns="action"), "there is no column action"),
        (lambda t: t.drop(columns=["place", "light"]), "no column of a state variable"),
        (lambda t: t.assign(place=np.nan), "column place is empty in line 2"),
        (lambda t: t.assign(light="dim"), "column light must hold numbers"),
        (lambda t: t.assign(action=0.5), "column action must hold whole numbers"),
        (lambda t: t.assign(terminated=0.5), "column terminated must hold 0 or 1"),
        (lambda t: t.assign(truncated=0), "column truncated cannot be a state variable; leave"),
        (lambda t: t.assign(next_place=1.0), "there is no column next_light, but next_place"),
        (lambda t: t.iloc[1:2], "no line has a next state"),
        (
            lambda t: t.assign(task=1),
            "column task cannot be a state variable, because values.csv has",
        ),
    ],
)
def test_files_that_cannot_be_used(change, told, tmp_path):
    change(chain(0)).to_csv(tmp_path / "log.csv", index=False)
    result = runner.invoke(app, ["rl", str(tmp_path / "log.csv"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 3
    assert told in re.sub(r"\s+", " ", result.output)
    assert not (tmp_path / "out").exists()


def test_lines_of_episodes_may_be_mixed(tmp_path):
    table = chain(0)
    table["step"] = table.groupby("episode").cumcount()
    table.drop(columns="step").to_csv(tmp_path / "sorted.csv", index=False)
    mixed = table.sort_values(["step", "episode"]).drop(columns="step")
    mixed.to_parquet(tmp_path / "mixed.parquet")
    read = read_folder(tmp_path)
    for name in ("states", "next_states", "episodes"):
        each = [getattr(log, name) for log, _ in read.values()]
        np.testing.assert_array_equal(*each)


def test_given_next_states_need_no_episodes(tmp_path):
    table = chain(1)
    after = table["place"] + 2 * table["action"] - 1
    given = table.assign(next_place=after.clip(0, 4), next_light=0.5).sample(frac=1, random_state=0)
    given.drop(columns="episode").to_csv(tmp_path / "log.csv", index=False)
    out = tmp_path / "out"
    result = runner.invoke(app, ["rl", str(tmp_path / "log.csv"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(out / "values.csv")) == len(table)


@pytest.mark.parametrize(
    ("name", "columns", "told"),
    [("log", {}, "another log named log"), ("other", {"light": "x"}, "must be place, light, as")],
)
def test_logs_of_other_tasks_have_other_names_and_the_same_columns(name, columns, told, tmp_path):
    other = tmp_path / "other" / f"{name}.csv"
    other.parent.mkdir()
    chain(0).to_csv(tmp_path / "log.csv", index=False)
    chain(1).rename(columns=columns).to_csv(other, index=False)
    result = runner.invoke(app, ["rl", str(tmp_path / "log.csv"), str(other), "--out", "out"])
    assert result.exit_code == 3
    assert told in re.sub(r"\s+", " ", result.output)


@pytest.mark.parametrize(
    ("options", "told"),
    [(["--tasks", "1"], "--tasks"), (["--discount", "2"], "--disc"), (["no.csv"], "No such file")],
)
def test_bad_options_are_usage_errors(options, told):
    result = runner.invoke(app, ["rl", *options])
    assert result.exit_code == 2
    assert told in re.sub(r"[\s│]+", " ", result.output)
