"""Who may use the console, as its operator wrote it down: the access file.

A person is an issuer and a subject, never an e-mail address: addresses are handed on, and some providers let their
users choose them.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import Field, StrictBool, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from offsetwise.errors import ConfigError
from offsetwise.strict_yaml import FileNoun, Section, read

ACCESS_VARIABLE: Final = "OFFSETWISE_ACCESS"
"""Names the access file of this process. `launch` sets it."""

LOOPBACK: Final = "127.0.0.1"

_FILE: Final = FileNoun(
    name="an access file",
    keys="sign_in and roles",
    described="`docs/sign-in.md` describes the file.",
    start="Give the path of an access file; `docs/sign-in.md` has one to start from.",
)

_Text = Annotated[str, Field(min_length=1, max_length=500)]


class Role(StrEnum):
    """What a person may do. Authors and reviewers may also see everything."""

    VIEWER = "viewer"
    AUTHOR = "author"
    REVIEWER = "reviewer"


class SignIn(StrEnum):
    """Whether the console can be used without signing in."""

    OPTIONAL = "optional"
    REQUIRED = "required"


class Grant(Section):
    """Whom a role is given to: one subject, a group, or anyone, always of one issuer."""

    issuer: _Text
    """The `iss` claim: who vouches for the person."""
    subject: _Text | None = None
    """The `sub` claim."""
    group: _Text | None = None
    """A value of the groups claim."""
    anyone: StrictBool = False
    """Everybody whom the issuer signs in."""

    @model_validator(mode="after")
    def _says_whom(self) -> Self:
        if (self.subject is not None) + (self.group is not None) + self.anyone != 1:
            raise PydanticCustomError("whom", "expected one of subject, group and anyone")
        return self

    def covers(self, claims: Mapping[str, Any], groups_claim: str) -> bool:
        """Say whether it speaks of the person with these claims."""
        if claims.get("iss") != self.issuer:
            return False
        if self.anyone:
            return True
        if self.subject is not None:
            return bool(claims.get("sub") == self.subject)
        groups = claims.get(groups_claim)
        return self.group == groups if isinstance(groups, str) else self.group in _several(groups)


class Roles(Section):
    """Who has which role."""

    viewer: tuple[Grant, ...] = ()
    author: tuple[Grant, ...] = ()
    reviewer: tuple[Grant, ...] = ()


class Access(Section):
    """The access file. Without one, nobody needs to sign in and everybody is a viewer."""

    sign_in: SignIn = SignIn.OPTIONAL
    sign_in_hours: Annotated[StrictInt, Field(ge=1, le=720)] = 12
    """How long a sign-in is good for. The browser would keep it for 30 days."""
    groups_claim: _Text = "groups"
    roles: Roles = Roles()

    @model_validator(mode="after")
    def _viewers_mean_something(self) -> Self:
        if self.roles.viewer and self.sign_in is SignIn.OPTIONAL:
            raise PydanticCustomError(
                "viewers", "it names viewers, yet everybody may look while sign_in is optional; say sign_in: required"
            )
        return self

    def of(self, claims: Mapping[str, Any]) -> frozenset[Role]:
        """Give the roles of the person with these claims."""
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

    def of_nobody(self) -> frozenset[Role]:
        """Give the roles of somebody of whom nothing is known."""
        return frozenset({Role.VIEWER} if self.sign_in is SignIn.OPTIONAL else ())


def load_access(path: Path) -> Access:
    """Read an access file.

    Raises:
        ConfigError: Unreadable, not YAML, or not an access file; the message names the file, the key and what to do.
    """
    return read(path, Access, _FILE)


def check_address(address: str, access: Access, *, can_sign_in: bool) -> None:
    """Refuse to serve others without knowing who they are.

    Args:
        address: What the server listens on.
        access: Who may use the console.
        can_sign_in: Whether Streamlit's secrets have an `[auth]` section.

    Raises:
        ConfigError: Others could use the console without signing in, or nobody could use it at all.
    """
    if access.sign_in is SignIn.REQUIRED and not can_sign_in:
        raise ConfigError(
            "Console: expected an identity provider, because the access file says sign_in: required; Streamlit's "
            "secrets have no [auth] section. Nobody could sign in, so the console was not started.",
            fix="Add [auth] to .streamlit/secrets.toml as docs/sign-in.md shows.",
        )
    if not _is_loopback(address) and access.sign_in is not SignIn.REQUIRED:
        raise ConfigError(
            f"Console: expected people to sign in where others can reach it, but it would listen on {address} and "
            "sign-in is not required. Anybody there could read topics and positions, so it was not started.",
            fix=f"Give --access a file that says `sign_in: required`, or leave --address at {LOOPBACK}.",
        )


_current: list[Access] = []


def use(access: Access) -> None:
    """Apply these rules in this process from now on."""
    _current[:] = [access]


def current() -> Access:
    """Give the rules of this process.

    Raises:
        ConfigError: `launch` did not run, and the access file that the environment names cannot be used.
    """
    if not _current:
        path = os.environ.get(ACCESS_VARIABLE)
        use(load_access(Path(path)) if path else Access())
    return _current[0]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _several(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()
