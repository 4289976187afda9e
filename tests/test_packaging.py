"""The extras of the package are documented, complete, and named in messages."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from thinrank.core.imports import import_optional, is_installed

ROOT = Path(__file__).parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"browser", "dev", "docs"}


def libraries(extra):
    """Names of what an extra installs, without versions; other extras in it are followed."""
    found = set()
    for each in EXTRAS[extra]:
        if own := re.fullmatch(r"thinrank\[(.*)\]", each):
            found.update(*(libraries(other) for other in own.group(1).split(",")))
        else:
            found.add(re.match(r"[A-Za-z0-9-]+", each).group())
    return found


def test_every_extra_is_in_the_table_of_the_installation_page():
    page = (ROOT / "docs" / "install.md").read_text()
    table = dict(re.findall(r"^\| `([a-z]+)` \| (.*?) \|", page, re.M))
    assert set(table) == set(EXTRAS) - FOR_DEVELOPERS
    for extra in set(table) - {"all"}:
        for library in libraries(extra):
            assert library.lower() in table[extra].lower().replace("pytorch", "torch")


def test_all_is_all():
    (everything,) = EXTRAS["all"]
    named = set(re.search(r"\[(.*)\]", everything).group(1).split(","))
    assert named == set(EXTRAS) - FOR_DEVELOPERS - {"all"}


# names of modules that differ from those of the packages that contain them
MODULES = {"bed-reader": "bed_reader"}
OPTIONAL = sorted(
    {
        MODULES.get(name, name)
        for extra in EXTRAS
        if extra not in FOR_DEVELOPERS
        for name in libraries(extra)
    }
)


@pytest.mark.parametrize("library", OPTIONAL)
def test_the_message_about_a_missing_library_names_an_extra_that_installs_it(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"need {library}, which is not installed") as caught:
        import_optional(library)
    assert isinstance(caught.value.__cause__, ImportError)
    (extra,) = re.findall(r"pip install '\.\[(.*?)\]'", str(caught.value))
    assert library in {MODULES.get(name, name) for name in libraries(extra)}


def test_libraries_that_are_installed(monkeypatch):
    assert import_optional("matplotlib.figure") is sys.modules["matplotlib.figure"]
    assert is_installed("numpy")
    assert not is_installed("a_library_that_nobody_wrote")


def test_nothing_else_imports_optional_libraries():
    """Imports for annotations, under TYPE_CHECKING, are allowed."""
    at_run_time = re.compile(rf"^ *(?:import|from) ({'|'.join(OPTIONAL)})\b", re.MULTILINE)
    for path in (ROOT / "src" / "thinrank").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"if TYPE_CHECKING:\n(?:    .*\n|\n)+", "", text)
        assert not at_run_time.search(text), path
