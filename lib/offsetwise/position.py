from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

from offsetwise.errors import PlanError

HIGHEST_OFFSET: Final = 2**63 - 1
"""The maximum of Kafka, whose offsets are signed 64-bit numbers."""


class Position(Protocol):
    """Where reading continues in one partition: a value of its stream, ordered inside the partition.

    Kafka's positions are plain integers. Other positions derive from `OpaquePosition`.
    """

    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __sub__(self, other: Any, /) -> int | None:
        """Return the number of records from another position to this one; None if positions do not show it."""

    def __rsub__(self, other: Any, /) -> int | None:
        """Return the number of records from this position to another one."""


class OpaquePosition:
    """A position that is no number: a frozen, ordered dataclass in its stream's folder, with a text of its own.

    Files hold and people read the text, `str`. No position of another registered stream may have the same text.
    """

    __slots__ = ()

    @property
    def of(self) -> tuple[tuple[int, Position], ...]:
        """The positions in each of several partitions, by their numbers; empty for a position in one partition."""
        return ()

    @property
    def is_end(self) -> bool:
        """Whether it is after everything that its partition will ever hold."""
        return False

    def __format__(self, how: str) -> str:
        return str(self)

    def __sub__(self, other: Any, /) -> int | None:
        return None

    __rsub__ = __sub__


def needs_log(position: Position) -> bool:
    """Return whether a position is one to read from, so that its partition must exist."""
    return not (isinstance(position, OpaquePosition) and position.is_end)


def of_one_stream(*positions: Position | None) -> bool:
    """Return whether positions are of one stream, so that they can be compared; unknown ones do not count."""
    return len({type(position) for position in positions if position is not None}) <= 1


def offset_of(position: Position) -> int:
    """Return a Kafka position as an offset.

    Raises:
        PlanError: It belongs to another stream.
    """
    if isinstance(position, int):
        return position
    raise PlanError(
        f"Expected an offset of Kafka, found the position {str(position)[:100]!r} of another stream. Nothing was done "
        "with it.",
        fix="Use a target, an export or a command that takes the positions of that stream.",
    )


def offset_or_none(position: Position | None) -> int | None:
    """Return a Kafka position as an offset; None if it is unknown, or of another stream."""
    return position if isinstance(position, int) else None


class TopicPartition(NamedTuple):
    """One partition of one topic; a tuple, because every record, position and log is looked up by it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OfPartition:
    __slots__ = ()
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


def in_partitions(at: TopicPartition, position: Position) -> tuple[tuple[TopicPartition, Position], ...]:
    parts = position.of if isinstance(position, OpaquePosition) else ()
    return tuple((TopicPartition(at.topic, number), part) for number, part in parts) or ((at, position),)


class OfTwins(OfPartition):
    """The base of values about one partition and its copy on the new cluster."""

    __slots__ = ()
    new_topic: str

    @property
    def new_topic_partition(self) -> TopicPartition:
        return TopicPartition(self.new_topic, self.partition)
