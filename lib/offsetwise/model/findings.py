"""Problems and facts worth knowing, with stable codes."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model.closed_sets import Severity
from offsetwise.position import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with a checkpoint or a cluster answer, with a stable code of `findings/`."""

    code: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong or worth knowing about one partition, a topic, or the whole migration."""

    code: str
    severity: Severity
    topic: str | None
    partition: int | None
    message: str
    """One sentence with its numbers."""
    remedy: str
    """What to do."""

    @property
    def topic_partition(self) -> TopicPartition | None:
        return None if self.topic is None or self.partition is None else TopicPartition(self.topic, self.partition)
