"""Fixtures that all tests share: the array libraries, the dtypes, the real data."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace
from array_api_compat import device as device_of

_MODULES = {
    "numpy": "array_api_compat.numpy",
    "array_api_strict": "array_api_strict",
    "torch": "array_api_compat.torch",
}


# Coverage is measured in these tests only, because the measurement doubles the time of a test. They
# run more than 95 % of the lines of src, and the other tests can only add to that. Left out are
# files that take long and whose lines are run here too, and array libraries other than NumPy, which
# run the same lines.
_MEASURED = (
    "src",
    "tests/calcium",
    "tests/cli",
    "tests/core",
    "tests/datasets",
    "tests/designs",
    "tests/estimators/test_always_keep_interface.py",
    "tests/estimators/test_dask_fits.py",
    "tests/estimators/test_frames.py",
    "tests/estimators/test_genotype_fits.py",
    "tests/estimators/test_glm.py",
    "tests/estimators/test_kinds_of_data.py",
    "tests/estimators/test_low_rank_graph.py",
    "tests/estimators/test_matrix_completion.py",
    "tests/estimators/test_missing.py",
    "tests/estimators/test_sparse_pca.py",
    "tests/estimators/test_sparse_svd.py",
    "tests/estimators/test_summary.py",
    "tests/forms",
    "tests/inference",
    "tests/losses",
    "tests/paper",
    "tests/persistence",
    "tests/plot",
    "tests/rl/test_common_part.py",
    "tests/rl/test_environments.py",
    "tests/rl/test_gym.py",
    "tests/rl/test_policy_values.py",
    "tests/rl/test_tabular.py",
    "tests/selection/test_criteria.py",
    "tests/selection/test_long_search.py",
    "tests/selection/test_many_rows.py",
    "tests/selection/test_rank.py",
    "tests/selection/test_sizes_and_limits.py",
    "tests/selection/test_working_guide.py",
    "tests/solvers",
    "tests/starts",
    "tests/tables",
    "tests/test_devices.py",
    "tests/test_linalg.py",
    "tests/test_small_matrices.py",
    "tests/theory",
)
_LONG_OF_THESE = (
    "src/thinrank/estimators/glm.py",
    "src/thinrank/selection/stability.py",
    "tests/calcium/test_simulate_movie.py",
    "tests/cli/test_calcium_command.py",
    "tests/cli/test_command_line_page.py",
    "tests/cli/test_reproduce.py",
    "tests/cli/test_walkthrough.py",
    "tests/losses/test_generalized_linear.py",
    "tests/paper/test_golden_records.py",
    "tests/plot/test_every_plot.py",
    "tests/plot/test_plots_of_choices.py",
    "tests/plot/test_plots_of_matrices.py",
    "tests/starts/test_starts.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-torch",
        action="store_true",
        help="fail, rather than skip, the tests on PyTorch when it is not installed, and leave out "
        "the same tests on other array libraries",
    )
    parser.addoption(
        "--require-browser",
        action="store_true",
        help="fail, rather than skip, the tests in Chromium when it is not installed",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--require-torch"):
        # `make test` has run the others, except the slow ones
        others = [
            item
            for item in items
            if _library(item) not in (None, "torch") and not item.get_closest_marker("slow")
        ]
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=others)
    for item in items:
        if not _is_measured(item):
            item.add_marker(pytest.mark.no_cover)
        fixtures = getattr(item, "fixturenames", ())
        if "xp" in fixtures or "torch" in fixtures:
            item.add_marker(pytest.mark.arrays)
        if "data_dir" in fixtures:
            item.add_marker(pytest.mark.data)
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)


def _is_measured(item: pytest.Item) -> bool:
    return (
        item.nodeid.startswith(_MEASURED)
        and not item.nodeid.startswith(_LONG_OF_THESE)
        and _library(item) in (None, "numpy")
    )


def _library(item: pytest.Item) -> str | None:
    """The array library that a test runs on, if it runs on several."""
    return getattr(getattr(item, "callspec", None), "params", {}).get("xp")


class NetworkError(AssertionError):
    """A test reached for another machine."""


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """No test may connect to another machine: nothing of the package does, unless it is asked to.

    Connections on this machine are allowed (Dask has them), and so are datagram sockets, which
    Dask connects without sending anything, to learn the address of this machine.
    """
    connect, look_up = socket.socket.connect, socket.getaddrinfo
    own = {"", "localhost", "::1", "::", "0.0.0.0", socket.gethostname(), *_own_addresses()}

    def check(host: Any) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and name not in own and not name.startswith("127."):
            raise NetworkError(f"a connection to {name}")

    def own_connect(self: socket.socket, address: Any) -> Any:
        if self.family != getattr(socket, "AF_UNIX", None) and self.type == socket.SOCK_STREAM:
            check(address[0])
        return connect(self, address)

    def own_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        check(host)
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", own_connect)
        patch.setattr(socket, "getaddrinfo", own_look_up)
        yield


def _own_addresses() -> set[str]:
    """The address by which Dask knows this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; the address is reserved for examples
        except OSError:
            return set()
        return {probe.getsockname()[0]}


@pytest.fixture(params=list(_MODULES))
def xp(request: pytest.FixtureRequest) -> Any:
    """The array API namespace of each supported library in turn."""
    name = request.param
    if name == "torch":
        request.getfixturevalue("torch")
    return importlib.import_module(_MODULES[name])


@pytest.fixture
def torch(request: pytest.FixtureRequest) -> Any:
    """PyTorch, for tests of what is particular to it; without it they are skipped.

    Its name marks them (``arrays``), so that `.ci/run` runs them when it has installed PyTorch.
    """
    if importlib.util.find_spec("torch") is None:
        outcome = pytest.fail if request.config.getoption("--require-torch") else pytest.skip
        outcome("torch is not installed")
    return importlib.import_module("torch")


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> str:
    """The two dtypes that are not converted."""
    return request.param


class Library:
    """Moves NumPy arrays to an array library, and checks that what comes back is of it.

    Arrays of array-api-strict live on a device that is not its default, so that code which
    forgets the device fails here as it would on a GPU.
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.is_strict = xp.__name__ == "array_api_strict"
        self.device = xp.Device("device1") if self.is_strict else "cpu"

    def array(self, x: Any, dtype: str = "float64") -> Any:
        return self.xp.asarray(np.array(x, dtype=dtype), device=self.device)

    def index(self, x: Any) -> Any:
        return self.array(x, dtype="int64")

    def numpy(self, x: Any) -> np.ndarray:
        if self.is_strict:
            x = self.xp.asarray(x, device=self.xp.Device("CPU_DEVICE"))
        return np.asarray(x)

    def check(self, *outputs: Any, dtype: str = "float64") -> None:
        """Assert the namespace, dtype and device of every output."""
        for out in outputs:
            assert array_namespace(out) is self.xp
            assert out.dtype == getattr(self.xp, dtype)
            assert str(device_of(out)) == str(self.device)


@pytest.fixture
def library(xp: Any) -> Library:
    """The namespace ``xp`` with conversions from and to NumPy, and the check."""
    return Library(xp)


@pytest.fixture
def numpy_library() -> Library:
    """NumPy alone, for reference results."""
    return Library(importlib.import_module(_MODULES["numpy"]))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def data_dir() -> Path:
    """The folder of the real data, from the environment variable THINRANK_DATA."""
    folder = os.environ.get("THINRANK_DATA")
    if not folder:
        pytest.skip("THINRANK_DATA is not set: no real data")
    return Path(folder)


_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A Chromium of the system, driven by Playwright."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    missing = [
        name
        for name, found in (
            ("playwright", importlib.util.find_spec("playwright")),
            ("chromium", program),
        )
        if not found
    ]
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        if request.config.getoption("--require-browser"):
            pytest.fail(reason)
        pytest.skip(reason)
    with importlib.import_module("playwright.sync_api").sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=program)
        yield window
        window.close()
