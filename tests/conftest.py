"""Fixtures that all tests share: the array libraries, the dtypes, the real data."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
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
_HAS_TORCH = importlib.util.find_spec("torch") is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-torch",
        action="store_true",
        help="fail when PyTorch is not installed, and leave out what `make test` has run: the same "
        "tests on other array libraries",
    )
    parser.addoption(
        "--browser",
        action="store_true",
        help="run the tests in Chromium, and fail when it is not installed",
    )


def pytest_configure(config: pytest.Config) -> None:
    # a shell ignores Ctrl-C in what it runs in the background, and so would every process of a test
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what a test needs, and leave out what this environment cannot run."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "xp" in fixtures or "torch" in fixtures:
            item.add_marker(pytest.mark.arrays)
        if "data_dir" in fixtures:
            item.add_marker(pytest.mark.data)
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)
    wanted = [item for item in items if _can_run(item, config)]
    config.hook.pytest_deselected(items=list(set(items) - set(wanted)))
    items[:] = wanted


def _can_run(item: pytest.Item, config: pytest.Config) -> bool:
    if item.get_closest_marker("browser"):
        return bool(config.getoption("--browser"))
    if not item.get_closest_marker("arrays"):
        return True
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    library = parameters.get("xp", "torch")
    if library == "array_api_strict" and parameters.get("dtype") == "float32":
        return False  # it shows which functions are used; single precision runs on the others
    if config.getoption("--require-torch"):
        return library == "torch" or item.get_closest_marker("slow") is not None
    return library != "torch" or _HAS_TORCH


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
    return importlib.import_module(_MODULES[request.param])


@pytest.fixture
def torch() -> Any:
    """PyTorch, for tests of what is particular to it.

    Its name marks them (``arrays``): they are collected only where PyTorch is installed.
    """
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
def browser() -> Iterator[Any]:
    """A Chromium of the system, driven by Playwright."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    assert program, f"not installed: one of {', '.join(_BROWSERS)}"
    with importlib.import_module("playwright.sync_api").sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=program)
        yield window
        window.close()
