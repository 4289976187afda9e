"""Argument lists of the command line, in this process, with stubs for what takes long."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from fuzz_models import change_value, golden_models
from fuzz_movies import regions_of_any_form
from fuzz_tables import text_table, write_some_table
from fuzz_trial import Trial, WrongError
from typer.main import get_command
from typer.testing import CliRunner

from thinrank.calcium import make_movie
from thinrank.cli import app

_SIZES = ("--rank", "1", "--rows", "2", "--columns", "2")
_PATHS = ("X.csv", "Y.csv", "M", "G", "film.npy", "odd", "labels.json", "no/such", "", ".",
          "[red].csv", "new", "new.csv", "new.html", "new.png", "/proc/nothing/x", "ä b.csv",
          "folder")  # fmt: skip
_WORDS = ("", "a", "u", "u,v", "w", "id", "auto", "all", "0", "-1", "1", "2", "nan", "inf", "1e308",
          "text", "--", "\x00", "😀", "a,a", '"', "u=poisson", "u=nothing", "=", "[/]", "9" * 30,
          "mean", "comma", "tab", "latin-1", "utf-16", "poisson", "huber", "bernoulli")  # fmt: skip
_PLAIN: dict[str, tuple[str, ...]] = {
    "rank": ("1", "2"),
    "rows": ("1", "2", "all"),
    "columns": ("1", "2", "all"),
    "ridge": ("0", "0.1"),
    "criterion": ("auto", "pic", "cv"),
    "cv": ("2", "3"),
    "refit_rule": ("best", "thinnest"),
    "family": ("gaussian", "poisson", "huber", "u=bernoulli"),
    "loss": ("squared", "huber"),
    "keep": ("a", "a,b"),
    "responses": ("u", "u,v", "c"),
    "join": ("a", "id"),
    "impute": ("mean",),
    "jobs": ("1", "2"),
    "seed": ("0", "1"),
    "delimiter": ("comma", "tab"),
    "decimal": ("point", "comma"),
    "encoding": ("utf-8", "latin-1"),
    "resamples": ("1", "2"),
    "threshold": ("0.6", "0.9"),
    "frame_rate": ("7", "30"),
    "neuron_radius": ("1", "2"),
    "smoothing": ("0", "1"),
    "decay": ("0.9", "estimate"),
    "baseline": ("median", "percentile", "none"),
    "executor": ("serial", "processes"),
    "names": ("table1", "figure1", "all"),
}
# Numbers that rightly take long are not among those that are tried.
_BOUNDED = ("resamples", "repeats", "tasks", "features", "states", "jobs")
_INSIDE = re.compile(r"THINRANK_TRACEBACK=1 in the environment shows where|^\w+Error: ", re.M)


def run_a_command(trial: Trial) -> str:
    """Run a command with random arguments on small files; return its exit code as a label."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    name = trial.choice([*sorted(commands), "fit", "fit", "predict", "calcium"])
    _write_files(trial, name)
    arguments = _arguments(trial, name, commands[name].params)
    trial.note(f"thinrank {' '.join(map(repr, arguments))}")
    with _stubs():
        result = CliRunner().invoke(app, arguments, prog_name="thinrank")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise WrongError(f"a traceback: {result.exception!r}") from result.exception
    trial.note(f"standard error: {result.stderr}")
    _check(arguments, result)
    return f"exit code {result.exit_code}"


def _check(arguments: list[str], result: Any) -> None:
    code, said = result.exit_code, result.stdout + result.stderr
    if code not in (0, 1, 2, 3):
        raise WrongError(f"exit code {code}")
    if code and not said.strip():
        raise WrongError(f"exit code {code} without a message")
    if "--debug" in arguments:
        return
    if "Traceback (most recent call last)" in said:
        raise WrongError("a traceback")
    if code and _INSIDE.search(said):
        raise WrongError("an error of the inside")
    if "--json" in arguments and not {"--help", "--version"} & set(arguments) and result.stdout:
        json.loads(result.stdout)


def _write_files(trial: Trial, command: str) -> None:
    """Data, a movie, labels and two models; some of them odd."""
    folder, rng = trial.folder, trial.rng
    X = rng.standard_normal((12, 4)).round(3)
    Y = (X @ rng.standard_normal((4, 3))).round(3)
    for name, names, values in (("X", "abcd", X), ("Y", "uvw", Y)):
        lines = [",".join(names), *(",".join(map(str, row)) for row in values)]
        text = "\n".join(lines).encode()
        (folder / f"{name}.csv").write_bytes(text_table(trial) if trial.chance(0.1) else text)
    (folder / "folder").mkdir()
    (folder / "labels.json").write_text(json.dumps(regions_of_any_form(trial)))
    np.save(folder / "film.npy", rng.random((12, 8, 8)))
    write_some_table(trial, "odd").rename(folder / "odd")
    shutil.copytree(trial.choice(golden_models()), folder / "G")
    if command in ("predict", "inspect", "stability", "report") and trial.chance(0.8):
        CliRunner().invoke(app, ["fit", "X.csv", "Y.csv", *_SIZES, "-o", "M", "-q"])
    for model in ("G", "M"):
        if (folder / model).exists() and trial.chance(0.15):
            change_value(trial, folder / model)


def _arguments(trial: Trial, name: str, parameters: list[Any]) -> list[str]:
    given = [name]
    oddness = trial.choice((0.0, 0.1, 0.4))
    if name == "fit" and trial.chance(0.95):
        given += _SIZES
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            if trial.chance(0.97 if parameter.required or name in ("fit", "calcium") else 0.5):
                given.append(_argument(trial, parameter, oddness))
        elif trial.chance(0.95 if parameter.name == "frame_rate" else 0.08):
            given += _option(trial, parameter, oddness)
    if trial.chance(0.03):
        given.insert(
            trial.number(0, len(given)), trial.choice((*_WORDS, "--nothing", "-o", "--help"))
        )
    return given


def _argument(trial: Trial, parameter: Any, oddness: float) -> str:
    if trial.chance(oddness):
        return trial.choice((*_PATHS, *_WORDS))
    usual = {"x": "X.csv", "y": "Y.csv", "model": trial.choice("MMMG"), "movie": "film.npy"}
    return usual.get(parameter.name) or trial.choice(_PLAIN.get(parameter.name, _WORDS))


def _option(trial: Trial, parameter: Any, oddness: float) -> list[str]:
    names = [*parameter.opts, *parameter.secondary_opts]
    option = trial.choice(names)
    if option == "--debug" and trial.chance(0.8):
        return []
    if parameter.is_flag:
        return [option]
    name = parameter.name
    if name in _PLAIN and not trial.chance(oddness):
        return [option, trial.choice(_PLAIN[name])]
    if name in _BOUNDED:
        return [option, trial.choice(("0", "-1", "x", "", "1.5", "nan"))]
    if name in ("out", "labels", "x", "y"):
        return [option, trial.choice(_PATHS)]
    return [option, trial.choice(_WORDS)]


@contextlib.contextmanager
def _stubs() -> Iterator[None]:
    """Small results in place of studies, comparisons, simulations and pages."""

    def write(*arguments: Any, **options: Any) -> None:
        paths = [each for each in arguments if isinstance(each, Path)]
        paths[0].write_text("a page")

    def compare(self: Any, begin: Any) -> list[dict[str, Any]]:
        begin("a fit")
        record = {"method": "pursuit", "seed": 0, "value_error": 1.0, "seconds": 0.1}
        return [{**record, "states": count} for count in self.states]

    def simulate(*arguments: Any, random_state: Any = None, **options: Any) -> Any:
        return make_movie(60, (16, 16), 1, n_close_pairs=0, random_state=1)

    def demonstrate(console: Any, seed: int, out: Path) -> None:
        write(out)

    places = (
        mock.patch.multiple("thinrank.report", write=write),
        mock.patch.multiple("thinrank.report.value_errors", draw_value_errors=write),
        mock.patch.multiple("thinrank.rl.comparison.Comparison", run=compare),
        mock.patch.multiple("thinrank.cli.calcium", make_movie=simulate, write_movie_page=write),
        mock.patch.multiple(
            "thinrank.cli.reproduce", run_study=lambda *a, **k: [], write_index=lambda out: None
        ),
        mock.patch.multiple("thinrank.cli.demo", run_demo=demonstrate),
    )
    with contextlib.ExitStack() as stack:
        for place in places:
            stack.enter_context(place)
        yield
