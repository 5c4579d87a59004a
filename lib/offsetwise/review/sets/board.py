from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from offsetwise.approval import ApprovalFile, Verdict
from offsetwise.approval.envelope import stated_in
from offsetwise.errors import ConfigError, OffsetwiseError, PlanError, StoreError
from offsetwise.model import Plan
from offsetwise.plan.drift import Drift
from offsetwise.plan.reading import read_plan
from offsetwise.plan.sets.file import read_plan_set
from offsetwise.recent import Recent
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import NotAllowed
from offsetwise.review.attempt import written
from offsetwise.review.exports import Destination, Export
from offsetwise.review.exports.sets import PackedPlan, set_archive
from offsetwise.review.people import Person
from offsetwise.review.risk import VersionFacts
from offsetwise.review.sets import deciding, drafting
from offsetwise.review.sets.answers import (
    REFUSALS,
    DecideSetAnswer,
    Refusal,
    SubmitSetAnswer,
    WithdrawSetAnswer,
    refusal,
)
from offsetwise.review.sets.deciding import SetDecision
from offsetwise.review.sets.drafting import DraftedSet
from offsetwise.review.sets.sheet import MemberSheet, SetSheet, SetStanding, standing_of
from offsetwise.review.sets.steps import Steps
from offsetwise.review.sheet import SheetMark, standings
from offsetwise.review.view import PlansView
from offsetwise.store.review_reader import StoreLook
from offsetwise.store.review_rows import SetRow
from offsetwise.store.reviews import Change

Done = TypeVar("Done")
KEPT_SETS: Final = 2
"""How many sets are cached with parsed plans."""


class _Undone(Exception):  # noqa: N818 - returns an answer from a transaction, and rolls it back
    def __init__(self, answer: Refusal) -> None:
        super().__init__()
        self.answer = answer


class SetsBoard(PlansView):
    """Sets of plans under review. Thread-safe; see `Board`.

    Every operation applies to all plans of a set, or to none.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._sets: Recent[str, tuple[Plan, ...]] = Recent(KEPT_SETS)

    # ----------------------------------------------------------------------- reading

    def sets(self, person: Person | None) -> tuple[tuple[SetRow, SetStanding], ...]:
        """Return all sets with their state, the newest first."""
        rules = self._rules()
        with self._looking(person, "Reading the sets of plans") as reader:
            rows = reader.sets()
            newest = reader.newest_of({member.plan for row in rows for member in row.members})
            results = standings(reader, newest, rules=rules, now=self._clock())
            return tuple((row, standing_of(row, newest, results)) for row in rows)

    def sets_of(self, person: Person | None, plan: int) -> tuple[SetRow, ...]:
        """Return the sets that a plan is or was in, the newest first."""
        with self._looking(person, "Reading the sets of plans") as reader:
            return reader.sets(plan=plan)

    def set_sheet(self, person: Person | None, number: int) -> SetSheet | None:
        """Return a set with its plans and their states; None if there is no such set."""
        rules = self._rules()
        with self._looking(person, "Reading the set of plans") as reader:
            row = reader.plan_set(number)
            if row is None:
                return None
            plans = [member.plan for member in row.members]
            newest, editors = reader.newest_of(plans), reader.editors_of(plans)
            results = standings(reader, newest, rules=rules, now=self._clock())
            document = read_plan_set(reader.set_content(number), subject=f"set {number}")
            return SetSheet(
                row=row,
                document=document,
                members=tuple(
                    MemberSheet(
                        entry=entry,
                        member=member,
                        row=newest[member.plan][0],
                        newest=newest[member.plan][1],
                        status=results[member.plan],
                        editors=editors[member.plan],
                        facts=VersionFacts.load(newest[member.plan][1].facts),
                    )
                    for entry, member in zip(document.plans, row.members, strict=True)
                ),
                plans=self._plans_of(reader, row),
                status=standing_of(row, newest, results),
            )

    def _plans_of(self, reader: StoreLook, row: SetRow) -> tuple[Plan, ...]:
        kept = self._sets.get(row.digest)
        if kept is not None:
            return kept
        plans = (
            read_plan(reader.content(member.version), subject=f"version {member.number} of plan {member.plan}")
            for member in row.members
        )
        return self._sets.keep(row.digest, tuple(plans))

    def why_not_set(self, person: Person | None, verb: Verb, sheet: SetSheet) -> Refusal | None:
        """Return why somebody may not do this with a set now; None if they may. See `why_not`."""
        refused = self.why_not(person, verb)
        if refused is not None:
            return refused
        alike: set[tuple[object, ...]] = set()
        for member in sheet.members:
            hands = (*((row.issuer, row.subject, row.address) for row in member.editors), member.facts.names)
            if hands in alike:
                continue  # most sets have one author, who is compared only once
            alike.add(hands)
            own = self.why_not_own(person, verb, member.editors, member.facts.names)
            if own is not None:
                return refusal(member.entry.job, member.row.id, own)
        return None

    def set_kit(self, person: Person | None, number: int, destination: Destination) -> Export:
        """Return an approved set with its plans, approvals and a README of commands, in one archive.

        Equal, byte for byte, to the archive of `offsetwise export SET --as zip` from the same files.

        Args:
            person: Who asks.
            number: The number of the set.
            destination: Where its plans are applied.

        Raises:
            PlanError: There is no such set, or it is not approved.
        """
        rules = self._rules()
        sheet = self.set_sheet(person, number)
        if sheet is None or sheet.status.mark is SheetMark.DRAFT:
            actual = "none" if sheet is None else f"it {sheet.status.state}"
            raise PlanError(
                f"Set {number}: expected an approved set of plans, found {actual}. Nothing was packed.",
                fix="Export a set that enough people approve.",
            )
        with self._looking(person, "Exporting the set of plans") as reader:
            newest = reader.newest_of([member.row.id for member in sheet.members])
            results = standings(reader, newest, rules=rules, now=self._clock())
            content = reader.set_content(number)
            packed = [
                PackedPlan(entry=member.entry, plan=plan, content=reader.content(member.member.version))
                for member, plan in zip(sheet.members, sheet.plans, strict=True)
            ]
        # Approvals of single plans come first, in the order in which `apply` counts them.
        envelopes = dict.fromkeys(
            row.envelope
            for member in sheet.members
            for row in sorted(results[member.row.id].counted, key=lambda row: _is_of_set(row.envelope))
        )
        return set_archive(sheet.document, content, packed, envelopes, destination)

    # ----------------------------------------------------------------------- to change

    def submit_set(self, person: Person | None, drafted: DraftedSet) -> SubmitSetAnswer:
        return self._together(Verb.SUBMIT, person, drafted.digest, lambda steps: drafting.submit(steps, drafted))

    def submit_set_again(self, person: Person | None, number: int, digest: str) -> SubmitSetAnswer:
        """Ask for one decision about the newest version of every plan of a set; `digest` is that of the shown set."""
        return self._together(Verb.SUBMIT, person, digest, lambda steps: drafting.submit_again(steps, number))

    def withdraw_set(self, person: Person | None, number: int, digest: str) -> WithdrawSetAnswer:
        return self._together(Verb.WITHDRAW, person, digest, lambda steps: drafting.withdraw(steps, number))

    def decide_set(
        self,
        person: Person | None,
        number: int,
        digest: str,
        verdict: Verdict,
        *,
        typed: str | None = None,
        remark: str = "",
        in_spite_of: Mapping[str, str] = MappingProxyType({}),
        drifts: Mapping[int, tuple[Drift, ...]] = MappingProxyType({}),
    ) -> DecideSetAnswer:
        """Approve or reject exactly the plans of the set that was shown, with one signature.

        Args:
            person: Who decides; must not have written, edited or submitted any version of any of the plans.
            number: The number of the set.
            digest: The digest of the set that was shown to them.
            verdict: The decision.
            typed: The text typed to confirm, if a plan has unsafe rows or unmet checks.
            remark: Stored in the timeline of every plan.
            in_spite_of: The reason for each unmet check, by its name.
            drifts: Changes on the clusters by the number of the plan, if the page checked.
        """
        verb = Verb.APPROVE if verdict is Verdict.APPROVED else Verb.REJECT
        requested = SetDecision(
            digest=digest,
            verdict=verdict,
            typed=typed,
            remark=remark,
            in_spite_of=dict(in_spite_of),
            drifts=dict(drifts),
        )
        return self._together(verb, person, digest, lambda steps: deciding.decide(steps, number, requested))

    def _together(
        self, verb: Verb, person: Person | None, digest: str, tried: Callable[[Steps], Done | Refusal]
    ) -> Done | Refusal:
        """Run an operation on all plans of a set; a refusal rolls back all of it."""
        try:
            with self._reviews.changing(f"To {verb} a set of plans") as change:
                answer = tried(self._steps(person, change))
                if isinstance(answer, REFUSALS):
                    raise _Undone(answer)
                return answer
        except _Undone as undone:
            refused = undone.answer
        except StoreError:
            raise
        except OffsetwiseError as error:
            refused = NotAllowed(why=error.problem, fix=error.fix)
        answer = refused if isinstance(refused, NotAllowed) else NotAllowed(why=f"{refused.job}: {refused.why}", fix="")
        self._record(answer, f"To {verb} a set of plans", verb, person, None, digest)
        return refused

    def _steps(self, person: Person | None, change: Change) -> Steps:
        return Steps(
            person=person,
            rules=self._rules(),
            now=self._clock(),
            change=change,
            plans=self._plans,
            demo_key=self._demo_key,
        )

    def _record(  # noqa: PLR0917 - the columns of its row
        self, answer: NotAllowed, what: str, verb: Verb, person: Person | None, plan: int | None, digest: str | None
    ) -> None:
        """Record a refusal in a new transaction, after the changes were rolled back."""
        with self._reviews.changing(what) as change:
            try:
                rules = self._rules()
            except ConfigError:
                rules = None
            row = None if plan is None else change.plan(plan)
            change.record(
                written(
                    verb,
                    person,
                    answer,
                    rules=rules,
                    at=self._clock(),
                    plan=row,
                    digest=digest,
                    before=None if row is None else row.state,
                )
            )


def _is_of_set(envelope: bytes) -> bool:
    return bool(stated_in(ApprovalFile(name="to be packed", content=envelope)).plans)
