"""Lazy imports: names of a package (PEP 562), and the module that registers the built-in parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType


def exported(package: str, homes: Mapping[str, Callable[[], ModuleType]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package.

    Args:
        package: Its name.
        homes: The importer of the module of each exported name; an exported module is its own.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]()
        result: object = home if home.__name__ == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, result)
        return result

    return load


_builtin: list[Callable[[], object]] = []


def import_builtin_by(load: Callable[[], object]) -> None:
    """Set the importer of the module that registers the built-in parts; called once by the package.

    Registries are below the modules that are registered in them, so they cannot import it themselves.
    """
    _builtin[:] = [load]


def import_builtin() -> None:
    for load in _builtin:
        load()
