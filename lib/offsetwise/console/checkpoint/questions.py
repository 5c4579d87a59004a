"""What the Checkpoint screen asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from offsetwise.console.desk import Reader
from offsetwise.model.state import StateRows
from offsetwise.progress import Progress
from offsetwise.sources.spark_batch_files import BatchFiles
from offsetwise.sources.spark_reading import CheckpointReading


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOf:
    """What does this checkpoint hold, and when was it written?"""

    in_sample: ClassVar[bool] = True
    migration: str
    name: str
    retained: int | None = None
    """Another retained checkpoint of the same job, by its id."""

    def ask(self, reader: Reader, progress: Progress) -> CheckpointReading:
        """Read it."""
        progress("read the checkpoint", 0, 1)
        return reader.checkpoint_reading(self.migration, self.name, self.retained)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOf:
    """What stands in the files of this batch, byte for byte?"""

    in_sample: ClassVar[bool] = True
    migration: str
    name: str
    batch: int
    reading: int
    """The id of the reading they belong to: after a new one they are read again."""

    def ask(self, reader: Reader, progress: Progress) -> BatchFiles:
        """Read them."""
        progress("read the batch's files", 0, 1)
        return reader.batch_files(self.migration, self.name, self.batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOf:
    """How many rows does each state store hold?"""

    in_sample: ClassVar[bool] = False
    migration: str
    name: str

    def ask(self, reader: Reader, progress: Progress) -> StateRows:
        """Count them, on Spark."""
        return reader.state_rows(self.migration, self.name, progress)
