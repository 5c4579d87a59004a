from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, overload

from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Checkpoint, CheckpointSource, ShardPosition
from offsetwise.ports.stream import stream_of
from offsetwise.wording import clock

Sharded = tuple[CheckpointSource, ShardPosition]
"""A source, and where reading resumes in one of its shards."""


def _arrived(row: Sharded) -> str:
    stream = stream_of(row[0].kind)
    at = "" if stream is None else stream.tells(row[1].position)
    return at and clock(datetime.fromisoformat(at)).removesuffix(" UTC")


SHARDS: Final[Columns[Sharded]] = (
    Column("stream", lambda row: row[1].stream, when=lambda rows: any(row[1].stream for row in rows)),
    Column("shard", lambda row: row[1].shard, 180),
    Column("position", lambda row: row[1].position, 90, "After the last processed record."),
    Column(
        "planned until",
        lambda row: row[1].planned_position,
        90,
        when=lambda rows: any(row[1].planned_position is not None for row in rows),
    ),
    Column(
        "record arrived (UTC)", _arrived, 190, "As the number itself tells.", when=lambda rows: any(map(_arrived, rows))
    ),
    Column("position in full", lambda row: str(row[1].position), 480, only="screen"),
    Column("source", lambda row: row[0].id, when=lambda rows: several(source.id for source, _ in rows)),
)


class Shards(Sequence[Sharded]):
    """Where reading resumes in every shard of a checkpoint, in the order of the file.

    Pairs are created on access: of 100,000 shards, a page shows 200.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._sources = checkpoint.sources

    def __len__(self) -> int:
        return sum(len(source.shards) for source in self._sources)

    def __iter__(self) -> Iterator[Sharded]:
        return ((source, shard) for source in self._sources for shard in source.shards)

    @overload
    def __getitem__(self, at: int) -> Sharded: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Sharded]: ...
    def __getitem__(self, at: int | slice) -> Sharded | Sequence[Sharded]:
        if isinstance(at, slice):
            return [*islice(self, *at.indices(len(self)))]
        return next(islice(self, at, None))


def in_shards(checkpoint: Checkpoint) -> bool:
    return any(source.shards for source in checkpoint.sources) and not any(
        source.positions or source.marked for source in checkpoint.sources
    )


def several(sources: Iterable[str]) -> bool:
    """Return whether there is more than the first source: only then the source is worth a column."""
    return any(source not in ("", "0") for source in sources)
