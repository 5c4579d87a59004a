"""The operations of a review that the console's screens call; only this module decides who may do what.

Every operation that changes something reads inside its transaction what it depends on: the person's role in the access
file, the plan's state, its newest digest. What a page showed or offered is not trusted. Whether it succeeds or is
refused, it writes one row of the audit log in the same transaction.
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
"""The maximum wait for the turn; a file is read in less than ten seconds."""


class Board(SetsBoard):
    """The plans under review. Thread-safe.

    Every method may raise a `StoreError`; after a `StoreUnclearError` read the plan again before anything else. Methods
    that only read are in `PlansView`, those about sets of plans in `SetsBoard`. Methods that change something return a
    value of `answers`: an unusable file, including the access file, is refused and recorded like any other refusal.

    Args:
        reviews: The store.
        rules: Reads the current access file.
        demo_key: The demo key, for the demonstration: its own people, and plans of the bundled sample only. Otherwise
            the console's key comes from the access file.
        clock: Returns the time, with its zone.
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
        """Save a plan, or a new version of one, which invalidates approvals of earlier versions.

        Args:
            person: Who saves it. They and everybody who saved an earlier version are barred from deciding.
            content: The plan's file. It must record `credits(person, plan)`.
            plan: The plan that gets a new version; None for a new plan.
            base: The digest of the version that was edited. If it is not the newest, the result is `Stale`.
            comparison: The comparison that it was drafted from, for reviewers.
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

        A version whose submission or approvals expired can be submitted again; earlier approvals are then no longer
        valid.
        """
        return self._attempted(
            Verb.SUBMIT, person, plan, lambda attempt: drafting.submit(attempt, digest), digest=digest
        )

    def withdraw(self, person: Person | None, plan: int) -> OtherAnswer:
        """Withdraw a plan for good. Another one can then be drafted for its checkpoint or group."""
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
            digest: The digest of the version that was shown to them.
            verdict: The decision.
            typed: The text typed to confirm an approval; must be `facts.confirm` unless that is None.
            drifts: Changes on the clusters, if the page checked: an approval is then `Stale`.
            accepted_unproven: Positions that may be applied although the records that prove them are gone.
            in_spite_of: For approvals, the reason for each unmet check, by its name.
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
        """Import an approval or rejection that was signed elsewhere, with a key that the access file trusts.

        The signer must meet all conditions of a decision made here, and the envelope those of `apply`.
        """
        return self._attempted(
            Verb.IMPORT_ENVELOPE, person, plan, lambda attempt: deciding.import_envelope(attempt, file)
        )

    def comment(self, person: Person | None, plan: int, text: str) -> OtherAnswer:
        """Add a comment to a plan's discussion. Any text is stored as it is; whoever shows it must escape it."""
        return self._attempted(Verb.COMMENT, person, plan, lambda attempt: remarks.comment(attempt, text))

    def add_receipt(self, person: Person | None, plan: int, content: bytes) -> OtherAnswer:
        """Store the receipt of an application; if every step is done, the plan counts as applied.

        It must agree with the stored plan: plan, digest, targets, paths, offsets. A receipt is not signed, so it is no
        proof that anything was written; the record is that it was added, and by whom.
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
        """Store a plan that was submitted at another console, to decide about it without access to the clusters.

        Its people are barred here too. The approval is returned as the envelope of `export`.
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
        """Read a file, one at a time because each may take hundreds of megabytes, after checking the permission."""
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
                # Read when it is this call's turn, not when it was made: a role may be revoked meanwhile.
                attempt = self._steps(person, change).attempt(verb, plan, digest)
                # A plan that is named and missing is not a new one.
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
        """Refuse an operation because a file that it needs cannot be used. Its changes were rolled back."""
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
