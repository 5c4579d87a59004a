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
        """Count the rows of a checkpoint's state, on Spark.

        Args:
            uri: The URI of the checkpoint, as in the migration file.
            checkpoint: The same checkpoint, parsed.
            roots: The folders that may be read; None for all.
            spark: The settings of Spark.
            progress: Called with each step; its exception stops the count.

        Raises:
            StorageError: It lies outside the roots, or Spark would read another path.
            CheckpointError: It has no state that Spark's readers can read.
            SparkError: Spark cannot be started, or cannot read it.
        """
