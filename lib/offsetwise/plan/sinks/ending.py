"""Decide which transactions of a job's sinks a plan ends, and collect the objections. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.model import (
    GateCheck,
    OpenPartition,
    Outcome,
    Plan,
    PlannedTransaction,
    Problem,
    SeenTransaction,
    Settlement,
    SinkRequirement,
    Target,
    epoch_ms,
)
from offsetwise.plan.drift import Drift, DriftKind
from offsetwise.plan.request import DraftRequest, SettlementChoice, refuse
from offsetwise.plan.sinks.marking import rows_against
from offsetwise.plan.target import TargetRole, target_type
from offsetwise.transactions.decisions import CLOSED, Decision, SinkTransaction
from offsetwise.transactions.ended import TransactionPlace
from offsetwise.transactions.report import SinkTransactions
from offsetwise.wording import duration, many, utc
from offsetwise.wording.irreversible import NEWEST

TIME_TO_SETTLE: Final = "time to settle"
APPLY_MS: Final = 60_000
"""How long applying a plan may take: a transaction that times out sooner is not committed."""
_COMMIT_VERSION: Final = 4
"""The version of EndTxn that keeps the epoch: a restore of the job on this cluster commits again without an error."""
_ABORT_VERSION: Final = 5
"""The version of EndTxn that raises the epoch and so fences a returning producer. Needs Kafka 4.0 (KIP-890)."""
_NOT_OURS: Final = (Decision.NOTHING, Decision.OTHER_JOB)
_FIXES: Final = {
    Decision.LIVE: "Stop the job, then draft the plan again.",
    Decision.WAIT: "Draft the plan again in a moment.",
    Decision.LOST: "Start from an earlier checkpoint, or write the records again.",
    Decision.DENIED: "Grant the right, then draft the plan again.",
    Decision.UNEXPLAINED: "Decide about it, with a reason: on the Draft page, or with --commit-transaction ID or "
    "--abort-transaction ID and --reason TEXT.",
    Decision.NOT_NEWEST: "Draft from the newest checkpoint, or state that the job is taken back: --sink-rewound.",
    Decision.SINK_WENT_ON: "Draft from the newest checkpoint, or state `tolerates_replay: true` for the job.",
    Decision.WRONG_CLUSTER: "Correct sink_cluster or sink_servers in the migration file.",
}
_LOOK: Final = "Look at it: offsetwise transactions. docs/transactions.md says what each decision means."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    transactions: tuple[PlannedTransaction, ...]
    requirement: SinkRequirement
    gate: tuple[GateCheck, ...]


def ends_of(targets: Sequence[Target]) -> frozenset[Decision]:
    """Return the decisions whose transactions the targets end; empty if none of them ends transactions."""
    return frozenset(decision for target in targets for decision in target_type(target.kind).decisions)


def settle(
    sink: SinkTransactions,
    *,
    cluster: str,
    topics: tuple[str, ...],
    request: DraftRequest,
    job: JobTraits,
    now_ms: int,
) -> Ending:
    """Plan the end of every transaction that the targets end.

    Args:
        sink: The job's transactions now, with the decision about each.
        cluster: The name of the sink's cluster in the migration file.
        topics: Topics that were searched besides those that open transactions name.
        request: The targets and people's decisions.
        job: What the migration file states about the job.
        now_ms: The current time, epoch ms.

    Raises:
        PlanError: There are objections; the message names all of them.
    """
    ends = ends_of(request.targets)
    choices = {settlement.transactional_id: settlement for settlement in request.settlements}
    planned: list[PlannedTransaction] = []
    reasons = [*_against_all(sink, choices, ends)]
    for row in sink.transactions:
        decision = _settlement(row, ends, choices, request)
        if decision is None:
            reasons += _objections(row, ends, job)
        else:
            transaction = _planned(row, decision, choices.get(row.transactional_id or ""), sink.end_txn_version)
            reasons += _against_planned(row, transaction, now_ms)
            if transaction is not None:
                planned.append(transaction)
    refuse(tuple(reasons))
    if not planned:
        raise PlanError(
            f"The plan: expected transactions to end on cluster {cluster!r}, found none open. Nothing was written.",
            fix=f"Leave the target {', '.join(map(str, request.targets))} out: there is nothing for it to do.",
        )
    planned.sort(key=lambda row: (row.decision is Settlement.ABORT, row.deadline or "9999", row.name))
    return Ending(
        transactions=tuple(planned),
        requirement=SinkRequirement(
            name=cluster, cluster_id=str(sink.cluster_id), states=_required_states(sink, ends), topics=topics
        ),
        gate=(_gate(planned, now_ms), *_newest(sink, request, ends)),
    )


def moved(plan: Plan, sink: SinkTransactions) -> Iterator[Drift]:
    """Yield every change of the transactions of the job's sinks since the review: any other state is a drift."""
    requirement = plan.requirements.sink
    if requirement is None:
        return
    subject = f"The cluster {requirement.name!r} of the sink"
    if sink.cluster_id != requirement.cluster_id:
        yield Drift(
            kind=DriftKind.SINK_REPLACED,
            subject=f"{subject}, cluster id",
            reviewed=requirement.cluster_id,
            now=str(sink.cluster_id),
        )
        return
    for problem in sink.problems:
        yield Drift(kind=DriftKind.UNREADABLE, subject=subject, reviewed="read", now=f"not all of it: {problem}")
    if not plan.transactions:
        yield from _gone_on(plan, sink)
    before = {_key(state): state for state in requirement.states}
    after = {_key(transaction): transaction for transaction in _required_states(sink, ends_of(plan.targets))}
    if not plan.transactions:
        # The plan only marks transactions; anybody may end those that it does not mark.
        after = {key: transaction for key, transaction in after.items() if key in before}
    over = {_key(row): f"{row.broker_state} ({row.decision})" for row in sink.transactions}
    for key in dict.fromkeys((*before, *after)):
        reviewed, now = before.get(key), after.get(key)
        if reviewed != now:
            yield Drift(
                kind=DriftKind.SINK_MOVED,
                subject=_name(*key[:3]),
                reviewed=_state_text(reviewed),
                now=_state_text(now) if now is not None else over.get(key, "not open any more"),
            )
    remaining = {_key(row): row.left_ms for row in sink.transactions}
    for planned_transaction in plan.transactions:
        left_ms = remaining.get(_key(planned_transaction))
        if left_ms is not None and _is_late(planned_transaction, left_ms):
            yield Drift(
                kind=DriftKind.TIME_LEFT,
                subject=planned_transaction.name,
                reviewed=f"open until {planned_transaction.deadline}",
                now=_too_late(left_ms),
            )


def _gone_on(plan: Plan, sink: SinkTransactions) -> Iterator[Drift]:
    """Yield what a new draft of the same marks would be rejected for: the job runs, went on, or writes elsewhere."""
    for row in rows_against(sink, tolerates_replay=plan.job.tolerates_replay):
        yield Drift(
            kind=DriftKind.SINK_MOVED,
            subject=_name(row.transactional_id, row.producer_id, row.epoch),
            reviewed="nothing that speaks against the marks",
            now=f"{row.broker_state or 'no such id'} ({row.decision}). {row.reason}",
        )


def counted(ending: Ending, records: Mapping[TransactionPlace, int | None]) -> Ending:
    """Return the ending with the number of records of each transaction; None if they could not be counted."""
    by_partition = {(position.partition, position.producer_id): count for position, count in records.items()}
    return replace(
        ending,
        transactions=tuple(
            replace(
                transaction,
                partitions=tuple(
                    replace(at, records=by_partition.get((at.topic_partition, transaction.producer_id)))
                    for at in transaction.partitions
                ),
            )
            for transaction in ending.transactions
        ),
    )


def contradictions(
    targets: tuple[Target, ...],
    transactions: Sequence[PlannedTransaction],
    sink: SinkRequirement | None,
    *,
    marked: bool,
) -> Iterator[str]:
    ending = [target for target in targets if target_type(target.kind).role is TargetRole.TRANSACTIONS]
    looked = bool(ending) or marked
    if bool(ending) != bool(transactions) or looked != (sink is not None):
        yield "its targets, its transactions and its sink's cluster do not belong together"
    if any(True for target in ending for _ in target_type(target.kind).combination(targets)):
        yield "it ends hanging transactions and writes other targets too"
    if ending and (len(ending) > 1 or targets[0] != ending[0]):
        yield "it does not end transactions first"
    hangs = any(Decision.HANGING in target_type(target.kind).decisions for target in ending)
    keys = [(row.transactional_id, row.producer_id, row.epoch, row.partitions) for row in transactions]
    if len(set(keys)) != len(keys):
        yield "a transaction is in it twice"
    decisions = [planned.decision for planned in transactions]
    if decisions != sorted(decisions, key=lambda decision: decision is Settlement.ABORT):
        yield "it aborts before it commits"
    for planned in transactions:
        yield from _contradiction(planned, hangs=hangs)


def _contradiction(planned: PlannedTransaction, *, hangs: bool) -> Iterator[str]:
    if (planned.transactional_id is None) != hangs or (planned.version is None) != hangs:
        yield f"{planned.name} is not of the kind that its target ends"
    if hangs and (planned.decision is not Settlement.ABORT or len(planned.partitions) != 1):
        yield f"{planned.name} hangs, and one that hangs can only be aborted, on its partition"
    most = _COMMIT_VERSION if planned.decision is Settlement.COMMIT else _ABORT_VERSION
    if planned.version is not None and not 0 <= planned.version <= most:
        version = f"version {planned.version} of the request"
        yield f"{planned.name} is ended by {version}, which is never sent for that"
    if not planned.partitions or len({at.topic_partition for at in planned.partitions}) != len(planned.partitions):
        yield f"{planned.name} has no partition, or one twice"
    if min(planned.producer_id, planned.epoch, *((at.start_offset or 0) for at in planned.partitions)) < 0:
        yield f"{planned.name} has a negative number"
    if planned.by is not None and not planned.reason.strip():
        yield f"{planned.name} was decided without a reason"


def _settlement(
    row: SinkTransaction,
    ends: Collection[Decision],
    choices: Mapping[str, SettlementChoice],
    request: DraftRequest,
) -> Settlement | None:
    """Return how the plan ends a transaction; None if it does not."""
    if row.decision in (Decision.HANGING, Decision.COMMIT, Decision.ABORT):
        hangs_or_aborts = row.decision is not Decision.COMMIT
        return None if row.decision not in ends else Settlement.ABORT if hangs_or_aborts else Settlement.COMMIT
    if Decision.COMMIT not in ends:
        return None
    if row.decision is Decision.NOT_NEWEST and request.sink_rewound:
        return Settlement.ABORT
    choice = choices.get(row.transactional_id or "")
    return choice.decision if row.decision is Decision.UNEXPLAINED and choice is not None else None


def _against_all(
    sink: SinkTransactions, choices: Mapping[str, SettlementChoice], ends: Collection[Decision]
) -> Iterator[Problem]:
    if sink.cluster_id is None:
        message = "The sink's cluster did not tell its cluster id, so the plan could not be held to it."
        yield Problem(code=Decision.UNKNOWN, message=message, fix="Draft the plan again when the cluster answers.")
    for problem in sink.problems:
        yield Problem(code=Decision.DENIED, message=problem, fix=_FIXES[Decision.DENIED])
    unexplained = {row.transactional_id for row in sink.transactions if row.decision is Decision.UNEXPLAINED}
    for name, choice in choices.items():
        if name not in unexplained or Decision.COMMIT not in ends:
            message = f"{name}: a person's {choice.decision} is taken for a transaction that nothing explains only."
            yield Problem(
                code="NOT_UNEXPLAINED",
                message=message,
                fix="Leave the decision out: `offsetwise transactions` says what is done about it.",
            )
        if not choice.reason.strip():
            message = f"{name}: expected a written reason for its {choice.decision}, found none."
            yield Problem(code="REASON", message=message, fix="Say with --reason why.")


def _objections(row: SinkTransaction, ends: Collection[Decision], job: JobTraits) -> Iterator[Problem]:
    of_partition = row.transactional_id is None
    if row.decision in CLOSED or (of_partition and Decision.COMMIT in ends):
        return
    against_hanging = (Decision.WRONG_CLUSTER, Decision.DENIED, *([Decision.UNKNOWN] if of_partition else []))
    if Decision.COMMIT not in ends and row.decision not in against_hanging:
        return
    if row.decision is Decision.SINK_WENT_ON and job.tolerates_replay is True:
        return
    name = _name(row.transactional_id, row.producer_id, row.epoch)
    yield Problem(code=row.decision, message=f"{name}: {row.reason}", fix=_FIXES.get(row.decision, _LOOK))


def _planned(
    row: SinkTransaction, decision: Settlement, choice: SettlementChoice | None, highest: int | None
) -> PlannedTransaction | None:
    if row.producer_id is None or row.epoch is None:
        return None
    hangs = row.decision is Decision.HANGING
    version = _COMMIT_VERSION if decision is Settlement.COMMIT else _ABORT_VERSION
    return PlannedTransaction(
        transactional_id=row.transactional_id,
        producer_id=row.producer_id,
        epoch=row.epoch,
        decision=decision,
        version=None if hangs else min(version, highest or _COMMIT_VERSION),
        partitions=row.partitions,
        deadline=row.deadline,
        reason=row.reason if choice is None else choice.reason,
        by=None if choice is None else choice.by,
        coordinator_epoch=row.coordinator_epoch,
    )


def _against_planned(row: SinkTransaction, transaction: PlannedTransaction | None, now_ms: int) -> Iterator[Problem]:
    name = _name(row.transactional_id, row.producer_id, row.epoch)
    if transaction is None:
        reason = f"{name}: neither the checkpoint nor the list says which producer and epoch it is, so it is not ended."
        yield Problem(code=Decision.UNKNOWN, message=reason, fix=_LOOK)
        return
    if not transaction.partitions:
        why = f"{name}: the partitions that it is open on are not shown, so that its end could not be verified."
        yield Problem(code=Decision.DENIED, message=why, fix="Grant READ on the topics of the sink, then draft again.")
    left_ms = None if transaction.deadline is None else epoch_ms(transaction.deadline) - now_ms
    if left_ms is not None and _is_late(transaction, left_ms):
        yield Problem(code=DriftKind.TIME_LEFT, message=f"{name}: {_too_late(left_ms)}.", fix=_FIXES[Decision.LOST])


def _is_late(transaction: PlannedTransaction, left_ms: int) -> bool:
    return transaction.decision is Settlement.COMMIT and left_ms < APPLY_MS


def _too_late(left_ms: int) -> str:
    return (
        f"the broker aborts it in {duration(max(left_ms, 0))}, and applying a plan takes up to {duration(APPLY_MS)}, "
        "so that it would be too late to commit it"
    )


def _required_states(sink: SinkTransactions, ends: Collection[Decision]) -> tuple[SeenTransaction, ...]:
    """Return the transactions that must not change: the hanging ones if the plan ends such, else all others."""
    hangs = Decision.HANGING in ends
    return tuple(
        row.as_required
        for row in sink.transactions
        if row.decision not in _NOT_OURS and (row.transactional_id is None) == hangs
    )


def _gate(planned: Sequence[PlannedTransaction], now_ms: int) -> GateCheck:
    commits = [transaction for transaction in planned if transaction.decision is Settlement.COMMIT]
    limited = [(commit.deadline, commit) for commit in commits if commit.deadline is not None]
    if not limited:
        message = "No transaction is to be committed that the broker aborts by itself."
        return GateCheck(name=TIME_TO_SETTLE, outcome=Outcome.PASSED, told=message)
    deadline, first = min(limited, key=lambda pair: pair[0])
    remaining_ms = epoch_ms(deadline) - now_ms
    message = (
        f"{first.name} is the first of {many(len(commits), 'transaction')} to commit that the broker aborts by itself: "
        f"at {utc(epoch_ms(deadline))}, {duration(remaining_ms)} after the plan was drafted. Apply the plan before."
    )
    return GateCheck(name=TIME_TO_SETTLE, outcome=Outcome.PASSED, told=message)


def _newest(sink: SinkTransactions, request: DraftRequest, ends: Collection[Decision]) -> Iterator[GateCheck]:
    """Yield a check about transactions to abort that a newer checkpoint, which could not be searched for, may hold."""
    unsure = [row for row in sink.transactions if row.newer_may_hold and row.decision in ends]
    if not unsure:
        return
    message = f"{_name(*_key(unsure[0])[:3])} is the first of {many(len(unsure), 'transaction')} to abort that a newer "
    if request.sink_rewound:
        message += "checkpoint may hold: it is stated that the job is taken back."
        yield GateCheck(name=NEWEST, outcome=Outcome.PASSED, told=message)
        return
    message += (
        "checkpoint may hold. None could be looked for: name the job's folder of checkpoints in checkpoint_roots and "
        "draft again; else whoever approves the plan states that there is none."
    )
    yield GateCheck(name=NEWEST, outcome=Outcome.UNKNOWN, told=message)


_Key = tuple[str | None, int | None, int | None, tuple[OpenPartition, ...]]


def _key(row: SeenTransaction | SinkTransaction | PlannedTransaction) -> _Key:
    return row.transactional_id, row.producer_id, row.epoch, () if row.transactional_id else row.partitions


def _state_text(transaction: SeenTransaction | None) -> str:
    if transaction is None:
        return "not there"
    partitions = ", ".join(
        f"{at.topic_partition} from {'no record' if at.start_offset is None else at.start_offset}"
        for at in transaction.partitions
    )
    return f"{transaction.state or 'no such id'} ({transaction.decision}){partitions and f' on {partitions}'}"


def _name(transactional_id: str | None, producer_id: int | None, epoch: int | None) -> str:
    named = "A hanging transaction" if transactional_id is None else transactional_id
    return f"{named} (producer {_or_unknown(producer_id)}, epoch {_or_unknown(epoch)})"


def _or_unknown(value: int | None) -> str:
    return "unknown" if value is None else str(value)
