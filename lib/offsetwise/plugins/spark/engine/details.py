from __future__ import annotations

from dataclasses import dataclass, field, replace

from offsetwise.model import Batch, Checkpoint, Details, JobProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class StateStore:
    """The files of one stateful operator."""

    operator: int
    partitions: int
    files: int
    size_bytes: int
    keys: int | None = None
    """Rows at the last version, if the files record them (RocksDB); None if only Spark could count them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkDetails(Details):
    last_planned_batch: int | None = field()
    last_committed_batch: int | None = field()
    reruns_batch: int | None = field()
    batches: tuple[Batch, ...] = ()
    """Retained batches, ascending; the reader may limit them to the newest."""
    state: tuple[StateStore, ...] = ()
    configuration: tuple[tuple[str, str], ...] = ()
    """Spark configuration recorded with the newest batch, sorted by key."""
    offset_log_version: int | None = None
    commit_log_version: int | None = None

    @property
    def progress(self) -> JobProgress:
        """Count batches: without a pending one the query goes on after the newest that was planned."""
        planned, again = self.last_planned_batch, self.reruns_batch
        after = planned if again is None else again - 1 if again else None
        return JobProgress(planned=planned, committed=self.last_committed_batch, again=again, after=after)

    def planned_ms(self, step: int | None) -> int | None:
        """Return when a retained batch was planned, epoch ms; an engine that does not know writes 0."""
        return next((batch.timestamp_ms or None for batch in self.batches if batch.id == step), None)

    @property
    def written_ms(self) -> int | None:
        return next((batch.timestamp_ms for batch in self.batches if batch.id == self.last_planned_batch), None)

    @property
    def last_written(self) -> str:
        """The logs record no other time than that of a batch's planning."""
        return "The last batch was planned"

    @property
    def state_bytes(self) -> int:
        return sum(store.size_bytes for store in self.state)

    @property
    def stateful(self) -> bool | None:
        """Whether `state/` contains files, which a stateful query writes with its first batch; None before it."""
        return None if self.last_planned_batch is None else bool(self.state)

    @property
    def has_watermark(self) -> bool:
        """Whether a retained batch had one; the log records 0 without one."""
        return any(batch.watermark_ms for batch in self.batches)

    def without_pending(self) -> SparkDetails:
        return replace(self, reruns_batch=None)


def spark_details(checkpoint: Checkpoint) -> SparkDetails:
    """Return the details of a Spark checkpoint.

    Raises:
        TypeError: Another engine wrote the checkpoint.
    """
    if not isinstance(checkpoint.details, SparkDetails):
        raise TypeError(f"{checkpoint.uri} is a checkpoint of {checkpoint.engine}")
    return checkpoint.details
