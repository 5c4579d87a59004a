"""Committed offsets of a consumer group on the new cluster: read, written in one request, read back, put back.

Kafka has no compare-and-set for commits: what stands there is compared right before the one request, every partition's
own error is looked at after it (the client does not raise them), and nothing is called written that was not read back.
A leader epoch never crosses clusters: none is written, and only a value of the same group is put back with its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final, Protocol

from offsetwise.apply.publish import journal_of
from offsetwise.apply.writing import Context, Preview, Seen, Standing
from offsetwise.errors import ApplyError, ClusterError, GroupActiveError, LostReplyError, StalePlanError
from offsetwise.model import (
    GroupOffset,
    GroupState,
    Plan,
    ReceiptStep,
    StepState,
    Target,
    TopicPartition,
    WrittenOffset,
)

NAMED: Final = 12
"""How many partitions a message names."""
_INACTIVE: Final = frozenset({"Empty", "Dead"})
_ORDINARY: Final = frozenset({None, "Classic", "Consumer", "Unknown"})
"""Kinds of group; a broker that does not tell kinds has no others."""


class GroupPort(Protocol):
    """What the writer needs of a cluster."""

    def read(self, group: str) -> GroupState:
        """Give a group as it is now, all its commits included.

        Raises:
            ClusterError: The cluster gave no answer.
        """

    def commit(self, group: str, offsets: tuple[GroupOffset, ...]) -> Mapping[TopicPartition, str]:
        """Commit offsets in one request; give the reason for every partition that was refused.

        Raises:
            ClusterError: Nothing was sent.
            LostReplyError: It was sent, and no reply came.
        """


@dataclass(frozen=True, slots=True)
class GroupWriter:
    """Writes to groups of one cluster."""

    port: GroupPort

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:  # noqa: ARG002 - the protocol's
        """Say which offsets would be committed, and what is committed now. Nothing is written.

        Raises:
            OffsetwiseError: The group could not be written as things stand; the message says why.
        """
        name = _name(target)
        offsets = self._before(plan, name)
        return Preview(
            target=target,
            place=name,
            told=f"{_counted(offsets)} of group {name!r} would be committed on the new cluster.",
            offsets=offsets,
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Commit the plan's offsets, under the journal.

        Raises:
            GroupActiveError: The group has members.
            StalePlanError: Somebody else has committed since the plan was drafted.
            LostReplyError: Whether it was done cannot be told yet.
            ApplyError: Partitions were refused; the message says what is committed now.
        """
        journal, name = journal_of(context), _name(target)
        record = journal.record(context.step)
        if record.done is not None and record.undone is None:
            return record.done
        if record.intended is None or record.undone is not None:
            offsets = self._before(plan, name)
            intended = ReceiptStep(
                target=target,
                place=name,
                state=StepState.DONE,
                told=f"{_counted(offsets)} of group {name!r} are committed on the new cluster as planned.",
                offsets=offsets,
            )
            journal.begin(context.step, intended)
        else:
            intended = record.intended
            now = self._inactive(name)
            _refuse_foreign(name, now, intended.offsets)
            if not _differing(now, _planned(intended.offsets)):
                journal.done(context.step, intended)
                return intended
        self._commit(name, _planned(intended.offsets), put_back=intended.offsets)
        journal.done(context.step, intended)
        return intended

    def undo(self, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Put back what was committed before, as long as nobody has committed since.

        A partition that had no commit before keeps the one that was written: Kafka's Python client cannot take a commit
        away. The step is then `failed`, names the partitions and the command that can, and may be undone again.

        Raises:
            GroupActiveError: The group has members.
            LostReplyError: Whether it was done cannot be told yet.
            ApplyError: Somebody else has committed since, or partitions were refused.
        """
        journal, name = journal_of(context), _name(step.target)
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        now = self._inactive(name)
        _refuse_foreign(name, now, step.offsets)
        before = tuple(_restored(one) for one in step.offsets if one.before is not None)
        if _differing(now, before):
            journal.undoing(context.step)
            self._commit(name, before, put_back=())
        kept = [each for each in step.offsets if each.before is None and _at(now).get(_key(each)) is not None]
        if kept:
            return replace(step, state=StepState.FAILED, told=_not_taken_away(name, kept, len(before)))
        told = f"Group {name!r} is committed as it was before, in {len(step.offsets)} partitions."
        undone = replace(step, state=StepState.UNDONE, told=told)
        journal.undone(context.step, undone)
        return undone

    def look(self, step: ReceiptStep, context: Context) -> Seen:  # noqa: ARG002 - the protocol's
        """Say whether the group is committed as the step left it."""
        name = _name(step.target)
        try:
            now = self._read(name)
        except (ClusterError, ApplyError) as error:
            return Seen(standing=Standing.UNKNOWN, told=error.problem)
        found = _at(now)
        undone = step.state is StepState.UNDONE
        wanted = {_key(each): each.before if undone else each.offset for each in step.offsets}
        stands = {key: found[key].offset if key in found else None for key in wanted}
        if stands == wanted:
            return Seen(standing=Standing.AS_WRITTEN, told=f"Group {name!r} is committed as this step left it.")
        if not any(value is not None for value in stands.values()):
            return Seen(standing=Standing.ABSENT, told=f"Group {name!r} has no commit in these partitions.")
        moved = [
            f"{key}: {_number(stands[key])} in the place of {_number(wanted[key])}"
            for key in wanted
            if stands[key] != wanted[key]
        ]
        return Seen(standing=Standing.CHANGED, told=f"Group {name!r} is committed otherwise. {_some(moved)}.")

    def _before(self, plan: Plan, name: str) -> tuple[WrittenOffset, ...]:
        """Give every offset to write, with what is committed now: exactly what the plan was drafted against."""
        now = self._inactive(name)
        found = _at(now)
        offsets = tuple(
            _written(partition, offset, found.get(partition)) for partition, offset in _of_plan(plan, name).items()
        )
        reviewed = next((each for each in plan.requirements.groups if each.group == name), None)
        if reviewed is None:
            raise ApplyError(
                f"Group {name!r}: expected what was committed when the plan was drafted, found nothing about it in the "
                "plan. Nothing was written.",
                fix="Draft the plan again with this target.",
            )
        expected = {TopicPartition(topic=t, partition=p): offset for t, p, offset in reviewed.offsets}
        others = [
            f"{one.topic}-{one.partition}: {_number(one.before)} in the place of {_number(expected.get(_key(one)))}"
            for one in offsets
            if one.before != expected.get(_key(one))
        ]
        if others:
            raise StalePlanError(
                f"Group {name!r}: expected the commits that were reviewed, found others: somebody has committed since. "
                f"{_some(others)}. Nothing was written.",
                fix="Find out who commits with this group, then draft the plan again.",
            )
        return offsets

    def _commit(self, name: str, wanted: tuple[GroupOffset, ...], *, put_back: tuple[WrittenOffset, ...]) -> None:
        """Commit, and return only if every partition was read back as wanted."""
        lost: LostReplyError | None = None
        refused: Mapping[TopicPartition, str] = {}
        try:
            refused = self.port.commit(name, wanted)
        except LostReplyError as error:
            lost = error
        now = self._read_back(name, lost)
        differing = _differing(now, wanted)
        if not differing:
            return
        stands = _stands(now, wanted, refused)
        if lost is not None:
            raise LostReplyError(
                f"Group {name!r}: the reply to the commit was lost, and read again only "
                f"{len(wanted) - len(differing)} of {len(wanted)} partitions stand as asked. The request may still "
                f"arrive, so whether it will be done is not known. {stands}",
                fix="Wait a minute, then give the same command again: it reads the group first and goes on from there.",
            ) from lost
        if len(differing) < len(wanted) and put_back:
            stands = self._put_back(name, [one for one in put_back if _key(one) not in differing])
        kind = ApplyError if now.state in _INACTIVE else GroupActiveError
        otherwise = "another offset was read back"
        raise kind(
            f"Group {name!r}: expected to commit {len(wanted)} partitions, found {len(differing)} not committed: "
            f"{_some([f'{key}: {refused.get(key, otherwise)}' for key in differing])}. {stands}",
            fix="Stop every member of the group and see to the errors, then give the same command again, or roll back.",
        )

    def _put_back(self, name: str, written: list[WrittenOffset]) -> str:
        """Take a half-written commit back as far as it goes; say what stands then."""
        before = tuple(_restored(one) for one in written if one.before is not None)
        kept = [one for one in written if one.before is None]
        left = f" {_partitions(kept)} had no commit before and keep the new one." if kept else ""
        try:
            refused = self.port.commit(name, before) if before else {}
            now = self._read(name)
        except (ApplyError, ClusterError) as error:
            return f"The others were to be put back, but {error.problem} What they stand at is not known.{left}"
        differing = _differing(now, before)
        if differing:
            return _stands(now, before, refused) + left
        return f"The others were put back to what they were before.{left}"

    def _inactive(self, name: str) -> GroupState:
        now = self._read(name)
        if name.startswith("connect-") or now.type not in _ORDINARY:
            kind = "a Kafka Connect group" if name.startswith("connect-") else f"one of type {now.type}"
            raise ApplyError(
                f"Group {name!r}: expected an ordinary consumer group, found {kind}. Nothing was written.",
                fix="Use the tools of the system that owns the group; Offsetwise does not write to it.",
            )
        if now.state not in _INACTIVE:
            raise GroupActiveError(
                f"Group {name!r}: expected no members, found the group {now.state or 'in an unknown state'}. "
                "Nothing was written.",
                fix="Stop every consumer of the group; a static member leaves only after session.timeout.ms. "
                "Then give the same command again.",
            )
        return now

    def _read(self, name: str) -> GroupState:
        now = self.port.read(name)
        if now.error is not None:
            raise ApplyError(
                f"Group {name!r}: expected to read its commits, but {now.error}. Nothing was written.",
                fix="Grant READ and DESCRIBE on the group and its topics, or try again when all brokers answer.",
            )
        return now

    def _read_back(self, name: str, lost: LostReplyError | None) -> GroupState:
        try:
            return self._read(name)
        except (ApplyError, ClusterError) as error:
            raise LostReplyError(
                f"Group {name!r}: offsets were to be committed, and could not be read back: {error.problem} "
                f"{'The reply was lost too. ' if lost is not None else ''}Whether they are committed is not known.",
                fix="Give the same command again when the cluster answers: it reads the group first.",
            ) from error


def _name(target: Target) -> str:
    if not target.group:
        raise ApplyError(
            f"The target {target}: expected the name of a group, found none. Nothing was written.",
            fix="Draft the plan again with consumer-group:NAME.",
        )
    return target.group


def _of_plan(plan: Plan, name: str) -> dict[TopicPartition, int]:
    """Give the offset of every partition of the new cluster."""
    made: dict[TopicPartition, int] = {}
    for one in plan.positions:
        key = TopicPartition(topic=one.new_topic, partition=one.partition)
        if made.setdefault(key, one.new_offset) != one.new_offset:
            raise ApplyError(
                f"Group {name!r}: expected one offset of {key}, found {made[key]} and {one.new_offset} in the plan, "
                "because two sources read it. Nothing was written.",
                fix="A group can hold one of them only: move the job by its checkpoint.",
            )
    return made


def _written(partition: TopicPartition, offset: int, before: GroupOffset | None) -> WrittenOffset:
    return WrittenOffset(
        topic=partition.topic,
        partition=partition.partition,
        offset=offset,
        before=None if before is None else before.offset,
        before_metadata="" if before is None else before.metadata,
        before_leader_epoch=None if before is None else before.leader_epoch,
    )


def _planned(offsets: Iterable[WrittenOffset]) -> tuple[GroupOffset, ...]:
    return tuple(GroupOffset(topic=one.topic, partition=one.partition, offset=one.offset) for one in offsets)


def _restored(one: WrittenOffset) -> GroupOffset:
    if one.before is None:
        raise ValueError("there was no commit")
    return GroupOffset(
        topic=one.topic,
        partition=one.partition,
        offset=one.before,
        leader_epoch=one.before_leader_epoch,
        metadata=one.before_metadata,
    )


def _key(one: WrittenOffset | GroupOffset) -> TopicPartition:
    return TopicPartition(topic=one.topic, partition=one.partition)


def _at(group: GroupState) -> dict[TopicPartition, GroupOffset]:
    return {_key(each): each for each in group.offsets}


def _differing(now: GroupState, wanted: Iterable[GroupOffset]) -> tuple[TopicPartition, ...]:
    """Give the partitions that are not committed as wanted. A broker may add a leader epoch of its own."""
    found = _at(now)
    return tuple(
        _key(one)
        for one in wanted
        if _key(one) not in found or (found[_key(one)].offset, found[_key(one)].metadata) != (one.offset, one.metadata)
    )


def _refuse_foreign(name: str, now: GroupState, offsets: tuple[WrittenOffset, ...]) -> None:
    found = _at(now)
    others = []
    for one in offsets:
        stands = found[_key(one)].offset if _key(one) in found else None
        if stands not in (one.offset, one.before):
            others.append(f"{_key(one)}: {_number(stands)}, neither {one.offset} nor {_number(one.before)}")
    if others:
        raise ApplyError(
            f"Group {name!r}: expected what this plan committed or what stood there before, found others: "
            f"somebody has committed since. {_some(others)}. Nothing was changed now.",
            fix="Find out who commits with this group. If the job has gone on, draft a plan from where it is.",
        )


def _not_taken_away(name: str, kept: list[WrittenOffset], restored: int) -> str:
    topics = sorted({one.topic for one in kept})
    commands = "; ".join(
        f"kafka-consumer-groups.sh --delete-offsets --group {quote(name)} --topic {topic}"
        + ":"
        + ",".join(str(one.partition) for one in kept if one.topic == topic)
        for topic in topics
    )
    return (
        f"Group {name!r}: {restored} partitions are as they were before. {_partitions(kept)} had no commit before, and "
        f"Kafka's Python client cannot take one away: {commands}"
    )


def _stands(now: GroupState, wanted: Iterable[GroupOffset], refused: Mapping[TopicPartition, str]) -> str:
    found = _at(now)
    rows = [
        f"{_key(one)} at {_number(found[_key(one)].offset if _key(one) in found else None)}"
        + (f" ({refused[_key(one)]})" if _key(one) in refused else "")
        for one in wanted
    ]
    return f"Committed now: {_some(rows)}."


def _counted(offsets: tuple[WrittenOffset, ...]) -> str:
    return f"{len(offsets):,} offset{'' if len(offsets) == 1 else 's'}"


def _partitions(offsets: list[WrittenOffset]) -> str:
    return _some([str(_key(one)) for one in offsets])


def _some(rows: list[str]) -> str:
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return ", ".join(rows[:NAMED]) + more


def _number(value: int | None) -> str:
    return "no commit" if value is None else str(value)
