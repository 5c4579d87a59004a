"""A plan: save, sign, compare with the clusters, apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self, overload

from offsetwise import approval, files, model, new_files, workflow
from offsetwise.api import live
from offsetwise.api.receipt import Receipt
from offsetwise.apply import run
from offsetwise.apply.writers import output_of
from offsetwise.approval import unproven
from offsetwise.approval.key_files import read_approval
from offsetwise.approval.signing import LIFETIME
from offsetwise.errors import NotApprovedError, UsageError
from offsetwise.model.digest import digest
from offsetwise.plan import exports
from offsetwise.plan.drift import Drift
from offsetwise.plan.operators import choice
from offsetwise.plan.operators.patch import CHECKPOINT_ENV, SERVERS_ENV, Deployment
from offsetwise.plan.reading import plan_bytes, read_plan
from offsetwise.progress import Progress, no_progress
from offsetwise.wording.irreversible import confirmation, irreversible

if TYPE_CHECKING:
    from offsetwise.api.migration import Migration

SUFFIX = ".receipt.json"
"""The suffix of the receipt in the folder of a plan's file."""


@dataclass(slots=True, kw_only=True)
class Plan:
    """A plan with every byte of its file: an approval names the digest of exactly these bytes."""

    document: model.Plan
    """The content of the file."""
    content: bytes
    migration: Migration | None = None
    path: Path | None = None
    """The path it was read from or saved to."""

    @classmethod
    def of(cls, document: model.Plan, *, migration: Migration | None = None) -> Self:
        return cls(document=document, content=files.dump(document).encode(), migration=migration)

    @classmethod
    def load(cls, path: str | Path, *, migration: Migration | None = None) -> Self:
        """Read a plan's file.

        Args:
            path: The file.
            migration: The migration it was drafted with; without, it can only be read and signed.

        Raises:
            FileError: It cannot be read, or is no plan.
            PlanError: It contradicts itself.
        """
        content = plan_bytes(Path(path))
        document = read_plan(content, subject=str(path))
        return cls(document=document, content=content, migration=migration, path=Path(path))

    def save(self, path: str | Path) -> None:
        """Write the plan's file, which must not exist yet.

        Raises:
            FileError: It exists, or cannot be written.
        """
        new_files.write_new(Path(path), self.content.decode())
        self.path = Path(path)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file, hex."""
        return digest(self.content)

    @property
    def confirmation(self) -> str | None:
        """The text that an approver must confirm because the plan cannot be undone; None if all of it can."""
        return confirmation(self.document)

    def sign(
        self,
        key: approval.PrivateKey,
        *,
        expires_in: timedelta = LIFETIME,
        verdict: approval.Verdict = approval.Verdict.APPROVED,
        confirm: str | None = None,
        accept_unproven: Mapping[model.TopicPartition, str] = MappingProxyType({}),
    ) -> bytes:
        """Approve or reject exactly this plan.

        Args:
            key: The signer's key.
            expires_in: How long the approval is valid.
            verdict: Approved or rejected.
            confirm: The text of `confirmation`, for a plan that ends transactions, which cannot be undone.
            accept_unproven: By position on the old cluster, the reason why it may be applied although the records that
                prove it are gone.

        Returns:
            The approval's file, for `write_approval`.

        Raises:
            NotApprovedError: The signer drafted or edited the plan, or did not confirm what cannot be undone.
            PlanError: A position has no proof; or one must not be accepted as unproven.
            UsageError: An impossible lifetime.
        """
        if verdict is approval.Verdict.APPROVED:
            self.require_confirmed(confirm)
        return approval.sign(
            self.content,
            key,
            subject=key.public.subject,
            issuer=key.public.issuer,
            now=datetime.now(UTC),
            expires_in=expires_in,
            verdict=verdict,
            accepted_unproven=unproven.accepted(accept_unproven),
            name=str(self.path or "the plan"),
        )

    def require_confirmed(self, confirm: str | None) -> None:
        """Raise unless a signer confirmed exactly what cannot be undone.

        Raises:
            NotApprovedError: They did not.
        """
        if confirm == self.confirmation:
            return
        result = "none" if confirm is None else repr(confirm[:80])
        if self.confirmation is None:
            raise NotApprovedError(
                f"All of this plan can be taken back: expected no confirmation, found {result}. Nothing was signed.",
                fix="Leave the confirmation (--confirm) out.",
            )
        raise NotApprovedError(
            f"{irreversible(self.document)} Expected {self.confirmation!r} as confirmation, found {result}. Nothing "
            "was signed.",
            fix=f"Look at the transactions of the plan, then confirm: --confirm {quote(self.confirmation)}",
        )

    def drift(self, *, progress: Progress = no_progress) -> tuple[Drift, ...]:
        """Return what has changed since the plan was drafted; empty if nothing has. Growth of logs is no change.

        Raises:
            PlanError: The plan belongs to another migration.
            ClusterError: A cluster cannot be read.
        """
        settings = live.settings_of(self.document, self.migration, None)
        return workflow.drift(self.document, settings, progress=progress)

    def starting_offsets(self) -> str:
        """Return the positions as starting offsets of a new job: Spark's `startingOffsets`, or Flink's SQL and code."""
        return exports.starting_offsets(self.document)

    def consumer_groups_csv(self) -> str:
        """Return the positions as a file for `kafka-consumer-groups --from-file`."""
        return exports.consumer_groups_csv(self.document)

    def operator_patch(
        self,
        form: str,
        *,
        resource: str,
        output: str | None = None,
        servers_env: str = SERVERS_ENV,
        checkpoint_env: str = CHECKPOINT_ENV,
    ) -> str:
        """Return the YAML patch of a custom resource that makes an operator start the job from what the plan writes.

        Args:
            form: `flink-operator` or `spark-operator`, or another one that a target has.
            resource: The name of the FlinkDeployment or SparkApplication.
            output: The output of `apply` as the pods reach it: an absolute path or a URI. None for a plan that is
                written in place, which has the location itself.
            servers_env: The environment variable with the job's bootstrap servers.
            checkpoint_env: The environment variable with the location of a Spark query's checkpoint.

        Raises:
            PlanError: The operator starts no job from what the plan writes; or the plan belongs to another migration.
            UsageError: No output or no migration is given although it is needed; or a name is invalid.
        """
        patch, step = choice.patch_for(self.document, form)
        settings = live.settings_of(self.document, self.migration, output)
        written = output_of(self.document.targets, step, output) or output
        location = written or choice.written_in_place(self.document, step)
        if location is None:
            raise UsageError(
                f"Plan {self.digest[:12]}: expected the output that it is applied to, found none. Nothing was printed.",
                fix="Name it as `offsetwise apply` takes it: --output DIR.",
            )
        deployment = Deployment(
            resource=resource,
            location=location,
            servers=choice.new_servers(self.document, settings),
            servers_env=servers_env,
            checkpoint_env=checkpoint_env,
        )
        return patch.text(deployment, self.digest)

    @overload
    def apply(
        self,
        *,
        output: str | Path | None = None,
        receipt: str | Path | None = None,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: Literal[False] = False,
        progress: Progress = no_progress,
    ) -> run.DryRun: ...
    @overload
    def apply(
        self,
        *,
        output: str | Path | None = None,
        receipt: str | Path | None = None,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: Literal[True],
        progress: Progress = no_progress,
    ) -> Receipt: ...
    def apply(
        self,
        *,
        output: str | Path | None = None,
        receipt: str | Path | None = None,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: bool = False,
        progress: Progress = no_progress,
    ) -> run.DryRun | Receipt:
        """Return what the plan would write; with `execute`, write it. Calling it again continues an earlier call.

        Args:
            output: The path of a copy or file, below one of the migration's write roots.
            receipt: The receipt to write, with its journal next to it; by default `plan.receipt.json` next to
                `plan.json`.
            approvals: The files of approvals. A dry run needs none; it uses them only for positions that they accept as
                unproven.
            trust: The `.pub` files of reviewers besides those that the migration file trusts.
            execute: Write.
            progress: Called with each step.

        Returns:
            A dry run; with `execute`, the receipt.

        Raises:
            NotApprovedError: No trusted person has approved exactly this plan.
            StalePlanError: Something has changed since the review: nothing was written. A dry run has it in `failed`.
            PlanError: The plan belongs to another migration.
            ApplyError: A target could not be written. The message has the state of each target, and how to continue.
        """
        order, written = self._order(output), str(self._receipt(receipt))
        tools = live.tools_for(order.migration, progress)
        if execute or approvals:
            with run.telling_of_earlier(order, written):
                order = _approved_by(order, approvals, trust)
        if not execute:
            return run.dry_run(order, tools, written)
        done = run.apply(order, written, tools)
        return Receipt(written, migration=self.migration, plan=self.content, already=done.already)

    def require_approved(
        self,
        *,
        receipt: str | Path | None = None,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
    ) -> None:
        """Raise unless exactly this plan is approved; nothing else is checked, and nothing is contacted.

        Args:
            receipt: As for `apply`.
            approvals: The files of approvals.
            trust: The `.pub` files of reviewers besides those that the migration file trusts.

        Raises:
            NotApprovedError: No trusted person has approved it. The message says what an earlier call has written.
        """
        order = self._order(None)
        with run.telling_of_earlier(order, str(self._receipt(receipt))):
            order = _approved_by(order, approvals, trust)
            approval.approved(self.content, self.document, order.approvals, order.policy, datetime.now(UTC))

    def require(self, preview: run.DryRun, *, receipt: str | Path | None = None) -> None:
        """Raise unless a dry run found everything as it was reviewed.

        Raises:
            StalePlanError: Something has changed since the review.
            ApplyError: Nothing is known to differ, but something could not be read.
        """
        run.require_held(self._order(None), preview, str(self._receipt(receipt)))

    def _order(self, output: str | Path | None) -> run.ApplyOrder:
        return run.ApplyOrder(
            plan_bytes=self.content,
            plan=self.document,
            migration=live.settings_of(self.document, self.migration, output),
            output=None if output is None else str(output),
        )

    def _receipt(self, given: str | Path | None) -> Path:
        if given is not None:
            return Path(given)
        if self.path is None:
            raise UsageError(
                f"Plan {self.digest[:12]}: expected a file to write the receipt beside, found a plan that is not "
                "saved. Nothing was done.",
                fix="Save the plan, or name the receipt.",
            )
        return self.path.with_suffix(SUFFIX)


def _approved_by(order: run.ApplyOrder, approvals: Sequence[str | Path], trust: Sequence[str | Path]) -> run.ApplyOrder:
    return replace(
        order,
        approvals=tuple(read_approval(Path(path)) for path in approvals),
        policy=approval.policy_for(order.migration.approval, tuple(map(Path, trust))),
    )
