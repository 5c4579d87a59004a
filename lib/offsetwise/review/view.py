"""The read-only part of the board: the plans under review, for those who may see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from offsetwise.approval import PrivateKey
from offsetwise.errors import AccessError, PlanError
from offsetwise.model import Comparison, Identity
from offsetwise.review import exports, overrides
from offsetwise.review.access import Access, Role
from offsetwise.review.allowing import Verb, not_signed_in, why_not, why_not_own
from offsetwise.review.answers import NotAllowed
from offsetwise.review.attempt import NO_KEY, NO_PLAN, ParsedPlans, content_of
from offsetwise.review.bundle import OBSERVED, comparison_of, pack
from offsetwise.review.difference import Difference
from offsetwise.review.people import Person, identity, is_of, may_be_one, recorded, who, why_barred
from offsetwise.review.risk import VersionFacts
from offsetwise.review.sets.sheet import SetState, standing_of
from offsetwise.review.sheet import Sheet, SheetMark, VersionStanding, Waiting, standings, status_of
from offsetwise.store.audit import AuditFilter, AuditRow, Chain
from offsetwise.store.review_reader import StoreLook
from offsetwise.store.review_rows import EditorRow, PlanRow, SetRow, State, VersionRow
from offsetwise.store.reviews import Reviews

AUDIT_ROWS: Final = 500
"""How many rows of the audit log a page has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """The names that a plan has to record, for `DraftRequest`."""

    author: str
    editors: tuple[str, ...]
    identities: tuple[Identity, ...]
    """The same people, and everybody who submitted an earlier version, with issuer and subject separate."""


class PlansView:
    """Reads the plans under review. Thread-safe.

    Methods raise an `AccessError` for a person without the role viewer, and a `ConfigError` if the access file cannot
    be read any more.

    Args:
        reviews: The store.
        rules: Reads the current access file.
        demo_key: The demo key, for the demonstration.
        clock: Returns the time, with its zone.
    """

    def __init__(
        self,
        reviews: Reviews,
        rules: Callable[[], Access],
        *,
        demo_key: PrivateKey | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._reviews = reviews
        self._rules = rules
        self._demo_key = demo_key
        self._clock = clock
        self._plans = ParsedPlans()

    @property
    def is_demo(self) -> bool:
        return self._demo_key is not None

    def roles(self, person: Person | None) -> frozenset[Role]:
        """Return somebody's current roles, to decide what to offer and never what to allow."""
        return self._rules().roles_of(person)

    def reviewers(self) -> tuple[tuple[str, str], ...] | None:
        """Return (issuer, subject) of all current reviewers; None if a group or everybody is one."""
        grants = self._rules().roles.reviewer
        named = tuple((grant.issuer, grant.subject) for grant in grants if grant.subject is not None)
        return named if len(named) == len(grants) else None

    def plans(self, person: Person | None, *, open_only: bool = False) -> tuple[PlanRow, ...]:
        """Return plans, the last changed first."""
        with self._looking(person, "Reading the plans") as reader:
            return reader.plans(open_only=open_only)

    def sheet(self, person: Person | None, plan: int) -> Sheet | None:
        """Return one plan with its newest version, decisions and discussion; None if there is no such plan."""
        rules = self._rules()
        with self._looking(person, "Reading the plan") as reader:
            row = reader.plan(plan)
            if row is None:
                return None
            version = reader.version(plan, row.number)
            return Sheet(
                row=row,
                plan=self._plans.get(reader, version),
                version=version,
                facts=VersionFacts.load(version.facts),
                versions=reader.versions(plan),
                editors=reader.editors(plan),
                status=status_of(reader, row, version, rules=rules, now=self._clock()),
                decisions=reader.decisions(plan),
                comments=reader.comments(plan),
                receipts=reader.receipts(plan),
                overridden=tuple(overrides.of_plan(reader, plan)),
            )

    def content(self, person: Person | None, plan: int, number: int) -> bytes:
        """Return the exact bytes of one version.

        Raises:
            PlanError: There is no such version.
        """
        with self._looking(person, "Reading the plan") as reader:
            return reader.content(_there(reader, plan, number).id)

    def observed(self, person: Person | None, plan: int, number: int) -> Comparison | None:
        """Return the comparison and the snapshots that a version was drafted from; None if they were not stored.

        Raises:
            PlanError: There is no such version.
        """
        with self._looking(person, "Reading the evidence") as reader:
            evidence = reader.files(_there(reader, plan, number).id)
        return comparison_of(evidence, subject="the kept") if set(evidence) == {*OBSERVED} else None

    def difference(self, person: Person | None, plan: int, before: int, after: int) -> Difference:
        """Return the differences between two versions of a plan, by their numbers.

        Raises:
            PlanError: There is no such version.
        """
        with self._looking(person, "Comparing versions") as reader:
            return self._plans.difference(reader, _there(reader, plan, before), _there(reader, plan, after))

    def why_not(self, person: Person | None, verb: Verb, plan: int | None = None) -> NotAllowed | None:
        """Return why somebody may not do this now, for a control that is shown disabled; None if they may.

        The state of the plan is not checked; the operation itself does that.
        """
        if person is None:
            return not_signed_in(verb)
        rules = self._rules()
        refused = why_not(person, verb, rules, self._clock(), demo=self.is_demo)
        if refused is not None:
            return refused
        if verb.decides and not self.is_demo and rules.decisions.key is None:
            return NO_KEY
        if plan is None:
            return None
        with self._reviews.reading("Reading the plan") as reader:
            row = reader.plan(plan)
            if row is None:
                return NO_PLAN
            names = VersionFacts.load(reader.version(plan, row.number).facts).names
            return why_not_own(person, verb, rules, reader.editors(plan), names)

    def why_not_own(
        self, person: Person | None, verb: Verb, editors: tuple[EditorRow, ...], names: tuple[str, ...]
    ) -> NotAllowed | None:
        return not_signed_in(verb) if person is None else why_not_own(person, verb, self._rules(), editors, names)

    def waiting_for(self, person: Person | None) -> tuple[Waiting, ...]:
        """Return the plans that wait for a person to decide, submit again or revise them, oldest first."""
        if person is None:
            return ()
        rules = self._rules()
        with self._looking(person, "Reading what waits") as reader:
            newest = reader.newest_of([row.id for row in reader.plans()])
            results = standings(reader, newest, rules=rules, now=self._clock())
            editors = reader.editors_of([*newest])
            sets = reader.sets()
        requests: dict[int, Waiting] = {}
        for plan, (row, version) in newest.items():
            result = results[plan]
            why = _waits(person, rules, VersionFacts.load(version.facts), result, editors[plan])
            if why is not None:
                requests[plan] = _waiting(row, version, result, why)
        return tuple(sorted(_as_sets(requests, sets, newest, results), key=lambda waiting: waiting.since_ms))

    def export(self, person: Person | None, plan: int, kind: exports.ExportKind) -> tuple[exports.Export, ...]:
        """Return the files of one kind of a plan's newest version; names of unapproved or applied plans are marked.

        Raises:
            PlanError: There is no such plan, or it cannot be exported in that form.
        """
        rules = self._rules()
        with self._looking(person, "Exporting the plan") as reader:
            _, version, result = self._newest(reader, plan, rules)
            return exports.exported(
                kind,
                self._plans.get(reader, version),
                reader.content(version.id),
                digest=version.digest,
                envelopes=tuple(row.envelope for row in result.counted),
                withdrawn=tuple(row.envelope for row in result.withdrawn),
                mark=result.mark,
            )

    def kit(self, person: Person | None, plan: int, destination: exports.Destination) -> exports.Export:
        """Return an approved plan with its approvals and a README of commands, in one archive.

        Args:
            person: Who asks.
            plan: The plan.
            destination: Where it is applied.

        Raises:
            PlanError: There is no such plan, or it is not approved.
        """
        rules = self._rules()
        with self._looking(person, "Exporting the plan") as reader:
            _, version, result = self._newest(reader, plan, rules)
            return exports.archive(
                self._plans.get(reader, version),
                reader.content(version.id),
                digest=version.digest,
                envelopes=tuple(row.envelope for row in result.counted),
                mark=result.mark,
                destination=destination,
            )

    def audit(
        self, person: Person | None, requested: AuditFilter | None = None, *, most: int = AUDIT_ROWS
    ) -> tuple[AuditRow, ...]:
        """Return rows of the audit log, newest first; for the next page, pass `before_seq` of the last one."""
        with self._looking(person, "Reading the audit log") as reader:
            return reader.audit(requested or AuditFilter(), most=most)

    def check_chain(self, person: Person | None) -> Chain:
        with self._looking(person, "Checking the audit log") as reader:
            return reader.check_chain()

    def credits(self, person: Person, plan: int | None = None) -> Credits:
        """Return the names that a new plan of a person, or their new version of a plan, has to record.

        Raises:
            PlanError: There is no such plan.
        """
        if plan is None:
            return Credits(author=recorded(person), editors=(), identities=(identity(who(person)),))
        with self._looking(person, "Reading the plan") as reader:
            row = reader.plan(plan)
            if row is None:
                raise _no_version(plan)
            names = VersionFacts.load(reader.version(plan, row.number).facts).names
            known = tuple(map(identity, reader.editors(plan)))
        own, mine = recorded(person), identity(who(person))
        return Credits(
            author=names[0],
            editors=(*names[1:], *([] if own in names else [own])),
            identities=tuple(dict.fromkeys((*known, mine))),
        )

    def bundle(self, person: Person | None, plan: int) -> exports.Export:
        """Return a submitted plan with everything that a reviewer needs, for a console without the clusters.

        Raises:
            PlanError: There is no such plan, or it is not submitted.
        """
        rules = self._rules()
        with self._looking(person, "Packing the plan") as reader:
            row, version, result = self._newest(reader, plan, rules)
            if row.state is not State.SUBMITTED or result.submission is None:
                raise PlanError(
                    f"Plan {plan}: expected one that is submitted, found it {row.state}. Nothing was packed.",
                    fix="Submit it first.",
                )
            packed = pack(
                content_of(reader, version),
                reader.files(version.id),
                submitted_by=result.submission.by,
                submitted_at_ms=result.submission.at_ms,
                expires_at_ms=result.submission.expires_at_ms,
                editors=reader.editors(plan),
                comments=reader.comments(plan),
            )
        name = f"plan-{version.digest[:8]}.review.gz"
        return exports.Export(
            name=name, content=packed, mime="application/gzip", digest=version.digest, mark=SheetMark.DRAFT
        )

    def _newest(self, reader: StoreLook, plan: int, rules: Access) -> tuple[PlanRow, VersionRow, VersionStanding]:
        row = reader.plan(plan)
        if row is None:
            raise _no_version(plan)
        version = reader.version(plan, row.number)
        return row, version, status_of(reader, row, version, rules=rules, now=self._clock())

    @contextmanager
    def _looking(self, person: Person | None, what: str) -> Iterator[StoreLook]:
        if Role.VIEWER not in self._rules().roles_of(person):
            raise AccessError(
                f"{what}: expected somebody with the role viewer. Nothing was read.",
                fix="Sign in, or ask the operator to name you in the access file.",
            )
        with self._reviews.reading(what) as reader:
            yield reader


def _waiting(row: PlanRow, version: VersionRow, result: VersionStanding, why: str) -> Waiting:
    submission = result.submission
    return Waiting(
        plan=row.id,
        migration=row.migration,
        moves=row.moves,
        digest=version.digest,
        by=version.by if submission is None else submission.by,
        since_ms=version.at_ms if submission is None else submission.at_ms,
        why=why,
    )


def _as_sets(
    waiting: Mapping[int, Waiting],
    sets: Iterable[SetRow],
    newest: Mapping[int, tuple[PlanRow, VersionRow]],
    standings: Mapping[int, VersionStanding],
) -> Iterator[Waiting]:
    """Yield what waits, with the plans of a set that is as submitted joined; each plan counts in its newest set."""
    remaining = dict(waiting)
    visited: set[int] = set()
    for row in sets:
        plans = [member.plan for member in row.members if member.plan not in visited]
        visited.update(plans)
        requests = [remaining[plan] for plan in plans if plan in remaining]
        if not requests or standing_of(row, newest, standings).state is SetState.CHANGED:
            continue
        for request in requests:
            del remaining[request.plan]
        first = requests[0]
        yield replace(first, digest=row.digest, of_set=row.id, plans=len(requests))
    yield from remaining.values()


def _waits(
    person: Person, rules: Access, facts: VersionFacts, status: VersionStanding, editors: tuple[EditorRow, ...]
) -> str | None:
    roles = rules.roles_of(person)
    if is_of(person, editors):
        if Role.AUTHOR not in roles:
            return None
        if status.expired:
            return "expired: look at it again, and submit it again"
        return {
            State.DRAFT: "not submitted yet",
            State.REJECTED: "rejected: revise or withdraw it",
            State.APPROVED: "approved: export and apply it",
        }.get(status.state)
    if Role.REVIEWER not in roles or status.state is not State.SUBMITTED or status.expired:
        return None
    if rules.separation_of_duties and why_barred(who(person), editors, facts.names) is not None:
        return None
    if any(may_be_one(row.by, who(person)) for row in status.counted):
        return None
    return "waits for your decision"


def _there(reader: StoreLook, plan: int, number: int) -> VersionRow:
    row = next((version for version in reader.versions(plan) if version.number == number), None)
    if row is None:
        raise _no_version(plan)
    return row


def _no_version(plan: int) -> PlanError:
    return PlanError(
        f"Plan {plan}: expected a plan and a version that are kept here, found none. Nothing was read.",
        fix="Choose a plan from the list.",
    )
