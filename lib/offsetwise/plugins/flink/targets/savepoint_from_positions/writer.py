from __future__ import annotations

from offsetwise.apply.digests import bytes_of, sha256
from offsetwise.apply.publish import publish, require_free, unpublish
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification import seen
from offsetwise.apply.write_locations import local_place
from offsetwise.apply.writing import Context, FileChange, Preview, SeenPlace, Writer
from offsetwise.apply.written import foreign_names, look_at_folder, names_below
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep, StepState, Target, WrittenFile
from offsetwise.plugins.flink.targets.kinesis.new_savepoint import METADATA, made_of
from offsetwise.plugins.flink.targets.kinesis.verification import verified
from offsetwise.regular_files import below
from offsetwise.wording import many


class NewSavepointWriter(Writer):
    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return what the savepoint would contain. Nothing is written.

        Raises:
            OffsetwiseError: It cannot be built in the current state; the message says why.
        """
        path = _local_path(context.output, context)
        require_free(path)
        data = made_of(plan)
        return Preview(
            target=target,
            place=path,
            told=f"A savepoint of {len(data):,} bytes would be made at {path}, {_holds(plan)}.",
            files=(FileChange(path=METADATA, what="made"),),
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write the savepoint, recording each step in the journal.

        Raises:
            OffsetwiseError: The output does not exist then, or is as it was before.
        """
        path, data = _local_path(context.output, context), made_of(plan)
        intended = ReceiptStep(
            target=target,
            place=path,
            state=StepState.DONE,
            told=f"A savepoint is at {path}, {_holds(plan)}.",
            files=(WrittenFile(path=METADATA, sha256=sha256(data)),),
        )
        return publish(path, intended, context, lambda folder: context.disk.write_new(below(folder, METADATA), data))

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Remove the savepoint, as long as it is as it was written.

        Raises:
            ApplyError: It is not, or the disk refuses.
        """
        _local_path(step.place, context)
        return unpublish(step, context, refuse=lambda: _wrong(plan, step))

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        _local_path(step.place, context)
        return look_at_folder(step, lambda: _wrong(plan, step))


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return NewSavepointWriter()


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[seen.Seen]:
    return verified(plan, step, readers, checkpoint)


def _wrong(plan: Plan, step: ReceiptStep) -> str | None:
    other = foreign_names(names_below(step.place), {METADATA})
    if other is not None:
        return other
    return None if bytes_of(below(step.place, METADATA)) == made_of(plan) else f"{METADATA} is not as it was written."


def _holds(plan: Plan) -> str:
    uid = "" if plan.savepoint is None else plan.savepoint.uid
    return f"with {many(len(plan.positions), 'shard')} of the source {uid!r} and no other state"


def _local_path(uri: str | None, context: Context) -> str:
    return local_place(
        uri,
        context.write_roots,
        what="folder for a savepoint",
        fix="Make it locally and copy the folder to where the job restores it from.",
    )
