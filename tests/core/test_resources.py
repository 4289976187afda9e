"""The memory budget: its words matter."""

import pytest

from thinrank.core import resources


@pytest.mark.parametrize(
    ("stated", "expected"), [(None, 4 * 2**30), ("", 4 * 2**30), ("0.5", 2**29)]
)
def test_budget(monkeypatch, stated, expected):
    monkeypatch.delenv("THINRANK_MEMORY_GIB", raising=False)
    if stated is not None:
        monkeypatch.setenv("THINRANK_MEMORY_GIB", stated)
    assert resources.budget_bytes() == expected


@pytest.mark.parametrize("stated", ["0", "-1", "nan", "many"])
def test_budget_must_be_a_positive_number(monkeypatch, stated):
    monkeypatch.setenv("THINRANK_MEMORY_GIB", stated)
    with pytest.raises(ValueError, match=f"THINRANK_MEMORY_GIB.*{stated}"):
        resources.budget_bytes()


def test_what_fits(monkeypatch):
    monkeypatch.setenv("THINRANK_MEMORY_GIB", str(800 / 2**30))
    assert resources.fits(100, 8)
    assert not resources.fits(101, 8)
    resources.check_fits((10, 10), 8, "the lasso", "use something else")
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "inf")
    assert resources.fits(10**15, 8)


def test_message_names_the_size_the_budget_and_the_way_out(monkeypatch):
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "2")
    with pytest.raises(MemoryError) as error:
        resources.check_fits((2**17, 2**12), 8, "the lasso", 'use start="spectral"')
    assert str(error.value) == (
        "the lasso would hold a dense 131072×4096 matrix of 4.0 GiB, over the budget of 2.0 GiB; "
        'use start="spectral", or raise the environment variable THINRANK_MEMORY_GIB'
    )


def test_an_error_of_an_allocation_says_what_to_do(monkeypatch):
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "3")
    found = resources.explained(MemoryError("Unable to allocate 8.00 GiB for an array."))
    assert isinstance(found, MemoryError)
    assert "(unable to allocate 8.00 GiB for an array). Pass X" in str(found)
    assert "THINRANK_MEMORY_GIB to less than 3, so" in str(found)
    assert "(the size is not known)" in str(resources.explained(MemoryError()))
    assert resources.explained(found) is found  # it says already what to do
