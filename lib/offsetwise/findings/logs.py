from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from offsetwise.findings.case import Case, expiry_of, partition_of
from offsetwise.findings.register import Fact, finding
from offsetwise.model import Cluster, Exactness, IsolationLevel, LogRange, OffsetSync, Severity, TopicState
from offsetwise.position import offset_or_none
from offsetwise.wording import many, sentence, utc

EXPIRY_HORIZON_MS = 24 * 3_600_000
"""Warn if retention may delete the next record within a day."""


@finding(
    code="TOPIC_MISSING",
    severity=Severity.BLOCKS,
    title="The topic does not exist",
    remedy="Check the topic policy and `topics.map` in the migration file, then that the topic is mirrored.",
    rank=60,
)
def topic_missing(case: Case) -> Iterator[str]:
    row = case.row
    sentences = []
    if case.new_topic is None:
        sentences.append(f"the new cluster has no topic {row.new_topic}")
    if case.old_topic is None and _on_old(case):
        sentences.append(f"the old cluster has no topic {row.topic}, which the job reads")
    if sentences:
        yield sentence(sentences)


@finding(
    code="PARTITION_MISSING",
    severity=Severity.BLOCKS,
    title="The topic lacks this partition",
    remedy="Give the new topic the same number of partitions as the old one and mirror it again.",
    rank=50,
)
def partition_missing(case: Case) -> Iterator[str]:
    row = case.row
    old, new = (partition_of(topic, row.partition) for topic in (case.old_topic, case.new_topic))
    sentences = []
    if _lists(case.new_topic) and new is None and not _divided(case.new_topic):
        sentences.append(
            f"Topic {row.new_topic} on the new cluster has {_size(case.new_topic)}, none with number {row.partition}"
        )
    if _on_old(case) and _lists(case.old_topic) and old is None and not _divided(case.old_topic):
        sentences.append(
            f"Topic {row.topic} on the old cluster has {_size(case.old_topic)}, none with number {row.partition}"
        )
    if sentences:
        yield sentence(sentences)


@finding(
    code="TOPIC_RECREATED",
    severity=Severity.BLOCKS,
    title="The new topic is not the one the mirror filled",
    remedy="Stop the mirror, reset its stored source offsets, fill the new topic from the start, and compare again.",
    rank=70,
    overridable=True,
    needs={Fact.MIRROR, Fact.POSITION, Fact.INEXACT},
)
def topic_recreated(case: Case) -> Iterator[str]:
    """The mirror's own claims do not describe the present log."""
    row, run = case.row, _last_run(case.syncs)
    if not run or row.old_offset is None:
        return
    newest, end = run[-1], row.new.hw
    if case.syncs_read_first and end is not None and newest.downstream >= end:
        yield (
            f"The mirror wrote old offset {newest.upstream:,} to {newest.downstream:,}, but the new log ends at "
            f"{end:,}: it was deleted and made again, or cut."
        )
    for earlier, later in pairwise(run):
        if later.downstream <= earlier.downstream and row.old_offset < later.upstream:
            yield (
                f"The mirror went on from old offset {earlier.upstream:,} (new {earlier.downstream:,}) to "
                f"{later.upstream:,} (new {later.downstream:,}): the new log began again in between, and records from "
                f"{row.old_offset:,} on may be gone with the earlier one."
            )


@finding(
    code="LOG_REPLACED",
    severity=Severity.BLOCKS,
    title="The old log is not the one that the job read",
    remedy="Find out when the topic was deleted and created again, and decide where the job starts: --override "
    "topic:partition=offset --reason TEXT. If a producer's clock runs ahead, raise `content.clock_skew_s`.",
    rank=65,
    overridable=True,
)
def log_replaced(case: Case) -> Iterator[str]:
    """Records below the position are younger than the batch, or the savepoint, according to which they were read."""
    if case.replaced:
        yield case.replaced


@finding(
    code="OPEN_TRANSACTION",
    severity=Severity.BLOCKS,
    title="A transaction is open",
    remedy="Let the producers end their transactions; find a hanging one with `kafka-transactions.sh find-hanging`.",
    rank=80,
)
def open_transaction(case: Case) -> Iterator[str]:
    """The last stable offset is below the high watermark on a cluster."""
    sentences = [
        f"{name} log has its last stable offset at {log.lso:,} and its end at {log.hw:,}"
        for name, log in (("the old", case.row.old), ("the new", case.row.new))
        if _open(log)
    ]
    if not sentences:
        return
    yield (f"A transaction is open: {'; '.join(sentences)}.")


@finding(
    code="ABORTED_VISIBLE",
    severity=Severity.BLOCKS,
    title="Aborted records are visible on the new cluster",
    remedy="Mirror the topic again with a read_committed consumer (in mm2.properties `ALIAS.consumer.isolation.level`, "
    "with the alias of the old cluster); no offset repairs this.",
    rank=160,
    needs={Fact.READ_COMMITTED},
)
def aborted_visible(case: Case) -> Iterator[str]:
    """Records of aborted transactions are ordinary records on the new log, for a read_committed job."""
    if not case.aborted_visible:
        return
    verb = "was" if case.aborted_visible == 1 else "were"
    yield (
        f"{many(case.aborted_visible, 'record')} near the position {verb} aborted on the old cluster and can be read "
        "on the new one: the mirror copied what the job never reads."
    )


@finding(
    code="MISSING_AHEAD",
    severity=Severity.WARNS,
    title="Unread records are missing on the new cluster",
    remedy="Let the mirror catch up; if the number stays, find them with `offsetwise reconcile`.",
    rank=50,
    needs={Fact.AHEAD_DIFFERS},
)
def missing_ahead(case: Case) -> Iterator[str]:
    row = case.row
    if not row.ahead.missing:
        return
    verb = "has" if row.ahead.missing == 1 else "have"
    since = "" if row.old_offset is None else f" from {row.old_offset:,} on"
    yield (f"{many(row.ahead.missing, 'record')}{since} {verb} no copy on the new cluster so far.")


@finding(
    code="MIRROR_BEHIND",
    severity=Severity.WARNS,
    title="The mirror has not come to the end of the old log",
    remedy="Let the mirror catch up before the job starts on the new cluster, then compare again.",
    rank=55,
    needs={Fact.MIRROR},
)
def mirror_behind(case: Case) -> Iterator[str]:
    """The position is proven, but the old log has more after the mirror's newest sync than the new log has.

    If a log holds fewer records than offsets (compacted, filtered, with transaction markers), the ends do not show how
    many records are between them.
    """
    row, run = case.row, _last_run(case.syncs)
    old_end, new_end, position = offset_or_none(row.old.hw), offset_or_none(row.new.hw), offset_or_none(row.old_offset)
    exact = row.exactness in (Exactness.EXACT, Exactness.POSITION_EXACT)
    if not exact or not run or old_end is None or new_end is None:
        return
    first, newest = run[0], run[-1]
    sparse = newest.upstream - first.upstream > newest.downstream - first.downstream
    remaining, written = old_end - newest.upstream - 1, new_end - newest.downstream - 1
    if sparse or _compacted(case.old_topic) or _compacted(case.new_topic) or not 0 <= written < remaining:
        return
    least = remaining - written
    to_come = many(remaining, "record") if least == remaining else f"{least:,} to {remaining:,} records"
    again = 0 if position is None else position - newest.upstream - 1 - written
    read = f" The job has read {again:,} of them or more, and would read these again." if again > 0 else ""
    yield (
        f"The mirror's newest sync is of old offset {newest.upstream:,} (new {newest.downstream:,}). Behind it the old "
        f"log has {many(remaining, 'offset')} and the new log {written:,}: the mirror has {to_come} still to "
        f"copy.{read}"
    )


@finding(
    code="FOREIGN_AHEAD",
    severity=Severity.WARNS,
    title="Records of unknown origin lie ahead",
    remedy="Find out who writes to the new topic; the job will read these records.",
    rank=60,
    needs={Fact.AHEAD_DIFFERS},
)
def foreign_ahead(case: Case) -> Iterator[str]:
    """Records ahead that no source record explains."""
    row = case.row
    if not row.ahead.foreign:
        return
    verb = "comes" if row.ahead.foreign == 1 else "come"
    # The mirror copies uncommitted records, which a comparison for a read_committed job ignores.
    known = "committed record" if case.isolation is IsolationLevel.READ_COMMITTED else "record"
    yield (
        f"{many(row.ahead.foreign, 'record')} ahead of the position on the new cluster {verb} from no {known} of the "
        "old log."
    )


@finding(
    code="DUPLICATES_AHEAD",
    severity=Severity.WARNS,
    title="Second copies lie ahead",
    remedy="Make sure that the sink drops repeated records; see them with `offsetwise reconcile`.",
    rank=120,
    needs={Fact.AHEAD_DIFFERS},
)
def duplicates_ahead(case: Case) -> Iterator[str]:
    """There are more copies ahead than unread records."""
    row = case.row
    if not row.ahead.duplicated:
        return
    yield (f"{many(row.ahead.duplicated, 'record')} ahead of the position on the new cluster are second copies.")


@finding(
    code="EARLIER_COPIES_POSSIBLE",
    severity=Severity.WARNS,
    title="Copies of unread records may lie below the position",
    remedy="Raise `content.budget_records` and `content.budget_bytes` until all that lies ahead is read.",
    rank=130,
)
def earlier_copies_possible(case: Case) -> Iterator[str]:
    """Neither records nor timestamps show where else copies of unread records are."""
    if "AHEAD_NOT_READ" not in case.reasons or case.row.lag_old is None:
        return
    yield (
        f"{case.row.lag_old:,} offsets lie ahead on the old cluster, more than the budget, and were not read; and a "
        "broker sets the timestamps, so that these do not tell where copies of unread records lie: if the mirror ever "
        "went back, or somebody else wrote copies, a position that fits the records that were read may skip others."
    )


@finding(
    code="RECORDS_FILTERED",
    severity=Severity.INFORMS,
    title="Some records near the position were not copied",
    remedy="Check that the mirror is meant to leave them out.",
    rank=40,
)
def records_filtered(case: Case) -> Iterator[str]:
    """Records between copied ones have no copy, and compaction does not explain it."""
    if not case.missing or case.row.ahead.examined or _compacted(case.new_topic):
        return
    yield (f"{many(case.missing, 'record')} between copied ones near the position have no copy on the new cluster.")


@finding(
    code="RETENTION_BEFORE_CUTOVER",
    severity=Severity.WARNS,
    title="Retention may take the next record soon",
    remedy="Raise `retention.ms` of the new topic until the job reads there.",
    rank=110,
)
def retention_before_cutover(case: Case) -> Iterator[str]:
    """By its timestamp, the next record to read may be deleted within a day."""
    expiry = None if case.new_topic is None or case.row.new_offset is None else expiry_of(case.row, case.new_topic)
    if expiry is None or expiry.at_ms > case.now_ms + EXPIRY_HORIZON_MS:
        return
    yield (
        f"The next record to read, {expiry.offset:,} on the new cluster, keeps its old timestamp and may be "
        f"deleted from {utc(expiry.at_ms)} on (retention.ms {expiry.retention_ms:,})."
    )


@finding(
    code="TARGET_AHEAD",
    severity=Severity.WARNS,
    title="The group's offset on the new cluster lies past the translated one",
    remedy="Write the translated offset and exclude the group from the mirror's group sync, which never lowers "
    "an offset.",
    rank=30,
    needs={Fact.NEW_COMMIT},
)
def target_ahead(case: Case) -> Iterator[str]:
    row, commit = case.row, case.new_commit
    usable = row.exactness.proven or row.exactness is Exactness.BOUNDED
    if commit is None or row.new_offset is None or not usable or commit.offset <= row.new_offset:
        return
    copied = ", the old number as it is" if commit.offset == row.old_offset else ""
    yield (
        f"The group's offset on the new cluster is {commit.offset:,}{copied}: "
        f"{many(commit.offset - row.new_offset, 'offset')} past the position {row.new_offset:,}."
    )


@finding(
    code="METADATA_NOT_CARRIED",
    severity=Severity.WARNS,
    title="The commit carries metadata that is not carried over",
    remedy="Check what the client keeps there (Parallel Consumer, Streams); without it the client may repeat records.",
    rank=90,
    needs={Fact.OLD_COMMIT},
)
def metadata_not_carried(case: Case) -> Iterator[str]:
    if case.old_commit is None or not case.old_commit.metadata:
        return
    size = len(case.old_commit.metadata.encode())
    yield (f"The commit at {case.old_commit.offset:,} on the old cluster carries {size:,} bytes of metadata.")


@finding(
    code="LEADER_EPOCH_CARRIED",
    severity=Severity.WARNS,
    title="The group's commit carries the old cluster's leader epoch",
    remedy="Write the offset again without a leader epoch.",
    rank=150,
    needs={Fact.NEW_COMMIT},
)
def leader_epoch_carried(case: Case) -> Iterator[str]:
    """The commit on the new cluster names a leader epoch that cluster has not reached."""
    commit, partition = case.new_commit, partition_of(case.new_topic, case.row.partition)
    if commit is None or commit.leader_epoch is None or partition is None or partition.leader_epoch is None:
        return
    if commit.leader_epoch <= partition.leader_epoch:
        return
    yield (
        f"The group's commit on the new cluster names leader epoch {commit.leader_epoch}, but the partition there is "
        f"at epoch {partition.leader_epoch}."
    )


def _on_old(case: Case) -> bool:
    """Return whether the old cluster must have the partition: the position is one of its own."""
    return case.row.old_offset is not None and case.belongs_to.cluster is not Cluster.NEW


def _divided(topic: TopicState | None) -> bool:
    """Return whether a topic is a stream of shards, whose problems its stream reports."""
    return topic is not None and bool(topic.shards)


def _lists(topic: TopicState | None) -> bool:
    return topic is not None and topic.error is None and bool(topic.partitions)


def _size(topic: TopicState | None) -> str:
    return many(0 if topic is None else len(topic.partitions), "partition")


def _open(log: LogRange) -> bool:
    return log.lso is not None and log.hw is not None and log.lso < log.hw


def _compacted(topic: TopicState | None) -> bool:
    return topic is not None and "compact" in topic.cleanup


def _last_run(syncs: tuple[OffsetSync, ...]) -> tuple[OffsetSync, ...]:
    """Return the syncs since the mirror last started again, that is from an upstream that it had passed before."""
    start = 0
    for index in range(1, len(syncs)):
        if syncs[index].upstream <= syncs[index - 1].upstream:
            start = index
    return syncs[start:]
