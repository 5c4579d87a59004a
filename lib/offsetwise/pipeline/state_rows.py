from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from offsetwise.model import Checkpoint
from offsetwise.model.state import StateRows
from offsetwise.progress import Progress

if TYPE_CHECKING:
    from offsetwise.config import SparkSettings


class CountsRows(Protocol):
    def __call__(
        self,
        uri: str,
        checkpoint: Checkpoint,
        *,
        roots: Sequence[str] | None,
        spark: SparkSettings,
        progress: Progress,
    ) -> StateRows:
        """Count the rows, on Spark.

        Args:
            uri: Where the checkpoint is, as the migration file says.
            checkpoint: The same checkpoint, as it was read.
            roots: The folders that may be read; None for all.
            spark: The Spark that counts.
            progress: Told each step; what it raises stops the count.

        Raises:
            StorageError: It lies outside the roots, or Spark would read another path.
            CheckpointError: It has no state that Spark's readers could be asked about.
            SparkError: Spark cannot be started, or cannot read it.
        """
