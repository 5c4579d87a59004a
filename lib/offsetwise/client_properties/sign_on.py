"""Credentials of an HTTP service: secrets as references, from the migration file or the command line only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.client_properties.references import follow
from offsetwise.errors import SecretError

CONNECT: Final = "connect"
"""The section of the migration file with connectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOn:
    """Credentials; all None if the service needs none. Secrets are references."""

    user: str | None = None
    password: str | None = None
    ca: str | None = None
    """The file of the trusted certificates; the system's if None."""
    certificate: str | None = None
    """The file of the client's own certificate."""
    key: str | None = None
    """The file of its key; if None, it is in the file of the certificate."""
    key_password: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Names and values of headers that are sent with every request; each value is a secret."""
    section: str = CONNECT
    """The section of the migration file, for messages."""
    folder: str | None = None
    """The folder of the migration file; None for command line arguments."""

    def secret(self, name: str) -> str | None:
        """Return the value of one of the references.

        Raises:
            SecretError: It cannot be resolved, or the user does not let files of others use it.
        """
        value: str | None = getattr(self, name)
        return None if value is None else follow(f"{self.section}.{name}", value, self.folder)

    def header_values(self) -> dict[str, str]:
        """Return the headers with resolved secrets.

        Raises:
            SecretError: As for `secret`; or the value is invalid in a header. It is not shown.
        """
        values = {}
        for name, reference in self.headers:
            value = follow(f"{self.section}.headers.{name}", reference, self.folder)
            if not value.isascii() or not value.isprintable():
                raise SecretError(
                    f"{self.section}.headers.{name}: expected the value of a header, of printable ASCII characters, "
                    "found other characters in it. Nothing was contacted.",
                    fix="Correct what the reference leads to: one line, without control characters.",
                )
            values[name] = value
        return values
