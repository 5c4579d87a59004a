"""Replaces numbers in an offset file; everything else stays byte for byte.

The numbers (and topic names, if topics are renamed) are replaced in the text, because Spark compares offsets as text
and keeps a metadata line with keys of its own. The result is parsed again with the reader of positions, and refused
unless exactly the intended numbers changed.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.apply.writing import NumberChange
from offsetwise.model import TopicOffsets, TopicPartition
from offsetwise.plugins.spark.engine.offset_log import (
    GarbledError,
    SourceOffset,
    parse_initial_offsets,
    parse_offsets,
)
from offsetwise.targets.moves import Move, by_place, refused

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}:,]|-?[0-9]+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    data: bytes
    changes: tuple[NumberChange, ...]


def edit_offsets(data: bytes, moves: Mapping[str, Iterable[Move]], *, subject: str) -> Edited:
    """Edit `offsets/<batch>`.

    Args:
        data: The file.
        moves: By source id. Sources that are not named stay byte for byte.
        subject: Name of the file in errors.

    Raises:
        ApplyError: A number is not the expected one, a partition has no target, or the result cannot be proven.
    """
    try:
        head, lines = parse_offsets(data)
    except GarbledError as error:
        raise refused(subject, f"an offset file, found it garbled: {error}") from error
    text = data.decode("utf-8")
    spans = line_spans(text, head.version, [*lines])
    intended: list[tuple[str, SourceOffset]] = []
    changes: list[NumberChange] = []
    pieces: list[tuple[int, int, str]] = []
    remaining = {source: tuple(source_moves) for source, source_moves in moves.items()}
    for source, source_offset in lines.items():
        moved = remaining.pop(source, ())
        if not moved:
            intended.append((source, source_offset))
            continue
        start, end = spans[source]
        offset, changed, line = _edit_line(source_offset, text[start:end], moved, subject)
        intended.append((source, offset))
        changes += changed
        pieces.append((start, end, line))
    if remaining:
        raise refused(subject, f"a line of source {min(remaining)!r}, found none")
    edited = replaced(text, pieces).encode("utf-8")
    try:
        head_again, again = parse_offsets(edited)
    except GarbledError as error:
        raise refused(subject, f"to read the edited text again, found {error}") from error
    _prove(subject, head_again == head and [*again.items()] == intended)
    return Edited(data=edited, changes=tuple(changes))


def edit_initial(data: bytes, source: str, moves: Iterable[Move], *, subject: str) -> Edited:
    """Edit `sources/<id>/0` of a Kafka source; the byte before its version stays.

    Raises:
        ApplyError: As for `edit_offsets`, or Spark could not read the file.
    """
    before, stumble = parse_initial_offsets(data)
    if stumble is not None or before.damage is not None:
        raise refused(subject, f"initial offsets, found them unusable: {stumble or before.damage}")
    # The byte before the version may be any: Spark's reader skips it.
    start = data.index(b"{", 1)
    offset, changes, line = _edit_line(replace(before, id=source), data[start:].decode("utf-8"), tuple(moves), subject)
    edited = data[:start] + line.encode("utf-8")
    _prove(subject, parse_initial_offsets(edited) == (replace(offset, id=""), None))
    return Edited(data=edited, changes=changes)


def _edit_line(
    source_offset: SourceOffset, text: str, moves: tuple[Move, ...], subject: str
) -> tuple[SourceOffset, tuple[NumberChange, ...], str]:
    if not source_offset.is_kafka or source_offset.damage is not None or source_offset.negative:
        raise refused(
            subject, f"Kafka offsets of source {source_offset.id!r}, found {source_offset.damage or 'something else'}"
        )
    remaining = by_place(moves, subject)
    names = {move.topic: move.new_topic for move in moves}
    by_topic: defaultdict[str, list[Move]] = defaultdict(list)
    for planned_move in sorted(moves, key=lambda move: move.partition):
        by_topic[planned_move.topic].append(planned_move)
    parsed = _scan(text, subject)
    changes: list[NumberChange] = []
    pieces: list[tuple[int, int, str]] = []
    results = []
    for topic in parsed:
        if not topic.partitions and topic.name not in names:
            continue
        if topic.name not in names:
            raise refused(subject, f"only topics of the plan, found {topic.name!r}")
        new_name = names[topic.name]
        if new_name != topic.name:
            pieces.append((*topic.name_at, json.dumps(new_name)))
        partitions: list[int] = []
        numbers: list[int] = []
        for partition, number, start, end in topic.partitions:
            at = TopicPartition(topic.name, partition)
            move = remaining.pop(at, None)
            if move is None:
                raise refused(subject, f"only partitions of the plan, found {at}")
            if move.old is not None and move.old != number:
                raise refused(subject, f"{at} at {move.old:,} as in the plan, found {number:,}")
            partitions.append(partition)
            numbers.append(move.new)
            changes.append(_change(source_offset.id, move, number))
            if move.new != number:
                pieces.append((start, end, str(move.new)))
        added = [move for move in by_topic[topic.name] if move.topic_partition in remaining]
        for move in added:
            if not move.added:
                raise refused(subject, f"{move.topic_partition}, found no such partition")
            del remaining[move.topic_partition]
            partitions.append(move.partition)
            numbers.append(move.new)
            changes.append(_change(source_offset.id, move, None))
        if added:
            text_of = ",".join(f'"{move.partition}":{move.new}' for move in added)
            pieces.append((topic.end, topic.end, f"{',' if topic.partitions else ''}{text_of}"))
        if partitions:
            results.append((new_name, tuple(partitions), tuple(numbers)))
    if remaining:
        raise refused(subject, f"{min(remaining)}, found no such partition")
    return _as_offsets(source_offset, results), tuple(changes), replaced(text, pieces)


def _as_offsets(
    source_offset: SourceOffset, topics: list[tuple[str, tuple[int, ...], tuple[int, ...]]]
) -> SourceOffset:
    offsets = tuple(TopicOffsets(topic=topic, partitions=parts, offsets=numbers) for topic, parts, numbers in topics)
    return replace(source_offset, offsets=offsets)


def _change(source: str, move: Move, before: int | None) -> NumberChange:
    return NumberChange(
        source=source,
        topic=move.topic,
        partition=move.partition,
        before=before,
        new_topic=move.new_topic,
        after=move.new,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topic:
    name: str
    name_at: tuple[int, int]
    partitions: tuple[tuple[int, int, int, int], ...]
    """(partition, number, start, end)."""
    end: int
    """End of its last partition."""


def _scan(text: str, subject: str) -> list[_Topic]:
    tokens = _tokens(text, subject)
    topics: list[_Topic] = []
    _expect(next(tokens), "{", subject)
    token = next(tokens)
    while token[0] != "}":
        name, start, end = token
        _expect(next(tokens), ":", subject)
        _expect(opening := next(tokens), "{", subject)
        partitions: list[tuple[int, int, int, int]] = []
        last = opening[2]
        token = next(tokens)
        while token[0] != "}":
            partition = int(json.loads(token[0]))
            _expect(next(tokens), ":", subject)
            number, number_start, last = next(tokens)
            partitions.append((partition, int(number), number_start, last))
            token = next(tokens)
            if token[0] == ",":
                token = next(tokens)
        topics.append(_Topic(name=json.loads(name), name_at=(start, end), partitions=tuple(partitions), end=last))
        token = next(tokens)
        if token[0] == ",":
            token = next(tokens)
    return topics


def _tokens(text: str, subject: str) -> Iterator[tuple[str, int, int]]:
    at = 0
    while matched := _TOKEN.match(text, at):
        at = matched.end()
        yield matched[1], *matched.span(1)
    raise refused(subject, f"an offset text, found {text[at : at + 40]!r}")


def _expect(token: tuple[str, int, int], expected: str, subject: str) -> None:
    if token[0] != expected:
        raise refused(subject, f"{expected!r} in an offset text, found {token[0][:40]!r}")


def line_spans(text: str, version: int, ids: list[str]) -> dict[str, tuple[int, int]]:
    """Return the range of each source's text, between line ends and after a v2 id."""
    starts = [0]
    ends: list[int] = []
    for matched in _LINE_END.finditer(text):
        ends.append(matched.start())
        starts.append(matched.end())
    ends.append(len(text))
    lines = list(zip(starts, ends, strict=True))[2:]
    if version == 1:
        return dict(zip(ids, lines, strict=False))
    results = {}
    for start, end in lines:
        source, colon, _ = text[start:end].partition(":")
        if colon:
            results[source.strip()] = (start + len(source) + 1, end)
    return results


def replaced(text: str, pieces: list[tuple[int, int, str]]) -> str:
    results, at = [], 0
    for start, end, new in sorted(pieces):
        results += [text[at:start], new]
        at = end
    return "".join((*results, text[at:]))


def _prove(subject: str, proven: bool) -> None:
    if not proven:
        raise refused(subject, "only the planned numbers to change, found another difference after the edit")
