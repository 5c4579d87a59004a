"""How to sign on at a service over HTTP: secrets as references, which only the migration file or a person states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.client_properties.references import follow
from offsetwise.errors import SecretError

CONNECT: Final = "connect"
"""The section of the migration file that names connectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOn:
    """How to sign on; nothing of it where the service takes anybody. Secrets are references."""

    user: str | None = None
    password: str | None = None
    ca: str | None = None
    """The file of the certificates that are trusted; the system's where none is named."""
    certificate: str | None = None
    """The file of the client's own certificate."""
    key: str | None = None
    """The file of its key; in the file of the certificate where none is named."""
    key_password: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Names and values of headers that are sent with every request; each value is a secret."""
    section: str = CONNECT
    """Of the migration file, for messages."""
    folder: str | None = None
    """Of the migration file that says so; None of what a person typed."""

    def secret(self, name: str) -> str | None:
        """Return what one of the references leads to.

        Raises:
            SecretError: It leads nowhere, or the user does not let files of others use it.
        """
        value: str | None = getattr(self, name)
        return None if value is None else follow(f"{self.section}.{name}", value, self.folder)

    def header_values(self) -> dict[str, str]:
        """Return the headers, with the secrets in place.

        Raises:
            SecretError: As above; or the value is none of a header. It is not shown.
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
