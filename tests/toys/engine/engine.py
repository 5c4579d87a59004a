"""A job that keeps its positions in one file of JSON: how it is known and read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from offsetwise.engines.engine import CheckpointEngine, Listing, ReadRequest
from offsetwise.errors import CheckpointError
from offsetwise.model import Checkpoint, CheckpointSource, Details, SourcePosition
from offsetwise.ports.stream import position
from offsetwise.storage.folders import Entry

FILE: Final = "positions.json"
SOURCE: Final = "shelf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyDetails(Details):
    """What the file says beside the positions."""

    colour: str

    @property
    def words(self) -> tuple[str, ...]:
        """Its colour."""
        return (f"{self.colour} positions",)


def _recognises(entries: Sequence[Entry]) -> bool:
    return any(entry.name == FILE for entry in entries)


def _read(request: ReadRequest) -> Checkpoint:
    data = None if request.folder is None else request.folder.read_many({FILE: None})[FILE]
    if not isinstance(data, bytes):
        raise CheckpointError(
            f"{request.uri}/{FILE}: expected positions, found that it cannot be read.", fix="Restore it."
        )
    try:
        body = json.loads(data)
        job, details = str(body["job"]), ToyDetails(colour=str(body["colour"]))
        positions = tuple(_position(*entry) for entry in body["at"])
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(
            f"{request.uri}/{FILE}: expected a job, a colour and positions, found {str(error)[:200]!r}. "
            "Nothing was used.",
            fix="Let the job write its file again.",
        ) from error
    return Checkpoint(
        uri=request.uri,
        engine=TOY.name,
        job_id=job,
        restart=f"The toy goes on in {len(positions)} partitions.",
        sources=(CheckpointSource(index=0, id=SOURCE, kind=body.get("of", "kafka"), positions=positions),),
        pins=((FILE, sha256(data).hexdigest()),),
        details=details,
    )


def _position(topic: object, number: object, at: object) -> SourcePosition:
    offset = position(str(at))
    if not isinstance(topic, str) or type(number) is not int or offset is None:
        raise ValueError(f"{[topic, number, at]} for a topic, a partition and a position")
    return SourcePosition(topic=topic, partition=number, offset=offset)


def _listings(checkpoint: Checkpoint) -> tuple[Listing, ...]:
    assert isinstance(checkpoint.details, ToyDetails)
    return (Listing(columns=("toy",), texts=1, rows=((checkpoint.details.colour,),)),)


TOY: Final = CheckpointEngine(
    name="toy",
    label="Toy",
    moving="tests.toys.engine.migration_rules",
    what="the folder of a toy",
    holds=FILE,
    job="toy",
    source_name=re.compile(r"[a-z]{1,20}"),
    recognises=_recognises,
    reader=_read,
    details=ToyDetails,
    listings=_listings,
)
