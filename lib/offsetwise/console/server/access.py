"""The access file of this process, and the addresses on which it may serve people."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offsetwise.errors import ConfigError
from offsetwise.review.access import Access, Grant, Role, Roles, SignIn, load_access

__all__ = [
    "ACCESS_VARIABLE",
    "LOOPBACK",
    "Access",
    "Grant",
    "Role",
    "Roles",
    "SignIn",
    "check_address",
    "current",
    "is_loopback",
    "latest",
    "load_access",
    "use",
]
ACCESS_VARIABLE: Final = "OFFSETWISE_ACCESS"
"""Names the access file of this process, if `use` did not get one."""
LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class _Used:
    access: Access
    path: Path | None


_current: list[_Used] = []


def check_address(address: str, access: Access, *, can_sign_in: bool) -> None:
    """Refuse to listen where other machines can connect unless people have to sign in.

    Args:
        address: Address that the server listens on.
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
    if not is_loopback(address) and access.sign_in is not SignIn.REQUIRED:
        raise ConfigError(
            f"Console: expected people to sign in where others can reach it, but it would listen on {address} and "
            "sign-in is not required. Anybody there could read topics and positions, so it was not started.",
            fix=f"Give --access a file that says `sign_in: required`, or leave --address at {LOOPBACK}.",
        )


def use(access: Access, path: Path | None = None) -> None:
    """Set the rules of this process.

    Args:
        access: The rules.
        path: The file they were read from; it is read again at each decision.
    """
    _current[:] = [_Used(access, path)]


def current() -> Access:
    """Return the rules of this process.

    Raises:
        ConfigError: `launch` did not run, and the access file named in the environment cannot be used.
    """
    if not _current:
        message = os.environ.get(ACCESS_VARIABLE)
        path = Path(message) if message else None
        use(load_access(path) if path else Access(), path)
    return _current[0].access


def latest() -> Access:
    """Read the rules from their file again, so that a withdrawn role takes effect at once.

    Raises:
        ConfigError: The file can no longer be used: then nobody may do anything that needs a role.
    """
    rules = current()
    path = _current[0].path
    return rules if path is None else load_access(path)


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
