from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings.case import Case
from offsetwise.findings.register import Fact, finding
from offsetwise.model import Exactness, OffsetReset, PartitionComparison, Problem, RawVerdict, Severity
from offsetwise.position import offset_or_none
from offsetwise.wording import many, sentence


@finding(
    code="UNTRANSLATED",
    severity=Severity.BLOCKS,
    title="No proven position on the new cluster",
    remedy="Follow the reason in the evidence; a position that nobody can prove needs a person's decision in writing.",
    rank=190,
    needs={Fact.POSITION},
)
def untranslated(case: Case) -> Iterator[str]:
    """Nothing proves where the position, or the pending batch's end, is on the new cluster."""
    row = case.row
    if row.exactness in (Exactness.UNKNOWN, Exactness.CLAIMED):
        word = "has no known position" if row.new_offset is None else f"is only claimed to be {row.new_offset:,}"
        yield (f"{row.old_offset:,} {word} on the new cluster: {_clause(row.evidence.reason)}")
    lacking = next((point for point in row.restart if point.new is None), None)
    if lacking is None:
        return
    which = "the restart" if lacking.batch is None else f"batch {lacking.batch}"
    yield (f"{lacking.old:,}, an end of {which}, has no known position on the new cluster.")


@finding(
    code="NOT_YET_MIRRORED",
    severity=Severity.BLOCKS,
    title="The position is not on the new cluster yet",
    remedy="Let the mirror catch up, then compare again.",
    rank=90,
    needs={Fact.POSITION},
)
def not_yet_mirrored(case: Case) -> Iterator[str]:
    row, end = case.row, case.row.new.hw
    points = [point.new for point in row.restart if point.new is not None]
    furthest = max([*points, *(() if row.new_offset is None else (row.new_offset,))], default=None)
    if end is not None and furthest is not None and furthest > end:
        yield (f"The position is {furthest:,}, {many(furthest - end, 'offset')} past the end of the new log ({end:,}).")
    if not_yet_mirrored.code not in case.reasons:
        return
    if row.exactness is Exactness.BOUNDED:
        yield f"The mirror has begun again on {row.new_topic_partition} and has not come to the end of the old log."
        return
    where = "" if end is None else f", which ends at {end:,}"
    yield (
        f"The last record read before {row.old_offset:,} has no copy on the new log{where}, or not behind those of the "
        "records before it."
    )


@finding(
    code="BELOW_LOG_START",
    severity=Severity.BLOCKS,
    title="A position lies below a log start",
    remedy="Raise the topic's retention now, then decide in writing whether the job may go on without the "
    "records gone.",
    rank=40,
    overridable=True,
)
def below_log_start(case: Case) -> Iterator[str]:
    """A position, old or translated, is below a log start: records are gone."""
    row = case.row
    sentences = []
    if row.old.log_start is not None and offset_or_none(row.old.log_start) is None:
        return  # no number of records: the stream has its own finding
    if row.old_offset is not None and row.old.log_start is not None and row.old_offset < row.old.log_start:
        sentences.append(
            f"{row.old_offset:,} lies below the old log's start ({row.old.log_start:,}): up to "
            f"{many(row.old.log_start - row.old_offset, 'record')} that the job has not read may be gone there"
        )
    start = row.new.log_start
    if start is not None:
        if row.new_offset is not None and row.new_offset < start:
            sentences.append(
                f"the position, {row.new_offset:,}, lies below the new log's start ({start:,}): up to "
                f"{many(start - row.new_offset, 'record')} may be gone there"
            )
        elif row.old_offset is not None and row.old_offset < start and row.raw.verdict is RawVerdict.OUT_OF_RANGE:
            sentences.append(
                f"the number {row.old_offset:,} as it is lies {many(start - row.old_offset, 'offset')} below the new "
                f"log's start ({start:,})"
            )
    if sentences:
        yield sentence(sentences)


@finding(
    code="NATIVE_BELOW",
    severity=Severity.BLOCKS,
    title="Records of other writers lie below the position",
    remedy="Find out who wrote them; state in writing that the job need not read them, or start below them.",
    rank=150,
)
def native_below(case: Case) -> Iterator[str]:
    """Foreign records are below the position."""
    row = case.row
    if not row.foreign_below:
        return
    verb = "lies" if row.foreign_below == 1 else "lie"
    aborted = (
        f"; {many(case.aborted_visible, 'record')} of the new log are copies of aborted ones"
        if case.aborted_visible
        else ""
    )
    yield (
        f"{many(row.foreign_below, 'record')} that no record of the old log explains {verb} among the copies of what "
        f"the job has read: resuming behind them would never read them{aborted}."
    )


@finding(
    code="REPLAY_NOT_TOLERATED",
    severity=Severity.BLOCKS,
    title="The job would read records twice and does not tolerate it",
    remedy="Narrow the position (larger `content` budgets, stop the writers), or state `tolerates_replay: true` "
    "for the job.",
    rank=180,
    needs={Fact.READS_TWICE},
)
def replay_not_tolerated(case: Case) -> Iterator[str]:
    if case.job.tolerates_replay:
        return
    state_note = " and keeps state, which would count them twice" if case.job.stateful else ""
    yield (f"{_repeated(case.row)}, and the job is not stated to tolerate that{state_note}.")


@finding(
    code="REPLAY",
    severity=Severity.WARNS,
    title="Records would be read twice",
    remedy="Make sure that the sink drops repeated records, or narrow the position.",
    rank=10,
)
def replay(case: Case) -> Iterator[str]:
    """Resuming at the target offset, or at the unchanged offset, repeats records."""
    row = case.row
    sentences = []
    if case.job.tolerates_replay and Fact.READS_TWICE in case.situation.facts:
        sentences.append(_repeated(row))
    if row.raw.verdict is RawVerdict.REPLAY and row.old_offset is not None:
        again = "records" if row.raw.replay is None else many(row.raw.replay, "record")
        sentences.append(f"reusing {row.old_offset:,} on the new cluster would read {again} again")
    if sentences:
        yield sentence(sentences)


@finding(
    code="NO_POSITION",
    severity=Severity.BLOCKS,
    title="The checkpoint names a partition without a position to translate",
    remedy="Compare: a partition without a record on the old cluster has a position there. Of any other decide: "
    "--override topic:partition=offset --reason TEXT. Or let the job read a record of it, then take a new savepoint.",
    rank=200,
    overridable=True,
    needs={Fact.CHOSEN_AT_START},
)
def no_position(case: Case) -> Iterator[str]:
    """A source knows a partition but has no offset for it, or one that is not translated."""
    yield (
        f"The checkpoint has no offset for {case.row.topic_partition} ({case.starts_at}): where it begins is chosen "
        "when the job starts, and is not translated."
    )


def chosen_at_start(problem: Problem) -> bool:
    return problem.code == no_position.code and problem.fix == no_position.remedy


@finding(
    code="NEW_PARTITION",
    severity=Severity.WARNS,
    title="The job has no position for this partition",
    remedy="Confirm that the job shall read the partition from its start.",
    rank=20,
    needs={Fact.NO_POSITION, Fact.BY_ENGINE},
)
def new_partition(case: Case) -> Iterator[str]:
    """The new topic has a partition that the job has no position for."""
    row = case.row
    start = "its start" if row.new.log_start is None else f"its start, {row.new.log_start:,}"
    yield (f"The job has no position for {row.new_topic_partition}; it would begin at {start}.")


@finding(
    code="NO_COMMIT",
    severity=Severity.BLOCKS,
    title="The group has no commit in a partition",
    remedy="Decide where the group begins there: `draft --override TOPIC:PARTITION=OFFSET --reason TEXT`, or "
    "`draft --set unset=leave` to write nothing there; or state `auto_offset_reset` of the group, or of "
    "the positions file, in the migration file, `groups: [{name: GROUP, job: {auto_offset_reset: latest}}]`, and "
    "compare again.",
    rank=185,
    overridable=True,
    needs={Fact.NO_POSITION, Fact.BY_SETTING},
)
def no_commit(case: Case) -> Iterator[str]:
    """The job has no commit in a partition, or no position in its file, and the start of its client is not stated."""
    row, reset = case.row, case.job.auto_offset_reset
    if reset in (OffsetReset.EARLIEST, OffsetReset.LATEST):
        return
    nothing = "The group has committed nothing" if case.of_group else "The job has no position in its file"
    if case.new_commit is not None:
        yield (
            f"{nothing} for {row.topic_partition} on the old cluster. On the new one it has committed "
            f"{case.new_commit.offset:,} there, and begins at that where nothing else is written."
        )
        return
    states = "is not stated" if reset is None else f"is stated as {reset}: the client fails"
    start, end = row.new.log_start, row.new.hw
    record_count = None if start is None or end is None else end - start
    cost = (
        ""
        if record_count is None
        else ": the new log has no record yet"
        if record_count == 0
        else f": earliest reads up to {many(record_count, 'record')} of the new log, latest none of them"
    )
    yield (
        f"{nothing} for {row.topic_partition}. Where it begins there is its client's "
        f"auto.offset.reset, which {states}{cost}."
    )


@finding(
    code="SCHEMA_IDS_MASKED",
    severity=Severity.WARNS,
    title="Schema registry ids differ between the clusters",
    remedy="Check that the new registry holds the new ids before the job reads there.",
    rank=70,
)
def schema_ids_masked(case: Case) -> Iterator[str]:
    """Records are equal only without their schema registry ids."""
    pairs = case.row.evidence.schema_ids
    if not pairs:
        return
    shown = ", ".join(f"{old} → {new}" for old, new in pairs[:3]) + (", …" if len(pairs) > 3 else "")
    count = "1 schema id differs" if len(pairs) == 1 else f"{len(pairs):,} schema ids differ"
    yield (f"{count} between the clusters ({shown}); the records are equal in every other byte.")


@finding(
    code="PENDING_BATCH_DIFFERS",
    severity=Severity.BLOCKS,
    title="The pending batch would hold other records",
    remedy="Let the pending batch commit on the old cluster before the switch.",
    rank=140,
    needs={Fact.PENDING},
)
def pending_batch_differs(case: Case) -> Iterator[str]:
    """The batch that runs again holds other records on the new cluster."""
    if case.pending_equal:
        return
    ends = " to ".join(f"{point.old:,}" for point in case.row.restart)
    yield (
        f"The pending batch, {ends} on the old cluster, holds other records between its translated ends: the sink may "
        "already hold the first ones under this batch id."
    )


@finding(
    code="ISOLATION_DIFFERS",
    severity=Severity.WARNS,
    title="The position contradicts the stated isolation level",
    remedy="Check the job's `kafka.isolation.level` and say the same in the migration file.",
    rank=180,
    needs={Fact.READ_COMMITTED, Fact.POSITION},
)
def isolation_differs(case: Case) -> Iterator[str]:
    """A read_committed job cannot be past the last stable offset."""
    row = case.row
    if row.old_offset is None or row.old.lso is None:
        return
    if row.old_offset <= row.old.lso or row.old.hw is None or row.old_offset > row.old.hw:
        return
    yield (
        f"The job is said to read read_committed, but is at {row.old_offset:,}, "
        f"{many(row.old_offset - row.old.lso, 'offset')} past the last stable offset of the old log ({row.old.lso:,})."
    )


def _repeated(row: PartitionComparison) -> str:
    if row.replay is None:
        return (
            f"Resuming at {row.new_offset:,}, the safe end of the bounds, may read records twice; how many is unknown"
        )
    return f"Resuming at {row.new_offset:,} would read up to {many(row.replay, 'record')} twice"


def _clause(reason: str) -> str:
    text = reason.strip() or "no reason was given"
    return text if text.endswith(".") else f"{text}."
