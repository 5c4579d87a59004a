"""The Kafka transactions that the sinks of a Flink job have prepared and not committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final

from offsetwise.model import Problem, Transaction
from offsetwise.sources.flink_bytes import Cursor, DamagedError
from offsetwise.sources.flink_sink import PREPARED, RESUMED, Committable, WriterState, read_committer, read_writer
from offsetwise.sources.flink_source import damaged

WRITER_STATE: Final = "writer_raw_states"
COMMITTER_STATE: Final = "streaming_committer_raw_states"
PENDING: Final = "TRANSACTION_PENDING"
SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class SinkElements:
    """The elements that one operator keeps under the two names of sinks."""

    operator: str
    called: str
    writer: Sequence[Cursor | DamagedError] = ()
    committer: Sequence[Cursor | DamagedError] = ()


@dataclass(frozen=True, slots=True)
class Sinks:
    """What the sinks keep."""

    transactions: tuple[Transaction, ...]
    prefixes: Mapping[str, str]
    """The prefix of transactional ids, by operator."""
    problems: tuple[Problem, ...]


def read_sinks(operators: Sequence[SinkElements]) -> Sinks:
    """Read the states of all sinks; those of other sinks than Kafka's are passed over."""
    made: list[Transaction] = []
    prefixes: dict[str, str] = {}
    problems: list[Problem] = []
    writers = {each.operator: _writers(each, problems) for each in operators}
    for each in operators:
        committables, others = _committables(each, problems)
        made += [_committed(each.operator, one) for one in committables]
        if others and any(writers.values()):
            problems.append(
                damaged(f"{others:,} committables of {each.called} are not a KafkaSink's, or damaged: not listed.")
            )
    known = {one.transactional_id for one in made}
    for operator, states in writers.items():
        for state in states:
            prefixes[operator] = state.prefix
            made += [
                _precommitted(operator, name, checkpoint_id)
                for name, checkpoint_id in state.precommitted
                if name not in known
            ]
    open_ = [one for one in made if one.state not in ("failed", "committed")]
    if open_:
        problems.append(_pending(open_))
    return Sinks(transactions=tuple(made), prefixes=prefixes, problems=tuple(problems))


def _writers(sink: SinkElements, problems: list[Problem]) -> list[WriterState]:
    made: list[WriterState] = []
    failed: list[DamagedError] = []
    for element in sink.writer:
        try:
            if isinstance(element, DamagedError):
                raise element
            made.append(read_writer(element))
        except DamagedError as error:
            failed.append(error)
    # Every sink's writer keeps its state under this name: one that is nowhere Kafka's is another sink's.
    if made and failed:
        problems.append(damaged(f"The writer's state of {sink.called} cannot be read whole: {failed[0]}."))
    return made


def _committables(sink: SinkElements, problems: list[Problem]) -> tuple[list[Committable], int]:
    made: list[Committable] = []
    others = 0
    failed: list[DamagedError] = []
    for element in sink.committer:
        try:
            if isinstance(element, DamagedError):
                raise element
            found, more = read_committer(element)
        except DamagedError as error:
            failed.append(error)
        else:
            made += found
            others += more
    if failed:
        problems.append(
            damaged(f"The committer's state of {sink.called} cannot be read, transactions may be missing: {failed[0]}.")
        )
    return made, others


def _committed(operator: str, found: Committable) -> Transaction:
    return Transaction(
        operator=operator,
        transactional_id=found.transactional_id,
        producer_id=found.producer_id,
        epoch=found.epoch,
        checkpoint_id=found.checkpoint_id,
        state=found.state,
        schema=found.schema,
    )


def _precommitted(operator: str, name: str, checkpoint_id: int) -> Transaction:
    return Transaction(
        operator=operator,
        transactional_id=name,
        producer_id=None,
        epoch=None,
        checkpoint_id=checkpoint_id,
        state="precommitted",
        schema=None,
    )


def _pending(open_: Sequence[Transaction]) -> Problem:
    names = ", ".join(dict.fromkeys(one.transactional_id for one in open_[:SHOWN]))
    more = f" and {len(open_) - SHOWN:,} more" if len(open_) > SHOWN else ""
    return Problem(
        code=PENDING,
        message=f"Transactions of the sink were prepared and not yet committed when this was taken: {names}{more}. "
        "After a clean stop they are committed by now. If they are not, only the cluster the sink wrote to can commit "
        f"them. {_meaning(open_)}",
        fix="Ask that cluster: kafka-transactions.sh --bootstrap-server HOST:PORT describe --transactional-id "
        f"{quote(open_[0].transactional_id)}",
    )


def _meaning(open_: Sequence[Transaction]) -> str:
    """Say what a restore does with them, by the schemas that they are kept in."""
    schemas = {one.schema for one in open_}
    told = []
    if RESUMED in schemas:
        told.append(
            f"Schema {RESUMED}: a restore resumes their producers by id and epoch and commits; the broker aborts them "
            "after transaction.timeout.ms, and their records are lost."
        )
    if PREPARED in schemas:
        told.append(
            f"Schema {PREPARED}: the broker keeps them prepared without a time-out (KIP-939), and a restore asks it to "
            "complete those of the checkpoint and to abort later ones."
        )
    if None in schemas:
        told.append(
            "Of some only the writer's state tells: a restore aborts those that no committer lists, and the broker "
            "after transaction.timeout.ms."
        )
    return " ".join(told)
