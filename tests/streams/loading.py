"""What a process that asks a cluster has imported. It imports nothing itself, so that it adds nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable


def loaded_with(_config: object, modules: Iterable[str]) -> frozenset[str]:
    """Import modules, and return the packages of all that this process has imported."""
    for module in modules:
        importlib.import_module(module)
    return frozenset(name.partition(".")[0] for name in sys.modules)
