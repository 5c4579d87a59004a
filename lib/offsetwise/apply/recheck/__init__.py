"""Whether what a plan was made from still holds: every requirement, and the proof of every position.

Judged from fresh readings only. What does not hold any more makes the plan stale; what cannot be read is refused too,
because nobody approved a guess. Growth of log ends is no change.
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
from offsetwise.plan.sinks.settling import moved
from offsetwise.plan.target import TargetRole, target_type
from offsetwise.wording import many

__all__ = ["RecheckResult", "recheck", "require"]

NAMED: Final = 20
"""How many differences an error names."""


def recheck(plan: Plan, readers: Readers, *, begun: Collection[Target] = ()) -> tuple[RecheckResult, ...]:
    """Hold a plan against the world.

    Args:
        plan: The plan.
        readers: Reads everything anew.
        begun: Targets that this plan has begun to write: what they change is not compared with what was reviewed,
            their writers do that, by the journal.

    Returns:
        What does not hold, or cannot be read; and where nothing differs, every record that was read again, and whether
        the cutover has come as far as the plan requires.

    Raises:
        ClusterError: A cluster gave no answer.
        SparkError: Records cannot be read.
    """
    wanted = _left(plan.requirements, begun)
    checkpoint, files, told = _checkpoint(wanted.checkpoint, readers)
    # What a checkpoint that cannot be read holds cannot be looked for.
    looked = wanted.sink is not None and checkpoint is not None
    of_sink = tuple(moved(plan, readers.transactions(plan))) if looked else ()
    if not plan.positions:
        found = (*drift_of_checkpoint(wanted.checkpoint, checkpoint, files), *of_sink)
        return (*told, *(_drifted(each) for each in found))
    old_groups = () if wanted.old_group is None else (wanted.old_group.group,)
    old = readers.cluster(Cluster.OLD, tuple(topic.name for topic in wanted.old.topics), old_groups)
    names = tuple(each.group for each in wanted.groups)
    new = readers.cluster(Cluster.NEW, tuple(topic.name for topic in wanted.new.topics), names)
    found = (*drift(replace(plan, requirements=wanted), old, new, checkpoint, files=files), *of_sink)
    found = (*found, *drift_of_targets(plan, wanted, readers.migration))
    made = [*_covered(plan), *told, *(_drifted(each) for each in found)]
    if not made:
        # Other logs than the reviewed ones would make every record differ and hide what is really wrong.
        made += proofs_again(plan, readers, {Cluster.OLD: old.partitions(), Cluster.NEW: new.partitions()})
        made += several_again(plan, readers, _as_stated if checkpoint is None else checkpoint.details.processed)
        # An unproven position may be accepted by those who approve; nobody waits for anything else that is wrong.
        if all(each.outcome is Outcome.PASSED or each.unproven is not None for each in made):
            made += cutover_again(plan, readers)
    return tuple(made)


def _as_stated(position: AnyPosition) -> AnyPosition:
    return position


def require(digest: str, held: Sequence[RecheckResult]) -> None:
    """Go on only if everything holds.

    Raises:
        StalePlanError: Something is not as it was reviewed; or the proof of a position cannot be made again.
        ApplyError: Nothing is known to differ, but something could not be read.
    """
    failed = [each for each in held if each.outcome is Outcome.FAILED]
    unknown = [each for each in held if each.outcome is Outcome.UNKNOWN]
    if failed and all(each.cutover for each in failed):
        raise StalePlanError(
            f"Plan {digest[:12]}: {_some(failed)} Nothing was written.",
            fix="Stop every producer of its topics, wait until `offsetwise cutover -m FILE --plan PLAN --watch` ends, "
            "then give the same command again.",
        )
    if failed:
        stop = all(each.stoppable for each in failed)
        raise StalePlanError(
            f"Plan {digest[:12]}: expected everything as it was reviewed, found {_count(failed)} different. "
            f"{_some(failed)} Nothing was written.",
            fix="Stop the query and every member of the group, wait two minutes, then give the same command again."
            if stop
            else "Take a new comparison and draft the plan again.",
        )
    unproven = [each for each in unknown if each.unproven is not None]
    if unproven and unproven == unknown:
        raise StalePlanError(
            f"Plan {digest[:12]}: {proof_not_repeated.code}: expected to make the proof of every position again, found "
            f"{many(len(unproven), 'reading')} that cannot be made. {_some(unproven)} Nothing was written.",
            fix=f"{AGAIN} {ACCEPT}",
        )
    if unknown:
        raise ApplyError(
            f"Plan {digest[:12]}: expected to read again what it was made from, found {_count(unknown)} that cannot be "
            f"read. {_some(unknown)} Nothing was written.",
            fix="See to what cannot be read, then give the same command again; or draft the plan again.",
        )


def _left(wanted: Requirements, begun: Collection[Target]) -> Requirements:
    groups = {target.group for target in begun}
    in_place = any(target_type(target.kind).is_checkpoint(target, wanted.checkpoint) for target in begun)
    return replace(
        wanted,
        groups=tuple(each for each in wanted.groups if each.group not in groups),
        checkpoint=None if in_place else wanted.checkpoint,
        targets=tuple(each for each in wanted.targets if each.target not in begun),
        sink=None if any(target_type(target.kind).role is TargetRole.TRANSACTIONS for target in begun) else wanted.sink,
    )


def _drifted(found: Drift) -> RecheckResult:
    outcome = Outcome.UNKNOWN if found.kind is DriftKind.UNREADABLE else Outcome.FAILED
    active = found.kind is DriftKind.GROUP_ACTIVE
    return RecheckResult(
        outcome=outcome, told=found.told, topic=found.topic, partition=found.partition, stoppable=active
    )


def _checkpoint(
    wanted: CheckpointRequirement | None, readers: Readers
) -> tuple[Checkpoint | None, Mapping[str, str], list[RecheckResult]]:
    """Read the checkpoint and the files the positions came from, and say what only reading it now can tell."""
    if wanted is None:
        return None, {}, []
    try:
        now = readers.checkpoint(wanted.uri)
        files = readers.digests(now, tuple(path for path, _ in wanted.files))
    except OffsetwiseError as error:
        return None, {}, [RecheckResult(outcome=Outcome.UNKNOWN, told=error.problem)]
    running = (each.message for each in now.problems if each.code == reader_suspected.code)
    return (
        now,
        files,
        [RecheckResult(outcome=Outcome.FAILED, told=f"{wanted.uri}: {told}", stoppable=True) for told in running],
    )


def _covered(plan: Plan) -> Iterator[RecheckResult]:
    """Every topic that is used must be one that the plan requires: else nobody held it to anything."""
    for side, required, wanted in (
        (Cluster.OLD, plan.requirements.old, {p.topic for p in plan.positions if p.old_offset is not None}),
        (Cluster.NEW, plan.requirements.new, {p.new_topic for p in plan.positions}),
    ):
        for topic in sorted(wanted - {each.name for each in required.topics}):
            told = f"Topic {topic!r} of {required.name!r}: the plan uses it and does not say which topic it was."
            yield RecheckResult(outcome=Outcome.UNKNOWN, told=f"{told} It is on the {side} cluster.", topic=topic)


def _count(held: Sequence[RecheckResult]) -> str:
    return many(len(held), "thing")


def _some(held: Sequence[RecheckResult]) -> str:
    more = f" And {len(held) - NAMED:,} more." if len(held) > NAMED else ""
    return " ".join(each.told for each in held[:NAMED]) + more
