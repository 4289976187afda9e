"""The extras of the package are documented, complete, and named in messages."""

import re
import tomllib
from pathlib import Path

from thinrank.core.extras import _EXTRAS, missing_message

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


def test_messages_name_extras_that_exist():
    for library, (_, extra) in _EXTRAS.items():
        assert extra in EXTRAS, library
        assert f"thinrank[{extra}]" in missing_message(library)
