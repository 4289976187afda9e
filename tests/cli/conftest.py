"""A folder with two tables, in which the commands run."""

import pytest
from messy_files import SIZES, run, write_pair


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own with X.csv and Y.csv."""
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path)
    return tmp_path


@pytest.fixture
def model(here):
    """A model of given sizes."""
    assert run("fit", "X.csv", "Y.csv", "-o", "m", *SIZES).code == 0
    return here / "m"
