"""The person who uses the console: anonymous, or signed in at an identity provider."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from starlette.requests import HTTPConnection
from streamlit.auth_util import get_cookie_with_chunks, get_origin_from_redirect_uri
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from offsetwise.console.server import access, wanted_page
from offsetwise.console.server.access import Role
from offsetwise.console.widgets.escaping import markdown
from offsetwise.errors import AccessError, ConfigError
from offsetwise.lookalikes import code_points, invisible
from offsetwise.review import people

COOKIE_SECRET_CHARACTERS: Final = 32
"""Minimum length of the secret that signs the identity cookie."""
_PROVIDER: Final = {"client_id", "client_secret", "server_metadata_url"}
_NAMES: Final = ("name", "preferred_username", "email")
"""Claims that may contain a person's display name: the first present one is used."""


class SignedOut:
    """Ended sign-ins, each for as long as its cookie is valid. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until_s: dict[tuple[str, ...], float] = {}

    def add(self, claims: Mapping[str, Any], *, for_s: float) -> None:
        now_s = time.monotonic()
        with self._lock:
            self._until_s = {key: until_s for key, until_s in self._until_s.items() if now_s < until_s}
            self._until_s[_sign_in_key(claims)] = now_s + for_s

    def __contains__(self, claims: Mapping[str, Any]) -> bool:
        with self._lock:
            return _sign_in_key(claims) in self._until_s


_signed_out: Final = SignedOut()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The person who looks. Issuer and subject are the identity; the name is only displayed."""

    issuer: str | None
    subject: str | None
    name: str
    roles: frozenset[Role]
    signed_in: bool
    expired: bool = False
    """The sign-in has expired: anonymous until they sign in again."""
    unseen: tuple[str, ...] = ()
    """Invisible characters in issuer and subject: with one, they have no role of their own."""

    def __str__(self) -> str:
        return f"{self.subject} of {self.issuer}" if self.signed_in else "nobody signed in"


_OF_A_SIGN_IN: Final = ("iss", "sub", "iat", "nonce")
"""Claims of the ID token that together identify one sign-in."""


def current() -> Person:
    return of(_claims())


def of(cookie: Mapping[str, Any]) -> Person:
    """Return the person of an identity cookie, with the roles that the access file gives them.

    Args:
        cookie: Content of the cookie, which this console signed.
    """
    rules = access.current()
    claims = _believed(cookie)
    issuer, subject = claims.get("iss"), claims.get("sub")
    if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
        return _nobody(rules)
    if _age_seconds(claims) > rules.sign_in_hours * 3_600:
        return _nobody(rules, expired=True)
    names = (claims.get(claim) for claim in _NAMES)
    return Person(
        issuer=issuer,
        subject=subject,
        name=next((name for name in names if isinstance(name, str) and name), subject),
        roles=rules.of(claims),
        signed_in=True,
        unseen=invisible(issuer + subject),
    )


def sign_out(cookie: Mapping[str, Any]) -> None:
    """Invalidate an identity cookie in this process: somebody may have a copy of it.

    Args:
        cookie: Content of the cookie.
    """
    _signed_out.add(cookie, for_s=access.current().sign_in_hours * 3_600)


def signed_in() -> people.Person | None:
    """Return the person of this session for the board; None if nobody is signed in, or the sign-in expired."""
    rules, claims = access.current(), _believed(_claims())
    if _age_seconds(claims) > rules.sign_in_hours * 3_600:
        return None
    return people.person_of(claims, groups_claim=rules.groups_claim)


def allowed(role: Role = Role.VIEWER) -> bool:
    return role in current().roles


def require_viewer() -> None:
    """Refuse a person who may not look. Called at every question, whatever the page did.

    Raises:
        AccessError: They may not look.
    """
    if not allowed():
        raise AccessError(
            f"Console: expected somebody with the role viewer, found {current()}. Nothing was read.",
            fix="Sign in, or ask the operator to name you in the access file.",
        )


def providers() -> tuple[str | None, ...]:
    """Return the names of the identity providers in Streamlit's secrets; None is the unnamed one.

    Raises:
        ConfigError: The `[auth]` section is incomplete, or its secret is easy to forge.
    """
    if not st.secrets.load_if_toml_exists() or "auth" not in st.secrets:
        return ()
    section: Mapping[str, Any] = st.secrets["auth"]
    named = tuple(key for key, value in section.items() if isinstance(value, Mapping) and set(value) >= _PROVIDER)
    results = ((None,) if set(section) >= _PROVIDER else ()) + named
    if not results or not section.get("redirect_uri"):
        raise ConfigError(
            f"Streamlit's secrets: expected redirect_uri, {', '.join(sorted(_PROVIDER))} under [auth], some are "
            "missing. Nobody could sign in.",
            fix="Complete [auth] in .streamlit/secrets.toml as docs/sign-in.md shows.",
        )
    if len(str(section.get("cookie_secret", ""))) < COOKIE_SECRET_CHARACTERS:
        raise ConfigError(
            f"Streamlit's secrets: expected auth.cookie_secret to have at least {COOKIE_SECRET_CHARACTERS} characters, "
            "it has fewer. It signs the cookie that says who somebody is, and a short one can be guessed.",
            fix='Use what `python -c "import secrets; print(secrets.token_hex(32))"` prints.',
        )
    return results


def sign_in_buttons(key: str) -> None:
    for provider in providers():
        st.button(
            "Sign in" if provider is None else f"Sign in with {markdown(provider)}",
            icon=":material/login:",
            key=f"sign-in-{key}-{provider or ''}",
            on_click=_sign_in,
            args=(provider,),
        )


def _sign_in(provider: str | None) -> None:
    wanted_page.remember()
    st.login() if provider is None else st.login(provider)


def line() -> None:
    """Draw the person and their roles, with the button to sign in or out; nothing if there is no need to sign in."""
    person = current()
    roles = ", ".join(role.value for role in Role if role in person.roles) or "no role"
    if person.signed_in:
        st.markdown(
            f":gray[:material/account_circle: **{markdown(person.name)}** · {roles}]",
            help=_identity(person),
            width="content",
        )
        st.button("Sign out", type="tertiary", icon=":material/logout:", key="sign-out", on_click=st.logout)
        if person.unseen:
            st.warning(why_no_role(person.unseen), icon=":material/visibility_off:")
    elif providers() or Role.VIEWER not in person.roles:
        st.markdown(f":gray[:material/account_circle: Not signed in · {roles}]", width="content")
        if Role.VIEWER in person.roles:  # for everybody else, the page itself offers it
            sign_in_buttons("line")


def why_no_role(unseen: Sequence[str]) -> str:
    return (
        f"Your issuer or subject holds {code_points(unseen)}, which are invisible: nobody with such a name gets a role."
    )


def _identity(person: Person) -> str:
    return f"Issuer {markdown(person.issuer or '?')}, subject {markdown(person.subject or '?')}"


def _claims() -> Mapping[str, Any]:
    """Return the claims of the ID token, which Streamlit has verified."""
    claims: Mapping[str, Any] = st.user.to_dict()
    return claims


def _believed(cookie: Mapping[str, Any]) -> Mapping[str, Any]:
    return cookie if cookie.get("is_logged_in") is True and cookie not in _signed_out else {}


def _nobody(rules: access.Access, *, expired: bool = False) -> Person:
    return Person(issuer=None, subject=None, name="", roles=rules.of_nobody(), signed_in=False, expired=expired)


def _age_seconds(claims: Mapping[str, Any]) -> float:
    issued = claims.get("iat")
    return time.time() - issued if isinstance(issued, (int, float)) else float("inf")


def cookie_claims(connection: HTTPConnection) -> Mapping[str, Any]:
    """Return the identity provider's claims in a request's cookie; empty if the cookie was not issued here."""

    def signed(name: str) -> bytes | None:
        value = connection.cookies.get(name, "")
        return decode_signed_value(get_cookie_secret(), name, value)

    origin = get_origin_from_redirect_uri()
    data = None if origin is None else get_cookie_with_chunks(signed, USER_COOKIE_NAME)
    results: Mapping[str, Any] = {} if data is None else json.loads(data)
    return results if results.get("origin") == origin else {}


def _sign_in_key(claims: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(repr(claims.get(name)) for name in _OF_A_SIGN_IN)
