"""The file that says where a job without positions of its own begins: exactly all partitions.

Spark fails on a partition that is left out or does not exist, Flink begins it at its start, so the file lists what the
new topics have, no more and no less. Its text is what `offsetwise export --as starting-offsets` gives.
"""

from __future__ import annotations

from typing import Final

from offsetwise.apply.writing import Writer
from offsetwise.config import Migration
from offsetwise.plugins.spark.targets.starting_offsets.verification import verify
from offsetwise.targets.moves import starting_positions
from offsetwise.targets.text_file import TextFileWriter

__all__ = ["verify", "writer"]

_FILES: Final = TextFileWriter(
    content=starting_positions,
    label="startingOffsets",
    parts="partition(s)",
    fix="Write it locally, or print it: offsetwise export --as starting-offsets.",
)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _FILES
