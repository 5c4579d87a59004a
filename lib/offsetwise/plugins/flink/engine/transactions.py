"""The Kafka transactions that the sinks of a Flink job have prepared and not committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.findings.sinks import prefix_overlaps
from offsetwise.model import NamingStrategy, Problem, Transaction
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.findings import transaction_pending
from offsetwise.plugins.flink.engine.sink import (
    PREPARED,
    RESUMED,
    Committable,
    WriterState,
    read_committer,
    read_writer,
)
from offsetwise.plugins.flink.engine.source import damaged
from offsetwise.transactions.names import parse

WRITER_STATE: Final = "writer_raw_states"
COMMITTER_STATE: Final = "streaming_committer_raw_states"
SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class SinkElements:
    operator: str
    label: str
    writer: Sequence[Cursor | DamagedError] = ()
    committer: Sequence[Cursor | DamagedError] = ()


@dataclass(frozen=True, slots=True)
class Sinks:
    transactions: tuple[Transaction, ...]
    prefixes: Mapping[str, str]
    """The prefix of transactional ids, by operator."""
    pooled: tuple[str, ...]
    """The prefixes whose ids a writer reuses (POOLING), sorted."""
    problems: tuple[Problem, ...]


def read_sinks(operators: Sequence[SinkElements]) -> Sinks:
    """Parse the states of all sinks; those of other sinks than Kafka's are skipped."""
    transactions: list[Transaction] = []
    prefixes: dict[str, str] = {}
    problems: list[Problem] = []
    writers = {elements.operator: _writers(elements, problems) for elements in operators}
    strategies = _strategies(state for states in writers.values() for state in states)
    for sink_elements in operators:
        committables, others = _committables(sink_elements, problems)
        transactions += [_committed(sink_elements.operator, committable, strategies) for committable in committables]
        if others and any(writers.values()):
            problems.append(
                damaged(
                    f"{others:,} committables of {sink_elements.label} are not a KafkaSink's, or damaged: not listed."
                )
            )
    known = {transaction.transactional_id for transaction in transactions}
    for operator, states in writers.items():
        for state in states:
            prefixes[operator] = state.prefix
            transactions += [
                _precommitted(operator, name, checkpoint_id, state.strategy)
                for name, checkpoint_id in state.precommitted
                if name not in known
            ]
    problems += _overlaps(strategies)
    open_ = [transaction for transaction in transactions if transaction.state not in ("failed", "committed")]
    if open_:
        problems += _pending(open_)
    pooling = (state for states in writers.values() for state in states if state.strategy is NamingStrategy.POOLING)
    return Sinks(
        transactions=tuple(transactions),
        prefixes=prefixes,
        pooled=tuple(sorted({state.prefix for state in pooling})),
        problems=tuple(problems),
    )


def _writers(sink: SinkElements, problems: list[Problem]) -> list[WriterState]:
    states: list[WriterState] = []
    failed: list[DamagedError] = []
    for element in sink.writer:
        try:
            if isinstance(element, DamagedError):
                raise element
            states.append(read_writer(element))
        except DamagedError as error:
            failed.append(error)
    # Every sink's writer has its state under this name: without any Kafka element, it is another sink's.
    if states and failed:
        problems.append(damaged(f"The writer's state of {sink.label} cannot be read whole: {failed[0]}."))
    return states


def _committables(sink: SinkElements, problems: list[Problem]) -> tuple[list[Committable], int]:
    results: list[Committable] = []
    others = 0
    failed: list[DamagedError] = []
    for element in sink.committer:
        try:
            if isinstance(element, DamagedError):
                raise element
            committables, more = read_committer(element)
        except DamagedError as error:
            failed.append(error)
        else:
            results += committables
            others += more
    if failed:
        problems.append(
            damaged(f"The committer's state of {sink.label} cannot be read, transactions may be missing: {failed[0]}.")
        )
    return results, others


def _strategies(states: Iterable[WriterState]) -> Mapping[str, NamingStrategy | None]:
    said: dict[str, set[NamingStrategy | None]] = {}
    for state in states:
        said.setdefault(state.prefix, set()).add(state.strategy)
    return {prefix: strategies.pop() if len(strategies) == 1 else None for prefix, strategies in said.items()}


def _overlaps(strategies: Mapping[str, NamingStrategy | None]) -> Iterator[Problem]:
    for prefix, strategy in strategies.items():
        for other in strategies:
            if strategy is NamingStrategy.POOLING and other != prefix and other.startswith(prefix):
                yield from prefix_overlaps(prefix, f"that of another sink of the job, {other!r},")


def _committed(operator: str, committable: Committable, strategies: Mapping[str, NamingStrategy | None]) -> Transaction:
    # The committer is a separate operator. Only its ids lead to the writer that created them.
    name = parse(committable.transactional_id)
    return Transaction(
        operator=operator,
        transactional_id=committable.transactional_id,
        producer_id=committable.producer_id,
        epoch=committable.epoch,
        checkpoint_id=committable.checkpoint_id,
        state=committable.state,
        schema=committable.schema,
        strategy=None if name is None else strategies.get(name.prefix),
    )


def _precommitted(operator: str, name: str, checkpoint_id: int, strategy: NamingStrategy | None) -> Transaction:
    return Transaction(
        operator=operator,
        transactional_id=name,
        producer_id=None,
        epoch=None,
        checkpoint_id=checkpoint_id,
        state="precommitted",
        schema=None,
        strategy=strategy,
    )


def _pending(open_: Sequence[Transaction]) -> Iterator[Problem]:
    names = ", ".join(dict.fromkeys(transaction.transactional_id for transaction in open_[:SHOWN]))
    more = f" and {len(open_) - SHOWN:,} more" if len(open_) > SHOWN else ""
    return transaction_pending(f"{names}{more}", _meaning(open_), open_[0].transactional_id)


def _meaning(open_: Sequence[Transaction]) -> str:
    schemas = {transaction.schema for transaction in open_}
    sentences = []
    if RESUMED in schemas:
        sentences.append(
            f"Schema {RESUMED}: a restore resumes their producers by id and epoch and commits; the broker aborts them "
            "after transaction.timeout.ms, and their records are lost."
        )
    if PREPARED in schemas:
        sentences.append(
            f"Schema {PREPARED}: what the broker has prepared (KIP-939) it keeps without a time-out, and a restore "
            "asks it to complete those of the checkpoint and to abort later ones."
        )
    if None in schemas:
        sentences.append(
            "Of some only the writer's state tells: a restore aborts those that no committer lists, and the broker "
            "after transaction.timeout.ms."
        )
    return " ".join(sentences)
