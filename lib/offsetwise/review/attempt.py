from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from offsetwise.approval import PrivateKey, read_private_key
from offsetwise.errors import NotApprovedError, PlanError
from offsetwise.model import Plan
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.reading import read_plan
from offsetwise.recent import Recent
from offsetwise.review.access import Access
from offsetwise.review.allowing import Verb, not_signed_in, why_not
from offsetwise.review.answers import REFUSALS, AlreadyDecided, AlreadyOpen, NotAllowed, Stale
from offsetwise.review.difference import Difference, difference
from offsetwise.review.people import MAX_NAME, Person
from offsetwise.review.sheet import VersionStanding, status_of
from offsetwise.store.audit import Details, Record
from offsetwise.store.review_reader import StoreLook
from offsetwise.store.review_rows import PlanRow, State, VersionRow
from offsetwise.store.reviews import Change
from offsetwise.wording import clock

PARSED_PLANS: Final = 8
"""How many parsed plans are cached."""
_TOLD: Final = 1_000
"""The maximum length of a reason in the audit log, in characters."""

NO_PLAN: Final = NotAllowed(why="There is no such plan here.", fix="Choose a plan from the list.")
NO_KEY: Final = NotAllowed(
    why="This console has no key to sign decisions with, so nothing can be approved or rejected in it.",
    fix="Make one with `offsetwise keygen --console`, and name it as decisions.key in the access file; docs/sign-in.md "
    "shows how.",
)


class ParsedPlans:
    """A cache of parsed plans by digest. Thread-safe."""

    def __init__(self) -> None:
        self._parsed: Recent[str, Plan] = Recent(PARSED_PLANS)

    def get(self, reader: StoreLook, version: VersionRow) -> Plan:
        """Return a version's plan.

        Raises:
            PlanError: The stored bytes do not have the version's digest.
        """
        plan = self._parsed.get(version.digest)
        if plan is not None:
            return plan
        parsed = read_plan(content_of(reader, version), subject=f"version {version.number} of plan {version.plan}")
        return self._parsed.keep(version.digest, parsed)

    def difference(self, reader: StoreLook, before: VersionRow, after: VersionRow) -> Difference:
        return difference(self.get(reader, before), self.get(reader, after), digests=(before.digest, after.digest))


def content_of(reader: StoreLook, version: VersionRow) -> bytes:
    """Return the bytes of a version, after comparing them with its digest.

    Raises:
        PlanError: They have another digest.
    """
    content = reader.content(version.id)
    if digest_of(content) != version.digest:
        raise PlanError(
            f"Version {version.number} of plan {version.plan}: expected the bytes with the digest "
            f"{version.digest[:12]}…, found others: they were changed in the database. Nothing was used from them.",
            fix="Check the audit log, and restore the database from a copy that is whole.",
        )
    return content


@dataclass(slots=True, kw_only=True)
class Attempt:
    verb: Verb
    person: Person | None
    rules: Access
    now: datetime
    change: Change
    plans: ParsedPlans
    demo_key: PrivateKey | None
    plan: PlanRow | None
    """None for a new plan, and for one that does not exist."""
    digest: str | None
    before: State | None
    details: dict[str, str | int | bool | None] = field(default_factory=dict)

    @property
    def now_ms(self) -> int:
        return int(self.now.timestamp() * 1000)

    @property
    def is_demo(self) -> bool:
        return self.demo_key is not None

    def admitted(self) -> Person | NotAllowed:
        if self.person is None:
            return not_signed_in(self.verb)
        return why_not(self.person, self.verb, self.rules, self.now, demo=self.is_demo) or self.person

    def opened(self) -> tuple[Person, PlanRow, VersionRow] | NotAllowed:
        person = self.admitted()
        if isinstance(person, NotAllowed):
            return person
        if self.plan is None:
            return NO_PLAN
        newest = self.change.version(self.plan.id, self.plan.number)
        self.digest = self.digest or newest.digest
        return person, self.plan, newest

    def status(self, row: PlanRow, version: VersionRow) -> VersionStanding:
        return status_of(self.change, row, version, rules=self.rules, now=self.now)

    def stale(self, row: PlanRow, newest: VersionRow, digest: str) -> Stale | NotAllowed:
        shown = self.change.version_of(digest)
        if shown is None or shown.plan != row.id:
            return NotAllowed(
                why=f"{digest[:12]!a} is the digest of no version of plan {row.id}.", fix="Open the plan again."
            )
        return Stale(digest=newest.digest, difference=self.plans.difference(self.change, shown, newest))

    def key(self) -> PrivateKey:
        """Return the key that signs decisions.

        Raises:
            NotApprovedError: There is none.
            FileError: It cannot be used.
        """
        if self.demo_key is not None:
            return self.demo_key
        if self.rules.decisions.key is None:
            raise NotApprovedError(NO_KEY.why, fix=NO_KEY.fix)
        return read_private_key(Path(self.rules.decisions.key))

    def record(self, answer: object) -> None:
        self.change.record(
            written(
                self.verb,
                self.person,
                answer,
                rules=self.rules,
                at=self.now,
                plan=None if self.plan is None else self.change.plan(self.plan.id),
                digest=self.digest,
                before=self.before,
                details=self.details,
            )
        )


def written(
    verb: Verb,
    person: Person | None,
    answer: object,
    *,
    rules: Access | None,
    at: datetime,
    plan: PlanRow | None,
    digest: str | None,
    before: State | None,
    details: Details = MappingProxyType({}),
) -> Record:
    """Return the row of the audit log about an attempt and its result.

    Args:
        verb: The operation.
        person: Who tried it; None if nobody was signed in.
        answer: The result.
        rules: The access file; None if it cannot be read.
        at: The time of the attempt.
        plan: The plan after it.
        digest: The digest of the version that it was about.
        before: The state of the plan before.
        details: Further facts to record.
    """
    results: dict[str, str | int | bool | None] = {
        **details,
        "name": None if person is None else person.name[:MAX_NAME],
        "before": before,
        "after": None if plan is None else plan.state,
        "number": None if plan is None else plan.number,
        "separation_of_duties": None if rules is None else rules.separation_of_duties,
        "required": None if rules is None else rules.decisions.required,
        "answer": type(answer).__name__,
    }
    if isinstance(answer, NotAllowed):
        results["why"] = answer.why[:_TOLD]
    elif isinstance(answer, (AlreadyDecided, AlreadyOpen)):
        results["why"] = answer.message[:_TOLD]
    elif isinstance(answer, Stale):
        results["newest"] = answer.digest
        results["drifts"] = len(answer.drifts)
    return Record(
        at_ms=int(at.timestamp() * 1000),
        issuer=None if person is None else person.issuer,
        subject=None if person is None else person.subject,
        action=verb.value,
        result="refused" if isinstance(answer, REFUSALS) else "done",
        plan=None if plan is None else plan.id,
        digest=digest,
        details=results,
    )


def decided(row: PlanRow, status: VersionStanding) -> AlreadyDecided:
    by = ", ".join(
        f"{decision_row.by.subject} of {decision_row.by.issuer} at {clock(decision_row.at_ms)}"
        for decision_row in status.counted
    )
    return AlreadyDecided(
        state=row.state, message=f"Plan {row.id} is {row.state}{f', approved by {by}' if by else ''}."
    )
