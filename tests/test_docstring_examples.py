"""Every example in a docstring is true: what a reader copies from one works."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

from tests.with_cases import with_cases

LIB = Path(__file__).parents[1] / "lib"
MODULES = sorted(
    ".".join(path.relative_to(LIB).with_suffix("").parts).removesuffix(".__init__")
    for path in LIB.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@with_cases("name", MODULES)
def test_every_example_of_a_module_is_true(name: str) -> None:
    found = doctest.testmod(import_module(name))

    assert found.failed == 0
    assert found.attempted > 0


def test_most_rooms_have_examples() -> None:
    assert len(MODULES) > 60
