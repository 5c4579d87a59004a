"""The ways a job can move, what each costs, and whether it fits here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final

from offsetwise.config import JobTraits, Migration
from offsetwise.findings.codes import Code
from offsetwise.findings.migration import BATCH_ID_SINKS
from offsetwise.model import SAVEPOINT_KINDS, Cluster, Comparison, Exactness, PartitionComparison, TargetKind
from offsetwise.plan.flink_ways import against_new_uid, against_savepoint, around, is_flink, questions
from offsetwise.plan.request import CHECKPOINT_KINDS, FRESH_KINDS, Reason, traits_of
from offsetwise.wording import many

_STATE_SINK: Final = "State `sink` of the checkpoint's job in the migration file."
_REWOUND: Final = "Take the sink back too and state it (--sink-rewound), or edit a copy of the checkpoint."


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to move a job."""

    name: str
    target_kind: TargetKind | None
    """What `--target` names; None where it takes more than that."""
    title: str
    """In the field's words."""
    keeps: tuple[str, ...]
    gives_up: tuple[str, ...]
    needs: tuple[str, ...]
    options: str = ""
    """What `offsetwise draft` takes beside the target."""
    translates: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One way to move a job, and whether it fits here."""

    kind: Kind
    why_not: tuple[str, ...]
    commands: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """What nobody has stated and what would be judged by it."""

    @property
    def applies(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.why_not


COPY: Final = Kind(
    name="checkpoint-copy",
    target_kind=TargetKind.SPARK_CHECKPOINT,
    title="state-preserving edit, in a copy",
    keeps=("the state", "the query id and batch ids, so the sink stays exactly-once", "the old folder, to go back to"),
    gives_up=("room for a second copy of the state, where it cannot be linked",),
    needs=(
        "the query is stopped",
        "an empty folder under a write root",
        "proven positions, of a pending batch both ends",
    ),
)
IN_PLACE: Final = Kind(
    name="checkpoint-in-place",
    target_kind=TargetKind.SPARK_CHECKPOINT_IN_PLACE,
    title="state-preserving edit, in place",
    keeps=("the state", "the query id and batch ids, so the sink stays exactly-once", "the originals of edited files"),
    gives_up=("the untouched old folder: going back means putting the kept originals back",),
    needs=("the query is stopped", "the folder under a write root", "proven positions, of a pending batch both ends"),
)
STARTING: Final = Kind(
    name="fresh-starting-offsets",
    target_kind=TargetKind.STARTING_OFFSETS,
    title="ignore the old state, startingOffsets",
    keeps=("the positions",),
    gives_up=("the state", "the query id and batch ids: a sink that remembers ids ignores the first batches"),
    needs=("an empty checkpoint folder", "the job's option startingOffsets set to the file", "one Kafka source"),
)
SEEDED: Final = Kind(
    name="fresh-seeded",
    target_kind=TargetKind.SEEDED_CHECKPOINT,
    title="ignore the old state, seeded checkpoint",
    keeps=("the positions", "the job as it is: no option changes"),
    gives_up=("the state", "the query id and batch ids: a sink that remembers ids ignores the first batches"),
    needs=("an empty folder under a write root", "one Kafka source and no other"),
)
REWIND: Final = Kind(
    name="rewind",
    target_kind=TargetKind.SPARK_CHECKPOINT,
    title="rewind to an earlier batch, in a copy",
    keeps=("the state as it was after that batch", "the query id"),
    gives_up=("later batches: their records are read again, under batch ids that the sink has seen",),
    needs=("that batch and its state are retained", "a sink taken back to it, or one that drops repeated records"),
    options=" --rewind-to BATCH",
)
GROUP: Final = Kind(
    name="consumer-group",
    target_kind=TargetKind.CONSUMER_GROUP,
    title="group offsets",
    keeps=("the positions", "what the group had committed before, to put back"),
    gives_up=("metadata of commits and leader epochs, which mean nothing on another cluster",),
    needs=("the group has no members", "the mirror's group sync leaves the group out", "a start before offsets expire"),
)
RENAME: Final = Kind(
    name="topic-rename",
    target_kind=TargetKind.SPARK_CHECKPOINT,
    title="topic rename",
    keeps=("the state", "the query id and batch ids"),
    gives_up=("nothing; the names of topics in the checkpoint change",),
    needs=("the job subscribes to the new names", "`topics` in the migration file says what they are called"),
)
PRODUCERS_FIRST: Final = Kind(
    name="producers-first",
    target_kind=None,
    title="producers-first cutover, earliest",
    keeps=("every record, if the old topics were read to their end and the new ones hold nothing older",),
    gives_up=("records: any the job did not read on the old cluster before it moved",),
    needs=("producers write to the new cluster only", "the job has read every old topic to its end", "no mirror"),
    options=" --start TOPIC=earliest --reason TEXT",
    translates=False,
)
FAILBACK: Final = Kind(
    name="failback",
    target_kind=TargetKind.SPARK_CHECKPOINT,
    title="failback",
    keeps=("the state", "the query id; batch ids go on above what the sink has"),
    gives_up=("records that only the new cluster has and the job has not read, unless they are mirrored back",),
    needs=(
        "a migration file with source and target swapped, and `belongs_to: old` for the checkpoint",
        "the new job's checkpoint, stopped after a commit",
        "a copy on the old cluster of the last record that the job read of each partition",
    ),
)
SAVEPOINT: Final = Kind(
    name="savepoint-edit",
    target_kind=TargetKind.FLINK_SAVEPOINT,
    title="edit the savepoint, in a copy",
    keeps=("the state of all operators", "the job as it is: SQL too, with or without uids", "the old savepoint"),
    gives_up=("nothing, where every place is proven",),
    needs=(
        "the job is stopped with a savepoint in the canonical format",
        "an empty folder under a write root",
        "for the first start the initializer `committedOffsets(NONE)`, in SQL the mode `group-offsets` with "
        "`auto.offset.reset` none, so that a place that retention took stops the job: other initializers reset it",
    ),
)
NEW_UID: Final = Kind(
    name="new-operator-uid",
    target_kind=TargetKind.CONSUMER_GROUP,
    title="new operator uid, group offsets",
    keeps=("the state of all other operators", "the positions"),
    gives_up=("the state of the source",),
    needs=(
        "a job in code that sets uids: SQL cannot",
        "a new uid for the source, which starts at `OffsetsInitializer.committedOffsets()`",
        "a group without members, and a start before its offsets expire",
    ),
)
DROPPED: Final = Kind(
    name="source-state-dropped",
    target_kind=TargetKind.FLINK_SAVEPOINT_WITHOUT_SOURCES,
    title="drop the source's state, in a copy of the savepoint",
    keeps=("the state of all other operators", "the positions, in the group", "the job's uids: SQL too"),
    gives_up=("the state of the source",),
    needs=(
        "the group's offsets on the new cluster, or a file that says where to begin, in the same plan",
        "a source that starts there: `scan.startup.mode` in SQL, its starting offsets in code",
        "a group without members, and a start before its offsets expire",
    ),
)
FLINK_STARTING: Final = replace(
    STARTING,
    title="ignore the old state, specific offsets",
    gives_up=("the state",),
    needs=(
        "a start without savepoint",
        "a source that starts where the file says, in the words of SQL, Java or Python",
    ),
)
SAVEPOINT_RENAME: Final = Kind(
    name="topic-rename",
    target_kind=TargetKind.FLINK_SAVEPOINT,
    title="rename the topic, in a copy of the savepoint",
    keeps=("the state of all operators", "the positions, under the new names"),
    gives_up=("nothing; without the edit the old topic's positions, as the source's initializer decides then",),
    needs=("the job's subscription can be changed", "`topics` in the migration file says what they are called"),
)
SAVEPOINT_PRODUCERS_FIRST: Final = replace(PRODUCERS_FIRST, title="producers first, then the job, from earliest")
_SPARK_WAYS: Final = (COPY, IN_PLACE, STARTING, SEEDED, REWIND, GROUP, RENAME, PRODUCERS_FIRST, FAILBACK)
_FLINK_WAYS: Final = (SAVEPOINT, NEW_UID, SAVEPOINT_RENAME, SAVEPOINT_PRODUCERS_FIRST, DROPPED, FLINK_STARTING)
BY_KIND: Final = {kind.target_kind: kind for kind in (COPY, IN_PLACE, STARTING, SEEDED, GROUP, SAVEPOINT, DROPPED)}
_OF_FLINK: Final = {TargetKind.CONSUMER_GROUP: NEW_UID, TargetKind.STARTING_OFFSETS: FLINK_STARTING}


def way_of(target: TargetKind, comparison: Comparison) -> Kind:
    """Give the way that writing to one kind of target is, for the engine of what was compared."""
    return _OF_FLINK.get(target, BY_KIND[target]) if is_flink(comparison) else BY_KIND[target]


def judge_strategies(
    comparison: Comparison,
    migration: Migration,
    *,
    checkpoint: str | None = None,
    sink_rewound: bool = False,
    migration_file: str = "migration.yaml",
) -> tuple[Strategy, ...]:
    """Judge every way for what was compared.

    Args:
        comparison: The comparison, as nobody has decided anything yet.
        migration: The migration.
        checkpoint: The checkpoint's name in it.
        sink_rewound: Whether a person states that the sink is taken back with the job.
        migration_file: What the commands name.
    """
    job = traits_of(migration, comparison, checkpoint)
    subject = _subject(comparison, migration, checkpoint)
    made = []
    for kind in _FLINK_WAYS if is_flink(comparison) else _SPARK_WAYS:
        reasons = [reason.told for reason in _reasons(kind, comparison, job, sink_rewound=sink_rewound)]
        made.append(
            Strategy(
                kind=kind,
                why_not=tuple(dict.fromkeys(reasons)),
                commands=_commands(kind, comparison, subject, migration_file, job),
                questions=tuple(questions(kind.name, comparison, job)) if is_flink(comparison) else (),
            )
        )
    return tuple(made)


def against_target(
    kind: TargetKind, comparison: Comparison, job: JobTraits, *, rewound: bool, sink_rewound: bool
) -> tuple[Reason, ...]:
    """Say what speaks against writing to one kind of target, the single partitions aside."""
    made = [*_structure(kind, comparison)]
    if kind in FRESH_KINDS and not is_flink(comparison):
        made += _batch_ids(job, sink_rewound=sink_rewound, what="A fresh checkpoint begins at batch 0 again")
    if rewound and not sink_rewound:
        made += _batch_ids(job, sink_rewound=False, what="Going back forms batches anew under ids it has seen")
        if job.tolerates_replay is not True:
            made.append(
                Reason(
                    code=Code.REPLAY_NOT_TOLERATED,
                    told="Going back reads records again, and the job is not stated to tolerate it.",
                    fix="Take the sink back too (--sink-rewound), or state `tolerates_replay: true` for the job.",
                )
            )
    return tuple(made)


def _reasons(kind: Kind, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Reason]:
    if kind.target_kind is not None:
        yield from against_target(kind.target_kind, comparison, job, rewound=kind is REWIND, sink_rewound=sink_rewound)
    if kind.translates:
        yield from _unproven(comparison, job)
    if kind.target_kind in CHECKPOINT_KINDS and kind is not REWIND:
        yield from _pending(comparison)
    own: dict[str, Callable[[], Iterator[Reason]]] = {
        REWIND.name: lambda: _no_earlier(comparison),
        RENAME.name: lambda: _not_renamed(comparison, job),
        PRODUCERS_FIRST.name: lambda: _not_drained(comparison, job),
        NEW_UID.name: lambda: against_new_uid(comparison, job),
        FAILBACK.name: lambda: _not_moved(comparison),
    }
    if kind.name in own:
        yield from own[kind.name]()


def _structure(kind: TargetKind, comparison: Comparison) -> Iterator[Reason]:
    checkpoint = comparison.checkpoint
    sources = {row.source for row in comparison.partitions}
    if kind is TargetKind.CONSUMER_GROUP:
        places: dict[tuple[str, int], int | None] = {}
        for row in comparison.partitions:
            key = row.new_topic, row.partition
            if places.setdefault(key, row.new_offset) != row.new_offset:
                told = f"Two sources read {row.topic}-{row.partition} at different places, and a group holds one."
                yield Reason(code="SOURCES", told=told, fix="Edit a copy of the checkpoint.")
        return
    if checkpoint is None:
        fix = "Write to a consumer group."
        yield Reason(code="NO_CHECKPOINT", told="The positions are a group's: there is no checkpoint.", fix=fix)
        return
    if kind in SAVEPOINT_KINDS:
        yield from against_savepoint(checkpoint)
        return
    if kind is TargetKind.STARTING_OFFSETS and is_flink(comparison):
        return
    if checkpoint.engine != "spark":
        told = f"The checkpoint is one of {checkpoint.engine}, not of Spark."
        yield Reason(code="NO_CHECKPOINT", told=told, fix="Write to flink-savepoint, or to a consumer group.")
    if kind not in FRESH_KINDS:
        return
    if len(sources) != 1:
        told = f"The job has {len(sources)} Kafka sources, and a fresh checkpoint can be given the positions of one."
        yield Reason(code="SOURCES", told=told, fix="Edit a copy of the checkpoint.")
    others = sum(source.kind != "kafka" for source in checkpoint.sources)
    if others and kind is TargetKind.SEEDED_CHECKPOINT:
        told = f"The job has {many(others, 'other source')}, whose positions would be lost."
        yield Reason(code="SOURCES", told=told, fix="Edit a copy of the checkpoint.")


def _batch_ids(job: JobTraits, *, sink_rewound: bool, what: str) -> Iterator[Reason]:
    if sink_rewound:
        return
    if job.sink is None:
        told = f"{what}, and it is not stated which sink the job has: one that remembers batch ids would ignore them."
        yield Reason(code=Code.SINK_BATCH_IDS, told=told, fix=_STATE_SINK)
    elif job.sink.casefold() in BATCH_ID_SINKS:
        told = f"{what}, and the {job.sink} sink ignores batch ids it has recorded: records would be missing there."
        yield Reason(code=Code.SINK_BATCH_IDS, told=told, fix=_REWOUND)


def _unproven(comparison: Comparison, job: JobTraits) -> Iterator[Reason]:
    rows = [row for row in comparison.partitions if row.old_offset is not None]
    lost = [row for row in rows if row.new_offset is None or row.exactness in (Exactness.CLAIMED, Exactness.UNKNOWN)]
    if lost:
        told = f"{_count(lost)} no proven place: nobody may guess, a person may decide with a reason."
        yield Reason(code=Code.UNTRANSLATED, told=told, fix="")
    again = [row for row in rows if row not in lost and (row.exactness is Exactness.BOUNDED or row.replay)]
    if again and job.tolerates_replay is not True:
        told = f"{_count(again)} a place that repeats records, and the job is not stated to tolerate that."
        yield Reason(code=Code.REPLAY_NOT_TOLERATED, told=told, fix="")


def _pending(comparison: Comparison) -> Iterator[Reason]:
    if dropped_batch(comparison) is not None:
        return
    pending = [row for row in comparison.partitions if len(row.restart) > 1]
    unequal = [row for row in pending if row.restart[-1].new is None or row.pending_equal is not True]
    if unequal:
        told = f"{_count(unequal)} a pending batch that is not known to hold the same records on both clusters."
        yield Reason(code=Code.PENDING_BATCH_DIFFERS, told=told, fix="")


def _no_earlier(comparison: Comparison) -> Iterator[Reason]:
    checkpoint = comparison.checkpoint
    if checkpoint is None:
        return
    last = checkpoint.last_committed_batch
    if not any(batch.committed and last is not None and batch.id < last for batch in checkpoint.batches):
        yield Reason(code="NO_BATCH", told="No earlier committed batch is retained.", fix="")


def _not_renamed(comparison: Comparison, job: JobTraits) -> Iterator[Reason]:
    if job.subscription_changeable is False:
        yield Reason(code="SUBSCRIPTION", told="The job is stated to keep the names of its topics.", fix="")
    if all(row.topic == row.new_topic for row in comparison.partitions):
        yield Reason(code="NO_RENAME", told="No topic has another name on the new cluster.", fix="")


def _not_drained(comparison: Comparison, job: JobTraits) -> Iterator[Reason]:
    if job.needs_retained_data:
        told = "The job is stated to need what the old cluster retains, which nobody would bring to the new one."
        yield Reason(code="RETAINED_DATA", told=told, fix="")
    left = [row for row in comparison.partitions if row.lag_old != 0 and (row.old_offset is not None or row.old.hw)]
    if left and job.needs_retained_data is not False:
        told = f"{_count(left)} records on the old cluster that the job has not read, or may have."
        yield Reason(code="NOT_DRAINED", told=told, fix="")
    copied = [row for row in comparison.partitions if row.exactness.proven and row.new_offset != row.new.log_start]
    if copied:
        told = f"{_count(copied)} copies of records that the job has read: earliest would read them again."
        yield Reason(code=Code.REPLAY, told=told, fix="")


def _not_moved(comparison: Comparison) -> Iterator[Reason]:
    if comparison.belongs_to.cluster is not Cluster.NEW:
        told = "The checkpoint is the old cluster's: there is nothing to go back from."
        yield Reason(code="NOT_MOVED", told=told, fix="")


def dropped_batch(comparison: Comparison) -> int | None:
    """Give the polluted batch that an edit leaves out; None where no batch is known to be polluted."""
    if comparison.checkpoint is None or comparison.checkpoint.reruns_batch is None:
        return None
    polluted = any(finding.code == Code.CHECKPOINT_POLLUTED for finding in comparison.findings)
    return comparison.checkpoint.reruns_batch if polluted else None


def _subject(comparison: Comparison, migration: Migration, name: str | None) -> str:
    if comparison.checkpoint is None:
        return f"--group {quote(comparison.group or 'GROUP')}"
    uri = comparison.checkpoint.uri
    found = name or next((each.name for each in migration.checkpoints if each.uri == uri), "CHECKPOINT")
    return f"--checkpoint {quote(found)}"


def _commands(kind: Kind, comparison: Comparison, subject: str, path: str, job: JobTraits) -> tuple[str, ...]:
    file = quote("swapped.yaml" if kind is FAILBACK else path)
    kept = TargetKind.FLINK_SAVEPOINT if is_flink(comparison) else TargetKind.SPARK_CHECKPOINT
    target = str(kind.target_kind or kept)
    group = comparison.group or job.commits_to or "GROUP"
    if kind.target_kind is TargetKind.CONSUMER_GROUP or (kind.target_kind is None and comparison.checkpoint is None):
        target = f"{TargetKind.CONSUMER_GROUP}:{group}"
    output = (
        "" if kind.target_kind in (TargetKind.CONSUMER_GROUP, TargetKind.SPARK_CHECKPOINT_IN_PLACE) else " --output DIR"
    )
    options = f" --target {quote(f'{TargetKind.CONSUMER_GROUP}:{group}')}" if kind is DROPPED else kind.options
    made = (
        f"offsetwise draft --migration {file} {subject} --target {quote(target)}{options} --author NAME "
        "--out plan.json",
        "offsetwise sign plan.json --key reviewer --as REVIEWER --out plan.approval.json",
        f"offsetwise apply plan.json --migration {file} --approval plan.approval.json --trust reviewer.pub{output} "
        "--receipt receipt.json --execute",
        f"offsetwise verify receipt.json --migration {file}",
    )
    return around(made, kind.name, sql=job.sql is True) if is_flink(comparison) else made


def _count(rows: list[PartitionComparison]) -> str:
    return f"{many(len(rows), 'partition')} {'has' if len(rows) == 1 else 'have'}"
