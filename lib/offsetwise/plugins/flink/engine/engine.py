from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from offsetwise.engines.engine import CheckpointEngine, ReadOption, ReadRequest
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Checkpoint
from offsetwise.plugins.flink.engine.checkpoint import SOURCE_NAME, read_checkpoint
from offsetwise.plugins.flink.engine.details import FlinkDetails, listings
from offsetwise.plugins.flink.engine.folder import (
    METADATA,
    in_reach,
    is_flink,
    job_folder,
    newer_than,
    newest_alone,
    retained_in,
    retained_number,
)


def _texts(given: object) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, (list, tuple)) else (str(given),)


UIDS: Final[ReadOption[tuple[str, ...]]] = ReadOption(
    name="uids", clause="uids of operators were named", noun="the uids", default=(), parse=_texts
)
"""Uids of operators as a person knows them; a checkpoint of an early release holds their hashes alone."""


def _read(request: ReadRequest) -> Checkpoint:
    return read_checkpoint(request.uri, roots=request.roots, uids=UIDS.of(request))


def _newer(uri: str, number: int, near: Iterable[str]) -> tuple[int | None, bool]:
    """Find newer checkpoints: those of the job, and those of any job whose sinks use the same transactional ids.

    A job that was submitted again from a savepoint has another id and continues its numbers and its transactions.
    """
    locations = tuple(near)
    newest, searched = newer_than(uri, number, locations)
    own = set(read_checkpoint(uri).details.transactional_id_prefixes)
    for other in in_reach(uri, locations) if own else ():
        try:
            read = read_checkpoint(other)
        except OffsetwiseError:
            continue
        other_number = retained_number(other) or read.details.checkpoint_id or 0
        if other_number > (newest or number) and own & set(read.details.transactional_id_prefixes):
            newest = other_number
    return newest, searched


FLINK: Final = CheckpointEngine(
    name="flink",
    label="Flink",
    what="a Flink checkpoint or savepoint",
    holds=METADATA,
    job="job",
    source_name=SOURCE_NAME,
    recognises=is_flink,
    reader=_read,
    options=(UIDS,),
    listings=listings,
    details=FlinkDetails,
    file=METADATA,
    commits_to_group=True,
    instead=job_folder,
    retained=retained_in,
    newest=newest_alone,
    newer=_newer,
)
