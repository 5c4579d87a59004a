"""The steps between a job and prepared transactions that outlive their producer (KIP-939, Flink's FLIP-319). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Final

from offsetwise.digits import whole_number
from offsetwise.model import Checkpoint, GateCheck, Outcome
from offsetwise.transactions.timing import PREPARED, Timeout, intervals_ms
from offsetwise.wording import duration, many

TWO_PHASE: Final = "transaction.two.phase.commit.enable"
UNSTABLE: Final = "unstable.api.versions.enable"
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
READ: Final = (TWO_PHASE, UNSTABLE, MAX_TIMEOUT)
"""The relevant settings of brokers."""
_NEEDED: Final = 6
"""The version of InitProducerId that can begin a transaction for two-phase commit, and keep a prepared one."""
_ALL, _WRITE, _TWO_PHASE_COMMIT = 2, 4, 15
"""Operations of ACLs, by Kafka's numbers."""
_LITERAL: Final = 3
FALSE_ALARM: Final = (
    "A restore on the cluster that the sink wrote to may log that a transaction is 'already fenced' and speak of data "
    "loss: since transaction.version 2 a commit raises the epoch, so that the second commit of a restore is refused. "
    "Nothing is lost where `offsetwise transactions` says SETTLED."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """What one broker says of itself."""

    id: int
    apis: frozenset[tuple[int, int, int]]
    """(number of a request, lowest, highest version) that it takes. Equal for brokers of one release."""
    init_producer_id: int | None
    """The highest version of InitProducerId that it takes; None if it takes none."""
    config: Mapping[str, str] = field(default_factory=dict)
    """The settings in `READ` that the user may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AclGrant:
    """What an ACL lets a user do with transactional ids."""

    principal: str
    name: str
    """The transactional id, or its prefix; `*` for all."""
    pattern: int
    """3 for exactly this name, 4 for a prefix."""
    operation: int
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionFacts:
    """What a cluster says of two-phase commit."""

    name: str
    """The name in the migration file."""
    brokers: tuple[Broker, ...]
    """The brokers that answered."""
    silent: tuple[int, ...] = ()
    """The ids of those that did not."""
    authorizer: bool | None = None
    """Whether it has an authorizer; None if the user may not know."""
    grants: tuple[AclGrant, ...] = ()

    @property
    def max_timeout_ms(self) -> int | None:
        """The longest time-out of a transaction that every broker takes; None if a broker did not answer."""
        stated = [whole_number(broker.config.get(MAX_TIMEOUT, "")) for broker in self.brokers]
        known = [timeout_ms for timeout_ms in stated if timeout_ms is not None]
        return min(known) if known and len(known) == len(stated) and not self.silent else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """The five steps to two-phase commit, judged for one job, and what to do until they can be gone."""

    steps: tuple[GateCheck, ...]
    blocked_by: str | None
    """The first step that cannot be taken; None if none is known to block."""
    until_then: tuple[str, ...]
    """What protects the job's transactions meanwhile, each one sentence or more."""
    false_alarm: str = FALSE_ALARM


def judge(
    checkpoint: Checkpoint,
    sink: TransactionFacts,
    after: TransactionFacts,
    *,
    timeout: Timeout,
    live: bool,
    damage: str | None,
) -> Upgrade:
    """Evaluate the steps of FLIP-319 for a job.

    Args:
        checkpoint: The checkpoint to upgrade from.
        sink: The cluster that its sinks write to.
        after: The cluster that they write to once the job has moved; the same if they stay.
        timeout: The time-out of its transactions.
        live: Whether the job was seen to run.
        damage: Why the checkpoint cannot be read completely; None if it can.
    """
    prefixes = checkpoint.details.transactional_id_prefixes
    every = (sink,) if after == sink else (sink, after)
    steps = (
        _check("1. brokers with KIP-939", [_brokers(facts) for facts in every]),
        _check("2. the right to two-phase commit", [_rights(facts, prefixes) for facts in every]),
        _check("3. savepoint, job stopped", [_savepoint(checkpoint, damage, live=live)]),
        _check("4. connector with FLIP-319", [_connector(checkpoint)]),
        _check("5. start while no broker is being upgraded", [_releases(facts) for facts in every]),
    )
    return Upgrade(
        steps=steps,
        blocked_by=next((step.name for step in steps if step.outcome is Outcome.FAILED), None),
        until_then=(
            *_timeouts(checkpoint, every, timeout),
            "What the savepoint holds is settled while it is open: `offsetwise transactions` says what is to become of "
            "each, and how long is left.",
            f"Leave {TWO_PHASE} unset at the sink's producer: released clients accept it and do nothing with it, and "
            "a KafkaSink does not start with it.",
        ),
    )


def timeout_refused(facts: TransactionFacts, timeout: Timeout) -> tuple[str, str] | None:
    """Return why a cluster rejects the time-out of a sink's producer, and the remedy; None if nothing shows that.

    Args:
        facts: The cluster that the sink will write to.
        timeout: The time-out of its transactions.
    """
    most, timeout_ms = facts.max_timeout_ms, timeout.ms
    if most is None or timeout_ms <= most:
        return None
    return (
        f"transaction.timeout.ms of the sink is {duration(timeout_ms)} ({timeout.source}), and {MAX_TIMEOUT} of "
        f"cluster {facts.name!r} is {duration(most)}: the job does not start there (INVALID_TRANSACTION_TIMEOUT).",
        f"Put {MAX_TIMEOUT}={timeout_ms} into the properties of every broker, which read it as they start; or give the "
        f"sink's producer transaction.timeout.ms={most}, and state that as transaction_timeout_ms.",
    )


def _check(name: str, judged: Sequence[tuple[Outcome, str]]) -> GateCheck:
    outcomes = {outcome for outcome, _ in judged}
    worst = next(outcome for outcome in (Outcome.FAILED, Outcome.UNKNOWN, Outcome.PASSED) if outcome in outcomes)
    return GateCheck(name=name, outcome=worst, told=" ".join(message for _, message in judged))


def _brokers(facts: TransactionFacts) -> tuple[Outcome, str]:
    of = f"Cluster {facts.name!r}"
    old = [broker for broker in facts.brokers if (broker.init_producer_id or 0) < _NEEDED]
    if old:
        return Outcome.FAILED, (
            f"{of}: {_some(old, facts)} {'takes' if len(old) == 1 else 'take'} InitProducerId up to version "
            f"{max(broker.init_producer_id or 0 for broker in old)}, and two-phase commit needs {_NEEDED}. Kafka up to "
            "4.4 offers that only as unstable, and resumes no prepared transaction with it."
        )
    unstable = [broker for broker in facts.brokers if broker.config.get(UNSTABLE) == "true"]
    if unstable:
        return Outcome.FAILED, (
            f"{of}: with {UNSTABLE}=true at {_some(unstable, facts)} InitProducerId {_NEEDED} is offered before it is "
            "finished: Kafka up to 4.4 refuses to resume a prepared transaction with it (UNSUPPORTED_VERSION)."
        )
    off = [broker for broker in facts.brokers if broker.config.get(TWO_PHASE) == "false"]
    if off:
        return Outcome.FAILED, f"{of}: {TWO_PHASE} is false at {_some(off, facts)}."
    unread = [broker for broker in facts.brokers if not {TWO_PHASE, UNSTABLE} <= broker.config.keys()]
    if unread or facts.silent or not facts.brokers:
        message = "gave no answer" if facts.silent or not facts.brokers else "did not tell their settings"
        which = facts.silent or tuple(broker.id for broker in unread)
        return Outcome.UNKNOWN, f"{of}: {_ids(which)} {message}: DESCRIBE_CONFIGS on the cluster is needed for that."
    return Outcome.PASSED, f"{of}: every broker takes it, and allows it."


def _rights(facts: TransactionFacts, prefixes: Sequence[str]) -> tuple[Outcome, str]:
    of = f"Cluster {facts.name!r}"
    if facts.authorizer is None:
        return Outcome.UNKNOWN, f"{of}: this user may not read ACLs (DESCRIBE on the cluster)."
    if not facts.authorizer:
        return Outcome.PASSED, f"{of} has no authorizer: everybody may."
    lacking = [prefix for prefix in prefixes if not _allowed(facts.grants, f"{prefix}-")]
    if lacking:
        return Outcome.FAILED, (
            f"{of}: no ACL gives one user WRITE and TWO_PHASE_COMMIT on TransactionalId {lacking[0]!r}, prefixed; a "
            "super user needs none. To grant it: kafka-acls.sh --bootstrap-server HOST:PORT --add --allow-principal "
            "User:NAME --operation Write --operation TwoPhaseCommit --resource-pattern-type prefixed "
            f"--transactional-id {quote(f'{lacking[0]}-')}"
        )
    users = sorted(set().union(*(_allowed(facts.grants, f"{prefix}-") for prefix in prefixes)))
    return Outcome.PASSED, f"{of}: {', '.join(users) or 'every user'} may."


def _allowed(grants: Sequence[AclGrant], name: str) -> set[str]:
    of: dict[str, set[int]] = {}
    denied: set[str] = set()
    for grant in grants:
        covers = grant.name == "*" if grant.pattern == _LITERAL else name.startswith(grant.name)
        if covers and not grant.allowed and grant.operation in (_ALL, _WRITE, _TWO_PHASE_COMMIT):
            denied.add(grant.principal)
        elif covers and grant.allowed:
            of.setdefault(grant.principal, set()).add(grant.operation)
    both = {_WRITE, _TWO_PHASE_COMMIT}
    return {user for user, may in of.items() if _ALL in may or both <= may} - denied


def _savepoint(checkpoint: Checkpoint, damage: str | None, *, live: bool) -> tuple[Outcome, str]:
    details = checkpoint.details
    named = f"{details.kind.capitalize()} {details.checkpoint_id}"
    if live:
        return Outcome.FAILED, f"{named}: the job still runs. Stop it with a savepoint."
    if details.aligned is False:
        return Outcome.FAILED, f"{named} is unaligned: it holds records in flight. Take a savepoint."
    if damage is not None:
        return Outcome.FAILED, f"{named} cannot be read whole: {damage}"
    if details.kind != "savepoint":
        return Outcome.UNKNOWN, f"{named} can be read, and it is not a savepoint: another connector may not restore it."
    return Outcome.PASSED, f"{named} can be read, it is aligned, and nothing of the job moved between two looks."


def _connector(checkpoint: Checkpoint) -> tuple[Outcome, str]:
    schemas = {transaction.schema for transaction in checkpoint.details.transactions} - {None}
    if PREPARED in schemas:
        return Outcome.PASSED, (
            "Its committables are those of FLIP-319, which a connector from a proposal wrote: none is released, so "
            "that no release can resume them either."
        )
    wrote = "Its committables are of version 1" if schemas else "It holds no committable that tells its connector"
    return Outcome.FAILED, f"{wrote}, which every release up to 5.0.0 writes: none has FLIP-319."


def _releases(facts: TransactionFacts) -> tuple[Outcome, str]:
    of = f"Cluster {facts.name!r}"
    if facts.silent or not facts.brokers:
        return Outcome.UNKNOWN, f"{of}: {_ids(facts.silent)} gave no answer."
    if len({broker.apis for broker in facts.brokers}) > 1:
        return Outcome.FAILED, f"{of}: its brokers take different versions of requests, as while they are upgraded."
    return Outcome.PASSED, f"{of}: {many(len(facts.brokers), 'broker')} of one release."


def _timeouts(checkpoint: Checkpoint, every: Sequence[TransactionFacts], timeout: Timeout) -> Iterator[str]:
    timeout_ms = timeout.ms
    details = checkpoint.details
    times = {retained_checkpoint.id: retained_checkpoint.written_ms for retained_checkpoint in details.retained}
    if details.checkpoint_id is not None:
        times[details.checkpoint_id] = details.written_ms
    longest = max(intervals_ms(times), default=None)
    message = f"transaction.timeout.ms is {duration(timeout_ms)} ({timeout.source}). "
    if longest is None:
        message += (
            "It has to be longer than the longest time from checkpoint to checkpoint, with the longest outage; the "
            "retained checkpoints do not tell that time."
        )
    elif longest >= timeout_ms:
        message += f"Retained checkpoints are up to {duration(longest)} apart: it runs out between two of them."
    else:
        message += (
            f"Retained checkpoints are up to {duration(longest)} apart, so that an outage may last "
            f"{duration(timeout_ms - longest)} before records of a completed checkpoint are lost."
        )
    yield message
    for facts in every:
        most = facts.max_timeout_ms
        if most is None:
            yield f"Cluster {facts.name!r} did not tell its {MAX_TIMEOUT} (DESCRIBE_CONFIGS on the cluster)."
            continue
        refused = timeout_refused(facts, timeout)
        if refused is not None:
            yield " ".join(refused)
        else:
            yield f"Cluster {facts.name!r} allows up to {duration(most)} ({MAX_TIMEOUT})."


def _some(brokers: Sequence[Broker], facts: TransactionFacts) -> str:
    if len(brokers) == len(facts.brokers) > 1:
        return f"all {len(brokers):,} brokers"
    return _ids([broker.id for broker in brokers])


def _ids(ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, sorted(ids)[:5])) + (f" and {len(ids) - 5:,} more" if len(ids) > 5 else "")
    return f"broker {shown}" if len(ids) == 1 else f"brokers {shown}" if ids else "its brokers"
