"""Windows of records of shards and partitions: the request and the result. Shipped to Spark's workers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from offsetwise.model import AnyPosition


class ReadFailure(StrEnum):
    REFUSED = "refused"
    GONE = "gone"
    FOREIGN = "foreign"
    BUSY = "busy"
    SILENT = "silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRecords:
    """The records of one shard or partition to read."""

    topic: str
    partition: int
    """The number of the shard or partition."""
    around: AnyPosition | None = None
    """For the old stream: the job's position. None to read from `since_ms` on."""
    reach: int = 0
    """How many records on each side of the position."""
    since_ms: int | None = None
    """From the first record that arrived at or after this time; None from the oldest one."""
    until: frozenset[str] | None = None
    """Reading ends after the last of these identities; None to read to the end."""
    whole_up_to: int = 0
    """A shard with at most this many records is read completely."""
    most_records: int = 0
    most_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Records of one shard or partition, without a gap, in columns of equal length."""

    numbers: tuple[int, ...] = ()
    """Sequence numbers, or offsets."""
    identities: tuple[str, ...] = ()
    """Salted hashes, hex."""
    keys: tuple[int, ...] = ()
    """The hash of each partition key."""
    oldest_ms: int | None = None
    """When the first of them arrived."""
    whole: bool = False
    """Whether they begin at the oldest record of the shard."""
    at_end: bool = False
    read: int = 0
    """For the old stream: how many of them the job has read."""
    calls: int = 0
    """How many calls counted against a quota."""
    failure: ReadFailure | None = None
    message: str = ""

    def __post_init__(self) -> None:
        """Raise for what no reading returns: it may come from a worker that is not ours."""
        count = len(self.numbers)
        if not count == len(self.identities) == len(self.keys) or not 0 <= self.read <= count or self.calls < 0:
            raise ValueError("columns of different lengths, or more read than there is")
        if any(first >= following for first, following in pairwise(self.numbers)):
            raise ValueError("records that are not in their order")
