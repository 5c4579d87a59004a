"""Which streams and targets there are, by name. It imports nothing of Offsetwise, so that everything may import it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

STREAMS: Final[dict[str, str]] = {
    "kafka": "offsetwise.streams.kafka",
    "kinesis": "offsetwise.streams.kinesis",
}
"""The package of each stream, by its name in the migration file."""
TARGETS: Final[dict[str, str]] = {
    "spark-checkpoint": "offsetwise.targets.copy",
    "spark-checkpoint-in-place": "offsetwise.targets.in_place",
    "starting-offsets": "offsetwise.targets.starting_offsets",
    "seeded-checkpoint": "offsetwise.targets.seeded",
    "flink-savepoint": "offsetwise.targets.savepoint",
    "flink-savepoint-without-sources": "offsetwise.targets.savepoint_without_sources",
    "flink-savepoint-from-positions": "offsetwise.targets.savepoint_from_positions",
    "flink-savepoint-converted": "offsetwise.targets.savepoint_converted",
    "starting-position": "offsetwise.targets.starting_position",
    "at-timestamp": "offsetwise.targets.at_timestamp",
    "consumer-group": "offsetwise.targets.group",
    "kcl-leases": "offsetwise.targets.kcl_leases",
    "sink-transactions": "offsetwise.targets.sink_transactions",
    "hanging-transactions": "offsetwise.targets.hanging_transactions",
}
"""The package of each target, by its name in files of format version 1 and after `--target`."""


def position_parsers() -> tuple[Callable[[str], Any], ...]:
    """Give what reads the texts of positions that are no integers, of each stream that has such."""
    specs = (import_module(f"{package}.spec").SPEC for package in STREAMS.values())
    return tuple(spec.parse for spec in specs if not spec.has_integers)
