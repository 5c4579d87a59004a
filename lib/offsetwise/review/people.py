from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from offsetwise.approval.keys import RESERVED
from offsetwise.approval.people import plain, same_person
from offsetwise.model import Identity
from offsetwise.store.review_rows import EditorRow, Who

_NAMES: Final = ("name", "preferred_username", "email")
"""Claims with a person's display name, in order of preference."""
MAX_NAME: Final = 200
DEMO_ISSUER: Final = f"{RESERVED}demo"
"""The issuer of the people of the demonstration, who have no rights elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person whom an identity provider signed in. Issuer and subject are the identity.

    A person carries no role: roles are read from the access file for every operation.
    """

    issuer: str
    subject: str
    name: str
    """For display only."""
    email: str | None = None
    """Never an identity. Two identities with one address count as one person if that bars them."""
    groups: tuple[str, ...] = ()
    signed_in_at: datetime | None = None
    """When they authenticated (`auth_time`), or else when the token was issued (`iat`); None if unknown."""
    expires_at: datetime | None = None
    """When the token expires (`exp`); None if it has no expiry."""
    service_account: bool = False
    """Whether the provider marks it as a program."""


def person_of(claims: Mapping[str, Any], *, groups_claim: str) -> Person | None:
    """Return the person of an ID token's claims; None if they name nobody.

    Args:
        claims: The claims of a token whose signature was checked.
        groups_claim: The claim that lists the person's groups.
    """
    issuer, subject = claims.get("iss"), claims.get("sub")
    if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
        return None
    names = (claims.get(claim) for claim in _NAMES)
    email = claims.get("email")
    groups = claims.get(groups_claim)
    several = groups if isinstance(groups, (list, tuple)) else [groups]
    login = claims.get("preferred_username")
    return Person(
        issuer=issuer,
        subject=subject,
        name=next((name for name in names if isinstance(name, str) and name), subject)[:MAX_NAME],
        email=email if isinstance(email, str) and email else None,
        groups=tuple(group for group in several if isinstance(group, str)),
        signed_in_at=_time(claims.get("auth_time")) or _time(claims.get("iat")),
        expires_at=_time(claims.get("exp")),
        # How Entra ID and Keycloak mark the token of a program.
        service_account=claims.get("idtyp") == "app"
        or (isinstance(login, str) and login.startswith("service-account-")),
    )


def recorded(person: Person) -> str:
    """Return the text by which a plan records its author or an editor.

    >>> recorded(Person(issuer="https://login.example.org", subject="42", name="Ada", email="ada@example.org"))
    'https://login.example.org 42 <ada@example.org>'
    """
    address = "" if person.email is None else f" <{person.email}>"
    return f"{person.issuer} {person.subject}{address}"


def identity(somebody: Who | EditorRow) -> Identity:
    return Identity(issuer=somebody.issuer, subject=somebody.subject, address=somebody.address)


def who(person: Person) -> Who:
    address = None if person.email is None else plain(person.email)
    return Who(issuer=person.issuer, subject=person.subject, name=person.name[:MAX_NAME], address=address)


def is_of(person: Person, editors: Iterable[EditorRow]) -> bool:
    return any((editor.issuer, editor.subject) == (person.issuer, person.subject) for editor in editors)


def why_barred(somebody: Who, editors: Iterable[EditorRow], names: Iterable[str]) -> str | None:
    """Return why somebody may not decide about a plan; None if nothing recorded bars them.

    Doubt bars: the same e-mail address behind another issuer, or a name that may be theirs. A wrongly barred reviewer
    costs less than a broken separation of duties.

    Args:
        somebody: The person who wants to decide.
        editors: Everybody who wrote, edited or submitted any version.
        names: The author and editors that the plan itself records.
    """
    own = [somebody.subject] if somebody.address is None else [somebody.subject, somebody.address]
    for editor in editors:
        what = "author" if editor.since_number == 1 else "editor"
        if (editor.issuer, editor.subject) == (somebody.issuer, somebody.subject):
            return f"{identity_of(somebody)} is its {what}"
        theirs = [editor.subject] if editor.address is None else [editor.subject, editor.address]
        if any(same_person(own_name, other) for own_name in own for other in theirs):
            return f"{somebody.subject} of {somebody.issuer} may be its {what} {editor.subject} of {editor.issuer}"
    for name in names:
        if any(same_person(name, own_name) for own_name in own):
            return f"{somebody.subject} of {somebody.issuer} is, or may be, {name!r}, who is recorded in it"
    return None


def identity_of(somebody: Who) -> str:
    """Return the identity of somebody for a sentence, because anybody may choose their display name.

    A person of the demonstration has a reserved name, which is used everywhere.
    """
    return somebody.name if somebody.issuer == DEMO_ISSUER else f"{somebody.subject} of {somebody.issuer}"


def may_be_one(person: Who, other: Who) -> bool:
    """Return whether two may be one person: the same identity, the same e-mail address, or similar names."""
    if (person.issuer, person.subject) == (other.issuer, other.subject):
        return True
    first, second = (
        [identity.subject] if identity.address is None else [identity.subject, identity.address]
        for identity in (person, other)
    )
    return any(same_person(name, another) for name in first for another in second)


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
