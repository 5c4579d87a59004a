"""Proofs of positions that span several partitions, or that are on streams whose positions name records."""

from __future__ import annotations

from collections.abc import Mapping

from offsetwise.model import AnyPosition, PartProof, Plan, PlannedPosition
from offsetwise.ports.stream import of_position
from offsetwise.position import OpaquePosition, needs_log, of_one_stream


def without_parts(position: PlannedPosition) -> str | None:
    """Explain why the proof of a position in several partitions cannot be repeated; None if it can.

    Only positions that are called proven need one. Each partition that the job has not read to its end must have a
    part. A part names a record, unless nothing or everything can lie below the position: then the whole partition is
    read.
    """
    parts = () if position.proof is None else position.proof.parts
    name, new = str(position.new_topic_partition), position.new_offset
    remaining = {
        number: old_position for number, old_position in _several(position.old_offset) if needs_log(old_position)
    }
    visited: set[int] = set()
    for part in parts:
        if part.partition in visited:
            return f"{name}: the plan proves {new} by {part.partition} twice."
        visited.add(part.partition)
        if not _encloses(part, remaining.get(part.partition), new):
            return f"{name}: the plan's records of {part.partition} do not enclose {new}."
    if not (_needs_no_record(new, remaining) or (position.proof is not None and position.proof.has_records)):
        return f"{name}: the plan has no records that prove {new}."
    missing = sorted(remaining.keys() - visited)
    return f"{name}: the plan has no records of {missing[0]} that prove {new}." if missing else None


def stays(plan: Plan, position: PlannedPosition) -> bool:
    old, new = plan.requirements.old, plan.requirements.new
    return (old.cluster_id, position.topic) == (new.cluster_id, position.new_topic)


def moves_without_records(position: PlannedPosition, *, on_one_topic: bool) -> str | None:
    """Explain why a position that names its record is not the job's own; None if it is, or if records prove it.

    Args:
        position: One partition of a plan.
        on_one_topic: Whether the job stays on its topic, where such a position means the same record.
    """
    old = position.old_offset
    if not position.proven or not isinstance(old, OpaquePosition) or old.of:
        return None
    stream = of_position(old)
    if stream is None or not stream.matches_records:
        return None
    if on_one_topic and all(
        point.new is not None and stream.of_one_record(point.old, point.new) for point in position.restart
    ):
        return None
    return (
        f"{position.new_topic_partition}: the plan has no records that prove {position.new_offset:,}, and the job is "
        f"at {old} of {position.topic!r}."
    )


def _several(position: AnyPosition | None) -> tuple[tuple[int, AnyPosition], ...]:
    return position.of if isinstance(position, OpaquePosition) else ()


def _needs_no_record(new: AnyPosition, remaining: Mapping[int, AnyPosition]) -> bool:
    stream = of_position(new)
    oldest = None if stream is None else stream.oldest
    return not remaining or not needs_log(new) or (oldest is not None and new == oldest)


def _encloses(part: PartProof, old: AnyPosition | None, new: AnyPosition) -> bool:
    below, above = part.before, part.after
    if below is not None and not (_ordered(below.old, old, strictly=True) and _ordered(below.new, new, strictly=True)):
        return False
    return above is None or (_ordered(old, above.old) and _ordered(new, above.new))


def _ordered(low: AnyPosition | None, high: AnyPosition | None, *, strictly: bool = False) -> bool:
    if low is None or high is None:
        return True
    return of_one_stream(low, high) and not (high < low or (strictly and high == low))
