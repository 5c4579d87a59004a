"""One checkpoint as one row: what a Spark worker reads, and how its answer travels to the driver.

A row is compact and quick to make (a thousand checkpoints with a hundred batches each are millions of positions),
private to one run, whose workers have the driver's Python, and never stored: `files.py` is the format for that.
"""

from __future__ import annotations

import gc
import marshal
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from offsetwise.errors import OffsetwiseError
from offsetwise.model import (
    Batch,
    BatchSource,
    Checkpoint,
    CheckpointSource,
    MarkedPosition,
    Operator,
    OperatorState,
    Problem,
    RetainedCheckpoint,
    Saved,
    SourcePosition,
    StateStore,
    TopicOffsets,
    Transaction,
)
from offsetwise.sources.checkpoint import read_checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheckpoint:
    """A URI that gave no checkpoint, and why."""

    uri: str
    error: str
    """The name of the error's class."""
    problem: str
    fix: str


def read_row(uri: str, *, roots: Sequence[str] | None, batches: int) -> bytes:
    """Read one checkpoint and give its row; whatever goes wrong becomes a row as well."""
    try:
        return encode(read_checkpoint(uri, roots=roots, batches=batches))
    except OffsetwiseError as error:
        return encode(FailedCheckpoint(uri=uri, error=type(error).__name__, problem=error.problem, fix=error.fix))
    except Exception as error:  # noqa: BLE001 - one checkpoint must not end the job that reads a thousand
        return encode(
            FailedCheckpoint(
                uri=uri,
                error=type(error).__name__,
                problem=f"{uri}: expected a checkpoint, found {type(error).__name__}: {str(error)[:300]}.",
                fix="Inspect it alone, and report it if the message stays.",
            )
        )


def read_rows(rows: Iterator[Any], *, uris: Sequence[str], roots: Sequence[str] | None, batches: int) -> Iterator[Any]:
    """Read checkpoints on a worker, for `mapInArrow`.

    Args:
        rows: Record batches with a column `id`: places in `uris`.
        uris: What to read.
        roots: As for `read_checkpoint`.
        batches: As for `read_checkpoint`.

    Yields:
        Per checkpoint one record batch: `id` long, `row` binary.
    """
    import pyarrow as pa  # noqa: PLC0415 - the driver reads rows without it

    gc.freeze()  # PySpark looks for garbage after every task, most of the time among what was imported
    for batch in rows:
        for place in batch.column("id").to_pylist():
            row = read_row(uris[place], roots=roots, batches=batches)
            yield pa.RecordBatch.from_pydict({"id": pa.array([place], pa.int64()), "row": pa.array([row], pa.binary())})


def encode(value: Checkpoint | FailedCheckpoint) -> bytes:
    """Write a row."""
    if isinstance(value, FailedCheckpoint):
        body: dict[str, Any] = {"failed": [value.uri, value.error, value.problem, value.fix]}
        return marshal.dumps(body)
    # Most batches have the very partitions of the batch before: marshal writes those once.
    body = {
        "head": [
            value.uri,
            value.engine,
            value.job_id,
            value.last_planned_batch,
            value.last_committed_batch,
            value.reruns_batch,
            value.restart,
            value.offset_log_version,
            value.commit_log_version,
        ],
        "sources": [
            [
                one.index,
                one.id,
                one.kind,
                one.raw,
                [[at.topic, at.partition, at.offset, at.planned_offset] for at in one.positions],
                [[at.topic, at.partition, at.starts_at] for at in one.marked],
            ]
            for one in value.sources
        ],
        "problems": [[one.code, one.message, one.fix] for one in value.problems],
        "batches": [
            [
                batch.id,
                batch.committed,
                batch.timestamp_ms,
                batch.watermark_ms,
                [
                    [one.id, one.raw, [[of.topic, of.partitions, of.offsets] for of in one.offsets]]
                    for one in batch.sources
                ],
            ]
            for batch in value.batches
        ],
        "state": [[one.operator, one.partitions, one.files, one.size_bytes, one.keys] for one in value.state],
        "configuration": value.configuration,
        "offset_files": value.offset_files,
        "operators": [asdict(one) for one in value.operators],
        "transactions": [asdict(one) for one in value.transactions],
        "saved": None if value.saved is None else asdict(value.saved),
    }
    return marshal.dumps(body)


def decode(row: bytes) -> Checkpoint | FailedCheckpoint:
    """Read a row that `encode` wrote."""
    body = marshal.loads(row)  # noqa: S302 - what this run's own worker wrote
    if "failed" in body:
        uri, error, problem, fix = body["failed"]
        return FailedCheckpoint(uri=uri, error=error, problem=problem, fix=fix)
    uri, engine, job_id, planned, committed, reruns, restart, offset_version, commit_version = body["head"]
    return Checkpoint(
        uri=uri,
        engine=engine,
        job_id=job_id,
        last_planned_batch=planned,
        last_committed_batch=committed,
        reruns_batch=reruns,
        restart=restart,
        sources=tuple(
            CheckpointSource(
                index=index,
                id=id_,
                kind=kind,
                raw=raw,
                positions=tuple(
                    SourcePosition(topic=topic, partition=partition, offset=offset, planned_offset=end)
                    for topic, partition, offset, end in positions
                ),
                marked=tuple(
                    MarkedPosition(topic=topic, partition=partition, starts_at=word)
                    for topic, partition, word in marked
                ),
            )
            for index, id_, kind, raw, positions, marked in body["sources"]
        ),
        problems=tuple(Problem(code=code, message=message, fix=fix) for code, message, fix in body["problems"]),
        batches=tuple(
            Batch(
                id=id_,
                committed=done,
                timestamp_ms=timestamp,
                watermark_ms=watermark,
                sources=tuple(
                    BatchSource(
                        id=source,
                        raw=raw,
                        offsets=tuple(
                            TopicOffsets(topic=topic, partitions=partitions, offsets=offsets)
                            for topic, partitions, offsets in topics
                        ),
                    )
                    for source, raw, topics in sources
                ),
            )
            for id_, done, timestamp, watermark, sources in body["batches"]
        ),
        state=tuple(
            StateStore(operator=operator, partitions=partitions, files=files, size_bytes=size, keys=keys)
            for operator, partitions, files, size, keys in body["state"]
        ),
        configuration=body["configuration"],
        offset_log_version=offset_version,
        commit_log_version=commit_version,
        offset_files=body["offset_files"],
        operators=tuple(_operator(one) for one in body["operators"]),
        transactions=tuple(Transaction(**one) for one in body["transactions"]),
        saved=None if body["saved"] is None else _saved(body["saved"]),
    )


def _operator(body: dict[str, Any]) -> Operator:
    return Operator(**body | {"states": tuple(OperatorState(**each) for each in body["states"])})


def _saved(body: dict[str, Any]) -> Saved:
    return Saved(**body | {"retained": tuple(RetainedCheckpoint(**each) for each in body["retained"])})
