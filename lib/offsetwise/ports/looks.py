"""One look at the logs of some topics: where they end, and who wrote there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from offsetwise.model import LogWriter, Problem, TopicPartition


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where the log of one partition ends. None is what its leader did not tell."""

    end: int | None
    """The high watermark."""
    stable: int | None
    """The last stable offset."""
    error: str = ""
    """Why it is not known, in a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsLook:
    """What one look showed."""

    cluster_id: str | None
    logs: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)
    """Every partition of the topics that exist."""
    writers: Mapping[TopicPartition, tuple[LogWriter, ...]] = field(default_factory=dict)
    """Of the partitions whose end had moved: the producers that their leaders remember, the last to write first."""
    problems: tuple[Problem, ...] = ()
    """Topics that are not there."""
