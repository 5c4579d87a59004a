"""Names of a package that are imported when they are first asked for (PEP 562), so that importing it costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def exported(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package.

    Args:
        package: Its name.
        homes: The module of each name that it exports, below the package; a module that it exports is its own.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        result: object = module if homes[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, result)
        return result

    return load
