from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from offsetwise.comparison import Scene
from offsetwise.model import Ahead, AnyPosition, Cluster, Exactness, LogRange, Method, RawReuse, RawVerdict, Translation
from offsetwise.plugins.kinesis.stream.matching.proving import parts_of
from offsetwise.plugins.kinesis.stream.matching.search import Search
from offsetwise.plugins.kinesis.stream.matching.shards import HashKeyPart, ShardCut
from offsetwise.plugins.kinesis.stream.spec import AT_UNKNOWN_TIME, LATEST, TRIM_HORIZON, at_time, saves_none, shard_id
from offsetwise.translation.query import Query
from offsetwise.translation.resolve import Match
from offsetwise.translation.windows import Reason
from offsetwise.wording import many

_IDENTITY: Final = "partition key and data"


def match_of(scene: Scene, first: Query, search: Search, number: int, cut: ShardCut | None, *, salt: bytes) -> Match:
    position = _position(scene, first, search, number)
    if cut is None or cut.index is None:
        return Match(query=position, stream=nowhere(why_not(search, number, cut)))
    window, shard = search.new[number], search.streams.new[number]
    new_position, highest = (
        search.copies.position_at(number, index or 0, windows=search.new, since_ms=search.since.get(number))
        for index in (cut.index, cut.highest)
    )
    ours = [search.old[old] for old in search.olds(number)]
    parts = tuple(parts_of(search, number, cut.index))
    again = _read_again(search, number)
    if again and cut.exactness in (Exactness.EXACT, Exactness.POSITION_EXACT):
        cut = replace(cut, exactness=Exactness.BOUNDED)
    translation = Translation(
        place=new_position,
        highest=highest,
        exactness=cut.exactness or Exactness.UNKNOWN,
        method=Method.CONTENT,
        reason=_reason(search, cut, new_position, highest, again),
        raw=RawReuse(verdict=RawVerdict.UNKNOWN),
        replay=None if cut.replay is None else cut.replay + sum(again.values()),
        skip=0,
        foreign_below=cut.foreign_below,
        counted=cut.replay is not None,
        ahead=cut.ahead,
        statements=(*_statements(search, cut), *_aggregates(search, again), _calls(search)),
        identity=_IDENTITY,
        old_records_read=sum((search.explicit or shard.low <= key <= shard.high) for our in ours for key in our.keys),
        new_records_read=len(window.numbers),
        salt=salt.hex(),
        parts=parts,
    )
    return Match(query=position, stream=translation)


def _read_again(search: Search, number: int) -> dict[int, int]:
    """Return how many user records of a partly processed aggregate are read twice, by old shard.

    Its copy is unread as a whole. If no copy was read, it counts for every new shard that could get it.
    """
    shard = search.streams.new[number]
    again = {}
    for old in search.olds(number):
        position, window = search.streams.job_positions[old], search.old[old]
        if position.sub is None or position.sequence not in window.numbers:
            continue
        index = window.numbers.index(position.sequence)
        copies = [new for new, new_window in search.new.items() if window.identities[index] in new_window.identities]
        leads = not search.streams.by_hash or search.explicit or shard.low <= window.keys[index] <= shard.high
        if number in copies or (not copies and leads):
            again[old] = position.sub + 1
    return again


def _aggregates(search: Search, again: Mapping[int, int]) -> Iterator[str]:
    for old, count in again.items():
        yield (
            f"Of shard {old}, the aggregate {search.streams.job_positions[old].sequence} is processed in part: "
            f"{many(count, 'user record')} of its copy are read twice."
        )


def nowhere(reason: str) -> Translation:
    return Translation(
        place=None,
        exactness=Exactness.UNKNOWN,
        method=Method.NONE,
        reason=reason,
        raw=RawReuse(verdict=RawVerdict.UNKNOWN),
    )


def why_not(search: Search, number: int, cut: ShardCut | None) -> str:
    streams, unread = search.streams, search.unread(number)
    if unread:
        return unread
    if streams.contradiction:
        return streams.contradiction
    if streams.unlisted:
        return (
            f"Stream {streams.old_name!r} does not list {shard_id(streams.unlisted[0])} any more, so what the job "
            "has left unread there is not known."
        )
    if cut is None:
        return saves_none(
            next(position for position in streams.job_positions.values() if position in (LATEST, AT_UNKNOWN_TIME))
        )
    part = _doubtful(cut)
    of = f" Of {_shards(part.old)}." if part is not None and part.old else ""
    match cut.reason:
        case Reason.NOT_YET_MIRRORED:
            return (
                f"The copy of the last record that the job read is not on {streams.new_name!r} yet: compare again when "
                f"the link has caught up.{of}"
            )
        case Reason.NO_COMMON_RECORD:
            return (
                f"No record read of {streams.new_name!r} is a copy of one read of {streams.old_name!r}, so nothing "
                "can be counted: check that the link copies keys and data unchanged, and compare again when it has "
                f"copied a record.{of}"
            )
        case Reason.EMPTY_LOGS:
            return _quiet(search, number)
    return f"Too few records that occur once could be paired within the budget to prove a position.{of}"


def _quiet(search: Search, number: int) -> str:
    begun = search.since.get(number)
    where = f"{search.copies.part_label} {number} of {search.streams.new_name!r}"
    message = (
        f"No record of {where} arrived since the records around the old positions, and older ones were not read: "
        "whether they are copies of what the job has read was not counted. Raise content.window_records until it is "
        "read whole"
    )
    if begun is None or not search.copies.own_times:
        return f"{message}, or decide its position."
    # A copy arrives after its record, so no copy of an unread record arrived before this time.
    return f"{message}, or decide {at_time(begun)}, which misses no unread record and may read some twice."


def _doubtful(cut: ShardCut) -> HashKeyPart | None:
    return next((part for part in cut.parts if part.cut.exactness in (None, Exactness.UNKNOWN)), None)


def _reason(
    search: Search, cut: ShardCut, position: AnyPosition, highest: AnyPosition, again: Mapping[int, int]
) -> str:
    olds = _shards(sorted({number for part in cut.parts for number in part.old}))
    if not cut.parts:
        if not search.streams.by_hash:
            return "It holds no record: it begins at its start."
        return "Neither stream holds a record of its hash keys: it begins at its oldest record."
    twice = "an unknown number of records" if cut.replay is None else many(cut.replay, "record")
    if cut.interleaved:
        return (
            f"Records of {olds} lie interleaved, so that no position fits them all: from {position} on none is missed, "
            f"and up to {twice} are read twice."
        )
    if again and position == highest:
        return (
            f"At {position} no unread record of {olds} is skipped, counted on the records; "
            f"{many(sum(again.values()), 'user record')} of an aggregate are read twice."
        )
    if cut.reason is Reason.NATIVE_BELOW and cut.foreign_below:
        return (
            f"At {highest} no unread record of {olds} is skipped and no read one repeated, but "
            f"{many(cut.foreign_below, 'record')} below match none of the old stream: others may have written them, "
            f"and the job would never read them. From {position} on none is missed, and up to {twice} are read twice."
        )
    if cut.exactness is Exactness.BOUNDED:
        return (
            f"Of {olds}, read and unread records are not parted by one position, or their numbers do not add up: it "
            f"lies between {position} and {highest}, and from {position} on none is missed and up to {twice} are "
            "read twice."
        )
    return f"At {position} no unread record of {olds} is skipped and no read one repeated, counted on the records."


def _shards(numbers: Sequence[int]) -> str:
    return f"{'shard' if len(numbers) == 1 else 'shards'} {', '.join(map(str, numbers))}"


def _statements(search: Search, cut: ShardCut) -> Iterator[str]:
    for part in cut.parts:
        of = _shards(part.old)
        yield (
            f"Of {of}, {part.cut.anchors_before:,} unique records before and {part.cut.anchors_after:,} after the "
            f"position align in order; {_IDENTITY} are equal."
        )
        for count, message in (
            (part.leading, "before the first copy match none of the old stream and stay unread"),
            (part.surplus, "more than the old stream holds are second copies"),
            (part.uncopied, "that the job has read have no copy"),
            (part.cut.missing, "that the job has not read have no copy"),
            (part.cut.foreign_below or 0, "of unknown origin lie among the copies of what the job has read"),
        ):
            if count:
                yield f"Of {of}, {many(count, 'record')} {message}."
        if part.identical:
            yield f"Of {of}, identical records were read and unread: only how many there are tells."
    if not search.streams.by_hash:
        yield "A partition may have records of every shard: all were read, and records tell which it has."
    elif search.explicit:
        yield "Producers name hash keys themselves: all shards were searched, and records tell which shard they are in."
    for count, message in zip(cut.nowhere, ("has read", "has not read"), strict=True):
        if count:
            where = f"in any {search.copies.part_label} of {search.streams.new_name!r}"
            yield f"{many(count, 'record')} that the job {message} {'has' if count == 1 else 'have'} no copy {where}."
    yield _ahead(cut.ahead)


def _calls(search: Search) -> str:
    read = "both streams were" if search.streams.by_hash else f"{search.streams.old_name!r} were"
    return f"The shards of {read} read by {many(search.calls, 'call')}, at most four a second and shard."


def _position(scene: Scene, first: Query, search: Search, number: int) -> Query:
    return replace(
        first,
        of=replace(first.of, planned_batch=None),
        partition=number,
        offset=search.streams.place_in(number),
        old=LogRange(log_start=TRIM_HORIZON, lso=LATEST, hw=LATEST),
        new=scene.log(Cluster.NEW, first.new_topic, number),
        planned=None,
    )


def _ahead(ahead: Ahead) -> str:
    counted = (
        (ahead.missing, "missing there"),
        (ahead.duplicated, "there more than once"),
        (ahead.foreign, "of unknown origin"),
    )
    if not ahead.examined:
        return "What lies further ahead was not examined."
    if counts := [f"{count:,} {word}" for count, word in counted if count]:
        return f"Ahead, read on both streams to the end: {', '.join(counts)}."
    if ahead.missing is None:
        return "Everything ahead was read on both streams; whether copies are still to come, it does not show."
    return "Everything ahead was read on both streams and is the same."
