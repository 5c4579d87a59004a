"""Tally: a job that keeps its positions in a text file, a line for each partition: `topic partition offset`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from offsetwise.engines.engine import CheckpointEngine
from offsetwise.errors import CheckpointError
from offsetwise.model import Checkpoint, CheckpointSource, Details, SourcePosition
from offsetwise.storage.dynamodb import Table
from offsetwise.storage.folders import Entry, Tree

FILE: Final = "positions.tally"


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyDetails(Details):
    """What the file says beside the positions."""

    lines: int

    @property
    def words(self) -> tuple[str, ...]:
        """How many lines it has."""
        return (f"{self.lines} lines",)


def _recognises(entries: Sequence[Entry]) -> bool:
    return any(entry.name == FILE for entry in entries)


def _read(
    uri: str,
    folder: Tree | None,
    entries: tuple[Entry, ...] | None,
    *,
    roots: Sequence[str] | None,
    batches: int,
    uids: Sequence[str],
    committer: Table | None,
) -> Checkpoint:
    data = None if folder is None else folder.read_many({FILE: None})[FILE]
    if not isinstance(data, bytes):
        raise CheckpointError(f"{uri}/{FILE}: expected positions, found that it cannot be read.", fix="Restore it.")
    positions = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        found = re.fullmatch(r"(\S+) (\d{1,9}) (\d{1,18})", line)
        if found is None:
            raise CheckpointError(
                f"{uri}/{FILE}, line {number}: expected `topic partition offset`, found {line[:80]!r}. "
                "Nothing was used.",
                fix="Correct the line.",
            )
        positions.append(SourcePosition(topic=found[1], partition=int(found[2]), offset=int(found[3])))
    return Checkpoint(
        uri=uri,
        engine=TALLY.name,
        job_id="tally",
        restart=f"Tally goes on in {len(positions)} partition(s).",
        sources=(CheckpointSource(index=0, id="tally", kind="kafka", positions=tuple(positions)),),
        pins=((FILE, sha256(data).hexdigest()),),
        details=TallyDetails(lines=len(positions)),
    )


TALLY: Final = CheckpointEngine(
    name="tally",
    label="Tally",
    moving="offsetwise_bookmarks.moving",
    what="the folder of a Tally job",
    holds=FILE,
    job="Tally job",
    source_name=re.compile(r"tally"),
    recognises=_recognises,
    read=_read,
    details=TallyDetails,
)
