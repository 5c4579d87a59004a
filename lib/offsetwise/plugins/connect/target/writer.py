"""Writes the offsets of a sink connector: read, compared, PATCHed while it is STOPPED, read back, restored.

Kafka Connect has no compare-and-set: the current offsets are compared with the reviewed ones right before the request.
It accepts any number, even one past the end of a log, so every offset is also compared with the new log right before.
Nothing counts as written that was not read back, from the workers and from the group on the new Kafka cluster, which
stores these offsets: otherwise a connector that reads another cluster would be written to without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.apply.publish import journal_of
from offsetwise.apply.writing import Context, Preview, SeenPlace, StepStanding, Writer
from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Plan, ReceiptStep, Snapshot, StepState, Target, TopicPartition, WrittenOffset
from offsetwise.plugins.connect.engine.reading import Connector
from offsetwise.plugins.connect.target import checks
from offsetwise.plugins.connect.target.requests import change, lost
from offsetwise.plugins.connect.target.spec import connector_of, offsets_before
from offsetwise.plugins.connect.target.verification import verify
from offsetwise.wording import many

__all__ = ["ConnectorWriter", "verify", "writer"]

_NOTHING: Final = "Nothing was written."
ReadNew = Callable[[Migration, Plan, str], Snapshot]
"""Reads the logs of a plan's topics on the new cluster, and a group there."""


@dataclass(frozen=True, slots=True)
class ConnectorWriter(Writer):
    migration: Migration
    read_new: ReadNew = checks.read_new
    taken_back = StepStanding.AS_WRITTEN

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:  # noqa: ARG002 - the protocol's
        """Preview the offsets that the connector would have. Nothing is written.

        Raises:
            OffsetwiseError: It cannot be written in its current state; the message says why.
        """
        connector = self._read(plan, target)
        offsets = checks.offsets_to_write(plan, target, connector)
        self._require_new(plan, connector, offsets)
        sentence = f"{many(len(offsets), 'offset')} of connector {connector.name!r} would be written by PATCH."
        return Preview(target=target, place=connector.uri, told=sentence, offsets=offsets)

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write the plan's offsets, recording each step in the journal.

        Raises:
            RunningQueryError: The connector is not stopped.
            StalePlanError: Something differs from the review, or an offset is outside the new log.
            LostReplyError: It is not known yet whether it was done.
            ApplyError: It was refused; the message says what the offsets are now.
        """
        journal = journal_of(context)
        record = journal.record(context.step)
        if record.done is not None and record.whole:
            return record.done
        connector = self._read(plan, target)
        if record.stands and record.intended is not None:
            step = record.intended
            checks.require_own(connector, step.offsets)
        else:
            offsets = checks.offsets_to_write(plan, target, connector)
            sentence = f"{many(len(offsets), 'offset')} of connector {connector.name!r} are written as planned."
            step = ReceiptStep(target=target, place=connector.uri, state=StepState.DONE, told=sentence, offsets=offsets)
        self._require_new(plan, connector, step.offsets)
        if not record.stands:
            journal.begin(context.step, step)
        note = change(connector, {offset.topic_partition: offset.offset for offset in step.offsets})
        self._require_written(plan, target, step.offsets)
        return journal.done(context.step, replace(step, told=f"{step.told}{note}"))

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Restore the reviewed offsets, as long as nobody has changed them since.

        Partitions that had none lose theirs; a connector that had no offset at all gets a DELETE.

        Raises:
            RunningQueryError: The connector is not stopped.
            StalePlanError: It is not the reviewed one.
            LostReplyError: It is not known yet whether it was done.
            ApplyError: Somebody else has changed an offset, or it was refused.
        """
        journal = journal_of(context)
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        connector = self._read(plan, step.target, anywhere=True)
        checks.require_own(connector, step.offsets)
        before = {offset.topic_partition: offset.before for offset in step.offsets}
        journal.undoing(context.step)
        if not self._is_back(connector, before):
            bare = not offsets_before(plan, step.target) and connector.offsets.keys() <= before.keys()
            change(connector, None if bare else before)
            connector = self._read(plan, step.target, anywhere=True)
        if not self._is_back(connector, before):
            raise lost(
                connector.uri, "expected the offsets that were there before, found others after they were put back"
            )
        sentence = (
            f"Connector {connector.name!r} has the offsets that it had before, in {many(len(before), 'partition')}."
        )
        return journal.taken_back(context.step, step, sentence)

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:  # noqa: ARG002 - the protocol's
        try:
            connector = connector_of(self.migration, step.target)
            checks.require_stopped(connector, "What it has read is not known.")
        except OffsetwiseError as error:
            return SeenPlace(standing=StepStanding.UNKNOWN, told=error.problem)
        undone = step.state is StepState.UNDONE
        expected = {offset.topic_partition: offset.before if undone else offset.offset for offset in step.offsets}
        now = {at: connector.offsets.get(at) for at in expected}
        if now == expected:
            return SeenPlace(standing=StepStanding.AS_WRITTEN, told=f"{connector.uri} has the offsets of this step.")
        if not any(offset is not None for offset in now.values()):
            return SeenPlace(standing=StepStanding.ABSENT, told=f"{connector.uri} has no offset of these partitions.")
        apart = checks.apart(now, expected, "expected")
        return SeenPlace(standing=StepStanding.CHANGED, told=f"{connector.uri}: {checks.some_of(apart)}.")

    def _read(self, plan: Plan, target: Target, *, anywhere: bool = False) -> Connector:
        connector = connector_of(self.migration, target)
        checks.require_stopped(connector, _NOTHING)
        checks.require_reviewed(plan, target, connector, anywhere=anywhere)
        return connector

    def _require_new(self, plan: Plan, connector: Connector, offsets: Sequence[WrittenOffset]) -> None:
        new = self.read_new(self.migration, plan, connector.group)
        checks.require_inside(new, offsets, plan)
        checks.require_same(connector, checks.require_no_members(new, connector.group))

    def _require_written(self, plan: Plan, target: Target, offsets: Sequence[WrittenOffset]) -> None:
        """Read the offsets back, from the workers and from the group on the new Kafka cluster.

        Raises:
            LostReplyError: The offsets are others.
            ApplyError: The group on the new cluster does not have them.
        """
        expected = {offset.topic_partition: offset.offset for offset in offsets}
        try:
            connector = connector_of(self.migration, target)
            group = self.read_new(self.migration, plan, connector.group).group(connector.group)
        except OffsetwiseError as error:
            reason = "the offsets were written, and could not be read back"
            raise lost(f"Connector {target.group!r}", reason, because=error.problem) from error
        apart = [
            f"{at} at {checks.offset_text(connector.offsets.get(at))}"
            for at in expected
            if connector.offsets.get(at) != expected[at]
        ]
        if apart:
            raise lost(connector.uri, f"expected the offsets as written, found {checks.some_of(apart)}")
        commits = {} if group is None or group.error is not None else group.commits
        lacking = [
            f"{at} at {checks.offset_text(commits.get(at))}" for at in expected if commits.get(at) != expected[at]
        ]
        if lacking and group is not None and group.error is None:
            raise checks.reads_another_cluster(connector, f"has {checks.some_of(lacking)} after they were written")

    @staticmethod
    def _is_back(connector: Connector, before: Mapping[TopicPartition, int | None]) -> bool:
        return all(connector.offsets.get(at) == offset for at, offset in before.items())


def writer(migration: Migration) -> Writer:
    return ConnectorWriter(migration)
