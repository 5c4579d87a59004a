"""Ask the running job where it began, through the target that it was to begin from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from offsetwise.errors import ConfigError, OffsetwiseError, UsageError
from offsetwise.model import JobOrigin, Plan, Receipt, ReceiptStep, StepState, VerifiedJob
from offsetwise.plan.target import target_type, target_types

if TYPE_CHECKING:
    from offsetwise.apply.readers import Readers


Judgement = tuple[JobOrigin, str]
"""The origin of a job, and sentences with the evidence."""


class JobModule(Protocol):
    def address_of(self, text: str) -> str:
        """Return the address of a job as documents contain it.

        Args:
            text: As a person entered it.

        Raises:
            UsageError: It is no address of such a job.
        """

    def observed(self, plan: Plan, steps: tuple[ReceiptStep, ...], text: str, readers: Readers) -> VerifiedJob:
        """Ask a running job whether it began from what was written. Nothing is changed there.

        Args:
            plan: The approved plan.
            steps: What was written to targets with this module; at least one.
            text: The address, as a person entered it.
            readers: Read the current state; the migration has the credentials for signing on.

        Raises:
            SecretError: A secret for signing on cannot be resolved.
            OffsetwiseError: It cannot be asked, or its answer cannot be used.
        """


def ask_job(receipt: Receipt, text: str, readers: Readers) -> VerifiedJob:
    """Ask the running job of a receipt; what it does not answer is UNKNOWN.

    Args:
        receipt: What was written.
        text: The address of the job.
        readers: Read the current state.

    Raises:
        UsageError: The address is invalid, or no target has jobs that can be asked.
        ConfigError: The migration file does not say how to sign on.
    """
    module, steps = _askable(receipt)
    address = module.address_of(text)
    undone = next((step for step in steps if step.state is not StepState.DONE), None)
    if undone is not None:
        return _unknown_job(undone, address, f"{undone.target} was not written: {undone.told}")
    try:
        return module.observed(receipt.plan, steps, text, readers)
    except (UsageError, ConfigError):
        raise
    except OffsetwiseError as error:
        return _unknown_job(steps[0], address, f"{error.problem} {error.fix}")


def _askable(receipt: Receipt) -> tuple[JobModule, tuple[ReceiptStep, ...]]:
    loaders = [(type(target_type(step.target.kind)).job, step) for step in receipt.steps]
    load = next((load for load, _ in loaders if load is not None), None)
    if load is None:
        kinds = ", ".join(target.name for target in target_types() if type(target).job is not None)
        raise UsageError(
            "--job: expected a receipt of a target that a running job says it began from, found "
            f"{', '.join(str(step.target) for step in receipt.steps)}. Nothing was contacted.",
            fix=f"Leave --job out; jobs are asked about {kinds}.",
        )
    return load(), tuple(step for other, step in loaders if other is load)


def _unknown_job(step: ReceiptStep, address: str, reason: str) -> VerifiedJob:
    return VerifiedJob(
        target=step.target,
        address=address,
        id=None,
        name=None,
        state=None,
        expected=step.place,
        restored_from=None,
        origin=JobOrigin.UNKNOWN,
        told=reason,
    )
