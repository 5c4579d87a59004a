from __future__ import annotations

from dataclasses import dataclass

from offsetwise.engines.repaired import UnrepairableError
from offsetwise.errors import StorageError
from offsetwise.findings.reading import blocking_problems
from offsetwise.findings.register import describe
from offsetwise.model import offsets_by_partition
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.later_batches import Logs
from offsetwise.plugins.spark.engine.offset_log import GarbledError, Head, Lines, parse_commit, parse_offsets
from offsetwise.plugins.spark.engine.releases.refusals import unfinished_repartition
from offsetwise.plugins.spark.engine.restart import Restart, decide_restart
from offsetwise.plugins.spark.engine.state_versions import lost_state
from offsetwise.storage.folders import FolderReader
from offsetwise.wording import many


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    folder: FolderReader
    logs: Logs
    restart: Restart

    @classmethod
    def of(cls, folder: FolderReader) -> Damaged:
        logs = Logs.of(folder)
        return cls(folder=folder, logs=logs, restart=decide_restart(logs.planned, logs.committed))

    @property
    def stateful(self) -> bool:
        return next(iter(self.folder.walk("state")), None) is not None

    @property
    def is_unreliable(self) -> bool:
        """Whether damage rules out any plan, even for a new checkpoint."""
        blocks = blocking_problems(read_from(self.folder).problems)
        return any(not describe(block.code).continuing for block in blocks)

    @property
    def is_repartitioning(self) -> bool:
        """Whether the pending batch is an unfinished repartition of the state, which reads no record."""
        pair = [batch for batch in (self.restart.starts_after, self.restart.reruns) if batch is not None]
        heads = {batch: parsed[0] for batch in pair if (parsed := self._offsets_or_none(batch)) is not None}
        return next(unfinished_repartition(self.restart, heads), None) is not None

    def read(self, path: str) -> bytes | None:
        data = self.folder.read_many({path: None})[path]
        return None if isinstance(data, StorageError) else data

    def offsets(self, batch: int) -> tuple[Head, Lines]:
        """Parse `offsets/<batch>`.

        Raises:
            UnrepairableError: It does not exist, or is garbled.
        """
        data = self.read(f"offsets/{batch}")
        try:
            if data is not None:
                return parse_offsets(data)
        except GarbledError as error:
            raise UnrepairableError(
                f"offsets/{batch} is garbled: {error}.", fix="Restore the folder from a backup."
            ) from error
        raise UnrepairableError(f"offsets/{batch} is not there.", fix="Restore the folder from a backup.")

    def lines(self, batch: int) -> Lines:
        """Return the lines of sources in `offsets/<batch>`; see `offsets`."""
        return self.offsets(batch)[1]

    def lines_or_none(self, batch: int) -> Lines | None:
        """Return the same, or None if it cannot be read; for a batch that is left out."""
        parsed = self._offsets_or_none(batch)
        return None if parsed is None else parsed[1]

    def _offsets_or_none(self, batch: int) -> tuple[Head, Lines] | None:
        try:
            return self.offsets(batch)
        except UnrepairableError:
            return None

    def has_garbled_commit(self, batch: int) -> bool:
        try:
            parse_commit(self.read(f"commits/{batch}") or b"")
        except GarbledError:
            return True
        return False

    def require_start_after(self, batch: int | None) -> None:
        """Require that Spark starts after a batch, once later ones are left out; None is before the first one.

        Raises:
            UnrepairableError: A file that Spark reads, or the state, is missing.
        """
        if batch is None:
            return
        self.offsets(batch)
        if batch > 0 and batch - 1 not in self.logs.planned:
            raise UnrepairableError(
                f"Without the later batches Spark would read offsets/{batch - 1}, which is not there either.",
                fix="Restore the folder from a backup, or begin with an empty checkpoint and the line of each Kafka "
                f"source in offsets/{batch} as its option startingOffsets."
                if self.is_unreliable
                else f"Begin a new checkpoint at the positions after batch {batch}: draft with --target "
                "seeded-checkpoint.",
            )
        self.require_state(batch if batch in self.logs.committed else batch - 1)

    def require_state(self, batch: int) -> None:
        """Require that the state after a batch can be loaded; before batch 0 there is none.

        Raises:
            UnrepairableError: It cannot be loaded.
        """
        if batch < 0 or not self.stateful:
            return
        try:
            lost = lost_state(self.folder, batch)
        except StorageError:
            lost = f"commits/{batch} to name its state, found it gone"
        if lost is not None:
            raise UnrepairableError(
                f"The state does not fit: expected {lost}.",
                fix="Restore the folder from a backup that has it, or give the state up: begin with an empty "
                f"checkpoint and the line of each Kafka source in offsets/{batch} as its option startingOffsets."
                if self.is_unreliable
                else "Restore the folder from a backup that has it, or give the state up: draft with --target "
                "seeded-checkpoint.",
            )


def records_between(before: Lines | None, after: Lines | None) -> str:
    """Describe how many records are between the ends of two batches, at most: a log may have gaps."""
    if after is None:
        return "an unknown number of records"
    counted = 0
    for name, line in after.items():
        start = None if before is None else before.get(name)
        if not line.is_kafka or start is None or not start.is_kafka:
            return "an unknown number of records"
        ends, starts = offsets_by_partition(line.offsets), offsets_by_partition(start.offsets)
        if any(at not in starts for at in ends):
            return "an unknown number of records"
        counted += sum(max(end - starts[at], 0) for at, end in ends.items())
    return f"up to {many(counted, 'record')}"


def state_used(batch: int | None, *, stateful: bool) -> str:
    if not stateful:
        return "The query keeps no state."
    if batch is None or batch < 0:
        return "The query begins without state, as before batch 0."
    return f"The state after batch {batch} (version {batch + 1}) is used."


IGNORED = (
    "A sink that has recorded {ids} ignores the batches that get these ids anew, and their records would be missing "
    "there (file, Delta, Iceberg, Hudi, foreachBatch by id): take such a sink back as well."
)
