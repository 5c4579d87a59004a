from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.files import changed_file
from offsetwise.apply.verification.seen import Places, Seen, for_all, number
from offsetwise.engines.engine import CheckpointReading
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.model import (
    Batch,
    BatchSource,
    Plan,
    PlannedPosition,
    ReceiptStep,
    TopicPartition,
    Turnout,
    offsets_by_partition,
)
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_offsets

_INITIAL: Final = -1
"""Batch number of a job that begins at its initial offsets."""


def began(plan: Plan, step: ReceiptStep, readers: Readers, uri: str, *, fresh: bool) -> list[Seen]:
    """Compare a checkpoint of the new job with the plan.

    Args:
        plan: The approved plan.
        step: The written target.
        readers: Reads the checkpoint anew.
        uri: The checkpoint: the written one, or one that the job created from it.
        fresh: Whether the job begins at initial offsets, as a new query.
    """
    reading = readers.with_times(uri)
    required = plan.requirements.checkpoint
    if not fresh and required is not None and reading.checkpoint.job_id != plan.job_id:
        message = f"{uri} is of the query {reading.checkpoint.job_id}, expected {plan.job_id}."
        return for_all(plan, Turnout.DIFFERENT, message)
    batches = {batch.id: batch for batch in reading.checkpoint.details.batches}
    begins = _INITIAL if fresh else _begins(plan)
    later = [batch for batch in batches if batch > begins]
    changed = None if step.place != uri else changed_file(step, readers, gone_is_fine=bool(later))
    if changed is not None:
        return for_all(plan, Turnout.DIFFERENT, changed)
    if begins == _INITIAL and not reading.initial:
        return for_all(plan, Turnout.UNKNOWN, f"{uri} has no initial offsets, so the job has not begun there yet.")
    history = _History(
        begins=begins,
        start=_start(reading, batches.get(begins)) if begins in batches or begins == _INITIAL else None,
        batches=tuple((batches[batch], _at(batches[batch].sources)) for batch in sorted(later)),
        uri=uri,
        problems=tuple(
            problem.message for problem in reading.checkpoint.problems if problem.code == checkpoint_damaged.code
        ),
    )
    return [_position(position, history) for position in plan.positions]


def began_as_told(plan: Plan, step: ReceiptStep, data: bytes, readers: Readers, checkpoint: str | None) -> list[Seen]:
    """Compare a file of starting offsets with the plan, and the checkpoint of the new query, if one is given.

    Args:
        plan: The approved plan.
        step: The written target.
        data: The file: one line of an offset log, whose reader parses it.
        readers: Reads the checkpoint anew.
        checkpoint: The checkpoint.
    """
    try:
        results = _at_line(data)
    except GarbledError as error:
        return for_all(plan, Turnout.DIFFERENT, f"{step.place} is garbled: {error}.")
    observations = []
    for position in plan.positions:
        offset = results.get(position.new_topic_partition)
        same = offset == position.new_offset
        message = f"{position.new_topic_partition}: {step.place} gives {number(offset)}"
        observations.append(
            Seen(
                found=offset,
                turnout=Turnout.CONFIRMED if same else Turnout.DIFFERENT,
                told=f"{message}, as planned." if same else f"{message}, expected {position.new_offset:,}.",
            )
        )
    if checkpoint is None or any(observation.turnout is Turnout.DIFFERENT for observation in observations):
        return observations
    return began(plan, step, readers, checkpoint, fresh=True)


def _at_line(data: bytes) -> Places:
    line = data.strip()
    (source,) = parse_offsets(b"v1\n\n" + line)[1].values()
    if not source.is_kafka or source.damage is not None:
        raise GarbledError(source.damage or "it holds no Kafka offsets")
    return offsets_by_partition(source.offsets)


def _start(reading: CheckpointReading, batch: Batch | None) -> dict[str, Places]:
    return _at(reading.initial if batch is None else batch.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    begins: int
    start: Mapping[str, Places] | None
    """By source id; None if the file is no longer retained."""
    batches: tuple[tuple[Batch, Mapping[str, Places]], ...]
    """The batches after it, ascending, each with its ends by source id."""
    uri: str
    problems: tuple[str, ...]

    @property
    def where(self) -> str:
        return "the initial offsets" if self.begins == _INITIAL else f"offsets/{self.begins}"


def _begins(plan: Plan) -> int:
    batches = {position.restart[0].batch for position in plan.positions if position.restart}
    known = {batch for batch in batches if batch is not None}
    return max(known, default=_INITIAL)


def _position(position: PlannedPosition, history: _History) -> Seen:
    key = name = position.new_topic_partition
    if history.start is None:
        if not history.batches:
            message = (
                f"{name}: {history.where} of {history.uri} is not there, so nothing tells where the job would begin."
            )
            return Seen(found=None, turnout=Turnout.DIFFERENT, told=message)
        message = f"{name}: {history.where} is not retained any more, so where the job began cannot be seen."
        last = _of(history.batches[-1][1], position.source, key)
        return Seen(found=last, turnout=Turnout.UNKNOWN, told=message)
    start = _of(history.start, position.source, key)
    if start != position.new_offset:
        if start is None and history.problems:
            return Seen(found=None, turnout=Turnout.UNKNOWN, told=f"{name}: {history.problems[0]}")
        message = f"{name}: expected {position.new_offset:,} in {history.where}, found {number(start)}."
        return Seen(found=start, turnout=Turnout.DIFFERENT, told=message)
    return _gone_on(position, key, history)


def _gone_on(position: PlannedPosition, key: TopicPartition, history: _History) -> Seen:
    """Follow the job from the planned position; its first batch must begin there, so no batch may end before it."""
    name = str(position.new_topic_partition)
    at = position.new_offset
    committed: int | None = None
    for batch, ends in history.batches:
        end = _of(ends, position.source, key)
        if end is None and not ends:
            message = f"{name}: offsets/{batch.id} cannot be read, so what the job did cannot be seen."
            return Seen(found=None, turnout=Turnout.UNKNOWN, told=message)
        if end is None:
            message = f"{name}: offsets/{batch.id} leaves this partition out, so the job does not read it from there."
            return Seen(found=None, turnout=Turnout.DIFFERENT, told=message)
        if end < at:
            message = f"{name}: expected offsets/{batch.id} to end at or after {at:,}, found {end:,}."
            return Seen(found=end, turnout=Turnout.DIFFERENT, told=message)
        if batch.committed:
            at, committed = end, batch.id
    if committed is None:
        message = f"{name}: {position.new_offset:,} is there as planned; the job has not committed a batch since."
        return Seen(found=at, turnout=Turnout.CONFIRMED, told=message)
    if at == position.new_offset:
        message = f"{name}: the job began at {at:,} as planned and had nothing to read up to batch {committed}."
        return Seen(found=at, turnout=Turnout.CONFIRMED, told=message, started=True)
    message = (
        f"{name}: the job began at exactly {position.new_offset:,} and has read up to {at:,} in batch {committed}."
    )
    return Seen(found=at, turnout=Turnout.MOVED_ON, told=message, started=True)


def _at(sources: tuple[BatchSource, ...]) -> dict[str, Places]:
    return {source.id: offsets_by_partition(source.offsets) for source in sources}


def _of(sources: Mapping[str, Places], source: str, key: TopicPartition) -> int | None:
    if source in sources:
        return sources[source].get(key)
    return next((offsets[key] for offsets in sources.values() if key in offsets), None) if not source else None
