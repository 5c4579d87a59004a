"""Changes of several plans in one transaction, each with its own attempt and its own row of the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from offsetwise.approval import PrivateKey
from offsetwise.review.access import Access
from offsetwise.review.allowing import Verb
from offsetwise.review.attempt import Attempt, ParsedPlans
from offsetwise.review.people import Person
from offsetwise.store.reviews import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    person: Person | None
    rules: Access
    now: datetime
    change: Change
    plans: ParsedPlans
    demo_key: PrivateKey | None

    def attempt(self, verb: Verb, plan: int | None, digest: str | None) -> Attempt:
        """Return the attempt for one plan, or for the set as a whole if `plan` is None."""
        row = None if plan is None else self.change.plan(plan)
        return Attempt(
            verb=verb,
            person=self.person,
            rules=self.rules,
            now=self.now,
            change=self.change,
            plans=self.plans,
            demo_key=self.demo_key,
            plan=row,
            digest=digest,
            before=None if row is None else row.state,
        )

    def next(self) -> None:
        """Start the part of the next plan, before anything of it is written."""
        if self.change.recorded:
            self.change.go_on()
