"""What a plan wrote: verify it, and roll it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from offsetwise import config, model
from offsetwise.api import live
from offsetwise.apply import reversal
from offsetwise.apply.journal import read_journal
from offsetwise.apply.journal_file import SUFFIX
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.verification import verify as verified
from offsetwise.apply.writing import SeenPlace
from offsetwise.approval import policy_for
from offsetwise.approval.key_files import read_approval
from offsetwise.model import time_of
from offsetwise.plan.reading import read_plan
from offsetwise.progress import Progress, no_progress

if TYPE_CHECKING:
    from offsetwise.api.migration import Migration


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a plan, or its journal. The file is read at each use, and not trusted by itself."""

    path: str | Path
    migration: Migration | None = None
    """The migration it was applied with; not needed for a plan that repairs and moves nothing."""
    plan: bytes | None = None
    """The plan's file: for a journal, or if the bytes of the plan differ from those that `Plan.save` writes."""
    already: tuple[SeenPlace, ...] = ()
    """The current state of each target, if an earlier call had written everything."""

    @property
    def document(self) -> model.Receipt:
        """The content of the file. Approvals are not checked.

        Raises:
            FileError: It cannot be read, is no receipt, or contradicts the plan that it names.
        """
        return read_receipt(str(self.path), self.plan)

    def verify(
        self, *, checkpoint: str | None = None, job: str | None = None, readers: live.LiveReaders | None = None
    ) -> model.Verification:
        """Verify whether every target is as planned, and where the job began.

        Args:
            checkpoint: A checkpoint of the new job, for a `startingOffsets` file or a savepoint; None for the
                `new_checkpoint` of the migration file, as soon as it exists.
            job: The address of the running job, to ask what it began from: of Flink `http://HOST:PORT/jobs/ID` or the
                job's page, of Kafka Connect `http://HOST:PORT/connectors/NAME`, of Spark the application's page or its
                event log. The migration file has the credentials.
            readers: Read clusters, checkpoints and files; None for live readers of the migration.

        Raises:
            FileError: The receipt cannot be read.
            UsageError: `job` is no address, or the receipt has no target whose jobs can be asked.
            SecretError: A secret for signing on at the job's address cannot be resolved.
        """
        now, read = time_of(datetime.now(UTC)), self.document
        settings = live.settings_of(read.plan, self.migration, read.steps[0].place)
        readers = readers or live.LiveReaders(migration=settings)
        stated = _stated(read.plan, settings)
        if checkpoint is None and stated is not None:
            checkpoint = readers.begun_checkpoint(stated)
        return verified(read, readers, verified_at=now, checkpoint=checkpoint, job=job)

    @overload
    def rollback(
        self,
        *,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: Literal[False] = False,
        progress: Progress = no_progress,
    ) -> reversal.Standings: ...
    @overload
    def rollback(
        self,
        *,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: Literal[True],
        progress: Progress = no_progress,
    ) -> tuple[model.ReceiptStep, ...]: ...
    def rollback(
        self,
        *,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: bool = False,
        progress: Progress = no_progress,
    ) -> reversal.Standings | tuple[model.ReceiptStep, ...]:
        """Return the state of the targets; with `execute`, restore what was there before.

        Args:
            approvals: The files of approvals besides those in the receipt.
            trust: The `.pub` files of reviewers besides those that the migration file trusts.
            execute: Roll back.
            progress: Called with each step.

        Returns:
            A preview; with `execute` the steps. A step that is not `undone` could not be undone completely.

        Raises:
            FileError: Neither a receipt nor a journal, or it does not agree with the plan.
            NotApprovedError: No trusted person has approved exactly this plan.
            ApplyError: A step could not be undone, or a journal without its plan.
        """
        settings = self.migration.settings if self.migration is not None else self._alone()
        order = reversal.BackOrder(
            path=str(self.path),
            migration=settings,
            plan_bytes=self.plan,
            approvals=tuple(read_approval(Path(path)) for path in approvals),
            policy=policy_for(settings.approval, tuple(map(Path, trust))),
        )
        take = reversal.rollback if execute else reversal.preview
        return take(order, live.tools_for(settings, progress))

    def _alone(self) -> config.Migration:
        """Return the settings for a plan that belongs to no migration."""
        if not str(self.path).endswith(SUFFIX) or self.plan is None:
            read = self.document
            return live.settings_of(read.plan, None, read.steps[0].place)
        begun = (record.done or record.intended for record in read_journal(str(self.path)).steps.values())
        target_path = next((step.place for step in begun if step is not None), None)
        return live.settings_of(read_plan(self.plan, subject="the plan"), None, target_path)


def _stated(plan: model.Plan, migration: config.Migration) -> str | None:
    """Return the checkpoint of a plan's moved job, as stated in the migration file."""
    read = plan.requirements.checkpoint
    named = () if read is None else (checkpoint for checkpoint in migration.checkpoints if checkpoint.uri == read.uri)
    return next((checkpoint.job.new_checkpoint for checkpoint in named), None)
