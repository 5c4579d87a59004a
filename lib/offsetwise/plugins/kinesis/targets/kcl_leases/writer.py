"""Writes the leases of a stopped application, each only if it is as it was read, and restores whole rows.

The rows before are written to the journal before anything else is written. Leases are written in transactions of up to
100, which DynamoDB does all or none, each under the condition that counter and position are those that were read: a
worker that starts meanwhile increases the counter, and then nothing is written. After a lost reply, the rows are read
again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.apply.journal import StepRecord
from offsetwise.apply.publish import journal_of
from offsetwise.apply.writing import Context, Preview, SeenPlace, StepStanding, Writer
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, ClusterError, LostReplyError, OffsetwiseError, StalePlanError
from offsetwise.model import CreatedTable, Plan, ReceiptStep, StepState, Target, WrittenLease
from offsetwise.plan.evidence import changed
from offsetwise.plan.target import refuse_unfit
from offsetwise.plugins.kinesis.stream.spec import Place, ShardPlace, shard_id
from offsetwise.plugins.kinesis.targets.kcl.creation import (
    DELETING,
    create,
    delete,
    require_none,
    require_only,
    require_own,
)
from offsetwise.plugins.kinesis.targets.kcl.images import added, dumped, loaded, moved
from offsetwise.plugins.kinesis.targets.kcl.leases import require_stopped
from offsetwise.plugins.kinesis.targets.kcl.spec import KCL_3, NAME_ANOTHER, NO_LEASES, Leases, read_leases
from offsetwise.plugins.kinesis.targets.kcl.table import AT_ONCE, LeaseChange, LeaseTable
from offsetwise.plugins.kinesis.targets.kcl_leases.spec import (
    TYPE,
    created_for,
    is_reviewed,
    of_another_stream,
    of_new_leases,
    of_other_keys,
    place_of,
)
from offsetwise.plugins.kinesis.targets.kcl_leases.verification import verify
from offsetwise.plugins.kinesis.targets.spec import is_to_another_stream
from offsetwise.storage.dynamodb import Item
from offsetwise.wording import many, number

__all__ = ["LeaseWriter", "verify", "writer"]

_AGAIN: Final = "Compare again, and draft the plan from what is there now."


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseWriter(Writer):
    connect: Callable[[str], LeaseTable]
    wait: Callable[[float], None] = time.sleep

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:  # noqa: ARG002 - the protocol's
        """Return which leases would be written, and check with two looks that the application is stopped.

        Nothing is written.

        Raises:
            OffsetwiseError: They cannot be written in the current state; the message says why.
        """
        table = self.connect(target.group or "")
        if created_for(plan.settings) is None:
            current, creates = require_stopped(table, read_leases(table), self.wait), ""
        else:
            require_none(table)
            current, creates = NO_LEASES, f"{TYPE.creates(plan.settings, target)} would be created. "
        leases = _to_write(plan, table, current)
        return Preview(
            target=target,
            place=table.uri,
            told=f"{creates}{many(len(leases), 'lease')} of the application {table.name!r} would be written: "
            f"{_changes_text(leases) or 'all of them are as planned'}.",
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write the leases, recording each step in the journal. The same call again continues.

        Raises:
            RunningQueryError: A worker renews a lease.
            StalePlanError: A lease is not as it was reviewed, or has changed since; nothing was written after that.
            LostReplyError: It is not known yet whether leases were written.
            ApplyError: It was refused; the message says what was written.
        """
        journal, table = journal_of(context), self.connect(target.group or "")
        record = journal.record(context.step)
        if record.done is not None and record.whole:
            return record.done
        intended, kcl = record.intended if record.stands else None, created_for(plan.settings)
        goes_on = intended is not None
        if kcl is None:
            current = require_stopped(table, read_leases(table), self.wait)
        else:
            current = NO_LEASES
            if not goes_on:
                require_none(table)
        if intended is None:
            leases = _to_write(plan, table, current)
            message = f"{many(len(leases), 'lease')} of the application {table.name!r} are written as planned."
            intended = ReceiptStep(target=target, place=table.uri, state=StepState.DONE, told=message, leases=leases)
            journal.begin(context.step, intended)
        if kcl is not None:
            created_ms = create(table, kcl, _created_ms(intended, record if goes_on else None), self.wait)
            journal.note(context.step, table=str(created_ms))
            intended = replace(intended, table=CreatedTable(kcl=kcl, created_ms=created_ms))
            if goes_on:
                current = require_stopped(table, read_leases(table), self.wait)
        changes = [_change(plan, lease, current) for lease in intended.leases]
        _carry_out(table, current, changes)
        return journal.done(context.step, intended)

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Restore every row that is as this plan wrote it.

        Raises:
            RunningQueryError: A worker renews a lease.
            StalePlanError: A worker has taken a lease since, or somebody wrote to it; nothing was restored after that.
            LostReplyError: It is not known yet whether rows were restored.
            ApplyError: It was refused.
        """
        journal, table = journal_of(context), self.connect(step.target.group or "")
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        if created_for(plan.settings) is not None:
            return self._deleted(plan, step, context, table)
        leases = require_stopped(table, read_leases(table), self.wait)
        forth = [_change(plan, lease, leases) for lease in step.leases]
        journal.undoing(context.step)
        _carry_out(
            table, leases, [LeaseChange(key=change.key, before=change.after, after=change.before) for change in forth]
        )
        message = f"{many(len(step.leases), 'lease')} of the application {table.name!r} are as they were before."
        return journal.taken_back(context.step, step, message)

    def _deleted(self, plan: Plan, step: ReceiptStep, context: Context, table: LeaseTable) -> ReceiptStep:
        """Delete the table that this plan created, if only its own leases are in it; raises as `undo`."""
        journal = journal_of(context)
        state, created_ms = table.state(), _created_ms(step, journal.record(context.step))
        if state is not None and state.status != DELETING:
            require_own(table, table.until_active(self.wait), created_ms)
            leases = require_stopped(table, read_leases(table), self.wait)
            changes = [_change(plan, lease, leases) for lease in step.leases]
            require_only(table, {change.key for change in changes})
            journal.undoing(context.step)
            _carry_out(
                table, leases, [LeaseChange(key=change.key, before=change.after, after=None) for change in changes]
            )
            require_only(table, set())
            delete(table, self.wait)
        else:
            journal.undoing(context.step)
            table.until_gone(self.wait)
        message = f"The table {table.name!r} is deleted: there was none before."
        return journal.taken_back(context.step, step, message)

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:  # noqa: ARG002 - the protocol's
        table = self.connect(step.target.group or "")
        try:
            state = table.state() if created_for(plan.settings) is not None else None
            if created_for(plan.settings) is not None and (state is None or state.status == DELETING):
                return SeenPlace(standing=StepStanding.ABSENT, told=f"{table.uri}: there is no such table.")
            leases = read_leases(table)
        except (ClusterError, ApplyError) as error:
            return SeenPlace(standing=StepStanding.UNKNOWN, told=error.problem)
        changes = [_change(plan, lease, leases) for lease in step.leases]
        undone = step.state is StepState.UNDONE
        other = [
            change.key for change in changes if not _is(leases, change.key, change.before if undone else change.after)
        ]
        if not other:
            return SeenPlace(
                standing=StepStanding.AS_WRITTEN, told=f"{table.uri}: the leases are as this step left them."
            )
        message = f"{table.uri}: {other[0]} is not as this step left it"
        message += f", nor are {many(len(other) - 1, 'more lease')}." if len(other) > 1 else "."
        return SeenPlace(standing=StepStanding.CHANGED, told=message)

    def left(self, plan: Plan, undone: ReceiptStep, context: Context) -> str | None:
        observation = self.look(plan, undone, context)
        before = StepStanding.AS_WRITTEN if created_for(plan.settings) is None else StepStanding.ABSENT
        return None if observation.standing is before else observation.told


def writer(migration: Migration) -> Writer:
    return LeaseWriter(connect=lambda name: LeaseTable(migration.target, name))


def _created_ms(step: ReceiptStep, record: StepRecord | None) -> int | None:
    """Return when this plan created the table; None if no answer recorded it."""
    noted = None if record is None else record.notes.get("table")
    return step.table.created_ms if step.table is not None else None if noted is None else int(noted)


def _to_write(plan: Plan, table: LeaseTable, current: Leases) -> tuple[WrittenLease, ...]:
    """Return every lease that is not as planned yet, with its whole current row.

    Raises:
        StalePlanError: The plan is of this table, and a lease is not at the reviewed position.
        ApplyError: Leases cannot express the plan.
    """
    TYPE.require_fit(plan, table.uri)
    refuse_unfit(of_new_leases(plan, current.positions), table.uri)
    if why := of_another_stream(plan, current.positions) or of_other_keys(plan.requirements.new.topics, current.rows):
        raise ApplyError(f"{table.uri}: {why}. Nothing was written.", fix=NAME_ANOTHER)
    pinned = next((dict(pin.leases) for pin in plan.requirements.tables if pin.table == table.name), None)
    reviewed, elsewhere = is_reviewed(plan, table.name), is_to_another_stream(plan.positions)
    leases = []
    planned = {shard_id(position.partition): position for position in plan.positions}
    for key, position in sorted(planned.items()):
        target, row, now = place_of(position), current.rows.get(key), current.positions.get(key)
        if reviewed and now not in (position.old_offset, target):
            raise _stale(table, f"{key} at {number(position.old_offset)} as reviewed", f"{now}")
        if pinned is not None and now not in (pinned.get(key), target):
            raise _stale(table, f"{key} at {pinned.get(key) or 'no lease'} as reviewed", f"{now or 'no lease'}")
        if elsewhere and now not in (None, target):
            raise StalePlanError(
                f"{table.uri}: expected no lease of {key} yet, because the plan is for another stream, found it at "
                f"{now}. Nothing was written.",
                fix=NAME_ANOTHER,
            )
        if now != target and target is not None and not (row is None and target.place is Place.SHARD_END):
            before = None if row is None else dumped(row)
            leases.append(WrittenLease(key=key, position=target, before_position=now, before=before))
    missing = [key for key, at in current.positions.items() if key not in planned and str(at) != Place.SHARD_END]
    if missing:
        expected = "a position in the plan for every lease that is not read to its end"
        raise _stale(table, expected, f"none for {min(missing)}")
    return tuple(leases)


def _stale(table: LeaseTable, expected: str, actual: str) -> StalePlanError:
    return StalePlanError(f"{table.uri}: expected {expected}, found {actual}. Nothing was written.", fix=_AGAIN)


def _change(plan: Plan, lease: WrittenLease, current: Leases) -> LeaseChange:
    """Return both rows of a lease: the one before is in the record, the other follows from it and the plan.

    Raises:
        FileError: The record is not a row of this lease, or has none although the plan creates no new lease.
    """
    position = lease.position
    if not isinstance(position, ShardPlace):
        raise changed(f"{lease.key}: expected a position of a shard, found {position}.")
    if lease.before is not None:
        try:
            before = loaded(lease.before)
            return LeaseChange(key=lease.key, before=before, after=moved(before, position))
        except (ValueError, KeyError, TypeError) as error:
            raise changed(f"{lease.key}: expected the row as it was before, found {lease.before[:80]!r}.") from error
    known = (shard for topic in plan.requirements.new.topics for shard in topic.shards)
    shard = next((shard_range for shard_range in known if shard_id(shard_range.partition) == lease.key), None)
    if shard is None:
        raise changed(
            f"{lease.key}: expected the row as it was before, found none, and the plan makes no new lease of it."
        )
    parents, typed = tuple(map(shard_id, shard.parents)), current.typed or created_for(plan.settings) == KCL_3
    after = added(lease.key, position, low=shard.low, high=shard.high, parents=parents, typed=typed)
    return LeaseChange(key=lease.key, before=None, after=after)


def _is(current: Leases, key: str, row: Item | None) -> bool:
    now = current.rows.get(key)
    return now is row if now is None or row is None else dumped(now) == dumped(row)


def _carry_out(table: LeaseTable, current: Leases, changes: Sequence[LeaseChange]) -> None:
    lease_changes = [change for change in changes if not _is(current, change.key, change.after)]
    for lease_change in lease_changes:
        if not _is(current, lease_change.key, lease_change.before):
            raise _written_to(table, lease_change, "Nothing was written to it.")
    for start in range(0, len(lease_changes), AT_ONCE):
        share = lease_changes[start : start + AT_ONCE]
        try:
            table.write(share)
        except LostReplyError:
            if any(_others(table, share)):
                raise
        except OffsetwiseError as error:
            if start == 0:
                raise
            raise type(error)(
                f"{error.problem} The {start:,} leases before them are written.", fix=error.fix
            ) from error
    other = next(_others(table, lease_changes), None)
    if other is not None:
        raise _written_to(table, other, "All leases were written without an error before that.")


def _others(table: LeaseTable, changes: Sequence[LeaseChange]) -> Iterator[LeaseChange]:
    now = read_leases(table)
    return (change for change in changes if not _is(now, change.key, change.after))


def _written_to(table: LeaseTable, change: LeaseChange, effect: str) -> StalePlanError:
    return StalePlanError(
        f"{table.uri}: expected {change.key} as it was read before, found that somebody has written to it since. "
        f"{effect}",
        fix="Stop every worker of the application. To write the rest, apply the plan with another --receipt; "
        "if the application has gone on from there, draft a new plan.",
    )


def _changes_text(leases: Sequence[WrittenLease]) -> str:
    shown = [f"{lease.key} from {lease.before_position or 'no lease'} to {lease.position}" for lease in leases[:4]]
    return ", ".join((*shown, *([f"and {len(leases) - 4:,} more"] if len(leases) > 4 else [])))
