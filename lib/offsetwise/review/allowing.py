"""Permissions in a review. Pure: the rules, the person and the time are arguments."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from offsetwise.approval import strict
from offsetwise.approval.keys import OWN_ISSUER, RESERVED
from offsetwise.review.access import Access, Role
from offsetwise.review.answers import NotAllowed
from offsetwise.review.people import DEMO_ISSUER, Person, is_of, who, why_barred
from offsetwise.store.review_rows import EditorRow, Who


class Verb(StrEnum):
    SAVE = "save"
    SUBMIT = "submit"
    APPROVE = "approve"
    REJECT = "reject"
    COMMENT = "comment"
    WITHDRAW = "withdraw"
    IMPORT_ENVELOPE = "import envelope"
    ADD_RECEIPT = "add receipt"
    RECEIVE_BUNDLE = "receive bundle"

    @property
    def decides(self) -> bool:
        """Whether it is a decision, from which the author and editors are barred."""
        return self in (Verb.APPROVE, Verb.REJECT)


NEEDED: Final = {
    Verb.SAVE: frozenset({Role.AUTHOR}),
    Verb.SUBMIT: frozenset({Role.AUTHOR}),
    Verb.WITHDRAW: frozenset({Role.AUTHOR}),
    Verb.APPROVE: frozenset({Role.REVIEWER}),
    Verb.REJECT: frozenset({Role.REVIEWER}),
    Verb.COMMENT: frozenset({Role.AUTHOR, Role.REVIEWER}),
    Verb.IMPORT_ENVELOPE: frozenset({Role.AUTHOR, Role.REVIEWER}),
    Verb.ADD_RECEIPT: frozenset({Role.AUTHOR, Role.REVIEWER}),
    Verb.RECEIVE_BUNDLE: frozenset({Role.REVIEWER}),
}
"""The roles of which a person needs one."""

_ASK: Final = "Ask the operator to name you in the access file: issuer and subject exactly as said here."


def not_signed_in(verb: Verb) -> NotAllowed:
    return NotAllowed(
        why=f"To {verb}, you have to be signed in, and you are not.",
        fix="Sign in; where no provider is set up, docs/sign-in.md says how.",
    )


def why_not(person: Person, verb: Verb, rules: Access, now: datetime, *, demo: bool) -> NotAllowed | None:
    """Return why a person may not do this with any plan; None if they may.

    Args:
        person: The person who asks.
        verb: The requested operation.
        rules: The current access file.
        now: With its time zone.
        demo: Whether this is the demonstration, in which only its own people may act.
    """
    named = _name_of(person)
    if not (strict.is_name(person.issuer) and strict.is_name(person.subject)):
        return NotAllowed(
            why=f"Your identity, {named}, cannot be in a plan or an approval: expected {strict.A_NAME}.",
            fix="Ask the operator of the identity provider for another subject.",
        )
    if demo != (person.issuer == DEMO_ISSUER) or (not demo and person.issuer.startswith((OWN_ISSUER, RESERVED))):
        return NotAllowed(
            why=f"You are {named}, who is nobody here: the demonstration has its own people, and they are nobody "
            "elsewhere.",
            fix="Use the sample with the people of the demonstration, and everything else signed in.",
        )
    if demo and verb is Verb.RECEIVE_BUNDLE:
        return NotAllowed(
            why="The demonstration takes in no review bundle: anybody may play its reviewer, and a bundle comes from "
            "outside.",
            fix="Sign in as a reviewer of this console; docs/sign-in.md says how that is set up.",
        )
    if not (rules.roles_of(person) & NEEDED[verb]):
        needed = " or ".join(sorted(NEEDED[verb]))
        return NotAllowed(why=f"To {verb}, you need the role {needed}, and {named} does not have it.", fix=_ASK)
    return _why_not_decide(person, rules, now) if verb.decides else None


def _name_of(person: Person) -> str:
    return person.name if person.issuer == DEMO_ISSUER else f"{person.subject[:80]!a} of {person.issuer[:80]!a}"


def why_not_own(
    person: Person, verb: Verb, rules: Access, editors: Iterable[EditorRow], names: Iterable[str]
) -> NotAllowed | None:
    """Return why a person may not do this with this plan because of their part in it; None if they may.

    Args:
        person: The person who asks.
        verb: The requested operation.
        rules: The current access file.
        editors: Everybody who wrote, edited or submitted any version of the plan.
        names: The author and editors that its newest version records.
    """
    refusal = barred_from_deciding(who(person), rules, editors, names) if verb.decides else None
    if refusal is not None:
        return refusal
    if verb in (Verb.SUBMIT, Verb.WITHDRAW) and not is_of(person, editors):
        return NotAllowed(
            why=f"Only its author and editors {verb} a plan, and {_name_of(person)} is none.",
            fix="Ask one of them, or save a version of your own first.",
        )
    return None


def barred_from_deciding(
    somebody: Who, rules: Access, editors: Iterable[EditorRow], names: Iterable[str]
) -> NotAllowed | None:
    """Return why somebody may not decide about this plan, here or in an envelope; None if they may.

    Args:
        somebody: The person who decides.
        rules: The current access file.
        editors: Everybody who wrote, edited or submitted any version of the plan.
        names: The author and editors that its newest version records.
    """
    reason = why_barred(somebody, editors, names) if rules.separation_of_duties else None
    if reason is None:
        return None
    return NotAllowed(
        why=f"Nobody decides about a plan that they had a hand in, and {reason}.",
        fix="Let a reviewer decide who neither wrote, edited nor submitted any version of it.",
    )


def no_person(issuer: str, subject: str) -> NotAllowed:
    return NotAllowed(
        why=f"{subject!a} of {issuer!a} is a service account, and plans are decided by people.",
        fix="Let a person decide who is signed in as themselves.",
    )


def _why_not_decide(person: Person, rules: Access, now: datetime) -> NotAllowed | None:
    if person.service_account or rules.is_service(person):
        return no_person(person.issuer, person.subject)
    limit = timedelta(minutes=rules.decisions.recent_sign_in_minutes)
    at = person.signed_in_at
    again = "Sign out, sign in again, and open the plan once more."
    if at is None:
        return NotAllowed(
            why="It is not known when you signed in: the identity provider did not say.",
            fix="Ask its operator for the claim auth_time or iat in the ID token.",
        )
    if now - at > limit or at - now > timedelta(minutes=2):
        return NotAllowed(
            why=f"To decide, you have to have signed in within the last {rules.decisions.recent_sign_in_minutes} "
            f"minutes; you signed in at {at:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d %H:%M}.",
            fix=again,
        )
    if person.expires_at is not None and now >= person.expires_at:
        return NotAllowed(
            why=f"The identity provider vouched for you until {person.expires_at:%Y-%m-%d %H:%M} UTC, and it is "
            f"{now:%Y-%m-%d %H:%M}.",
            fix=again,
        )
    return None
