"""Logs in folders of CSV or Parquet files, one per task, and values of logged states as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thinrank.rl.fqi import MultiTaskFQI
from thinrank.rl.transitions import Transitions

_NEEDED = "action", "reward", "terminated"
_NEXT, _KINDS = "next_", (".csv", ".parquet")
# columns of the table of values, besides one value_0, value_1, … per action
_RESULTS = "task", "policy", "value"


def is_log_file(path: Path) -> bool:
    """Whether a path ends like that of a log."""
    return path.suffix in _KINDS


def read_folder(folder: Path) -> dict[str, tuple[Transitions, list[str]]]:
    """The log of every CSV or Parquet file of a folder and the names of its state variables.

    Files have the columns action, reward, terminated (0 or 1) and optionally episode; all others
    are state variables. A column ``next_x`` holds the next value of the variable x. Without such
    columns the next state is in the next line of the episode, and the last line of an episode that
    is not terminated is left out.
    """
    files = sorted(filter(is_log_file, folder.iterdir()))
    if not files:
        raise ValueError(f"{folder}: there is no CSV or Parquet file, one per task")
    return {file.stem: read_file(file) for file in files}


def read_file(file: Path) -> tuple[Transitions, list[str]]:
    """The log in a file, and the names of the state variables."""
    import pandas as pd  # as long to import as the rest of the package

    try:
        table = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    for name in _NEEDED:
        if name not in table:
            told = ", ".join(map(str, table))
            raise ValueError(f"{file}: there is no column {name}, only {told}")
    after = [name for name in table if name.startswith(_NEXT) and name[len(_NEXT) :] in table]
    names = [name for name in table if name not in (*_NEEDED, "episode", *after)]
    if not names:
        raise ValueError(f"{file}: there is no column of a state variable")
    for name in table:
        if name in _RESULTS or name.startswith("value_"):
            raise ValueError(
                f"{file}: column {name} cannot be a state variable, because values.csv has one "
                "of this name; rename it, or give every task a file of its own without it"
            )
        if name in ("done", "truncated"):
            raise ValueError(
                f"{file}: column {name} cannot be a state variable; leave it out: terminated says "
                "where episodes end, and episode where they were cut off"
            )
        if not pd.api.types.is_numeric_dtype(table[name]):
            raise ValueError(f"{file}: column {name} must hold numbers")
        empty = np.flatnonzero(table[name].isna())
        if len(empty):
            raise ValueError(f"{file}: column {name} is empty in line {empty[0] + 2}")
    if after and len(after) < len(names):
        lacking = next(name for name in names if _NEXT + name not in after)
        raise ValueError(f"{file}: there is no column {_NEXT}{lacking}, but {after[0]}")
    if not table["terminated"].isin([0, 1]).all():
        raise ValueError(f"{file}: column terminated must hold 0 or 1")
    episodes = None
    if "episode" in table:
        table = table.sort_values("episode", kind="stable")
        episodes = np.unique(table["episode"], return_inverse=True)[1]
    states, ended = table[names].to_numpy(), table["terminated"].to_numpy() != 0
    kept = np.ones(len(table), dtype=bool)
    if after:
        following = table[[_NEXT + name for name in names]].to_numpy()
    else:
        following = np.where(ended[:, None], states, np.append(states[1:], states[:1], axis=0))
        one = np.zeros(len(table)) if episodes is None else episodes
        kept = ended | ~np.append(one[1:] != one[:-1], True)
        if not kept.any():
            raise ValueError(f"{file}: no line has a next state, or is terminated")
    actions = table["action"].to_numpy()
    if not np.array_equal(actions, np.round(actions)):
        raise ValueError(f"{file}: column action must hold whole numbers from 0")
    log = Transitions(
        states[kept],
        actions[kept].astype(np.int64),
        table["reward"].to_numpy()[kept],
        following[kept],
        ended[kept],
        episodes=None if episodes is None else episodes[kept],
    )
    return log, names


def values_table(fqi: MultiTaskFQI, read: dict[str, tuple[Transitions, list[str]]]) -> str:
    """A CSV file with the values of all logged states and the best actions."""
    import pandas as pd

    parts = []
    for task, (name, (log, names)) in enumerate(read.items()):
        states = log.states.reshape(len(log), -1)
        q = fqi.q_values(task, log.states)
        columns = names or [f"state_{i + 1}" for i in range(states.shape[1])]
        part = pd.DataFrame(states, columns=columns)
        part.insert(0, "task", name)
        part["policy"], part["value"] = fqi.policy(task)(log.states), q.max(axis=1)
        for action in range(q.shape[1]):
            part[f"value_{action}"] = q[:, action]
        parts.append(part)
    return str(pd.concat(parts).to_csv(index=False, float_format="%.6g"))
