"""Commits offsets of consumer groups on the new cluster: reads, writes one request each, reads back, restores.

Kafka has no compare-and-set for commits: the current state is compared right before the request, every partition's own
error is checked after it (the client does not raise them), and nothing counts as written that was not read back. Each
request is sent over a connection whose broker has just confirmed the reviewed cluster's id. A leader epoch does not
apply across clusters: none is written, and only a value of the same group is restored with its own.

Several groups are written in shares. Every group of a share is read and compared before the first line of the journal
is written for any of them; every group's line, with its state before, is on the disk before the first request of the
share is sent; then all requests run concurrently, and all groups are read back. So a crash, or lost replies, leave
groups that the journal records as begun, each with the offsets before, or the planned ones, or some of both: the same
as for a single group. Continuing reads each again, and sends its request again; groups do not depend on each other, so
the order of requests does not matter.

The committed offsets are known from one kind of answer only. It decides whether a request may be sent, but never that
none is needed: a request is also sent if its offsets are committed already, and is done only if its own reply and the
offsets read back agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.apply.publish import journal_of
from offsetwise.apply.writing import Came, Context, Preview, SeenPlace, StepStanding, Writer
from offsetwise.config import Migration
from offsetwise.errors import (
    ApplyError,
    ClusterError,
    GroupActiveError,
    LostReplyError,
    OffsetwiseError,
    StalePlanError,
)
from offsetwise.model import (
    GroupOffset,
    GroupState,
    Plan,
    ReceiptStep,
    StepState,
    Target,
    WrittenOffset,
)
from offsetwise.plugins.kafka.targets.group.checks import (
    INACTIVE,
    group_of,
    intended_step,
    offsets_to_write,
    require_gone,
    require_inactive,
    unreadable,
)
from offsetwise.plugins.kafka.targets.group.kafka import KafkaGroups
from offsetwise.plugins.kafka.targets.group.offsets import (
    by_partition,
    counted,
    differing_from,
    named,
    offset_or_none,
    refuse_foreign,
    some_of,
    to_commit,
    to_put_back,
    told_not_taken_away,
    told_standing,
    without_metadata,
)
from offsetwise.plugins.kafka.targets.group.port import GroupPort, Reply
from offsetwise.plugins.kafka.targets.group.verification import verify

AT_ONCE: Final = 50
"""Groups of a share: how many are compared, journalled, written concurrently and read back together."""

__all__ = ["AT_ONCE", "GroupWriter", "verify", "writer"]


@dataclass(frozen=True, slots=True)
class GroupWriter(Writer):
    port: GroupPort
    taken_back = StepStanding.AS_WRITTEN

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:  # noqa: ARG002 - the protocol's
        """Return which offsets would be committed, and the current ones. Nothing is written.

        Raises:
            OffsetwiseError: The group cannot be written in its current state; the message says why.
        """
        name = group_of(target)
        offsets = offsets_to_write(plan, name, self._read(plan, name))
        return Preview(
            target=target,
            place=name,
            told=f"{counted(offsets)} of group {name!r} would be committed on the new cluster.",
            offsets=offsets,
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Commit the plan's offsets, recording each step in the journal.

        Raises:
            GroupActiveError: The group has members.
            StalePlanError: Somebody else has committed since the plan was drafted.
            LostReplyError: It is not known yet whether it was done.
            ApplyError: Partitions were refused; the message says what is committed now.
        """
        outcome = self.write_all(plan, ((target, context),))[context.step]
        if isinstance(outcome, OffsetwiseError):
            raise outcome
        return outcome

    def write_all(self, plan: Plan, steps: Sequence[tuple[Target, Context]]) -> Came:
        """Commit the plan's offsets with several groups, in shares.

        Args:
            plan: The plan.
            steps: The groups, in the order of the plan, with one journal.

        Returns:
            By step the result: written, or the error that `write` raises. After a share with an error no other one
                begins. A step that is missing was not written by this call.
        """
        results: dict[int, ReceiptStep | OffsetwiseError] = {}
        for first in range(0, len(steps), AT_ONCE):
            results |= self._write_share(plan, steps[first : first + AT_ONCE])
            if any(isinstance(outcome, OffsetwiseError) for outcome in results.values()):
                break
        return results

    def _write_share(
        self, plan: Plan, steps: Sequence[tuple[Target, Context]]
    ) -> dict[int, ReceiptStep | OffsetwiseError]:
        finished: dict[int, ReceiptStep | OffsetwiseError] = {}
        remaining: dict[int, Target] = {}
        journal = journal_of(steps[0][1])
        for target, context in steps:
            record = journal.record(context.step)
            if record.done is not None and record.whole:
                finished[context.step] = record.done
            else:
                remaining[context.step] = target
        if not remaining:
            return finished
        step = next(iter(remaining))
        try:
            results = self.port.read([group_of(target) for target in remaining.values()], cluster_id=_cluster(plan))
            intended: dict[int, ReceiptStep] = {}
            for step, target in remaining.items():
                intended[step] = intended_step(plan, target, journal.record(step), results[group_of(target)])
            step = next(iter(remaining))
            journal.begin_together(
                {n: receipt_step for n, receipt_step in intended.items() if not journal.record(n).stands}
            )
            failed = self._commit(
                plan,
                {receipt_step.place: to_commit(receipt_step.offsets) for receipt_step in intended.values()},
                put_back={receipt_step.place: receipt_step.offsets for receipt_step in intended.values()},
            )
        except OffsetwiseError as error:
            return finished | {step: error}
        failures: dict[int, OffsetwiseError] = {
            n: failed[receipt_step.place] for n, receipt_step in intended.items() if receipt_step.place in failed
        }
        written = {n: receipt_step for n, receipt_step in intended.items() if n not in failures}
        try:
            journal.done_together(written)
        except OffsetwiseError as error:
            return finished | failures | {next(iter(written)): error}
        return finished | failures | written

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Restore the offsets committed before, as long as nobody has committed since.

        A group that was reviewed without any commit, and has only the written ones, is deleted. Otherwise a partition
        that had no commit before keeps the written one: Kafka's Python client cannot delete a single commit. The step
        is then `failed`, names the partitions and the command that can delete them, and may be undone again. Metadata
        and leader epochs are restored if this user's journal has them: they are not part of the reviewed plan.

        Raises:
            GroupActiveError: The group has members.
            LostReplyError: It is not known yet whether it was done, or two answers of the cluster disagree.
            ApplyError: Somebody else has committed since, or partitions were refused.
        """
        journal, name = journal_of(context), group_of(step.target)
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        if record.intended is None:
            step = replace(step, offsets=tuple(map(without_metadata, step.offsets)))
        now = self._read(plan, name)
        require_inactive(name, now)
        refuse_foreign(name, now, step.offsets)
        before = tuple(to_put_back(offset) for offset in step.offsets if offset.before is not None)
        if before:
            journal.undoing(context.step)
            # A user who may not commit has written nothing either: a refusal counts if a reply had confirmed the step.
            written = record.intended is None or record.done is not None
            failed = self._commit(plan, {name: before}, put_back={}, refusals_count=written)
            if failed:
                raise failed[name]
        retained = [
            offset
            for offset in step.offsets
            if offset.before is None and by_partition(now).get(offset.topic_partition) is not None
        ]
        none = not any(group.group == name and group.offsets for group in plan.requirements.groups)
        if retained and none and by_partition(now).keys() <= {offset.topic_partition for offset in retained}:
            journal.undoing(context.step)
            refused = self.port.remove(name, cluster_id=_cluster(plan))
            if refused is not None:
                return replace(
                    step, state=StepState.FAILED, told=told_not_taken_away(name, retained, len(before), refused)
                )
            require_gone(name, self._read(plan, name))
        elif retained:
            return replace(step, state=StepState.FAILED, told=told_not_taken_away(name, retained, len(before)))
        elif none and not before:
            require_gone(name, now)
        message = f"Group {name!r} is committed as it was before, in {len(step.offsets):,} partitions."
        if before and record.intended is None:
            message += " Without metadata: only the journal of the application has it."
        return journal.taken_back(context.step, step, message)

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:  # noqa: ARG002 - the protocol's
        name = group_of(step.target)
        try:
            now = self._read(plan, name)
        except (ClusterError, ApplyError, StalePlanError) as error:
            return SeenPlace(standing=StepStanding.UNKNOWN, told=error.problem)
        results = by_partition(now)
        undone = step.state is StepState.UNDONE
        expected = {offset.topic_partition: offset.before if undone else offset.offset for offset in step.offsets}
        committed = {key: results[key].offset if key in results else None for key in expected}
        if committed == expected:
            return SeenPlace(
                standing=StepStanding.AS_WRITTEN, told=f"Group {name!r} is committed as this step left it."
            )
        if not any(value is not None for value in committed.values()):
            return SeenPlace(standing=StepStanding.ABSENT, told=f"Group {name!r} has no commit in these partitions.")
        moved = [
            f"{key}: {offset_or_none(committed[key])} in the place of {offset_or_none(expected[key])}"
            for key in expected
            if committed[key] != expected[key]
        ]
        return SeenPlace(
            standing=StepStanding.CHANGED, told=f"Group {name!r} is committed otherwise. {some_of(moved)}."
        )

    def _commit(
        self,
        plan: Plan,
        requested: Mapping[str, tuple[GroupOffset, ...]],
        *,
        put_back: Mapping[str, tuple[WrittenOffset, ...]],
        refusals_count: bool = True,
    ) -> Mapping[str, OffsetwiseError]:
        """Commit; return an error for every group with a partition that was not read back as requested.

        Args:
            plan: The plan.
            requested: The offsets of each group.
            put_back: By group, the offsets to restore if it is committed in part.
            refusals_count: Whether a refused partition is an error although it is read back as requested.

        Raises:
            ClusterError: Nothing was sent.
        """
        if not requested:
            return {}
        replies = self.port.commit(requested, cluster_id=_cluster(plan))
        failed: dict[str, OffsetwiseError] = {
            name: reply
            for name, reply in replies.items()
            if isinstance(reply, ApplyError | StalePlanError) and not isinstance(reply, LostReplyError)
        }
        sent = [name for name in requested if name not in failed]
        try:
            results = self.port.read(sent, cluster_id=_cluster(plan)) if sent else {}
        except (ClusterError, StalePlanError) as error:
            return failed | {name: _not_read_back(name, error.problem, replies[name], error) for name in sent}
        for name in sent:
            refused = replies[name] if refusals_count or isinstance(replies[name], OffsetwiseError) else {}
            wrong = self._judged(plan, name, requested[name], refused, results[name], put_back=put_back.get(name, ()))
            if wrong is not None:
                failed[name] = wrong
        return failed

    def _judged(
        self,
        plan: Plan,
        name: str,
        requested: tuple[GroupOffset, ...],
        reply: Reply,
        now: GroupState,
        *,
        put_back: tuple[WrittenOffset, ...],
    ) -> OffsetwiseError | None:
        if now.error is not None:
            unread = unreadable(name, now.error)
            return _not_read_back(name, unread.problem, reply, unread)
        refused = {} if isinstance(reply, OffsetwiseError) else reply
        not_there = differing_from(now, requested)
        differing = tuple(at for offset in requested if (at := offset.topic_partition) in not_there or at in refused)
        if not differing:
            return None
        status = told_standing(now, requested, refused)
        if isinstance(reply, OffsetwiseError):
            return _caused(
                LostReplyError(
                    f"Group {name!r}: the reply to the commit was lost, and read again only "
                    f"{len(requested) - len(differing):,} of {len(requested):,} partitions are as asked. The request "
                    f"may still arrive, so whether it will be done is not known. {status}",
                    fix="Wait a minute, then run the same command again: it reads the group first and goes on.",
                ),
                reply,
            )
        if len(differing) < len(requested) and put_back:
            written = [offset for offset in put_back if offset.topic_partition not in differing]
            status = self._put_back(plan, name, written)
        kind = ApplyError if now.state in INACTIVE else GroupActiveError
        otherwise = "another offset was read back"
        return kind(
            f"Group {name!r}: expected to commit {len(requested):,} partitions, found {len(differing):,} not "
            f"committed: {some_of([f'{key}: {refused.get(key, otherwise)}' for key in differing])}. {status}",
            fix="Stop every member of the group and resolve the errors, then run the same command again, or roll back.",
        )

    def _put_back(self, plan: Plan, name: str, written: list[WrittenOffset]) -> str:
        before = tuple(to_put_back(offset) for offset in written if offset.before is not None)
        offsets = [offset for offset in written if offset.before is None]
        note = f" {named(offsets)} had no commit before and keep the new one." if offsets else ""
        try:
            reply = self.port.commit({name: before}, cluster_id=_cluster(plan))[name] if before else {}
            if isinstance(reply, OffsetwiseError):
                raise reply
            now = self._read(plan, name)
        except (ApplyError, ClusterError, StalePlanError) as error:
            return f"The others were to be put back, but {error.problem} Where they are is not known.{note}"
        differing = differing_from(now, before)
        if differing:
            return told_standing(now, before, reply) + note
        return f"The others were put back to what they were before.{note}"

    def _read(self, plan: Plan, name: str) -> GroupState:
        now = self.port.read((name,), cluster_id=_cluster(plan))[name]
        if now.error is not None:
            raise unreadable(name, now.error)
        return now


def writer(migration: Migration) -> Writer:
    return GroupWriter(KafkaGroups(migration.target))


def _cluster(plan: Plan) -> str | None:
    return plan.requirements.new.cluster_id


def _not_read_back(name: str, why: str, reply: Reply, cause: OffsetwiseError) -> LostReplyError:
    return _caused(
        LostReplyError(
            f"Group {name!r}: offsets were to be committed, and could not be read back: {why} "
            f"{'The reply was lost too. ' if isinstance(reply, LostReplyError) else ''}Whether they are committed is "
            "not known.",
            fix="Run the same command again when the cluster answers: it reads the group first.",
        ),
        cause,
    )


def _caused(error: LostReplyError, cause: OffsetwiseError) -> LostReplyError:
    error.__cause__ = cause
    return error
