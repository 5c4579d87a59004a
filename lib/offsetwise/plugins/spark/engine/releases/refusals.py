from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from offsetwise.model import Problem
from offsetwise.plugins.spark.engine.offset_log import Head
from offsetwise.plugins.spark.engine.releases.findings import offset_log_v2, repartition_unfinished, sources_named_in_v1
from offsetwise.plugins.spark.engine.restart import Restart

PARTITIONS: Final = "spark.sql.shuffle.partitions"
EVOLUTION: Final = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
NAMED_LOG: Final = 2
"""The version of the offset log that has names of sources."""


Heads = Mapping[int, Head]
"""Heads of the offset files that were read, by batch."""


def unfinished_repartition(restart: Restart, heads: Heads) -> Iterator[Problem]:
    """Compare the shuffle partitions of a pending batch with those of the one before, as Spark 4.2 does on restart.

    Spark keeps the number for the life of a query: only `OfflineStateRepartitionRunner` plans a batch with another one.
    """
    before, after = _shuffle_partitions(restart, heads)
    if restart.reruns is not None and before is not None and after is not None and before != after:
        yield from repartition_unfinished(restart.reruns, before, after)


def fails_check(restart: Restart, heads: Heads) -> bool:
    """Return whether Spark 4.2.0 fails with `None.get` in its check for an unfinished repartition.

    It reads the number from the pending batch and the one before. In a log of version 2, the batches of a query's first
    run do not record it.
    """
    batch = heads.get(restart.reruns) if restart.reruns else None
    return batch is not None and batch.version == NAMED_LOG and None in _shuffle_partitions(restart, heads)


def log_version(restart: Restart, heads: Heads) -> Iterator[Problem]:
    """Report which releases cannot continue with the offset log, by its newest files, which every start reads."""
    read = (restart.last_planned, restart.previous)
    newest = [batch for batch in read if batch is not None and batch in heads]
    named = next((batch for batch in newest if heads[batch].version == NAMED_LOG), None)
    if named is not None:
        yield from offset_log_v2(named)
    elif newest and dict(heads[newest[0]].configuration).get(EVOLUTION) == "true":
        yield from sources_named_in_v1(newest[0])


def _shuffle_partitions(restart: Restart, heads: Heads) -> tuple[str | None, str | None]:
    """Return the shuffle partitions of the batch that the restart begins after, and of the pending one."""
    pair = (restart.starts_after, restart.reruns)
    before, after = (None if batch is None else heads.get(batch) for batch in pair)
    return (
        None if before is None else dict(before.configuration).get(PARTITIONS),
        None if after is None else dict(after.configuration).get(PARTITIONS),
    )
