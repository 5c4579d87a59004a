"""What a position points into. A new stream is one folder, and one line here.

A folder has two modules. `spec` says what the stream is and is pure: everything may go by it. `reader` reads its
clusters, and is loaded where one is read.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

FOLDERS: Final[dict[str, str]] = {
    "kafka": "offsetwise.streams.kafka",
    "kinesis": "offsetwise.streams.kinesis",
}
"""The package of each stream, by its name in the migration file."""


def position_parsers() -> tuple[Callable[[str], Any], ...]:
    """Give what reads the texts of positions that are no integers, of each stream that has such."""
    specs = (import_module(f"{package}.spec").SPEC for package in FOLDERS.values())
    return tuple(spec.parse for spec in specs if not spec.has_integers)
