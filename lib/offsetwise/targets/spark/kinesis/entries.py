"""Positions in the words of Spark's Kinesis connectors, as lines of `offsets/` and `startingposition` have them."""

from __future__ import annotations

import re
from typing import Final

from offsetwise.model import Plan, PlannedPosition, Start
from offsetwise.streams.kinesis.spec import TRIM_HORIZON, Place, ShardPlace, shard_id

_ENDS: Final = re.compile(r"(?P<folder>sources/(?P<source>[^/]+)/shard-(?:source|commit)/[0-9]+)/[^/]+")
"""A file with the end of a batch in one shard."""


def entry_of(place: ShardPlace) -> dict[str, str]:
    """Give the fields of a position, as texts."""
    kind, position = place.place.value, ""
    match place:
        case ShardPlace(place=Place.AFTER, sequence=int(number)):
            kind, position = "AFTER_SEQUENCE_NUMBER", str(number)
        case ShardPlace(place=Place.AT, sequence=int(number)):
            kind, position = "AT_SEQUENCE_NUMBER", str(number)
        case ShardPlace(place=Place.AT_TIMESTAMP, at_ms=int(at_ms)):
            position = str(at_ms)
    return {
        "iteratorType": kind,
        "iteratorPosition": position,
        "subSequenceNumber": "-1" if place.sub is None else str(place.sub),
        "isLast": "true" if place.sub is None else "false",
    }


def place_of(one: PlannedPosition) -> ShardPlace | None:
    """Give where a shard begins; None where the connectors have no word for it."""
    place = one.new_offset
    if not isinstance(place, ShardPlace):
        return None
    if one.start is Start.EARLIEST:
        return TRIM_HORIZON
    if place.place is Place.LATEST or (place.place is Place.AT_TIMESTAMP and place.at_ms is None):
        return None
    return place


def ends_of(plan: Plan) -> dict[str, str]:
    """Give the folder in which each source keeps the ends of the newest batch, where it keeps them beside its lines."""
    required = plan.requirements.checkpoint
    found = (_ENDS.fullmatch(path) for path, _ in (() if required is None else required.files))
    return {each["source"]: each["folder"] for each in found if each is not None}


def added_ends(plan: Plan) -> dict[tuple[str, int], str]:
    """Give the files that shards get which the checkpoint does not name, by source and number."""
    folders = ends_of(plan)
    return {
        (one.source, one.partition): f"{folders[one.source]}/{shard_id(one.partition)}"
        for one in plan.positions
        if one.old_offset is None and one.source in folders
    }


def keeps_sub(plan: Plan) -> bool:
    """Say whether the connector keeps places inside aggregates: the one whose ends are in `shard-source`."""
    return any("/shard-source/" in folder for folder in ends_of(plan).values())
