"""The review of plans: the verbs that the console's screens call, and the only place that decides who may.

Every verb that changes something looks everything up again inside the change: the person's role in the access file, the
plan's state, its newest digest. What a page showed or offered is never believed. Whether it is done or refused, one row
of the audit log says so, written together with what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from offsetwise import files
from offsetwise.approval import ApprovalFile, PrivateKey, Verdict
from offsetwise.errors import ConfigError, FileError, OffsetwiseError, StoreError
from offsetwise.model import Receipt
from offsetwise.plan.digest import digest as digest_of
from offsetwise.plan.drift import Drift
from offsetwise.plan.reading import read_plan
from offsetwise.review import deciding, drafting, remarks
from offsetwise.review.access import Access
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import DecideAnswer, NotAllowed, OtherAnswer, SaveAnswer, SubmitAnswer
from offsetwise.review.attempt import NO_PLAN, Attempt, written
from offsetwise.review.bundle import open_bundle
from offsetwise.review.deciding import Decision
from offsetwise.review.drafting import Drafted
from offsetwise.review.people import Person
from offsetwise.review.view import View
from offsetwise.store.reviews import Reviews
from offsetwise.workflow import Observed

MAX_PLAN_BYTES: Final = 64 * 1024 * 1024
MAX_RECEIPT_BYTES: Final = 128 * 1024 * 1024
Answer = TypeVar("Answer")


class Board(View):
    """The plans under review. Safe to use from several threads.

    Every method may raise a `StoreError`; after a `StoreUnclearError` look at the plan before anything else. Methods
    that only read are those of `View`. Methods that change something answer with one of the values of `answers`: a file
    that cannot be used, the access file too, is refused and written down as everything else is.

    Args:
        reviews: Where everything is kept.
        rules: Reads the access file as it is at this moment.
        demo_key: The demo key, for the demonstration: its own people, and plans of the bundled sample only. The
            console's own key otherwise comes from the access file.
        clock: Gives the time, with its zone.
    """

    def __init__(
        self,
        reviews: Reviews,
        rules: Callable[[], Access],
        *,
        demo_key: PrivateKey | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(reviews, rules, demo_key=demo_key, clock=clock)

    # ----------------------------------------------------------------------- drafting

    def save_draft(
        self,
        person: Person | None,
        content: bytes,
        *,
        plan: int | None = None,
        base: str | None = None,
        observed: Observed | None = None,
    ) -> SaveAnswer:
        """Save a plan, or the next version of one: approvals of earlier versions count no more.

        Args:
            person: Who saves it. They and everybody who saved an earlier version are barred from deciding.
            content: The plan's file. It has to record `credits(person, plan)`.
            plan: Of which plan it is a version; None for a new one.
            base: The digest of the version that was edited. If it is not the newest, the answer is `Stale`.
            observed: What it was drafted from, for those who review it.
        """
        digest = digest_of(content)
        try:
            _check_size("The plan", content, MAX_PLAN_BYTES, fix="Draft a plan per topic or group of topics.")
            parsed = read_plan(content, subject="the plan")
        except OffsetwiseError as error:
            return self._refused(Verb.SAVE, person, plan, error, digest=digest)
        drafted = Drafted(plan=parsed, content=content, digest=digest, base=base, observed=observed)
        return self._attempted(Verb.SAVE, person, plan, lambda attempt: drafting.save(attempt, drafted), digest=digest)

    def submit(self, person: Person | None, plan: int, digest: str) -> SubmitAnswer:
        """Ask for decisions about exactly the version with this digest.

        A version whose submission or approvals expired can be submitted again; earlier approvals count no more then.
        """
        return self._attempted(
            Verb.SUBMIT, person, plan, lambda attempt: drafting.submit(attempt, digest), digest=digest
        )

    def withdraw(self, person: Person | None, plan: int) -> OtherAnswer:
        """Take a plan back for good. Another one can be drafted for its checkpoint or group then."""
        return self._attempted(Verb.WITHDRAW, person, plan, drafting.withdraw)

    # ----------------------------------------------------------------------- deciding

    def decide(
        self,
        person: Person | None,
        plan: int,
        digest: str,
        verdict: Verdict,
        *,
        typed: str | None = None,
        drifts: Sequence[Drift] = (),
    ) -> DecideAnswer:
        """Approve or reject exactly the version that was shown.

        Args:
            person: Who decides.
            plan: The plan.
            digest: Of the version that was shown to them.
            verdict: What they say.
            typed: What they typed to confirm; has to be `facts.confirm` where that is not None. For approvals.
            drifts: What has moved on the clusters, where the page looked: an approval is `Stale` then.
        """
        verb = Verb.APPROVE if verdict is Verdict.APPROVED else Verb.REJECT
        wanted = Decision(digest=digest, verdict=verdict, typed=typed, drifts=tuple(drifts))
        return self._attempted(verb, person, plan, lambda attempt: deciding.decide(attempt, wanted), digest=digest)

    def import_envelope(self, person: Person | None, plan: int, file: ApprovalFile) -> DecideAnswer:
        """Take in an approval or rejection that was signed elsewhere, by a key that the access file trusts.

        All that is asked of a decision here is asked of the one who signed, and what `apply` asks of the envelope.
        """
        return self._attempted(
            Verb.IMPORT_ENVELOPE, person, plan, lambda attempt: deciding.import_envelope(attempt, file)
        )

    def comment(self, person: Person | None, plan: int, text: str) -> OtherAnswer:
        """Add a remark to a plan's discussion. Any text is kept as it is; whoever shows it escapes it."""
        return self._attempted(Verb.COMMENT, person, plan, lambda attempt: remarks.comment(attempt, text))

    def add_receipt(self, person: Person | None, plan: int, content: bytes) -> OtherAnswer:
        """Keep the receipt of an application: the plan is applied then, where every step is done.

        A receipt is not signed: that it was handed in, and by whom, is what is kept.
        """
        try:
            _check_size("The receipt", content, MAX_RECEIPT_BYTES, fix="Give it as `offsetwise apply` wrote it.")
            receipt: Receipt = files.load(content, "receipt", subject="the receipt")
        except OffsetwiseError as error:
            return self._refused(Verb.ADD_RECEIPT, person, plan, error)
        return self._attempted(
            Verb.ADD_RECEIPT,
            person,
            plan,
            lambda attempt: remarks.add_receipt(attempt, receipt, content),
            digest=receipt.plan_digest,
        )

    # ----------------------------------------------------------------------- elsewhere

    def receive_bundle(self, person: Person | None, data: bytes, *, name: str = "the bundle") -> SaveAnswer:
        """Keep a plan that was submitted at another console, to be decided about here, without any cluster.

        Its people are barred here as they are there. The approval goes back as the envelope that `export` gives.
        """
        try:
            read = open_bundle(data, subject=name)
        except OffsetwiseError as error:
            return self._refused(Verb.RECEIVE_BUNDLE, person, None, error)
        return self._attempted(
            Verb.RECEIVE_BUNDLE,
            person,
            None,
            lambda attempt: drafting.receive(attempt, read),
            digest=read.plan_digest,
        )

    # ----------------------------------------------------------------------- how

    def _attempted(
        self,
        verb: Verb,
        person: Person | None,
        plan: int | None,
        tried: Callable[[Attempt], Answer],
        *,
        digest: str | None = None,
    ) -> Answer | NotAllowed:
        try:
            return self._changed(verb, person, plan, tried, digest)
        except StoreError:
            raise
        except OffsetwiseError as error:
            return self._refused(verb, person, plan, error, digest=digest)

    def _changed(
        self,
        verb: Verb,
        person: Person | None,
        plan: int | None,
        tried: Callable[[Attempt], Answer],
        digest: str | None,
    ) -> Answer | NotAllowed:
        with self._reviews.changing(f"To {verb}") as change:
            # Looked up when the turn is ours, not when it was asked for: meanwhile a role may be taken away.
            rules, now = self._rules(), self._clock()
            row = None if plan is None else change.plan(plan)
            attempt = Attempt(
                verb=verb,
                person=person,
                rules=rules,
                now=now,
                change=change,
                plans=self._plans,
                demo_key=self._demo_key,
                plan=row,
                digest=digest,
                before=None if row is None else row.state,
            )
            # A plan that is named and not there is not a new one.
            answer = NO_PLAN if plan is not None and row is None else tried(attempt)
            attempt.record(answer)
            return answer

    def _refused(
        self, verb: Verb, person: Person | None, plan: int | None, error: OffsetwiseError, *, digest: str | None = None
    ) -> NotAllowed:
        """Refuse what cannot be tried, since a file that it takes cannot be used. Whatever was begun is undone."""
        answer = NotAllowed(why=error.problem, fix=error.fix)
        with self._reviews.changing(f"To {verb}") as change:
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
        return answer


def _check_size(what: str, content: bytes, most: int, *, fix: str) -> None:
    if len(content) > most:
        raise FileError(
            f"{what}: expected at most {most:,} bytes, found {len(content):,}. Nothing was kept.",
            fix=fix,
        )
