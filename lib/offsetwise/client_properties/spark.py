"""The secrets in the settings of a Spark session: the token of a Connect address, and values of its configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from offsetwise.client_properties.allowed import SENSITIVE_NAMES, ClientProperties, is_secret
from offsetwise.client_properties.references import follow, is_reference, only_reference
from offsetwise.errors import ConfigError

_TOKEN: Final = re.compile(r"(?<=;token=)[^;]*")
_SHOWN: Final = re.compile(
    r"spark\.(driver|executor)\.(memory|defaultJavaOptions|extraJavaOptions|extraClassPath|extraLibraryPath)"
)
"""What a JVM can only be started with: on its command line, which everybody on the machine sees."""
_JAVA_PROPERTY: Final = re.compile(r"-D([^\s=\"']+)=")
_USER_IN_ADDRESS: Final = re.compile(r"://[^/\s@,]*:[^/\s@,]+@")
_SPARKS_OWN_SECRETS: Final = "(?i)secret|password|token|access[.]?key"
_REDACTION: Final = "spark.redaction.regex"


def with_secrets(
    remote: str | None, conf: Mapping[str, str], change: Callable[[str, str], str]
) -> tuple[str | None, dict[str, str]]:
    """Give address and configuration with `change(key, value)` in the place of every secret."""
    made = {name: change(f"spark.conf.{name}", value) if is_secret(name) else value for name, value in conf.items()}
    return (remote and _TOKEN.sub(lambda found: change("spark.remote", found[0]), remote)), made


def check_spark(conf: Mapping[str, str]) -> None:
    """Refuse secrets that are written out in other values, and references whose value everybody could see.

    Raises:
        ConfigError: One of both. The property is named, its value is not shown.
    """
    for name, value in conf.items():
        key = f"spark.conf.{name}"
        if _SHOWN.fullmatch(name):
            if is_reference(value):
                raise ConfigError(
                    f"{key}: expected a value, found a reference. It is on the command line of a JVM, where every "
                    "user of the machine could read what the reference leads to.",
                    fix="Write the value out if it is no secret; a secret belongs into a property that is no option "
                    "of a JVM.",
                )
            secret = next((each for each in _JAVA_PROPERTY.findall(value) if is_secret(each)), None)
            if secret is not None:
                raise ConfigError(
                    f"{key}: expected options without secrets, found {secret}. They are on the command line of a "
                    "JVM, where every user of the machine can read them.",
                    fix=f"Take -D{secret} out, and set it in a file that the option names, readable by its owner only. "
                    "Change the secret if the file was shared.",
                )
        elif _USER_IN_ADDRESS.search(value):
            only_reference(key, value)


def resolve_spark(remote: str | None, conf: Mapping[str, str]) -> tuple[str | None, ClientProperties]:
    """Give address and configuration with their references resolved.

    What is no secret by its name may refer to the environment, and is one then. It may not refer to a file: `file:`
    begins many such values.

    Raises:
        SecretError: A reference leads nowhere.
    """
    address, secrets = with_secrets(remote, conf, follow)
    referred = {name for name, value in conf.items() if is_secret(name) or _is_variable(value)}
    found = {
        name: follow(f"spark.conf.{name}", value) if name in referred and not is_secret(name) else value
        for name, value in secrets.items()
    }
    return address, ClientProperties(found, referred=referred)


def _is_variable(value: str) -> bool:
    return is_reference(value) and not value.startswith("file:")


def redaction(conf: ClientProperties) -> dict[str, str]:
    """Give the setting by which Spark hides secrets on its own pages and in its event log."""
    theirs = conf.get(_REDACTION, _SPARKS_OWN_SECRETS)
    named = "|".join(re.escape(name) for name in sorted(conf.referred))
    return {_REDACTION: f"(?:{theirs})|(?i:{SENSITIVE_NAMES})" + (f"|^(?:{named})$" if named else "")}
