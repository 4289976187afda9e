"""Logs in folders of CSV files, one file per task, and values of logged states as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thinrank.rl.fqi import MultiTaskFQI
from thinrank.rl.transitions import Transitions

_NEEDED = "action", "reward", "terminated"
_NEXT = "next_"
# columns of the table of values, besides one value_0, value_1, … per action
_RESULTS = "task", "policy", "value"


def read_folder(folder: Path) -> dict[str, tuple[Transitions, list[str]]]:
    """The log of every CSV file of a folder and the names of its state variables, by file name.

    Files have the columns action, reward, terminated (0 or 1) and optionally episode; all others
    are state variables. A column ``next_x`` holds the next value of the variable x. Without such
    columns the next state is in the next line of the episode, and the last line of an episode that
    is not terminated is left out.
    """
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise ValueError(f"{folder}: there is no CSV file, one per task")
    return {file.stem: read_file(file) for file in files}


def read_file(file: Path) -> tuple[Transitions, list[str]]:
    """The log in a CSV file, and the names of the state variables."""
    import pandas as pd  # as long to import as the rest of the package

    table = pd.read_csv(file)
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise ValueError(f"{file}: there is no column {missing[0]}")
    known = {*_NEEDED, "episode"}
    after = [name for name in table if name.startswith(_NEXT) and name[len(_NEXT) :] in table]
    names = [name for name in table if name not in known and name not in after]
    if not names:
        raise ValueError(f"{file}: there is no column of a state variable")
    for name in names:
        if name in _RESULTS or name.startswith("value_"):
            raise ValueError(
                f"{file}: column {name} cannot be a state variable, because values.csv has one "
                "of this name; rename it, or give every task a file of its own without it"
            )
    for name in table:
        if name in ("task", "policy", "value"):
            raise ValueError(f"{file}: column {name} has a name of the results; rename it")
        if not pd.api.types.is_numeric_dtype(table[name]):
            raise ValueError(f"{file}: column {name} must hold numbers")
        empty = np.flatnonzero(table[name].isna())
        if len(empty):
            raise ValueError(f"{file}: column {name} is empty in line {empty[0] + 2}")
    states, ended = table[names].to_numpy(), table["terminated"].to_numpy() != 0
    count = np.zeros(len(table), dtype=np.int64)
    if "episode" in table:
        count = np.unique(table["episode"], return_inverse=True)[1]
    kept = np.ones(len(table), dtype=bool)
    if len(after) == len(names):
        following = table[[_NEXT + name for name in names]].to_numpy()
    else:
        following = np.append(states[1:], states[:1], axis=0)
        last = np.append(count[1:] != count[:-1], True)
        kept = ended | ~last
        following = np.where(ended[:, None], states, following)
    actions = table["action"].to_numpy()
    if not np.array_equal(actions, np.round(actions)):
        raise ValueError(f"{file}: column action must hold whole numbers from 0")
    log = Transitions(
        states[kept],
        actions[kept].astype(np.int64),
        table["reward"].to_numpy()[kept],
        following[kept],
        ended[kept],
        episodes=count[kept] if "episode" in table else None,
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
