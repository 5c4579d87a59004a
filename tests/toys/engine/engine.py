"""A job that keeps its positions in one file of JSON: how it is known and read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from offsetwise.engines.engine import CheckpointEngine, Listing
from offsetwise.errors import CheckpointError
from offsetwise.model import Checkpoint, CheckpointSource, Details, SourcePosition
from offsetwise.ports.stream import position
from offsetwise.storage.dynamodb import Table
from offsetwise.storage.folders import Entry, Tree

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
    return any(each.name == FILE for each in entries)


def _read(
    uri: str,
    folder: Tree | None,
    entries: tuple[Entry, ...] | None,  # noqa: ARG001 - every engine's
    *,
    roots: Sequence[str] | None,  # noqa: ARG001 - as above
    batches: int,  # noqa: ARG001 - as above
    uids: Sequence[str],  # noqa: ARG001 - as above
    committer: Table | None,  # noqa: ARG001 - as above
) -> Checkpoint:
    data = None if folder is None else folder.read_many({FILE: None})[FILE]
    if not isinstance(data, bytes):
        raise CheckpointError(f"{uri}/{FILE}: expected positions, found that it cannot be read.", fix="Restore it.")
    try:
        body = json.loads(data)
        positions = tuple(
            SourcePosition(topic=str(topic), partition=int(number), offset=offset)
            for topic, number, at in body["at"]
            if (offset := position(str(at))) is not None
        )
        details = ToyDetails(colour=str(body["colour"]))
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(
            f"{uri}/{FILE}: expected a job, a colour and positions, found {str(error)[:200]!r}. Nothing was used.",
            fix="Let the job write its file again.",
        ) from error
    return Checkpoint(
        uri=uri,
        engine=TOY.name,
        job_id=str(body.get("job", "")),
        restart=f"The toy goes on in {len(positions)} partitions.",
        sources=(CheckpointSource(index=0, id=SOURCE, kind=body.get("of", "kafka"), positions=positions),),
        pins=((FILE, sha256(data).hexdigest()),),
        details=details,
    )


def _listings(checkpoint: Checkpoint) -> tuple[Listing, ...]:
    assert isinstance(checkpoint.details, ToyDetails)
    return (Listing(columns=("toy",), texts=1, rows=((checkpoint.details.colour,),)),)


TOY: Final = CheckpointEngine(
    name="toy",
    label="Toy",
    moving="tests.toys.engine.moving",
    what="the folder of a toy",
    holds=FILE,
    job="toy",
    source_name=re.compile(r"[a-z]{1,20}"),
    recognises=_recognises,
    read=_read,
    details=ToyDetails,
    listings=_listings,
)
