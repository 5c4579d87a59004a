"""What is imported when it is first asked for: names of a package (PEP 562), and what the product itself registers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType


def exported(package: str, homes: Mapping[str, Callable[[], ModuleType]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package.

    Args:
        package: Its name.
        homes: What imports the module of each name that it exports; a module that it exports is its own.
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
    """Set what imports the module that registers what the product itself brings; for the package, once.

    Registries stand below what is registered in them, so that they cannot import it themselves.
    """
    _builtin[:] = [load]


def import_builtin() -> None:
    for load in _builtin:
        load()
