from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from offsetwise.engines.engine import CheckpointEngine
from offsetwise.model import Checkpoint
from offsetwise.plugins.spark.engine.batch_files import files_from
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.details import SparkDetails
from offsetwise.plugins.spark.engine.folder import instead, is_checkpoint
from offsetwise.plugins.spark.engine.reading import reading
from offsetwise.plugins.spark.engine.releases.flows import LEVELS, ROOT, newest_of_flows, superseded
from offsetwise.plugins.spark.engine.repairs.kinds import repair
from offsetwise.storage.dynamodb import Table
from offsetwise.storage.folders import Entry, Tree, open_tree


def _read(
    uri: str,
    folder: Tree | None,
    entries: tuple[Entry, ...] | None,
    *,
    roots: Sequence[str] | None,
    batches: int,
    uids: Sequence[str],  # noqa: ARG001 - a query has none
    committer: Table | None,
) -> Checkpoint:
    read = read_from(folder or open_tree(uri, roots=roots), batches=batches, entries=entries, committer=committer)
    return replace(read, problems=(*superseded(uri, roots=roots), *read.problems))


SPARK: Final = CheckpointEngine(
    name="spark",
    label="Spark",
    what="the checkpoint folder of a Spark query",
    holds="offsets/, commits/ and metadata",
    job="query",
    source_name=re.compile(r"[A-Za-z0-9_]{1,255}"),  # as Spark names the folder of a source
    recognises=is_checkpoint,
    read=_read,
    plans_batches=True,
    has_committer=True,
    own_groups="spark-kafka-",  # `KafkaSourceProvider`, unless `groupIdPrefix` or `kafka.group.id` is set
    batch_files=files_from,
    details=SparkDetails,
    reading=reading,
    repair=repair,
    instead=instead,
    deeper={ROOT: LEVELS},
    newest=newest_of_flows,
)
