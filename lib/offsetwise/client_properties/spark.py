"""The secrets in the settings of a Spark session: the token of a Connect address, and values of its configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from offsetwise.client_properties.allowed import ClientProperties
from offsetwise.client_properties.references import follow

_TOKEN: Final = re.compile(r"(?<=;token=)[^;]*")
_SECRET: Final = re.compile(r"(?i)(password|secret|secret\.key|token|account\.key\..+)$")
"""Names of Spark's configuration whose value is a secret."""


def with_secrets(
    remote: str | None, conf: Mapping[str, str], change: Callable[[str, str], str]
) -> tuple[str | None, dict[str, str]]:
    """Give address and configuration with `change(key, value)` in the place of every secret."""
    made = {
        name: change(f"spark.conf.{name}", value) if _SECRET.search(name) else value for name, value in conf.items()
    }
    return (remote and _TOKEN.sub(lambda found: change("spark.remote", found[0]), remote)), made


def resolve_spark(remote: str | None, conf: Mapping[str, str]) -> tuple[str | None, ClientProperties]:
    """Give address and configuration with their references resolved.

    What is no secret may refer to the environment. It may not refer to a file: `file:` begins many such values.

    Raises:
        SecretError: A reference leads nowhere.
    """
    address, secrets = with_secrets(remote, conf, follow)
    found = {
        name: value if _SECRET.search(name) or value.startswith("file:") else follow(f"spark.conf.{name}", value)
        for name, value in secrets.items()
    }
    return address, ClientProperties(found)
