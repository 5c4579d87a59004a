"""Ends the open transactions of a job's sinks, one at a time, commits before aborts, up to the first refusal.

A request is sent only after the coordinator has just confirmed that exactly this transaction is open. The journal has
its id, producer id, epoch and the version of the request before it is sent. So a later run checks first: a transaction
that has ended as planned, and was about to be ended, is done; an open one is sent again with the same version, which
has no effect if it had arrived. A transaction that somebody else ended is refused. In the end the logs are read: they
decide.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.apply.publish import journal_of
from offsetwise.apply.writing import Context, Preview, SeenPlace, StepStanding, Writer
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, LostReplyError, StalePlanError
from offsetwise.model import (
    Plan,
    PlannedTransaction,
    ReceiptStep,
    Settlement,
    SinkRequirement,
    StepState,
    Target,
    Turnout,
)
from offsetwise.plugins.kafka.targets.transactions.kafka import connecting
from offsetwise.plugins.kafka.targets.transactions.port import Connect, Reply, SinkPort
from offsetwise.plugins.kafka.targets.transactions.verification import verify
from offsetwise.transactions.ended import is_ending, is_open, is_over, judge
from offsetwise.transactions.names import parse
from offsetwise.transactions.observed import Answer, Described
from offsetwise.wording import many

_AGAIN: Final = "Run the same command again: it looks first, and continues from there."
_STALE: Final = "Find out who ends transactions of this job, look with `offsetwise transactions`, and draft a new plan."
_LED_AWAY: Final = (
    "Find out why the address leads there (a name server, a proxy, a load balancer). When it leads to the reviewed "
    f"cluster again: {_AGAIN[0].lower()}{_AGAIN[1:]}"
)
_NAMED: Final = 5

__all__ = ["SinkWriter", "verify", "writer"]


@dataclass(frozen=True, slots=True)
class SinkWriter(Writer):
    connect: Connect

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:  # noqa: ARG002 - the protocol's
        """Return which transactions would be ended, and ask with harmless requests if the user may. Nothing is ended.

        Raises:
            ApplyError: The user may not; the message says which right is missing.
        """
        sink = _sink(plan)
        with self.connect(sink.name) as port:
            _require_same(sink, port)
            _require_rights(plan, port)
        return Preview(
            target=target,
            place=sink.cluster_id,
            told=f"On the cluster {sink.name!r} of the sink {_counted(plan)} would be ended: {_ways(plan)}. "
            "That cannot be taken back.",
            transactions=plan.transactions,
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """End the plan's transactions, recording each step in the journal, and verify that they are ended.

        Raises:
            StalePlanError: A transaction is not in the reviewed state. The message says which were ended before it.
            LostReplyError: It is not known yet whether a transaction was ended.
            ApplyError: One was refused, or is not as planned in the log although no error was returned.
        """
        journal, sink = journal_of(context), _sink(plan)
        record = journal.record(context.step)
        if record.done is not None and record.whole:
            return record.done
        intended = ReceiptStep(
            target=target,
            place=sink.cluster_id,
            state=StepState.DONE,
            told=f"On the cluster {sink.name!r} of the sink {_counted(plan)} are ended: {_ways(plan)}.",
        )
        with self.connect(sink.name) as port:
            _require_same(sink, port)
            sent = _sent(plan, record.notes.get("sending"), journal.path) if record.stands else -1
            if not record.stands:
                journal.begin(context.step, intended)
            for number, transaction in enumerate(plan.transactions):
                answer = _observe(port, transaction)
                if _is_done(port, transaction, answer, sent=number <= sent):
                    continue
                if not _is_open(port, transaction, answer):
                    raise _not_open(transaction, answer, _rest(plan, number, port))
                journal.note(context.step, sending=json.dumps([number, *_request(transaction)]))
                reply = port.end(transaction)
                if reply.elsewhere is not None:
                    raise _led_away(transaction, sink, reply.elsewhere, _rest(plan, number, None))
                if reply.code != 0:
                    self._require_ended(plan, number, port, reply)
            _verify(plan, port)
        return journal.done(context.step, intended)

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:  # noqa: ARG002 - the protocol's
        """Refuse: ended transactions cannot be restored.

        Raises:
            ApplyError: Always.
        """
        raise ApplyError(
            f"{step.told} A commit cannot be taken back, and neither can an abort: Kafka has no request for it, so "
            "this target is not rolled back.",
            fix="To go back with the job, start it from a checkpoint that fits what is committed; the other targets of "
            "the plan stay as the message says.",
        )

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:  # noqa: ARG002 - the protocol's
        sink = _sink(plan)
        with self.connect(sink.name) as port:
            if port.cluster_id != sink.cluster_id:
                return SeenPlace(
                    standing=StepStanding.UNKNOWN, told=f"{sink.name!r} is another cluster: {port.cluster_id}."
                )
            results = _judged(plan.transactions, port)
        for turnout, state in ((Turnout.DIFFERENT, StepStanding.CHANGED), (Turnout.UNKNOWN, StepStanding.UNKNOWN)):
            sentences = [sentence for which, sentence in results if which is turnout]
            if sentences:
                return SeenPlace(standing=state, told=_some(sentences))
        return SeenPlace(standing=StepStanding.AS_WRITTEN, told=step.told)

    def _require_ended(self, plan: Plan, number: int, port: SinkPort, reply: Reply) -> None:
        transaction = plan.transactions[number]
        answer = _observe(port, transaction)
        if _is_done(port, transaction, answer, sent=True):
            return
        if reply.code is None:
            raise LostReplyError(
                f"{transaction.name}: the request to {transaction.decision.lower()} it got no answer, and the "
                "coordinator says that "
                f"it is {_state_text(answer)}. The request may still arrive.{_rest(plan, number, port)}",
                fix=_AGAIN,
            )
        if reply.again:
            raise ApplyError(
                f"{transaction.name}: expected its coordinator to take the request to {transaction.decision.lower()} "
                "it, but "
                f"{reply.message} until the deadline, so it is UNKNOWN what would come of it. It was not ended by this "
                f"request.{_rest(plan, number, port)}",
                fix=_AGAIN,
            )
        raise ApplyError(
            f"{transaction.name}: expected to {transaction.decision.lower()} it, but the broker refused with "
            f"{reply.message}. It is {_state_text(answer)}.{_rest(plan, number, port)}",
            fix="Grant WRITE on the TransactionalId if the right is missing, then run the same command again. Else "
            "look with `offsetwise transactions`, and draft a new plan.",
        )


def writer(migration: Migration) -> Writer:
    return SinkWriter(connecting(migration))


def _sink(plan: Plan) -> SinkRequirement:
    if plan.requirements.sink is None:
        raise ApplyError(
            "The plan: expected the cluster of the sink whose transactions are ended, found none. Nothing was sent.",
            fix="Draft the plan again.",
        )
    return plan.requirements.sink


def _require_same(sink: SinkRequirement, port: SinkPort) -> None:
    if port.cluster_id != sink.cluster_id:
        raise StalePlanError(
            f"Cluster {sink.name!r} of the sink: expected the cluster id {sink.cluster_id}, found {port.cluster_id}. "
            "Nothing was sent.",
            fix="Give the migration file that the plan was drafted with.",
        )


def _require_rights(plan: Plan, port: SinkPort) -> None:
    names = (
        parse(transaction.transactional_id)
        for transaction in plan.transactions
        if transaction.transactional_id is not None
    )
    for prefix in sorted({name.prefix for name in names if name is not None}):
        may = port.may_write(prefix)
        if may is not True:
            result = "that it may not" if may is False else "no answer of its coordinator"
            raise ApplyError(
                f"Transactional ids of the prefix {prefix!r}: expected that the user may end their transactions, found "
                f"{result}. Nothing was sent that could end one.",
                fix=f"Grant WRITE on TransactionalId '{prefix}-', prefixed, then try again.",
            )


def _observe(port: SinkPort, transaction: PlannedTransaction) -> Answer | None:
    return (
        None
        if transaction.transactional_id is None
        else port.describe([transaction.transactional_id])[transaction.transactional_id]
    )


def _is_open(port: SinkPort, transaction: PlannedTransaction, answer: Answer | None) -> bool:
    if transaction.transactional_id is not None:
        return is_open(transaction, answer)
    return all(shown.held_open for shown in port.logs([transaction]).values()) and not port.knows(
        transaction.producer_id
    )


def _is_done(port: SinkPort, transaction: PlannedTransaction, answer: Answer | None, *, sent: bool) -> bool:
    if not sent:
        return False
    if transaction.transactional_id is None:
        return judge(transaction, None, port.logs([transaction]))[0] is Turnout.CONFIRMED
    return is_over(transaction, answer) or is_ending(transaction, answer)


def _verify(plan: Plan, port: SinkPort) -> None:
    """Compare every transaction with its coordinator and the logs, after the markers have been written.

    Raises:
        ApplyError: A transaction is not as planned, or its state is not known.
    """
    results = _settled(plan.transactions, port)
    wrong = [message for turnout, message in results if turnout is Turnout.DIFFERENT]
    undecided = [message for turnout, message in results if turnout is Turnout.UNKNOWN]
    if wrong:
        raise ApplyError(
            f"The requests to end {_counted(plan)} were answered without an error, and {len(wrong):,} of them "
            f"{'is' if len(wrong) == 1 else 'are'} not ended as planned: {_some(wrong)}",
            fix="Do not start the job. Run the same command again, which ends what is still open. If it says the "
            "same, find out who else ends transactions of this job.",
        )
    if undecided:
        raise ApplyError(
            f"The requests to end {_counted(plan)} were answered without an error, but what came of them cannot be "
            f"verified: {_some(undecided)}",
            fix=_AGAIN,
        )


def _settled(transactions: Sequence[PlannedTransaction], port: SinkPort) -> list[tuple[Turnout, str]]:
    results = _judged(transactions, port)
    while any(turnout is not Turnout.CONFIRMED for turnout, _ in results) and port.wait():
        results = _judged(transactions, port)
    return results


def _judged(transactions: Sequence[PlannedTransaction], port: SinkPort) -> list[tuple[Turnout, str]]:
    ids = [transaction.transactional_id for transaction in transactions if transaction.transactional_id is not None]
    answers = port.describe(ids) if ids else {}
    logs = port.logs(transactions) if transactions else {}
    return [judge(transaction, answers.get(transaction.transactional_id or ""), logs) for transaction in transactions]


def _request(transaction: PlannedTransaction) -> tuple[str | None, int, int, int | None]:
    return transaction.transactional_id, transaction.producer_id, transaction.epoch, transaction.version


def _sent(plan: Plan, note: str | None, path: str) -> int:
    """Return the number of the last transaction that the journal records as about to be ended; -1 for none."""
    if note is None:
        return -1
    known = [json.dumps([number, *_request(transaction)]) for number, transaction in enumerate(plan.transactions)]
    if note not in known:
        raise StalePlanError(
            f"{path}: expected a transaction of the plan that was about to be ended, found {note[:200]!r}. Nothing was "
            "sent.",
            fix="Find out who changed this file. Look with `offsetwise transactions`, and draft a new plan.",
        )
    return known.index(note)


def _rest(plan: Plan, number: int, port: SinkPort | None) -> str:
    """Describe the results of the other transactions; without a port, only the replies."""
    total, remaining = len(plan.transactions), len(plan.transactions) - number - 1
    # A request can succeed without an effect: the state of the earlier transactions is looked up.
    results = [] if port is None else _settled(plan.transactions[:number], port)
    other = [message for turnout, message in results if turnout is not Turnout.CONFIRMED]
    before = f"The {number:,} before it are ended as planned."
    if number == 0:
        before = "None was ended before it."
    elif port is None:
        before = f"The requests to end the {number:,} before it were answered without an error."
    elif other:
        before = f"Of the {number:,} before it {number - len(other):,} are ended as planned. {_some(other)}"
    after = "" if not remaining else f" The {remaining:,} after it, to number {total:,}, did not begin."
    return f" It is number {number + 1:,} of {total:,}. {before}{after}"


def _counted(plan: Plan) -> str:
    return many(len(plan.transactions), "transaction")


def _ways(plan: Plan) -> str:
    commits = sum(transaction.decision is Settlement.COMMIT for transaction in plan.transactions)
    return f"{commits:,} committed, {len(plan.transactions) - commits:,} aborted"


def _state_text(answer: Answer | None) -> str:
    if isinstance(answer, Described):
        return f"{answer.state} (producer {answer.producer_id}, epoch {answer.epoch})"
    return "no longer open on its partition" if answer is None else f"not described: {answer}"


def _some(messages: list[str]) -> str:
    more = f" And {len(messages) - _NAMED:,} more." if len(messages) > _NAMED else ""
    return " ".join(messages[:_NAMED]) + more


def _not_open(transaction: PlannedTransaction, answer: Answer | None, rest: str) -> StalePlanError:
    return StalePlanError(
        f"{transaction.name}: expected it open as it was reviewed, found {_state_text(answer)}. Nothing was sent for "
        f"it.{rest}",
        fix=_STALE,
    )


def _led_away(transaction: PlannedTransaction, sink: SinkRequirement, elsewhere: str, rest: str) -> StalePlanError:
    return StalePlanError(
        f"{transaction.name}: expected a connection to the reviewed cluster {sink.cluster_id}, found that the "
        f"address leads to {elsewhere} now. Nothing was sent for it.{rest}",
        fix=_LED_AWAY,
    )
