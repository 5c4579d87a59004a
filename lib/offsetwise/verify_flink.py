"""Where a Flink job stands that was restored on the new cluster, by a checkpoint or savepoint of its own.

It tells where the job stands, not where it began: Flink keeps no history. A position below the planned one, or past the
end of the log, shows that it began elsewhere or reads another cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise.model import Checkpoint, PartitionState, PlannedPosition, TopicPartition, Turnout
from offsetwise.sources.flink_uid import operator_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One position at one target."""

    found: int | None
    turnout: Turnout
    told: str
    started: bool = False


class Stands:
    """The positions of a Flink checkpoint, by source and partition."""

    def __init__(self, read: Checkpoint) -> None:
        self._ids = {source.id for source in read.sources}
        self._at = {
            (source.id, at.topic, at.partition): at.offset for source in read.sources for at in source.positions
        }

    def of(self, position: PlannedPosition) -> int | None:
        """Give where a planned position stands, None where nothing does. People may have named an id by its uid."""
        source = position.source if position.source in self._ids else operator_id(position.source)
        return self._at.get((source, position.new_topic, position.partition))


def gone_on(
    position: PlannedPosition, stands: Stands, own: Checkpoint, logs: Mapping[TopicPartition, PartitionState]
) -> Seen:
    """Say where a restored job stands in one partition.

    Args:
        position: The planned one.
        stands: Those of `own`.
        own: A checkpoint that the restored job made.
        logs: The new cluster's, read after `own` was.
    """
    key = TopicPartition(topic=position.new_topic, partition=position.partition)
    found, planned, log = stands.of(position), position.new_offset, logs.get(key)
    end = None if log is None else log.hw
    if found is None:
        told = f"{key}: {own.uri} leaves this partition out, so the job does not read it from there."
        return Seen(found=None, turnout=Turnout.DIFFERENT, told=told)
    if found < planned:
        told = f"{key}: expected {planned} or more in {own.uri}, found {found}: the job did not begin as planned."
        return Seen(found=found, turnout=Turnout.DIFFERENT, told=told)
    if end is None:
        told = f"{key}: {found} stands in {own.uri}, and the log cannot be read to tell whether that can be."
        return Seen(found=found, turnout=Turnout.UNKNOWN, told=told)
    if found > end:
        told = f"{key}: {found} stands in {own.uri}, past the end of the log {end}: it reads another cluster."
        return Seen(found=found, turnout=Turnout.DIFFERENT, told=told)
    if found == planned:
        told = f"{key}: the job stands at {found}, as planned, in {own.uri}."
        return Seen(found=found, turnout=Turnout.CONFIRMED, told=told, started=True)
    told = f"{key}: the job has gone on from {planned} to {found} in {own.uri}."
    return Seen(found=found, turnout=Turnout.MOVED_ON, told=told, started=True)


def not_of_this_job(own: Checkpoint, restored: Checkpoint) -> str | None:
    """Say why a checkpoint cannot have been made by a job that was restored from another one; None where it can.

    Its id is higher: Flink counts on from the checkpoint that it restores.
    """
    if own.saved is None or restored.saved is None:
        return f"{own.uri} is no checkpoint of Flink."
    if own.saved.id <= restored.saved.id:
        return (
            f"{own.uri} is checkpoint {own.saved.id}, expected one after {restored.saved.id}, the one that the job is "
            "restored from: it tells nothing about the new job."
        )
    return None
