from __future__ import annotations

from dataclasses import dataclass

from offsetwise.approval import Verdict
from offsetwise.review.answers import REFUSALS as REFUSALS_OF_PLANS
from offsetwise.review.answers import AlreadyDecided, AlreadyOpen, NotAllowed, Stale


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedSet:
    number: int
    """The number of the set."""
    digest: str
    plans: int
    refused: int
    """How many jobs of the set have no plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedSet:
    number: int
    digest: str
    verdict: Verdict
    envelope: bytes
    """The approval's file, as `apply` takes it."""
    plans: int
    counted: int
    required: int

    @property
    def complete(self) -> bool:
        return self.counted >= self.required


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnSet:
    number: int
    plans: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedOf:
    """Refused because of one plan. No plan was changed."""

    job: str
    plan: int | None
    """None if the plan is not stored."""
    why: str
    fix: str


Refusal = NotAllowed | RefusedOf
SubmitSetAnswer = SubmittedSet | Refusal
DecideSetAnswer = DecidedSet | Refusal
WithdrawSetAnswer = WithdrawnSet | Refusal
SetAnswer = SubmittedSet | DecidedSet | WithdrawnSet | Refusal
REFUSALS = (NotAllowed, RefusedOf)


def refusal(job: str, plan: int | None, answer: object) -> RefusedOf | None:
    """Return the refusal of a set because of the result for one of its plans; None if that succeeded."""
    if not isinstance(answer, REFUSALS_OF_PLANS):
        return None
    match answer:
        case NotAllowed():
            why, fix = answer.why, answer.fix
        case AlreadyDecided() | AlreadyOpen():
            why, fix = answer.message, "Open the set again, and look at that plan."
        case Stale() if answer.drifts:
            why, fix = "The clusters changed since the plan was drafted.", "Ask its author to draft it again."
        case Stale():
            why = f"The set has another version than the newest one, `{answer.digest[:8]}`."
            fix = "Ask its author to submit the set again."
        case _:
            raise AssertionError("an answer that is not known")
    return RefusedOf(job=job, plan=plan, why=why, fix=fix)
