"""Resolve one row of the comparison: by the records, or else by claims, or else with a reason why it is unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace

from offsetwise.model import (
    Ahead,
    AnyPosition,
    Candidate,
    Evidence,
    Exactness,
    LogRange,
    Method,
    OffsetReset,
    PartitionComparison,
    RawReuse,
    RawVerdict,
    RestartPoint,
    Translation,
)
from offsetwise.translation.explain import ReadingWay, explain, read_by
from offsetwise.translation.old_log import begun
from offsetwise.translation.query import Query
from offsetwise.translation.windows import Cut, Reason
from offsetwise.translation.worker import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    query: Query
    stream: Translation | None = None
    """The translation by the stream itself, if it matches records in its own way; then nothing else counts."""
    answer: Answer | None = None
    """The answer from the records; None if none were read."""
    preserved: bool = False
    """Whether the link keeps offsets: stated, and the probes agree (or no record was read)."""
    probed: str = ""
    """The result of the probes, as a sentence."""
    one_id: str = ""
    """A sentence that the topic has one id on both clusters; empty if it has not, or an id is unknown."""
    candidates: tuple[Candidate, ...] = ()
    mirror_maker: int | None = None
    ways: frozenset[ReadingWay] = frozenset()
    """How the records were read."""
    old_read: int = 0
    new_read: int = 0
    salt: str = ""
    replaced: str = ""
    """Why the old log is not the one that the job read, as a sentence; empty if nothing shows that."""
    planned: Match | None = None
    """The match of the end of a pending batch; None without one."""
    pending_equal: bool | None = None
    """As in `PartitionComparison`."""


def resolve(match: Match) -> PartitionComparison:
    position = match.query
    old = position.old or _NOTHING
    new = position.new or _NOTHING
    offset = position.offset
    row = _start(position, old, new)
    if offset is None:
        row = _without_position(row, position)
    elif match.stream is not None:
        row = _of_stream(row, match.stream)
    elif match.replaced:
        row = _replaced(row, offset, match)
    elif match.preserved:
        row = _preserved(row, offset, match)
    elif match.answer is not None and match.answer.cut is not None:
        row = _by_content(row, offset, match, match.answer.cut)
    else:
        row = _claimed(row, position, offset, match)
    end_new = new.end(position.of.isolation)
    if position.starts_at is not None:
        row = begun(row, position.starts_at)
    row = replace(
        row,
        lag_new=None if end_new is None or row.new_offset is None else end_new - row.new_offset,
        pending_equal=match.pending_equal,
    )
    if offset is None:
        return row
    begin = RestartPoint(batch=position.of.batch, old=offset, new=row.new_offset)
    if position.planned is None:
        return replace(row, restart=(begin,))
    end = None if match.planned is None else resolve(match.planned)
    point = RestartPoint(
        batch=position.of.planned_batch, old=position.planned, new=None if end is None else end.new_offset
    )
    return replace(row, restart=(begin, point), end_evidence=None if end is None else end.evidence)


_NOTHING = LogRange(log_start=None, lso=None, hw=None)


def _start(position: Query, old: LogRange, new: LogRange) -> PartitionComparison:
    end_old = old.end(position.of.isolation)
    offset = position.offset
    return PartitionComparison(
        source=position.of.source,
        topic=position.topic,
        partition=position.partition,
        old_offset=offset,
        new_topic=position.new_topic,
        new_offset=None,
        exactness=Exactness.UNKNOWN,
        method=Method.NONE,
        restart=(),
        bounds=(None, None),
        replay=None,
        skip=None,
        foreign_below=None,
        counted=False,
        ahead=Ahead(examined=False),
        old=old,
        new=new,
        lag_old=None if end_old is None or offset is None else end_old - offset,
        lag_new=None,
        mirror_maker=None,
        raw=RawReuse(verdict=RawVerdict.UNKNOWN),
        findings=(),
        evidence=Evidence(reason=""),
    )


def _without_position(row: PartitionComparison, position: Query) -> PartitionComparison:
    if position.of.of_group or position.of.of_file:
        return _without_commit(row, position)
    start = row.new.log_start if row.new.log_start is None else position.of.oldest or row.new.log_start
    return replace(
        row,
        new_offset=start,
        exactness=Exactness.UNKNOWN if start is None else Exactness.CLAIMED,
        method=Method.NONE if start is None else Method.EARLIEST,
        bounds=(start, start),
        evidence=Evidence(
            reason=f"The job has no position for {position.topic_partition}. It would start at the earliest "
            "record unless decided otherwise."
        ),
    )


def _without_commit(row: PartitionComparison, position: Query) -> PartitionComparison:
    reset = position.of.auto_offset_reset
    start = {OffsetReset.EARLIEST: row.new.log_start, OffsetReset.LATEST: row.new.end(position.of.isolation)}.get(
        reset or OffsetReset.NONE
    )
    states = {
        None: "nobody has stated",
        OffsetReset.NONE: f"the migration file states as {OffsetReset.NONE}: the client fails",
    }.get(reset, f"the migration file states as {reset}")
    nothing = "The group has committed nothing" if position.of.of_group else "The job has no position in its file"
    where = "where auto.offset.reset says, which"
    return replace(
        row,
        new_offset=start,
        exactness=Exactness.UNKNOWN if start is None else Exactness.CLAIMED,
        method=Method.EARLIEST if reset is OffsetReset.EARLIEST and start is not None else Method.NONE,
        bounds=(start, start),
        evidence=Evidence(reason=f"{nothing} for {position.topic_partition}. It begins there {where} {states}."),
    )


def _of_stream(row: PartitionComparison, translation: Translation) -> PartitionComparison:
    return replace(
        row,
        new_offset=translation.place,
        exactness=translation.exactness,
        method=translation.method,
        bounds=(translation.place, translation.place if translation.highest is None else translation.highest),
        replay=translation.replay,
        skip=translation.skip,
        foreign_below=translation.foreign_below,
        counted=translation.counted,
        ahead=translation.ahead,
        raw=translation.raw,
        evidence=Evidence(
            reason=translation.reason,
            statements=translation.statements,
            old_records_read=translation.old_records_read,
            new_records_read=translation.new_records_read,
            identity=translation.identity,
            salt=translation.salt,
            parts=translation.parts,
        ),
    )


def _preserved(row: PartitionComparison, offset: AnyPosition, match: Match) -> PartitionComparison:
    inside = _inside(offset, row.new)
    exactness = Exactness.PRESERVED if match.probed else Exactness.CLAIMED
    reason = f"The link is stated to keep offsets. {match.probed}".strip()
    answer = match.answer or Answer()
    return replace(
        row,
        new_offset=offset,
        exactness=exactness,
        method=Method.PRESERVED,
        bounds=(offset, offset),
        replay=0 if match.probed else None,
        skip=0 if match.probed else None,
        mirror_maker=match.mirror_maker,
        raw=RawReuse(
            verdict=_RAW_IF_PRESERVED[inside if match.probed or not inside else None],
            skip=0 if match.probed and inside else None,
            replay=0 if match.probed and inside else None,
        ),
        evidence=Evidence(
            reason=reason,
            statements=_of_topic_and_reading(match),
            neighbours=answer.kept,
            candidates=match.candidates,
            old_records_read=match.old_read,
            new_records_read=match.new_read,
            identity=answer.made_of,
            ignored_headers=answer.ignored_headers,
            schema_ids=answer.schema_ids,
            salt=match.salt,
        ),
    )


_RAW_IF_PRESERVED = {True: RawVerdict.SAME, False: RawVerdict.OUT_OF_RANGE, None: RawVerdict.UNKNOWN}


def _replaced(row: PartitionComparison, offset: AnyPosition, match: Match) -> PartitionComparison:
    """Leave the position open: no record of this log shows where the job was in another one."""
    read = Cut(
        exactness=Exactness.UNKNOWN, reason=Reason.FEW_ANCHORS, old_records=match.old_read, new_records=match.new_read
    )
    evidence = replace(_evidence(row, offset, match, read), reason=match.replaced)
    return replace(row, raw=_raw(row, offset, None), mirror_maker=match.mirror_maker, evidence=evidence)


def _by_content(row: PartitionComparison, offset: AnyPosition, match: Match, cut: Cut) -> PartitionComparison:
    exactness = cut.exactness or Exactness.UNKNOWN
    # If records contradict a claim, or show that the copy is missing, no claim counts.
    may_claim = exactness is Exactness.UNKNOWN and cut.reason is Reason.FEW_ANCHORS
    claim = _best_claim(match.candidates) if may_claim else None
    counted = exactness in (Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.BOUNDED) and cut.replay is not None
    row = replace(
        row,
        new_offset=cut.offset,
        exactness=exactness,
        method=Method.NONE if exactness is Exactness.UNKNOWN else Method.CONTENT,
        bounds=(cut.lo, cut.hi),
        replay=cut.replay,
        skip=cut.skip,
        foreign_below=cut.foreign_below,
        counted=counted,
        ahead=cut.ahead,
        mirror_maker=match.mirror_maker,
        raw=_raw(row, offset, cut, timed=match.answer is not None and match.answer.timed),
    )
    if claim is not None:
        row = replace(
            row,
            new_offset=claim.lo,
            exactness=Exactness.CLAIMED,
            method=claim.method,
            bounds=(claim.lo, claim.hi),
        )
    return replace(row, evidence=_evidence(row, offset, match, cut))


def _claimed(row: PartitionComparison, position: Query, offset: AnyPosition, match: Match) -> PartitionComparison:
    row = replace(row, mirror_maker=match.mirror_maker, raw=_raw(row, offset, None))
    claim = _best_claim(match.candidates)
    missing = _why_not(position, offset)
    if claim is None or missing:
        reason = missing or "Nobody says where the position lies, and no record was read."
        return replace(row, evidence=Evidence(reason=reason, candidates=match.candidates))
    return replace(
        row,
        new_offset=claim.lo,
        exactness=Exactness.CLAIMED,
        method=claim.method,
        bounds=(claim.lo, claim.hi),
        evidence=Evidence(reason=f"{claim.said_by} No record confirmed it.", candidates=match.candidates),
    )


def _why_not(position: Query, offset: AnyPosition) -> str:
    """Return why there can be no answer; empty if a claim may be used."""
    for side, where, log in (
        ("old", position.topic_partition, position.old),
        ("new", position.new_topic_partition, position.new),
    ):
        if log is None:
            return f"The {side} cluster has no {where}."
        if log.log_start is None or log.hw is None:
            return f"The {side} cluster did not give the log of {where}."
        if log.hw < log.log_start:
            return f"The {side} cluster gave a log of {where} that begins at {log.log_start:,} and ends at {log.hw:,}."
    if position.old is not None and position.old.hw is not None and offset > position.old.hw:
        return f"{offset:,} lies past the end of the old log, {position.old.hw:,}: it was not read from there."
    return ""


def _best_claim(candidates: tuple[Candidate, ...]) -> Candidate | None:
    """Return the claim with the highest lower end: each claims that no unread record lies below its own."""
    usable = [candidate for candidate in candidates if candidate.lo is not None and not candidate.guess]
    return max(usable, key=lambda candidate: candidate.lo or 0, default=None)


def _raw(row: PartitionComparison, offset: AnyPosition, cut: Cut | None, *, timed: bool = False) -> RawReuse:
    inside = _inside(offset, row.new)
    if inside is None:
        return RawReuse(verdict=RawVerdict.UNKNOWN)
    if not inside:
        return RawReuse(verdict=RawVerdict.OUT_OF_RANGE)
    if cut is None:
        return RawReuse(verdict=RawVerdict.UNKNOWN)
    if cut.raw_skip is not None and cut.raw_replay is not None:
        verdict = RawVerdict.LOSS if cut.raw_skip else RawVerdict.REPLAY if cut.raw_replay else RawVerdict.SAME
        return RawReuse(verdict=verdict, skip=cut.raw_skip, replay=cut.raw_replay)
    if cut.exactness is Exactness.UNKNOWN:
        return RawReuse(verdict=RawVerdict.CONFUSION if cut.raw_differs else RawVerdict.UNKNOWN)
    # Records between the anchors are in the order of the new log: unread ones lie above the position, read ones below
    # it. If neither times nor the records ahead show it, a mirror may have started again, with copies further ahead.
    once = cut.reason is not Reason.COPIES_BELOW and (timed or cut.since_append or cut.ahead.examined)
    if cut.hi is not None and offset > cut.hi and once:
        return RawReuse(verdict=RawVerdict.LOSS)
    if cut.lo is not None and offset < cut.lo:
        return RawReuse(verdict=RawVerdict.REPLAY)
    return RawReuse(verdict=RawVerdict.UNKNOWN)


def _of_topic_and_reading(match: Match) -> tuple[str, ...]:
    return tuple(filter(None, (match.one_id, read_by(match.ways))))


def _inside(offset: AnyPosition, log: LogRange) -> bool | None:
    if log.log_start is None or log.hw is None:
        return None
    return log.log_start <= offset <= log.hw


def _evidence(row: PartitionComparison, offset: AnyPosition, match: Match, cut: Cut) -> Evidence:
    answer = match.answer or Answer()
    reason, statements = explain(row, offset, cut, made_of=answer.made_of, candidates=match.candidates)
    return Evidence(
        reason=reason,
        statements=(*statements, *filter(None, (match.probed,)), *_of_topic_and_reading(match)),
        neighbours=cut.neighbours,
        at_raw=cut.at_raw,
        candidates=match.candidates,
        anchors_before=cut.anchors_before,
        anchors_after=cut.anchors_after,
        old_records_read=cut.old_records,
        new_records_read=cut.new_records,
        identity=answer.made_of,
        ignored_headers=answer.ignored_headers,
        schema_ids=answer.schema_ids,
        salt=match.salt,
    )
