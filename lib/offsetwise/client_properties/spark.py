"""The secrets in the settings of a Spark session: the token of a Connect address, and values of its configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from offsetwise import regular_files
from offsetwise.client_properties import user_settings
from offsetwise.client_properties.allowed import SENSITIVE_NAMES, ClientProperties, is_secret
from offsetwise.client_properties.property_files import MAX_BYTES, parse
from offsetwise.client_properties.references import follow, is_reference, only_reference
from offsetwise.errors import ConfigError

_TOKEN: Final = re.compile(r"(?<=;token=)[^;]*")
_SHOWN: Final = re.compile(
    r"spark\.(driver|executor)\.(memory|defaultJavaOptions|extraJavaOptions|extraClassPath|extraLibraryPath)"
)
"""Properties that a JVM takes only on its command line, which everybody on the machine can see."""
_JAVA_PROPERTY: Final = re.compile(r"-D([^\s=\"']+)=")
_USER_IN_ADDRESS: Final = re.compile(r"://[^/\s@,]*:[^/\s@,]+@")
_SPARKS_OWN_SECRETS: Final = "(?i)secret|password|token|access[.]?key"
_REDACTION: Final = "spark.redaction.regex"
_MIGRATIONS: Final = ("spark.master", "spark.remote", "spark.submit.deployMode")
"""Properties that only a migration file may state."""


def with_secrets(
    remote: str | None, conf: Mapping[str, str], change: Callable[[str, str], str]
) -> tuple[str | None, dict[str, str]]:
    results = {name: change(f"spark.conf.{name}", value) if is_secret(name) else value for name, value in conf.items()}
    return (remote and _TOKEN.sub(lambda match: change("spark.remote", match[0]), remote)), results


def check_command_line(conf: Mapping[str, str]) -> None:
    """Raise if a secret or a reference would be on the command line of a JVM, where everybody can see it.

    Raises:
        ConfigError: It would. The message has the property's name, not its value.
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
            secret = next((candidate for candidate in _JAVA_PROPERTY.findall(value) if is_secret(candidate)), None)
            if secret is not None:
                raise ConfigError(
                    f"{key}: expected options without secrets, found {secret}. They are on the command line of a "
                    "JVM, where every user of the machine can read them.",
                    fix=f"Take -D{secret} out, and set it in a file that the option names, readable by its owner only. "
                    "Change the secret if the file was shared.",
                )


def check_addresses(conf: Mapping[str, str]) -> None:
    """Raise if an address contains a plain password.

    Raises:
        ConfigError: It does. The message has the property's name, not its value.
    """
    for name, value in conf.items():
        if _USER_IN_ADDRESS.search(value):
            only_reference(f"spark.conf.{name}", value)


def resolve_spark(
    remote: str | None, conf: Mapping[str, str], folder: str | None = None
) -> tuple[str | None, ClientProperties]:
    """Return address and configuration with resolved references, overridden by the user's own properties.

    A property whose name is not that of a secret may refer to the environment, and is then a secret. It may not refer
    to a file, because many such values begin with `file:`.

    Args:
        remote: The address of a Spark Connect server.
        conf: Properties of Spark.
        folder: The folder of the file with the properties; None if they come from no file.

    Raises:
        SecretError: A reference cannot be resolved, or the user does not let files of others use it.
        ConfigError: The user's own file of properties cannot be used.
    """
    address, secrets = with_secrets(remote, conf, partial(follow, folder=folder))
    referred = {
        name
        for name, value in conf.items()
        if is_secret(name) or (is_reference(value) and not value.startswith("file:"))
    }
    results = {
        name: follow(f"spark.conf.{name}", value) if name in referred and not is_secret(name) else value
        for name, value in secrets.items()
    }
    return address, ClientProperties(results | own_properties(), referred=referred)


def own_properties() -> dict[str, str]:
    """Return the user's own Spark properties from a file; empty without such a file.

    Raises:
        ConfigError: The file cannot be read, or has properties that belong elsewhere.
    """
    path = os.environ.get(user_settings.SPARK_CONF)
    if not path:
        return {}
    key = user_settings.SPARK_CONF
    try:
        content = regular_files.read_named(path, MAX_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"{key}: expected the path of a file of Spark's properties, but {path}: {why}. No session was started.",
            fix=f"Correct {key} in the environment that starts Offsetwise, or unset it.",
        ) from None  # the decoding error has the bytes
    conf = parse(content)
    wrong = next((name for name in conf if not name.startswith("spark.") or name in _MIGRATIONS), None)
    if wrong is not None:
        raise ConfigError(
            f"{path}, which {key} names: expected properties of Spark, one NAME VALUE a line, found "
            f"{wrong if wrong in _MIGRATIONS else 'another name'}. No session was started.",
            fix="Take the line out. Master and Spark Connect server are `spark.master` and `spark.remote` of the "
            "migration file.",
        )
    check_command_line(conf)
    return conf


def redaction(conf: ClientProperties) -> dict[str, str]:
    theirs = conf.get(_REDACTION, _SPARKS_OWN_SECRETS)
    named = "|".join(re.escape(name) for name in sorted(conf.referred))
    return {_REDACTION: f"(?:{theirs})|(?i:{SENSITIVE_NAMES})" + (f"|^(?:{named})$" if named else "")}
