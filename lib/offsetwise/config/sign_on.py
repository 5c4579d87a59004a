from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Final, Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from offsetwise import client_properties as allowed
from offsetwise.client_properties.connectors import URL
from offsetwise.client_properties.sign_on import SignOn
from offsetwise.config.fields import Label, Location, folder_of, located_reference
from offsetwise.strict_yaml import Section

ServiceUrl = Annotated[str, Field(pattern=URL)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$")]
_PORTS: Final = {"http": 80, "https": 443}
_OWN: Final = frozenset({"authorization", "connection", "content-length", "host", "transfer-encoding"})
"""Headers that the client sets itself; `user` and `password` are for the first."""


class SignedOn(Section):
    section: ClassVar[str]
    """Its key in the migration file, for messages."""
    user: Label | None = None
    password: Label | None = None
    ca: Location | None = None
    """The file of the trusted certificates; the system's by default."""
    certificate: Location | None = None
    key: Location | None = None
    key_password: Label | None = None
    _folder: str | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _secrets_by_reference(self, info: ValidationInfo) -> Self:
        for key in ("password", "key_password"):
            if (value := getattr(self, key)) is not None:
                located = located_reference(allowed.only_reference(f"{self.section}.{key}", value), info)
                object.__setattr__(self, key, located)
        if self.user is not None:
            object.__setattr__(self, "user", located_reference(self.user, info))
        for key, needed in (("password", "user"), ("key", "certificate"), ("key_password", "certificate")):
            if getattr(self, key) is not None and getattr(self, needed) is None:
                raise PydanticCustomError(
                    "alone", "expected {needed} beside {key}, found none", {"needed": needed, "key": key}
                )
        self._folder = folder_of(info)
        return self

    def require_tls(self, url: str) -> None:
        """Raise if certificates are stated for an address without https.

        Raises:
            PydanticCustomError: They are.
        """
        if (self.ca or self.certificate) and not url.startswith("https:"):
            raise PydanticCustomError("no_tls", "expected addresses of https, since ca or certificate is stated")

    @property
    def sign_on(self) -> SignOn:
        return SignOn(
            user=self.user,
            password=self.password,
            ca=self.ca,
            certificate=self.certificate,
            key=self.key,
            key_password=self.key_password,
            section=self.section,
            folder=self._folder,
        )


class JobsConfig(SignedOn):
    """How to sign on where jobs are asked about themselves: the REST API of an engine, for `verify --job`."""

    section = "jobs"
    url: ServiceUrl
    """`http://HOST:PORT` or `https://HOST:PORT`; with a path if a proxy needs one."""
    headers: Mapping[HeaderName, Label] = {}
    """Sent with every request. Each value is a reference."""

    @model_validator(mode="after")
    def _headers_by_reference(self, info: ValidationInfo) -> Self:
        self.require_tls(self.url)
        owned = sorted(name for name in self.headers if name.lower() in _OWN)
        if owned and (owned[0].lower() != "authorization" or self.user is not None):
            raise PydanticCustomError(
                "own", "expected no header {name}, which is the request's own", {"name": owned[0]}
            )
        headers = {
            name: located_reference(allowed.only_reference(f"jobs.headers.{name}", value), info)
            for name, value in self.headers.items()
        }
        object.__setattr__(self, "headers", headers)
        return self

    @property
    def sign_on(self) -> SignOn:
        return replace(super().sign_on, headers=tuple(self.headers.items()))


def covers(url: str, address: str) -> bool:
    own, other = urlsplit(url), urlsplit(address)
    path = own.path.rstrip("/")
    return (own.scheme, own.hostname, own.port or _PORTS[own.scheme]) == (
        other.scheme,
        other.hostname,
        other.port or _PORTS.get(other.scheme),
    ) and bool(re.match(rf"{re.escape(path)}(/|$)", other.path))
