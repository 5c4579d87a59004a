"""The kinds of repair of a Spark checkpoint, and the proof of one: the copy is read as it will be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.findings import severity_of
from offsetwise.model import Checkpoint, Severity
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.overlay import Overlay
from offsetwise.plugins.spark.engine.repairs.batches import (
    drop_batch_after_gap,
    drop_pending_batch,
    remove_damaged_commit,
)
from offsetwise.plugins.spark.engine.repairs.damaged import Damaged
from offsetwise.plugins.spark.engine.repairs.metadata import restore_metadata
from offsetwise.plugins.spark.engine.repairs.shard_commit import rebuild_shard_commit
from offsetwise.plugins.spark.engine.repairs.topic import restore_topic
from offsetwise.storage.folders import FolderReader

KINDS: Final[Mapping[str, Callable[[Damaged, Mapping[str, str]], Repaired]]] = {
    "drop-pending-batch": drop_pending_batch,
    "remove-damaged-commit": remove_damaged_commit,
    "drop-batch-after-gap": drop_batch_after_gap,
    "restore-topic": restore_topic,
    "restore-metadata": restore_metadata,
    "rebuild-shard-commit": rebuild_shard_commit,
}
_PINNED: Final = ("offsets/", "commits/", "metadata", "sources/")


def repair(folder: FolderReader, kind: str, values: Mapping[str, str]) -> Repaired:
    """Decide a repair, and prove it: read as the copy will be, the checkpoint has no problem that it had not.

    Args:
        folder: The checkpoint.
        kind: One of `KINDS`.
        values: What the kind takes, by key.

    Raises:
        UnrepairableError: The checkpoint does not fit the repair.
        StorageError: It cannot be read.
    """
    repaired = KINDS[kind](Damaged.of(folder), values)
    after = read_from(Overlay(folder=folder, replaced=repaired.replaced, dropped=repaired.dropped))
    known = {problem.message for problem in read_from(folder).problems}
    blocks = [problem for problem in after.problems if severity_of(problem.code) is Severity.BLOCKS]
    worse = next((block for block in blocks if block.message not in known), None)
    if worse is not None:
        raise UnrepairableError(f"The copy would not go on either. {worse.code}: {worse.message}", fix=worse.fix)
    remaining = tuple(
        f"Left as it is, to be repaired in a copy of the copy: {block.message}"
        for block in blocks
        if block.message in known
    )
    return replace(repaired, costs=(*repaired.costs, *remaining), pins=_pins(folder, after, repaired), checkpoint=after)


def _pins(folder: FolderReader, after: Checkpoint, repaired: Repaired) -> tuple[tuple[str, str], ...]:
    paths = {path for path, _ in after.pins} | repaired.replaced.keys() | repaired.dropped
    read = folder.read_many(dict.fromkeys(sorted(path for path in paths if path.startswith(_PINNED))))
    return tuple(
        (path, hashlib.sha256(data).hexdigest())
        for path, data in read.items()
        if isinstance(data, bytes) and not path.endswith(".crc")
    )
