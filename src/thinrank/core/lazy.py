"""Public names of a package that are imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package with lazy names (PEP 562).

    An imported name is stored in the package, so that it is looked up here only once.
    """

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules[name])
        value = module if modules[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names


def keep_function(package: str, name: str) -> None:
    """Let ``package.name`` be a function, imported on first use, of the module of the same name.

    The import of a module sets an attribute of its package, which would replace the function. A
    property of the package's class is not replaced.
    """

    def get(self: ModuleType) -> object:
        return getattr(import_module(f"{package}.{name}"), name)

    def ignore(self: ModuleType, value: object) -> None:
        """Called when the module is imported."""

    def by_name(self: ModuleType) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """How to pickle the package, as joblib does with the modules that a script uses."""
        return import_module, (package,)

    module = sys.modules[package]
    kind = type(module)
    members = {name: property(get, ignore), "__reduce__": by_name}
    module.__class__ = type(kind.__name__, (kind,), members)
