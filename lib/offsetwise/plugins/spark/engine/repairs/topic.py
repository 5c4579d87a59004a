from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.model import TopicOffsets
from offsetwise.plugins.spark.engine.initial_offsets import read_initial_offsets
from offsetwise.plugins.spark.engine.later_batches import crc_of
from offsetwise.plugins.spark.engine.offset_log import VOID, Lines, parse_offsets
from offsetwise.plugins.spark.engine.repairs.damaged import Damaged, state_used

_LINE_END: Final = re.compile(r"(\r\n|\n|\r)")
_FIRST_SOURCE: Final = 4
"""Index of the first source's line among the pieces, after the version and the metadata with their line ends."""


def restore_topic(damaged: Damaged, values: Mapping[str, str]) -> Repaired:
    """Add topics to the last batch again, at the offsets at which the newest batch that has each ended."""
    topics, restart = sorted({name.strip() for name in values["topic"].split(",")} - {""}), damaged.restart
    last = restart.last_planned
    if last is None or restart.missing:
        raise UnrepairableError(
            "Spark does not start from its last batch.", fix="Repair what `offsetwise inspect` names first."
        )
    # A pending batch is read from the end of the one before, which needs the topics as well.
    among = (
        [last] if restart.reruns is None else [number for number in (last, restart.starts_after) if number is not None]
    )
    replaced: dict[str, bytes] = {}
    ended = []
    for topic in topics:
        batch, before, lost = _newest_with(topic, damaged, last)
        for number in among:
            if number != batch and _lost(before, damaged.lines(number), topic):
                path = f"offsets/{number}"
                replaced[path] = _with(replaced.get(path) or damaged.read(path) or b"", lost)
        ends = (f"{topic}-{p} at {o}" for of in lost.values() for p, o in zip(of.partitions, of.offsets, strict=True))
        ended.append(f"{', '.join(ends)}, where {'the query began' if batch is None else f'batch {batch} ended'}")
    _require_all(topics, damaged, last)
    for path, data in tuple(replaced.items()):
        replaced |= {checksum: crc_of(data) for checksum in damaged.logs.with_checksum(path)[1:]}
    named = ", ".join(topics)
    start = last if restart.reruns is None else restart.starts_after
    return Repaired(
        replaced=replaced,
        costs=(
            f"No record is read twice: {'; '.join(ended)}, and the other partitions as before.",
            f"Records of {named} that retention has taken since are lost, and the query fails with failOnDataLoss=true "
            f"where it has; it has to subscribe to {named} again.",
            "No batch id is used again for other records of the topics that it has."
            if restart.reruns is None
            else f"Batch {last} runs again with the same records and none of these partitions; a sink that has it "
            "ignores it.",
            state_used(start, stateful=damaged.stateful),
        ),
    )


def _require_all(topics: Sequence[str], damaged: Damaged, last: int) -> None:
    """Require that a pending batch lacks no other topic, without which Spark would not run it either.

    Raises:
        UnrepairableError: It lacks another topic.
    """
    before = damaged.restart.starts_after
    if damaged.restart.reruns is None:
        return
    now = damaged.lines(last)
    ended = _initial(damaged, now) if before is None else damaged.lines(before)
    there = {of.topic for line in ended.values() for of in line.offsets}
    missing = sorted(topic for topic in there.difference(topics) if _lost(ended, now, topic))
    if missing:
        raise UnrepairableError(
            f"Batch {last} lacks {', '.join(missing)} as well, so Spark would not run it either.",
            fix=f"Subscribe to all of them again and name all of them: --set topic={','.join([*topics, *missing])}.",
        )


def _newest_with(topic: str, damaged: Damaged, last: int) -> tuple[int | None, Lines, dict[str, TopicOffsets]]:
    """Return the newest batch with partitions of a topic that the last one lacks, its lines, and those partitions.

    The partitions are by source. The initial offsets count as a batch (None) while the first batch is not committed.

    Raises:
        UnrepairableError: No earlier batch has more of the topic.
    """
    lines = {last: damaged.lines(last)}
    for batch in sorted((number for number in damaged.logs.planned if number < last), reverse=True):
        lines[batch] = damaged.lines(batch)
        lost = _lost(lines[batch], lines[last], topic)
        if lost:
            return batch, lines[batch], lost
    if damaged.restart.from_initial:
        initial = _initial(damaged, lines[last])
        lost = _lost(initial, lines[last], topic)
        if lost:
            return None, initial, lost
    known = sorted({of.topic for of_batch in lines.values() for line in of_batch.values() for of in line.offsets})
    there = any(of.topic == topic for line in lines[last].values() for of in line.offsets)
    raise UnrepairableError(
        f"offsets/{last} has topic {topic!r} with all partitions of earlier batches."
        if there
        else f"No batch in offsets/ has topic {topic!r}; they have {', '.join(known[:12])}.",
        fix="Nothing is to be put back: see with `offsetwise inspect` whether anything else is wrong."
        if there
        else "Name a topic that an earlier batch has.",
    )


def _initial(damaged: Damaged, first: Lines) -> Lines:
    """Return where the query began, as the lines of an offset file in place of the one before the first."""
    initial = read_initial_offsets(damaged.folder, present=True, checksums=False).offsets
    return {name: replace(initial[name], id=name) for name in first if name in initial}


def _lost(before: Lines, now: Lines, topic: str) -> dict[str, TopicOffsets]:
    lost = {}
    for name, line in before.items():
        later = now.get(name)
        if not line.is_kafka or later is None or (later.kind is not None and not later.is_kafka):
            continue
        retained = {(of.topic, partition) for of in later.offsets for partition in of.partitions}
        for of in line.offsets:
            pairs = [
                pair
                for pair in zip(of.partitions, of.offsets, strict=True)
                if of.topic == topic and (topic, pair[0]) not in retained
            ]
            if pairs:
                partitions, offsets = zip(*pairs, strict=True)
                lost[name] = TopicOffsets(topic=topic, partitions=partitions, offsets=offsets)
    return lost


def _with(data: bytes, added: Mapping[str, TopicOffsets]) -> bytes:
    """Return an offset file with partitions added to the lines of its sources; all else is unchanged byte for byte."""
    pieces = _LINE_END.split(data.decode())
    named = parse_offsets(data)[0].version != 1
    for number, at in enumerate(range(_FIRST_SOURCE, len(pieces), 2)):
        head, text = _named(pieces[at]) if named else ("", pieces[at])
        of = added.get(head.removesuffix(":").strip() if named else str(number))
        if of is None:
            continue
        body: dict[str, Any] = {} if text.strip() == VOID else json.loads(text)
        body.setdefault(of.topic, {}).update(
            {str(partition): offset for partition, offset in zip(of.partitions, of.offsets, strict=True)}
        )
        pieces[at] = head + json.dumps(body, separators=(",", ":"))
    return "".join(pieces).encode()


def _named(text: str) -> tuple[str, str]:
    source, colon, line = text.partition(":")
    return source + colon, line
