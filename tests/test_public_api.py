"""The public interface is the one in public_api.txt.

Names, parameters with defaults, methods, fitted attributes, and options of commands. After a change
on purpose, with a line in the changelog for what users lose:

    python tests/test_public_api.py
"""

import difflib
import importlib
import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import typer

import thinrank as tr
from thinrank.cli.main import app

FILE = Path(__file__).with_name("public_api.txt")
PAGES = Path(__file__).parents[1] / "docs" / "api"
# what may change without notice, and the paper's experiments, which users do not call
LEFT_OUT = {"contributors.md", "paper.md"}


def documented() -> list[str]:
    """Names in the tables of docs/api."""
    names = []
    for page in sorted(PAGES.glob("*.md")):
        if page.name not in LEFT_OUT:
            names += re.findall(r"^   ([A-Za-z]\w*(?:\.\w+)*)$", page.read_text("utf-8"), re.M)
    return sorted(names)


def resolve(name: str):
    found, path = tr, "thinrank"
    for part in name.split("."):
        path += f".{part}"
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
    return found


def signature(function) -> str:
    if inspect.isclass(function) and issubclass(function, Exception):
        return "(message)"
    parameters = []
    for each in inspect.signature(function).parameters.values():
        plain = each.replace(annotation=inspect.Parameter.empty)
        parameters.append(re.sub(r" at 0x[0-9a-f]+", "", str(plain)))
    return f"({', '.join(p for p in parameters if p != 'self')})"


def lines_of(name: str) -> list[str]:
    """A function, or a class with its public methods and properties."""
    found = resolve(name)
    if not callable(found):
        return [name]
    lines = [name + signature(found)]
    if inspect.isclass(found):
        for member in sorted(set(dir(found)) - set(dir(object))):
            value = inspect.getattr_static(found, member)
            if member.startswith("_") or not is_ours(value):
                continue
            shown = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            lines.append(f"    .{member}" + (signature(shown) if callable(shown) else ""))
    return lines


def is_ours(member) -> bool:
    """Methods and properties of this package; others belong to scikit-learn."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return getattr(function, "__module__", "").startswith("thinrank")


def fitted_attributes() -> list[str]:
    """Attributes with a trailing underscore of every documented estimator."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    Y = X[:, :2] @ rng.standard_normal((2, 4)) + 0.1 * rng.standard_normal((40, 4))
    given = {"rank": 1, "row_sparsity": 2, "column_sparsity": 2, "ridge": 0.1}
    lines = []
    for name in documented():
        kind = resolve(name)
        if not (inspect.isclass(kind) and hasattr(kind, "get_params") and hasattr(kind, "fit")):
            continue
        if name in ("rl.MultiTaskFQI", "calcium.CalciumImaging"):
            est = fitted_application(name)
        else:
            has = inspect.signature(kind).parameters
            est = kind(**{key: value for key, value in given.items() if key in has})
            if "Graph" in name:
                est.fit((X @ X.T > 1).astype(float))
            elif name in ("SparseSVD", "SparsePCA", "SparseMatrixCompletion"):
                est.fit(Y)
            elif "Classifier" in name:
                est.fit(X, np.argmax(Y, axis=1))
            else:
                est.fit(X, np.abs(Y).round() if "GLM" in name else Y)
        own = sorted(key for key in dir(est) if key.endswith("_") and not key.startswith("_"))
        lines.append(f"{name}: {', '.join(own)}")
    return lines


def fitted_application(name: str):
    if name == "calcium.CalciumImaging":
        movie, _ = tr.calcium.make_movie(100, (30, 30), 2, n_close_pairs=0, random_state=0)
        return tr.calcium.CalciumImaging(frame_rate=7).fit(movie)
    log = tr.rl.Transitions(
        [0, 1, 0, 1], [0, 1, 1, 0], [0.0, 1.0, 0.0, 0.0], [1, 0, 1, 0], [False] * 4
    )
    return tr.rl.MultiTaskFQI(tr.rl.Tabular(2), 2, 0.5, n_iterations=2).fit_batch(log)  # fmt: skip


def commands() -> list[str]:
    group = typer.main.get_command(app)
    lines = []
    for name, command in sorted(group.commands.items()):
        options = [
            "/".join([*each.opts, *each.secondary_opts])
            for each in command.params
            if not getattr(each, "hidden", False)
        ]
        lines.append(f"thinrank {name}: {' '.join(options)}")
    return lines


def described() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [line for name in documented() for line in lines_of(name)]
        parts = {
            "Names": names,
            "Fitted attributes": fitted_attributes(),
            "Commands": commands(),
        }
    return "\n\n".join("\n".join([f"# {title}", *lines]) for title, lines in parts.items()) + "\n"


def test_the_public_interface_is_the_stored_one():
    stored, found = FILE.read_text("utf-8").splitlines(), described().splitlines()
    changed = list(difflib.unified_diff(stored, found, "stored", "found", lineterm="", n=1))
    assert not changed, "\n".join([*changed, f"see the top of {Path(__file__).name}"])


if __name__ == "__main__":
    FILE.write_text(described(), "utf-8")
