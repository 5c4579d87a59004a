from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from offsetwise.model import Problem
from offsetwise.plugins.spark.engine.offset_log import OffsetFile
from offsetwise.plugins.spark.engine.releases.findings import offset_log_v2, repartition_unfinished, sources_named_in_v1
from offsetwise.plugins.spark.engine.restart import Restart

PARTITIONS: Final = "spark.sql.shuffle.partitions"
EVOLUTION: Final = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
NAMED_LOG: Final = 2
"""The version of the offset log that has names of sources."""


def unfinished_repartition(restart: Restart, files: Mapping[int, OffsetFile]) -> Iterator[Problem]:
    """Compare the shuffle partitions of a pending batch with those of the one before, as Spark 4.2 does on restart.

    Spark keeps the number for the life of a query: only `OfflineStateRepartitionRunner` plans a batch with another one.
    """
    before, after = _recorded(restart, files)
    if restart.reruns is not None and before is not None and after is not None and before != after:
        yield from repartition_unfinished(restart.reruns, before, after)


def fails_check(restart: Restart, files: Mapping[int, OffsetFile]) -> bool:
    """Return whether Spark 4.2.0 fails with `None.get` where it looks for an unfinished repartition.

    It reads the number from the pending batch and the one before. In a log of version 2, batches of a query's first run
    record none.
    """
    batch = files.get(restart.reruns) if restart.reruns else None
    return batch is not None and batch.version == NAMED_LOG and None in _recorded(restart, files)


def log_version(restart: Restart, files: Mapping[int, OffsetFile]) -> Iterator[Problem]:
    """Find which releases cannot go on with the offset log, by the newest files, which every start reads."""
    read = (restart.last_planned, restart.previous)
    newest = [batch for batch in read if batch is not None and batch in files]
    named = next((batch for batch in newest if files[batch].version == NAMED_LOG), None)
    if named is not None:
        yield from offset_log_v2(named)
    elif newest and dict(files[newest[0]].configuration).get(EVOLUTION) == "true":
        yield from sources_named_in_v1(newest[0])


def _recorded(restart: Restart, files: Mapping[int, OffsetFile]) -> tuple[str | None, str | None]:
    pair = (restart.starts_after, restart.reruns)
    before, after = (None if batch is None else files.get(batch) for batch in pair)
    return _partitions(before), _partitions(after)


def _partitions(file: OffsetFile | None) -> str | None:
    return None if file is None else dict(file.configuration).get(PARTITIONS)
