"""Remedies of findings that a comparison states: the state that the remedy asks for no longer has the finding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from offsetwise.config import JobTraits
from offsetwise.findings import Case, MigrationCase, judge, judge_migration
from offsetwise.model import Ahead, BelongsTo, Cluster, Exactness, GroupState, IsolationLevel, LogRange, OffsetReset
from tests.findings import test_committed as of_commits
from tests.findings import test_migration_findings as of_migrations
from tests.findings import test_partition_findings as of_partitions
from tests.findings.cases import DAY_MS, NOW_MS, ROW, case, checkpoint, migration, pair, row, snapshot, syncs, topic
from tests.plan.scene import FIRST, comparison, drafted, override
from tests.remedies.walk import corrected

MIRRORED = LogRange(log_start=0, lso=1300, hw=1300)
NEXT_MS = NOW_MS + DAY_MS


def goes_on(given: Case | MigrationCase, **request: Any) -> object:
    """Draft the plan of a comparison with these findings, for a remedy that a person takes note of, or decides."""
    rows = (given.row,) if isinstance(given, Case) else given.rows
    stated = judge(given) if isinstance(given, Case) else judge_migration(given)
    drafted(comparison(*rows, findings=stated), **request)
    return ()


def noted(function: str, words: str, before: str, *, module: str = "migration", **request: Any) -> None:
    """Add a walk of a finding that a person takes note of: the plan is drafted with it."""
    fires = of_migrations.FIRES if before in of_migrations.FIRES else of_partitions.FIRES
    given, _, _ = fires[before]
    corrected(
        f"{module if '/' in module else f'findings/{module}'}.py::{function}",
        words,
        function,
        lambda: judge(given) if isinstance(given, Case) else judge_migration(given),
        lambda: goes_on(given, **request),
    )


def partition(module: str, function: str, words: str, before: str, after: Case) -> None:
    """Add a walk from a case that has the finding to the one that the remedy asks for."""
    given, _, _ = of_partitions.FIRES[before]
    corrected(f"findings/{module}.py::{function}", words, function, lambda: judge(given), lambda: judge(after))


def whole(
    function: str, words: str, before: str, after: MigrationCase, *, module: str = "findings/migration.py"
) -> None:
    """Add a walk of a finding about the migration."""
    given, _, _ = of_migrations.FIRES[before]
    corrected(
        f"{module}::{function}",
        words,
        function,
        lambda: judge_migration(given),
        lambda: judge_migration(after),
    )


def written(case_name: str, **changes: Any) -> Case:
    """Return a case with the translated offset written: the job's positions are those of the new cluster."""
    given, _, _ = of_partitions.FIRES[case_name]
    there = BelongsTo(cluster=Cluster.NEW, reason="stated")
    moved = replace(given.row, old_offset=950, raw=ROW.raw, exactness=Exactness.EXACT, new_offset=950, **changes)
    return replace(given, row=moved, belongs_to=there)


# Writing the translated offset settles what is said about the old number.
partition(
    "unedited",
    "loss_beyond_end",
    "Write the translated offset",
    "old number past the new end",
    written("old number past the new end"),
)
partition(
    "unedited",
    "loss_inside_log",
    "Write the translated offset",
    "old number skips, though the place is exact",
    written("old number skips, though the place is exact"),
)
partition(
    "unedited",
    "confusion",
    "Do not reuse the number",
    "old number holds another record",
    written("old number holds another record"),
)

partition(
    "target_position",
    "no_commit",
    "or state `auto_offset_reset`",
    "partition without a commit of the group",
    replace(
        of_partitions.FIRES["partition without a commit of the group"][0],
        job=JobTraits(auto_offset_reset=OffsetReset.LATEST),
    ),
)

# The topics are mirrored as the remedy says, and compared again.
partition("logs", "topic_missing", "Check the topic policy", "no such topic on the new cluster", case())
partition(
    "logs",
    "partition_missing",
    "Give the new topic the same number",
    "partition number too high for the new topic",
    case(row(partition=2), old_topic=topic(partitions=3), new_topic=topic(partitions=3)),
)
partition("logs", "topic_recreated", "Stop the mirror, reset", "mirror wrote past the new log's end", case())
partition(
    "logs",
    "log_replaced",
    "If a producer's clock runs ahead, raise",
    "records younger than the batch that read them",
    case(),
)
partition("target_position", "no_position", "Compare: a partition without", "partition at its latest offset", case())
partition("logs", "open_transaction", "Let the producers end", "transaction open on the old cluster", case())
partition(
    "logs",
    "aborted_visible",
    "Mirror the topic again",
    "aborted records visible to a read_committed job",
    case(isolation=IsolationLevel.READ_COMMITTED, aborted_visible=0),
)
partition("logs", "missing_ahead", "Let the mirror catch up", "unread records missing", case())
partition(
    "logs",
    "mirror_behind",
    "Let the mirror catch up before",
    "the mirror's syncs show records to come",
    case(syncs=syncs((600, 500), (1100, 1000))),
)
partition("logs", "foreign_ahead", "Find out who writes", "foreign records ahead", case())
partition("logs", "duplicates_ahead", "Make sure that the sink drops", "second copies ahead", case())
partition(
    "logs",
    "earlier_copies_possible",
    "Raise `content.budget_records`",
    "what lies ahead is too much to read, and no timestamp tells",
    case(row(ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0), exactness=Exactness.POSITION_EXACT)),
)
partition(
    "logs",
    "retention_before_cutover",
    "Raise `retention.ms`",
    "next record expires within a day",
    replace(of_partitions.FIRES["next record expires within a day"][0], new_topic=topic(retention_ms="-1")),
)
partition(
    "logs",
    "target_ahead",
    "Write the translated offset",
    "raw number copied into the new group",
    case(new_commit=of_partitions.commit(950)),
)
partition(
    "logs",
    "leader_epoch_carried",
    "Write the offset again without",
    "epoch the new cluster never had",
    case(new_commit=of_partitions.commit(950), new_topic=topic(epoch=2)),
)
partition("target_position", "not_yet_mirrored", "Let the mirror catch up", "last record read has no copy", case())
partition(
    "target_position",
    "native_below",
    "Find out who wrote them",
    "records of other writers below",
    case(row(exactness=Exactness.BOUNDED, foreign_below=0)),
)
partition(
    "target_position",
    "replay_not_tolerated",
    "Narrow the",
    "replay for a job that is not said to tolerate it",
    case(row(replay=12, exactness=Exactness.BOUNDED), job=JobTraits(tolerates_replay=True)),
)
partition("target_position", "replay", "Make sure that the sink drops", "replay for a job that tolerates it", case())
partition(
    "target_position",
    "pending_batch_differs",
    "Let the pending batch commit",
    "pending batch holds other records",
    case(),
)
partition(
    "target_position",
    "isolation_differs",
    "Check the job's `kafka.isolation.level`",
    "read_committed job past the last stable offset",
    case(row(old=LogRange(log_start=100, lso=1040, hw=1200))),
)

# The migration.
OF_SPARK = "plugins/spark/engine/findings.py"
whole(
    "checkpoint_polluted",
    "Drop the last planned batch",
    "pending batch goes backwards",
    migration(rows=(row(restart=ROW.restart),)),
    module=OF_SPARK,
)
whole(
    "cluster_unclear",
    "Say `belongs_to: old`",
    "either cluster fits",
    migration(belongs_to=BelongsTo(cluster=Cluster.OLD, reason="stated in the migration file")),
)
whole("pending_batch", "Best let it commit", "batch planned, not committed", migration(), module=OF_SPARK)
whole(
    "reader_suspected",
    "Stop the job, then compare again",
    "group with members",
    migration(checkpoint=None, old_group=GroupState(name="orders-etl", state="Empty")),
)
whole(
    "mirror_stalled",
    "Look at the mirror's connectors",
    "heartbeat an hour old",
    migration(new=snapshot(Cluster.NEW, mirror=of_migrations.beating(NOW_MS))),
)
whole(
    "partitions_fewer",
    "Give the new topic the same number",
    "fewer partitions",
    migration(topics=pair(topic(partitions=3), topic(partitions=3))),
)
whole(
    "checkpoint_old",
    "Check that this is the checkpoint",
    "checkpoint of last week",
    migration(checkpoint=checkpoint(batches=of_migrations.planned(NOW_MS - DAY_MS // 2))),
)

# What a person takes note of, or decides in writing.
DECIDED = ((FIRST, override(1060)),)
noted(
    "untranslated",
    "a person's decision in writing",
    "unknown place",
    module="target_position",
    overrides=((FIRST, override(950)),),
)
noted(
    "below_log_start",
    "then decide in writing",
    "place below the new log start",
    module="target_position",
    overrides=((FIRST, override(960)),),
)
noted("new_partition", "Confirm that the job shall read", "partition the checkpoint lacks", module="target_position")
noted("schema_ids_masked", "Check that the new registry", "schema ids set aside", module="target_position")
noted("metadata_not_carried", "Check what the client keeps", "commit with metadata", module="logs")
noted("records_filtered", "Check that the mirror is meant", "records left out between copied ones", module="logs")
noted("partitions_more", "Confirm where the job starts", "more partitions")
noted("timestamps_unusable", "Expect other event times", "timestamps of the new cluster")
noted("compacted", "Nothing, as long as", "compacted on both")
noted(
    "sink_batch_ids",
    "Keep this checkpoint's batch ids",
    "sink that remembers batch ids",
    module="plugins/spark/targets/sink",
)
noted("group_offsets_expire", "Start the consumers soon", "group offsets")
noted("source_not_compared", "Edit a copy of the checkpoint", "source of another kind")


def commits(function: str, words: str, before: MigrationCase, after: MigrationCase) -> None:
    corrected(
        f"findings/committed.py::{function}",
        words,
        function,
        lambda: judge_migration(before),
        lambda: judge_migration(after),
    )


def stopped(*offsets: int, at: int = 1050) -> MigrationCase:
    rows = (row(old_offset=at), row(old_offset=at, partition=1))
    return migration(checkpoint=of_commits.savepoint(), rows=rows, committed=of_commits.committed(*offsets))


commits("group_ahead", "Take a new savepoint as you stop the job", stopped(1060, 1060), stopped(1060, 1060, at=1060))


# Groups that are not consumer groups. What is done by hand is done in test_other_groups_live.py of Kafka's live tests.
_GROUPS = "findings/groups.py::"


def of_group(function: str, words: str, before: str, after: MigrationCase | None) -> None:
    """Add a walk of a finding about such a group; None where it moves by hand and is not compared any more."""
    given, _, _ = of_migrations.FIRES[before]
    instead = None if after is None else judge_migration(after)
    moved = {"share_group_not_moved", "streams_not_moved"}
    corrected(
        _GROUPS + function,
        words,
        function,
        lambda: judge_migration(given),
        lambda: tuple(each for each in instead or () if each.code.lower() not in moved),
    )


of_group("share_group_not_moved", "Admin.alterShareGroupOffsets", "share group", None)
of_group("streams_not_moved", "Move it by hand", "application of Kafka Streams", None)
of_group(
    "streams_state_not_mirrored",
    "Mirror the changelog topics under their own names",
    "changelog topic without a copy",
    of_migrations.of_application(new=(of_migrations.log("app-counts-changelog", 0, 12),)),
)
of_group(
    "streams_repartition_unread",
    "let it read its repartition topics",
    "repartition topic with unread records",
    of_migrations.of_application(new=(), read=30),
)
