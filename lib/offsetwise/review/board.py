"""The review of plans: the verbs that the console's screens call, and the only place that decides who may.

Every verb that changes something looks everything up again inside the change: the person's role in the access file, the
plan's state, its newest digest. What a page showed or offered is never believed. Whether it is done or refused, one row
of the audit log says so, written together with what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from types import MappingProxyType
from typing import Final, TypeVar

from offsetwise import files
from offsetwise.approval import ApprovalFile, PrivateKey, Verdict
from offsetwise.errors import FileError, OffsetwiseError, StoreError
from offsetwise.model import AcceptedUnproven, Comparison, Plan, Receipt
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.drift import Drift
from offsetwise.plan.reading import read_plan
from offsetwise.review import deciding, drafting, remarks
from offsetwise.review.access import Access
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import DecideAnswer, NotAllowed, OtherAnswer, SaveAnswer, SubmitAnswer
from offsetwise.review.attempt import NO_PLAN, Attempt
from offsetwise.review.bundle import open_bundle
from offsetwise.review.deciding import ReviewDecision
from offsetwise.review.drafting import DraftedVersion
from offsetwise.review.people import Person
from offsetwise.review.sets.board import SetsBoard
from offsetwise.store.reviews import Reviews

Answer = TypeVar("Answer")
Read = TypeVar("Read")

_turn: Final = Lock()
_WAIT_S: Final = 60
"""A file is read in less than ten seconds."""


class Board(SetsBoard):
    """The plans under review. Safe to use from several threads.

    Every method may raise a `StoreError`; after a `StoreUnclearError` look at the plan before anything else. Methods
    that only read are those of `PlansView`, those about sets of plans are in `SetsBoard`. Methods that change something
    answer with one of the values of `answers`: a file that cannot be used, the access file too, is refused and written
    down as everything else is.

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
        comparison: Comparison | None = None,
    ) -> SaveAnswer:
        """Save a plan, or the next version of one: approvals of earlier versions count no more.

        Args:
            person: Who saves it. They and everybody who saved an earlier version are barred from deciding.
            content: The plan's file. It has to record `credits(person, plan)`.
            plan: Of which plan it is a version; None for a new one.
            base: The digest of the version that was edited. If it is not the newest, the answer is `Stale`.
            comparison: What it was drafted from, for those who review it.
        """
        digest = digest_of(content)

        def save(attempt: Attempt, parsed: Plan) -> SaveAnswer:
            drafted = DraftedVersion(plan=parsed, content=content, digest=digest, base=base, comparison=comparison)
            return drafting.save(attempt, drafted)

        return self._brought(
            Verb.SAVE,
            person,
            plan,
            read=lambda: read_plan(content, subject="the plan"),
            tried=save,
            digest_in=lambda _: digest,
        )

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
        accepted_unproven: Sequence[AcceptedUnproven] = (),
        in_spite_of: Mapping[str, str] = MappingProxyType({}),
    ) -> DecideAnswer:
        """Approve or reject exactly the version that was shown.

        Args:
            person: Who decides.
            plan: The plan.
            digest: Of the version that was shown to them.
            verdict: What they say.
            typed: What they typed to confirm; has to be `facts.confirm` where that is not None. For approvals.
            drifts: What has moved on the clusters, where the page looked: an approval is `Stale` then.
            accepted_unproven: Positions that they let be applied though the records that prove them are gone.
            in_spite_of: The reason for each check that is not met, by its name. For approvals.
        """
        verb = Verb.APPROVE if verdict is Verdict.APPROVED else Verb.REJECT
        decision = ReviewDecision(
            digest=digest,
            verdict=verdict,
            typed=typed,
            drifts=tuple(drifts),
            accepted_unproven=tuple(accepted_unproven),
            in_spite_of=dict(in_spite_of),
        )
        return self._attempted(verb, person, plan, lambda attempt: deciding.decide(attempt, decision), digest=digest)

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

        It has to agree with the plan as it is kept here: plan, digest, targets, places, offsets. A receipt is not
        signed: whether it was written is not known from it. That it was handed in, and by whom, is what is kept.
        """

        def read() -> Receipt:
            receipt: Receipt = files.load(content, "receipt", subject="the receipt")
            return receipt

        return self._brought(
            Verb.ADD_RECEIPT,
            person,
            plan,
            read=read,
            tried=lambda attempt, receipt: remarks.add_receipt(attempt, receipt, content),
            digest_in=lambda receipt: None if receipt is None else receipt.plan_digest,
        )

    # ----------------------------------------------------------------------- elsewhere

    def receive_bundle(self, person: Person | None, data: bytes, *, name: str = "the bundle") -> SaveAnswer:
        """Keep a plan that was submitted at another console, to be decided about here, without any cluster.

        Its people are barred here as they are there. The approval goes back as the envelope that `export` gives.
        """
        return self._brought(
            Verb.RECEIVE_BUNDLE,
            person,
            None,
            read=lambda: open_bundle(data, subject=name),
            tried=drafting.receive,
            digest_in=lambda bundle: None if bundle is None else bundle.plan_digest,
        )

    # ----------------------------------------------------------------------- how

    def _brought(
        self,
        verb: Verb,
        person: Person | None,
        plan: int | None,
        *,
        read: Callable[[], Read],
        tried: Callable[[Attempt, Read], Answer],
        digest_in: Callable[[Read | None], str | None],
    ) -> Answer | NotAllowed:
        """Read a file, for those who may bring it only, and one at a time: each may take hundreds of megabytes."""
        digest = digest_in(None)
        try:
            why = self.why_not(person, verb, plan)
            if why is not None:
                return self._attempted(verb, person, plan, lambda _: why, digest=digest)
            with _one_at_a_time():
                content = read()
                return self._attempted(
                    verb, person, plan, lambda attempt: tried(attempt, content), digest=digest_in(content)
                )
        except StoreError:
            raise
        except OffsetwiseError as error:
            return self._refused(verb, person, plan, error, digest=digest)

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
            with self._reviews.changing(f"To {verb}") as change:
                # Looked up when the turn is ours, not when it was asked for: meanwhile a role may be taken away.
                attempt = self._steps(person, change).attempt(verb, plan, digest)
                # A plan that is named and not there is not a new one.
                answer = NO_PLAN if plan is not None and attempt.plan is None else tried(attempt)
                attempt.record(answer)
                return answer
        except StoreError:
            raise
        except OffsetwiseError as error:
            return self._refused(verb, person, plan, error, digest=digest)

    def _refused(
        self, verb: Verb, person: Person | None, plan: int | None, error: OffsetwiseError, *, digest: str | None = None
    ) -> NotAllowed:
        """Refuse what cannot be tried, since a file that it takes cannot be used. Whatever was begun is undone."""
        answer = NotAllowed(why=error.problem, fix=error.fix)
        self._record(answer, f"To {verb}", verb, person, plan, digest)
        return answer


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    if not _turn.acquire(timeout=_WAIT_S):
        raise FileError(
            "Another file is being read at this console, and only one is at a time. Nothing was kept.",
            fix="Wait a minute, then bring the file again.",
        )
    try:
        yield
    finally:
        _turn.release()
