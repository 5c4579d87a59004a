from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from offsetwise.engines.engine import Listing
from offsetwise.model import Checkpoint, Details, RetainedCheckpoint, Transaction
from offsetwise.wording import number


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """One state of one operator of a Flink job, over all its subtasks."""

    name: str
    kind: str
    """`split`, `union`, `broadcast` (operator state), `keyed`, `raw`, `coordinator` or `in-flight`."""
    elements: int | None
    """Number of elements; None if only the engine could count them."""
    size_bytes: int
    places: tuple[str, ...]
    """Where its bytes are: `inline`, `relative`, `absolute`, `segment`; sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator of a Flink job."""

    id: str
    """32 hexadecimal digits: the hash of the uid, or of the job graph if there is no uid."""
    name: str | None
    uid: str | None
    """From the checkpoint (Flink 2), or named by a person and verified by its hash; None if unknown."""
    parallelism: int
    max_parallelism: int
    finished: bool
    states: tuple[OperatorState, ...] = ()
    transactional_id_prefix: str | None = None
    """Prefix of a KafkaSink's writer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a Flink checkpoint says of itself."""

    kind: str | None
    """`savepoint` or `checkpoint`; None if it does not tell."""
    id: int
    format_version: int
    format: str | None
    """`canonical` or `native`; only savepoints have one."""
    written_ms: int | None
    aligned: bool
    """False if it contains records in flight."""
    compressed: bool
    """Whether operator state of a Kafka source is compressed."""
    retained: tuple[RetainedCheckpoint, ...] = ()
    """The other retained checkpoints of the job, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkDetails(Details):
    saved: Saved
    operators: tuple[Operator, ...] = ()
    transactions: tuple[Transaction, ...] = ()
    pooled_prefixes: tuple[str, ...] = ()
    """Prefixes of KafkaSinks whose writers reuse their transactional ids (POOLING), sorted. Not written if empty."""

    @property
    def checkpoint_id(self) -> int:
        return self.saved.id

    @property
    def aligned(self) -> bool:
        return self.saved.aligned

    @property
    def retained(self) -> tuple[RetainedCheckpoint, ...]:
        return self.saved.retained

    @property
    def written_ms(self) -> int | None:
        """Modification time of `_metadata` in the file system."""
        return self.saved.written_ms

    @property
    def stop(self) -> str:
        return (
            "Stop the job with a savepoint when its wave begins, and enter the savepoint's path in the migration file"
        )

    def recorded(self, at_ms: int) -> Self:
        """Return these details with the time of a recording: copied files have the time of the copy."""
        others = tuple(replace(checkpoint, written_ms=None) for checkpoint in self.saved.retained)
        return replace(self, saved=replace(self.saved, written_ms=at_ms, retained=others))

    @property
    def kind(self) -> str:
        return self.saved.kind or "checkpoint"

    @property
    def words(self) -> tuple[str, ...]:
        saved = self.saved
        notes = (saved.format, None if saved.aligned else "unaligned", "compressed" if saved.compressed else None)
        return (f"{self.kind} {saved.id}", f"format {saved.format_version}", *(note for note in notes if note))

    @property
    def state_bytes(self) -> int:
        return sum(state.size_bytes for operator in self.operators for state in operator.states)

    @property
    def stateful(self) -> bool | None:
        """Whether an operator has keyed state; None if not.

        Sources and sinks have none; other kinds of state are not counted.
        """
        return True if any(state.kind == "keyed" for operator in self.operators for state in operator.states) else None

    @property
    def has_watermark(self) -> bool:
        return any(state.name == "watermark" for operator in self.operators for state in operator.states)

    @property
    def transactional_id_prefixes(self) -> tuple[str, ...]:
        return tuple(
            sorted(
                {operator.transactional_id_prefix for operator in self.operators if operator.transactional_id_prefix}
            )
        )


def flink_details(checkpoint: Checkpoint) -> FlinkDetails:
    """Return the details of a Flink checkpoint.

    Raises:
        TypeError: Another engine wrote the checkpoint.
    """
    if not isinstance(checkpoint.details, FlinkDetails):
        raise TypeError(f"{checkpoint.uri} is a checkpoint of {checkpoint.engine}")
    return checkpoint.details


def listings(checkpoint: Checkpoint) -> tuple[Listing, ...]:
    read = flink_details(checkpoint)
    return (
        Listing(
            columns=("operator", "state", "kind", "parallelism", "elements", "bytes"),
            texts=3,
            rows=tuple(row for operator in read.operators for row in _states(operator)),
        ),
        Listing(
            columns=("transaction", "state", "schema", "producer", "epoch", "checkpoint"),
            texts=3,
            rows=tuple(map(_transaction, read.transactions)),
        ),
    )


def _states(operator: Operator) -> Iterator[tuple[str, ...]]:
    name = operator.uid or operator.name or operator.id
    for state in operator.states:
        elements = "" if state.elements is None else f"{state.elements:,}"
        yield name, state.name, state.kind, f"{operator.parallelism:,}", elements, f"{state.size_bytes:,}"
    if not operator.states:
        yield name, "finished" if operator.finished else "no state", "", f"{operator.parallelism:,}", "", ""


def _transaction(transaction: Transaction) -> tuple[str, ...]:
    producer = "?" if transaction.producer_id is None else str(transaction.producer_id)
    schema = transaction.schema or "?"
    return (
        transaction.transactional_id,
        transaction.state,
        schema,
        producer,
        number(transaction.epoch),
        f"{transaction.checkpoint_id:,}",
    )
