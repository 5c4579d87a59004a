"""Which tests run in one process when there are several: whole files, and all files that use the lab together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest
from xdist.scheduler import LoadScopeScheduling

LAB: Final = "lab"
"""The group of all files that use the lab: two processes would start two, and one machine carries two slowly."""
_PROOF: Final = frozenset({LAB, "browser"})
"""The fixtures that stand for real clusters and a real browser."""
_SUFFIX: Final = f"@{LAB}"
"""What xdist adds to a test's id, so that its scheduler knows the group."""


class FilesWithOneLab(LoadScopeScheduling):  # type: ignore[misc] # xdist carries no types
    """Gives a process whole files, so that what a file shares is made once, and all files that use the lab to one."""

    def _split_scope(self, nodeid: str) -> str:
        return LAB if nodeid.endswith(_SUFFIX) else str(nodeid.partition("::")[0])


def mark(items: list[pytest.Item]) -> None:
    """Mark what uses the lab, and what proves something on real clusters or in a browser; begin with the lab."""
    files = {item.path for item in items if LAB in fixtures(item)}
    for item in items:
        if item.path in files:
            item.add_marker(pytest.mark.xdist_group(LAB))
        if not _PROOF.isdisjoint(fixtures(item)):
            item.add_marker(pytest.mark.proof)
    items.sort(key=lambda item: item.path not in files)


def fixtures(item: pytest.Item) -> Iterable[str]:
    """Give the names of all fixtures that a test asks for, and of those that these ask for."""
    names: Iterable[str] = getattr(item, "fixturenames", ())
    return names


def without_group(nodeid: str) -> str:
    """Give a test's id as pytest has it."""
    return nodeid.removesuffix(_SUFFIX)
