"""The kinds of repair of a Spark checkpoint, and the check of a repair by reading the copy as it will be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.findings import severity_of
from offsetwise.model import Checkpoint, Severity
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.later_batches import crc_of, crc_path
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_query_id
from offsetwise.plugins.spark.engine.overlay import Overlay
from offsetwise.plugins.spark.engine.repairs.batches import (
    drop_batch_after_gap,
    drop_pending_batch,
    remove_damaged_commit,
)
from offsetwise.plugins.spark.engine.repairs.damaged import Damaged, state_used
from offsetwise.plugins.spark.engine.repairs.shard_commit import rebuild_shard_commit
from offsetwise.plugins.spark.engine.repairs.topic import restore_topic
from offsetwise.storage.folders import FolderReader


def restore_metadata(damaged: Damaged, values: Mapping[str, str]) -> Repaired:
    """Write `metadata`, which is lost or garbled: the query continues under its previous id."""
    query_id = values["query_id"]
    data = damaged.read("metadata")
    try:
        known = None if data is None else parse_query_id(data)
    except GarbledError:
        known = None
    if known is not None:
        raise UnrepairableError(
            f"metadata is whole and names the query {known}.",
            fix="Nothing is to be written: see with `offsetwise inspect` whether anything else is wrong.",
        )
    written = json.dumps({"id": query_id}, separators=(",", ":")).encode()
    checksum = crc_path("metadata")
    replaced = {"metadata": written} | ({checksum: crc_of(written)} if damaged.read(checksum) is not None else {})
    return Repaired(
        replaced=replaced,
        costs=(
            "No record is read twice because of it.",
            f"A sink that keeps batch ids by the query's id, as Delta's does, ignores those that it has of {query_id}. "
            "If the query had another id, such a sink takes a batch twice that it has already.",
            state_used(damaged.restart.starts_after, stateful=damaged.stateful),
        ),
        job_id=query_id,
    )


KINDS: Final[Mapping[str, Callable[[Damaged, Mapping[str, str]], Repaired]]] = {
    "drop-pending-batch": drop_pending_batch,
    "remove-damaged-commit": remove_damaged_commit,
    "drop-batch-after-gap": drop_batch_after_gap,
    "restore-topic": restore_topic,
    "restore-metadata": restore_metadata,
    "rebuild-shard-commit": rebuild_shard_commit,
}
_UNKNOWN: Final = str(UUID(int=0))
"""Stands for the id of a query, which only a person knows."""


def repairs_to_try(checkpoint: Checkpoint) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each kind of repair with values to try it with: one missing topic after another, then all of them."""
    for kind in KINDS:
        if kind == "restore-topic":
            yield from ((kind, {"topic": topics}) for topics in _topics(checkpoint))
        else:
            yield kind, {"query_id": _UNKNOWN} if kind == "restore-metadata" else {}


def _topics(checkpoint: Checkpoint) -> Iterator[str]:
    every = checkpoint.details.batches
    topics = {of.topic for batch in every for source in batch.sources for of in source.offsets}
    topics |= {at.topic for source in checkpoint.sources for at in source.positions}
    yield from sorted(topics)
    there = {of.topic for batch in every[-1:] for source in batch.sources for of in source.offsets}
    missing = sorted(topics - there)
    if len(missing) > 1:
        yield ",".join(missing)


_PINNED: Final = ("offsets/", "commits/", "metadata", "sources/")


def repair(folder: FolderReader, kind: str, values: Mapping[str, str]) -> Repaired:
    """Decide a repair, and check it: read as the copy will be, the checkpoint has no new problem.

    Args:
        folder: The checkpoint.
        kind: One of `KINDS`; those of other engines are refused.
        values: The settings of the kind, by key.

    Raises:
        UnrepairableError: The checkpoint does not fit the repair.
        StorageError: It cannot be read.
    """
    if kind not in KINDS:
        raise UnrepairableError(
            f"A Spark checkpoint has no repair {kind[:80]!r}.", fix=f"Name one that it has: {', '.join(KINDS)}."
        )
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
