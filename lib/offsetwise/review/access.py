"""The access file: who may use the console, as its operator states it.

A person is an issuer and a subject, never an e-mail address: addresses are reassigned, and some providers let their
users choose them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import Field, StrictBool, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from offsetwise.config import Location, TrustedKey, Visible
from offsetwise.lookalikes import invisible
from offsetwise.review.people import Person
from offsetwise.store.review_rows import Who
from offsetwise.strict_yaml import FileNoun, Section, read

_FILE: Final = FileNoun(
    name="an access file",
    keys="sign_in and roles",
    described="`docs/sign-in.md` describes the file.",
    start="Give the path of an access file; `docs/sign-in.md` has one to start from.",
)

_Text = Annotated[str, Field(min_length=1, max_length=500), Visible]


class Role(StrEnum):
    """The permissions of a person. Authors and reviewers may also view everything."""

    VIEWER = "viewer"
    AUTHOR = "author"
    REVIEWER = "reviewer"


class SignIn(StrEnum):
    OPTIONAL = "optional"
    REQUIRED = "required"


class Grant(Section):
    """The recipients of a role: one subject, a group, or everybody, always of one issuer."""

    issuer: _Text
    """The `iss` claim: the identity provider."""
    subject: _Text | None = None
    """The `sub` claim."""
    group: _Text | None = None
    """A value of the groups claim."""
    anyone: StrictBool = False
    """Whether everybody whom the issuer signs in is meant."""

    @model_validator(mode="after")
    def _says_whom(self) -> Self:
        if (self.subject is not None) + (self.group is not None) + self.anyone != 1:
            raise PydanticCustomError("whom", "expected one of subject, group and anyone")
        return self

    def covers(self, claims: Mapping[str, Any], groups_claim: str) -> bool:
        if claims.get("iss") != self.issuer:
            return False
        if self.anyone:
            return True
        if self.subject is not None:
            return bool(claims.get("sub") == self.subject)
        groups = claims.get(groups_claim)
        return self.group == groups if isinstance(groups, str) else self.group in _several(groups)


class Roles(Section):
    viewer: tuple[Grant, ...] = ()
    author: tuple[Grant, ...] = ()
    reviewer: tuple[Grant, ...] = ()


class Decisions(Section):
    key: Location | None = None
    """The console's private key, from `offsetwise keygen --console`. Without it, nothing can be approved here."""
    required: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    """How many people must approve a plan. Whoever applies it may require more."""
    recent_sign_in_minutes: Annotated[StrictInt, Field(ge=1, le=1_440)] = 60
    """How long after signing in a person may decide."""
    open_hours: Annotated[StrictInt, Field(ge=1, le=8_784)] = 168
    """How long after its submission a plan can be decided about."""
    valid_hours: Annotated[StrictInt, Field(ge=1, le=8_784)] = 168
    """How long an approval is valid."""
    trusted_keys: tuple[TrustedKey, ...] = ()
    """The keys whose approvals may be imported: those of other consoles and of reviewers."""


class Access(Section):
    """The access file. Without one, nobody needs to sign in, and everybody is a viewer."""

    sign_in: SignIn = SignIn.OPTIONAL
    sign_in_hours: Annotated[StrictInt, Field(ge=1, le=720)] = 12
    """How long a sign-in is valid. The browser would keep it for 30 days."""
    groups_claim: _Text = "groups"
    roles: Roles = Roles()
    service_accounts: tuple[Grant, ...] = ()
    """Accounts that are no persons: whatever their roles, they must not decide."""
    separation_of_duties: StrictBool = True
    """Whether a plan's author and editors are kept from deciding. Whoever applies the plan checks that in any case."""
    decisions: Decisions = Decisions()

    @model_validator(mode="after")
    def _viewers_mean_something(self) -> Self:
        if self.roles.viewer and self.sign_in is SignIn.OPTIONAL:
            raise PydanticCustomError(
                "viewers", "it names viewers, yet everybody may look while sign_in is optional; say sign_in: required"
            )
        return self

    def of(self, claims: Mapping[str, Any]) -> frozenset[Role]:
        """Return the roles of the person with these claims; those of nobody if their id has invisible characters."""
        if any(invisible(str(claims.get(claim, ""))) for claim in ("iss", "sub")):
            return self.of_nobody()
        given = {
            role
            for role, grants in (
                (Role.VIEWER, self.roles.viewer),
                (Role.AUTHOR, self.roles.author),
                (Role.REVIEWER, self.roles.reviewer),
            )
            if any(grant.covers(claims, self.groups_claim) for grant in grants)
        }
        return frozenset({*given, Role.VIEWER} if given else self.of_nobody())

    def roles_of(self, person: Person | None) -> frozenset[Role]:
        return self.of_nobody() if person is None else self.of(self._claims(person))

    def is_service(self, person: Person) -> bool:
        claims = self._claims(person)
        return any(grant.covers(claims, self.groups_claim) for grant in self.service_accounts)

    def withdrew(self, who: Who) -> bool:
        """Return whether nothing makes somebody a reviewer any more, neither a role nor a trusted key.

        A role of a group counts for everybody of its issuer: membership is known only while a person is signed in.
        """
        if self.is_service(Person(issuer=who.issuer, subject=who.subject, name=who.name)):
            return True
        by_role = any(
            grant.issuer == who.issuer and (grant.subject in (None, who.subject)) for grant in self.roles.reviewer
        )
        by_key = any(
            who.issuer in key.vouches_for
            if key.vouches_for is not None
            else (key.issuer, key.subject) == (who.issuer, who.subject)
            for key in self.decisions.trusted_keys
        )
        return not (by_role or by_key)

    def _claims(self, person: Person) -> Mapping[str, Any]:
        return {self.groups_claim: person.groups, "iss": person.issuer, "sub": person.subject}

    def of_nobody(self) -> frozenset[Role]:
        return frozenset({Role.VIEWER} if self.sign_in is SignIn.OPTIONAL else ())


def load_access(path: Path) -> Access:
    """Read an access file.

    Raises:
        ConfigError: It is unreadable, not YAML, or not an access file; the message names file, key and remedy.
    """
    return read(path, Access, _FILE)


def _several(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()
