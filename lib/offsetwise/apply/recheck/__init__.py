"""Check again that everything a plan requires still holds, and repeat the proof of every position.

Only fresh readings count. A failed requirement makes the plan stale; an unreadable one is an error too, because nobody
approved a guess. Growth of log ends is no change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.recheck.cutover import cutover_again
from offsetwise.apply.recheck.proofs import RecheckResult, proofs_again
from offsetwise.apply.recheck.several import several_again
from offsetwise.errors import ApplyError, OffsetwiseError, StalePlanError
from offsetwise.findings.migration import reader_suspected
from offsetwise.model import (
    AnyPosition,
    Checkpoint,
    CheckpointRequirement,
    Cluster,
    Outcome,
    Plan,
    Requirements,
    Target,
)
from offsetwise.plan.drift import Drift, DriftKind, drift, drift_of_checkpoint, drift_of_targets
from offsetwise.plan.refusals import ACCEPT, AGAIN, proof_not_repeated
from offsetwise.plan.sinks.ending import moved
from offsetwise.plan.target import TargetRole, target_type
from offsetwise.wording import many

__all__ = ["RecheckResult", "recheck", "require"]

NAMED: Final = 20
"""How many differences an error lists."""


def recheck(plan: Plan, readers: Readers, *, begun: Collection[Target] = ()) -> tuple[RecheckResult, ...]:
    """Compare a plan with the current state of clusters, checkpoint and targets.

    Args:
        plan: The plan.
        readers: Read the current state.
        begun: Targets that this plan has begun to write: their writers, and not this check, compare them by the
            journal.

    Returns:
        Requirements that fail or cannot be read; if there are none, also every record that was read again, and the
            state of the cutover that the plan requires.

    Raises:
        ClusterError: A cluster does not answer.
        SparkError: Records cannot be read.
    """
    requirements = _remaining(plan.requirements, begun)
    checkpoint, files, recheck_results = _checkpoint(requirements.checkpoint, readers)
    # Transactions of a checkpoint that cannot be read cannot be looked up.
    looked = requirements.sink is not None and checkpoint is not None
    of_sink = tuple(moved(plan, readers.transactions(plan))) if looked else ()
    if not plan.positions:
        drifts = (*drift_of_checkpoint(requirements.checkpoint, checkpoint, files), *of_sink)
        return (*recheck_results, *(_drifted(drift) for drift in drifts))
    old_groups = () if requirements.old_group is None else (requirements.old_group.group,)
    old = readers.cluster(Cluster.OLD, tuple(topic.name for topic in requirements.old.topics), old_groups)
    names = tuple(group.group for group in requirements.groups)
    new = readers.cluster(Cluster.NEW, tuple(topic.name for topic in requirements.new.topics), names)
    drifts = (*drift(replace(plan, requirements=requirements), old, new, checkpoint, files=files), *of_sink)
    drifts = (*drifts, *drift_of_targets(plan, requirements, readers.migration))
    results = [*_covered(plan), *recheck_results, *(_drifted(drift) for drift in drifts)]
    if not results:
        # If the logs are not the reviewed ones, every record would differ and hide the actual cause.
        results += proofs_again(plan, readers, {Cluster.OLD: old.partitions(), Cluster.NEW: new.partitions()})
        results += several_again(plan, readers, _as_stated if checkpoint is None else checkpoint.details.processed)
        # Approvers may accept an unproven position; waiting for the cutover is useless if anything else fails.
        if all(result.outcome is Outcome.PASSED or result.unproven is not None for result in results):
            results += cutover_again(plan, readers)
    return tuple(results)


def _as_stated(position: AnyPosition) -> AnyPosition:
    return position


def require(digest: str, results: Sequence[RecheckResult]) -> None:
    """Raise unless everything holds.

    Raises:
        StalePlanError: Something has changed since the review, or the proof of a position cannot be repeated.
        ApplyError: Nothing is known to differ, but something could not be read.
    """
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    unread = [result for result in results if result.outcome is Outcome.UNKNOWN]
    if failed and all(result.cutover for result in failed):
        raise StalePlanError(
            f"Plan {digest[:12]}: {_some(failed)} Nothing was written.",
            fix="Stop every producer of its topics, wait until `offsetwise cutover -m FILE --plan PLAN --watch` ends, "
            "then run the same command again.",
        )
    if failed:
        stop = all(result.stoppable for result in failed)
        raise StalePlanError(
            f"Plan {digest[:12]}: expected everything as it was reviewed, found {_count(failed)} different. "
            f"{_some(failed)} Nothing was written.",
            fix="Stop the query and every member of the group, wait two minutes, then run the same command again."
            if stop
            else "Take a new comparison and draft the plan again.",
        )
    unproven = [result for result in unread if result.unproven is not None]
    if unproven and unproven == unread:
        raise StalePlanError(
            f"Plan {digest[:12]}: {proof_not_repeated.code}: expected to make the proof of every position again, found "
            f"{many(len(unproven), 'reading')} that cannot be made. {_some(unproven)} Nothing was written.",
            fix=f"{AGAIN} {ACCEPT}",
        )
    if unread:
        raise ApplyError(
            f"Plan {digest[:12]}: expected to read again what it was made from, found {_count(unread)} that cannot be "
            f"read. {_some(unread)} Nothing was written.",
            fix="Make readable what cannot be read, then run the same command again; or draft the plan again.",
        )


def _remaining(required: Requirements, begun: Collection[Target]) -> Requirements:
    groups = {target.group for target in begun}
    in_place = any(target_type(target.kind).is_checkpoint(target, required.checkpoint) for target in begun)
    return replace(
        required,
        groups=tuple(group for group in required.groups if group.group not in groups),
        checkpoint=None if in_place else required.checkpoint,
        targets=tuple(target for target in required.targets if target.target not in begun),
        sink=None
        if any(target_type(target.kind).role is TargetRole.TRANSACTIONS for target in begun)
        else required.sink,
    )


def _drifted(drift: Drift) -> RecheckResult:
    outcome = Outcome.UNKNOWN if drift.kind is DriftKind.UNREADABLE else Outcome.FAILED
    active = drift.kind is DriftKind.GROUP_ACTIVE
    return RecheckResult(
        outcome=outcome, told=drift.told, topic=drift.topic, partition=drift.partition, stoppable=active
    )


def _checkpoint(
    required: CheckpointRequirement | None, readers: Readers
) -> tuple[Checkpoint | None, Mapping[str, str], list[RecheckResult]]:
    """Read the checkpoint and the digests of the files with its positions, and check what only reading can show."""
    if required is None:
        return None, {}, []
    try:
        now = readers.checkpoint(required.uri)
        files = readers.digests(now, tuple(path for path, _ in required.files))
    except OffsetwiseError as error:
        return None, {}, [RecheckResult(outcome=Outcome.UNKNOWN, told=error.problem)]
    running = (problem.message for problem in now.problems if problem.code == reader_suspected.code)
    return (
        now,
        files,
        [RecheckResult(outcome=Outcome.FAILED, told=f"{required.uri}: {reason}", stoppable=True) for reason in running],
    )


def _covered(plan: Plan) -> Iterator[RecheckResult]:
    """Yield topics that the plan uses but does not require: without a topic id nothing binds the plan to them."""
    for side, required, used in (
        (Cluster.OLD, plan.requirements.old, {p.topic for p in plan.positions if p.old_offset is not None}),
        (Cluster.NEW, plan.requirements.new, {p.new_topic for p in plan.positions}),
    ):
        for topic in sorted(used - {requirement.name for requirement in required.topics}):
            message = f"Topic {topic!r} of {required.name!r}: the plan uses it and does not say which topic it was."
            yield RecheckResult(outcome=Outcome.UNKNOWN, told=f"{message} It is on the {side} cluster.", topic=topic)


def _count(results: Sequence[RecheckResult]) -> str:
    return many(len(results), "thing")


def _some(results: Sequence[RecheckResult]) -> str:
    more = f" And {len(results) - NAMED:,} more." if len(results) > NAMED else ""
    return " ".join(result.told for result in results[:NAMED]) + more
