"""The evidence for the state of one job: its positions, its comparison, its plan, and its receipt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from offsetwise import approval, files, regular_files
from offsetwise.api.readers import LiveReaders
from offsetwise.api.working_folder import PlanFile, WorkingFolder
from offsetwise.apply.verification import verify
from offsetwise.approval import ApprovalFile, ApprovalPolicy
from offsetwise.approval.envelope import Verdict, stated_in
from offsetwise.approval.judging import believed
from offsetwise.comparison import Scene, positions_of
from offsetwise.errors import NotApprovedError, OffsetwiseError
from offsetwise.findings import blocks_translated
from offsetwise.findings.migration import RUNNING_AGE_MS
from offsetwise.findings.reading import blocking_problems
from offsetwise.lag.cutover import ORDER
from offsetwise.model import (
    AnyPosition,
    Cluster,
    ComparedJob,
    Comparison,
    Cutover,
    CutoverState,
    LogRange,
    Receipt,
    Snapshot,
    StepState,
    Subject,
    Target,
    TopicPartition,
    UnreadJob,
    Verification,
    epoch_ms,
    time_of,
)
from offsetwise.model.clusters import has_members
from offsetwise.plan.drift import drift as drift_of
from offsetwise.plan.target import TargetRole, Where, target_type
from offsetwise.position import offset_or_none
from offsetwise.status.evidence import (
    AppliedEvidence,
    ComparisonEvidence,
    CutoverEvidence,
    PlanEvidence,
)
from offsetwise.wording import clock, duration

Commits: TypeAlias = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    active: bool | None
    moved_ms: int | None
    shown_by: str
    """One sentence."""
    stop: str
    """How to stop the job for its move, as the beginning of a sentence."""


def unread_of(scene: Scene | OffsetwiseError) -> UnreadJob | None:
    """Return why a job's positions cannot be used; None if they can."""
    if isinstance(scene, OffsetwiseError):
        return UnreadJob(error=type(scene).__name__, problem=scene.problem, fix=scene.fix)
    checkpoint = scene.subject.read
    problem = next(iter(blocking_problems(checkpoint.problems)), None) if checkpoint is not None else None
    return None if problem is None else UnreadJob(error=problem.code, problem=problem.message, fix=problem.fix)


def missing_topics(scene: Scene) -> tuple[str, ...]:
    named = []
    for topic in scene.subject.topics(scene.old):
        for side, name in ((Cluster.OLD, topic), (Cluster.NEW, scene.migration.new_topic(topic))):
            if scene.topics[side].get(name) is None:
                named.append(f"{name} (the {side} cluster)")
    return tuple(named)


def activity_of(scene: Scene) -> Activity:
    """Return whether a job moves its positions, as its checkpoint or its group shows."""
    checkpoint, group = scene.subject.read, scene.group(Cluster.OLD)
    now_ms = epoch_ms(scene.old.taken_at)
    if checkpoint is None:
        state = None if group is None else group.state
        active = None if state is None else has_members(state)
        shown_by = f"Its group is {state or 'of an unknown state'}."
        return Activity(active=active, moved_ms=None, shown_by=shown_by, stop="Stop its members when its wave begins")
    stop, written_ms = checkpoint.details.stop, checkpoint.details.written_ms
    if written_ms is None:
        return Activity(active=None, moved_ms=None, shown_by="Its files do not say when they were written.", stop=stop)
    age_ms = now_ms - written_ms
    ended = checkpoint.details.kind == "savepoint"
    return Activity(
        active=not ended and age_ms < RUNNING_AGE_MS,
        moved_ms=written_ms,
        shown_by=f"{checkpoint.details.last_written} at {clock(written_ms)}, {duration(age_ms)} before it was read.",
        stop=stop,
    )


def old_lag_of(scene: Scene) -> int | None:
    """Return how many records a job has to read on the old cluster; None if not all positions are known."""
    try:
        queries = positions_of(scene)
    except OffsetwiseError:  # the job's state says why its positions cannot be used
        return None
    return _lag([(query.offset, query.old) for query in queries]) if queries else None


def _lag(positions: Iterable[tuple[AnyPosition | None, LogRange | None]]) -> int | None:
    total = 0
    for position, log in positions:
        offset, end = offset_or_none(position), None if log is None else offset_or_none(log.hw)
        if offset is None or end is None:
            return None
        total += max(0, end - offset)
    return total


def cutover_of(scene: Scene, cutover: Cutover | None) -> CutoverEvidence | None:
    """Return the state of the cutover of a job's topics; None if not all of them were watched."""
    topics = {*scene.subject.topics(scene.old)}
    if cutover is None:
        return None
    rows = [row for row in cutover.partitions if row.topic in topics]
    if not topics or {row.topic for row in rows} != topics:
        return None
    states = []
    for row in rows:
        log = scene.log(Cluster.OLD, row.topic, row.partition)
        end = None if log is None else offset_or_none(log.hw)
        # Observations of an end that the log no longer has are worthless.
        states.append(row.state if end is not None and end == row.end else CutoverState.OPEN)
    return CutoverEvidence(
        state=min(states, key=ORDER.index),
        taken_ms=epoch_ms(cutover.taken_at),
        still_ms=min(row.still_ms for row in rows),
    )


def comparison_of(job: Subject, folder: WorkingFolder, commits: Commits | None) -> ComparisonEvidence | None:
    """Return the result of the newest comparison of a job; None if there is none in the folder.

    Args:
        job: The job.
        folder: The folder with comparisons.
        commits: The current commits of a group, which has no time that shows whether it moved on; None for others.
    """
    compared = folder.comparisons.get(str(job))
    if compared is None or compared.summary is None or compared.taken_at is None:
        return None
    return ComparisonEvidence(
        taken_ms=epoch_ms(compared.taken_at),
        summary=compared.summary,
        blocking=tuple(filter(blocks_translated, compared.findings)),
        moved=commits is not None and _moved_since(compared, folder.compared_in[str(job)], commits),
    )


def commits_of(scene: Scene | OffsetwiseError) -> Commits | None:
    """Return the commits of a group on the old cluster; None for a checkpoint, and if it was not read."""
    if isinstance(scene, OffsetwiseError) or scene.subject.read is not None:
        return None
    group = scene.group(Cluster.OLD)
    return None if group is None else group.commits


def _moved_since(compared: ComparedJob, folder: Path, commits: Commits) -> bool:
    """Return whether a group's commits differ from those in its comparison; False if that file is unreadable."""
    if compared.file is None:
        return False
    with suppress(OffsetwiseError, OSError):
        content = regular_files.read_named(folder / compared.file, files.MAX_BYTES)
        comparison: Comparison = files.load(content, "comparison", subject=compared.file)
        rows = {row.topic_partition: row.old_offset for row in comparison.partitions}
        return any(rows.get(partition, offset) != offset for partition, offset in commits.items())
    return False


def chosen_plan(plans: Sequence[PlanFile], folder: WorkingFolder) -> PlanFile | None:
    """Return the decisive plan of a job: the applied one that was not rolled back, or else the newest."""
    applied = [plan for plan in plans if _is_applied(plan.digest, folder)]
    return max(applied or plans, key=lambda plan: plan.document.drafted_at, default=None)


def _is_applied(digest: str, folder: WorkingFolder) -> bool:
    """Return whether applying a plan has begun, and was not completely rolled back."""
    written, journal = folder.receipts.get(digest), folder.journals.get(digest)
    records = () if journal is None else tuple(journal[1].steps.values())
    taken_back = [record.undone is not None for record in records]
    if not taken_back and written is not None:
        taken_back = [step.state is StepState.UNDONE for step in written[1].steps]
    return (written is not None or journal is not None) and not (taken_back and all(taken_back))


def plan_of(
    plan: PlanFile, scene: Scene | None, approvals: Iterable[ApprovalFile], policy: ApprovalPolicy
) -> PlanEvidence:
    """Return whether the requirements of a plan still hold, and who approved it.

    Args:
        plan: The plan.
        scene: The current readings of its job; None if it cannot be compared.
        approvals: All approvals of the folder.
        policy: Whose approval counts.
    """
    drifts = () if scene is None else drift_of(plan.document, scene.old, scene.new, scene.subject.read)
    files = [file for file in approvals if _names(file, plan.digest)]
    approvers: tuple[str, ...] = ()
    approved_ms = None
    with suppress(NotApprovedError):
        counted = approval.approved(plan.content, plan.document, files, policy, datetime.now(UTC))
        approvers = tuple(approval_of.approver.subject for approval_of in counted)
        approved_ms = max(epoch_ms(approval_of.approver.approved_at) for approval_of in counted)
    return PlanEvidence(
        file=plan.path,
        digest=plan.digest,
        drafted_ms=epoch_ms(plan.document.drafted_at),
        drift=tuple(drift.told for drift in drifts),
        approvers=approvers,
        approved_ms=approved_ms,
        rejection=next(_rejections(plan, files, policy), None),
        approvals=tuple(file.name for file in files),
        takes_output=any(target_type(target.kind).where is Where.OUTPUT for target in plan.document.targets),
    )


def _names(file: ApprovalFile, digest: str) -> bool:
    """Return whether an approval, whose signature is not yet verified, names a plan, alone or in a set."""
    try:
        return stated_in(file).about(digest) is not None
    except NotApprovedError:
        return False


def _rejections(plan: PlanFile, files: Iterable[ApprovalFile], policy: ApprovalPolicy) -> Iterator[str]:
    for file in files:
        with suppress(NotApprovedError):
            _, statement = believed(plan.content, plan.document, file, policy, datetime.now(UTC))
            if statement.verdict is Verdict.REJECTED:
                yield f"{statement.subject} rejected it at {clock(statement.approved_at)}."


def applied_of(
    digest: str, folder: WorkingFolder, readers: LiveReaders, new: Snapshot | None, new_checkpoint: str | None
) -> AppliedEvidence | None:
    """Return what applying a plan wrote, and its current state; None if it was not applied.

    Args:
        digest: The plan's digest, hex.
        folder: The folder with receipts and journals.
        readers: Read the targets.
        new: The new cluster with the job's topics; None if they were not read.
        new_checkpoint: The checkpoint of the moved job, if the migration file states it.
    """
    written, journal = folder.receipts.get(digest), folder.journals.get(digest)
    records = () if journal is None else tuple(journal[1].steps.values())
    undone = sum(record.undone is not None for record in records)
    if written is None:
        if journal is None or not records:
            return None
        return AppliedEvidence(
            receipt=journal[0],
            ended_ms=None,
            undone=undone,
            steps=len(records),
            verification=None,
            lag_before=None,
            lag=None,
        )
    path, receipt = written
    undone = undone or sum(step.state is StepState.UNDONE for step in receipt.steps)
    verification = None if undone else _verified(receipt, readers, readers.begun_checkpoint(new_checkpoint))
    return AppliedEvidence(
        receipt=path,
        ended_ms=epoch_ms(receipt.ended_at),
        undone=undone,
        steps=len(receipt.steps),
        verification=verification,
        shows_start=_show_start(step.target for step in receipt.steps),
        lag_before=_lag((position.old_offset, position.old) for position in receipt.plan.positions),
        lag=None if verification is None or new is None else _lag_now(verification, new),
    )


def _show_start(targets: Iterable[Target]) -> bool:
    types = (target_type(target.kind) for target in targets)
    return all(
        type_of_target.shows_start for type_of_target in types if type_of_target.role is not TargetRole.TRANSACTIONS
    )


def _verified(receipt: Receipt, readers: LiveReaders, checkpoint: str | None) -> Verification | None:
    with suppress(OffsetwiseError):
        return verify(receipt, readers, verified_at=time_of(datetime.now(UTC)), checkpoint=checkpoint)
    return None


def _lag_now(verification: Verification, new: Snapshot) -> int | None:
    """Return how many records a job has to read on the new cluster; of several targets, the first counts."""
    logs = new.partitions()
    target = next((position.target for position in verification.positions), None)
    counted = (position for position in verification.positions if position.target == target)
    return _lag(
        (position.found, state.log if (state := logs.get(position.topic_partition)) else None) for position in counted
    )
