"""Read a cluster from HOST:PORT, or from the property file of a Kafka client.

A file is for the Java client (`java.util.Properties`), or for librdkafka if it has a name that only librdkafka knows;
there a backslash has no special meaning. Names of the Java client are converted to librdkafka's; secrets become
references.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from offsetwise import regular_files
from offsetwise.client_properties.allowed import ALLOWED, FORBIDDEN, Kind, is_secret
from offsetwise.client_properties.checking import SERVER
from offsetwise.client_properties.references import is_reference
from offsetwise.errors import ConfigError

MAX_BYTES: Final = 1024 * 1024
_AWS: Final = re.compile(
    r"(kinesis[:=/]|dynamodb:|arn:|(https?://)?([a-z0-9-]+\.)*([a-z]+-)?(kinesis|dynamodb)[a-z0-9.-]*\.amazonaws\.com)"
    r"|[a-z]{2}(-[a-z]+)+-[0-9]$",
    re.IGNORECASE,
)
"""The names that Kinesis uses instead of a cluster: its region, a stream's ARN, an endpoint, a lease table."""
BY_HAND: Final = (
    "For Kinesis write the migration file yourself, for example: {name: orders, source: {stream: kinesis, properties: "
    "{region: us-east-1}}, target: {stream: kinesis, properties: {region: us-east-1}}, checkpoints: [{name: app, uri: "
    '"dynamodb://TABLE?region=us-east-1", job: {stream: STREAM}}]}. docs/kinesis.md explains every key.'
)
"""The remedy if `init` is given a stream of Kinesis."""
_PROPERTY: Final = re.compile(r"\s*((?:\\.|[^\s:=\\])+)\s*[:=]?\s*(.*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LOGIN_OPTION: Final = re.compile(r"""(\w+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;]+))""", re.DOTALL)
_FROM_ENVIRONMENT: Final = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
"""Kafka's own reference to the environment (KIP-887)."""
_FROM_PROVIDER: Final = re.compile(r"\$\{[\w.-]+:[^}]*\}")
"""A reference to one of Kafka's configuration providers (KIP-297)."""
_USER_IN_ADDRESS: Final = re.compile(r"://[^/@\s]*@")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
"""Of both formats; `str.splitlines` would also end a line inside a secret, for example at U+0085."""
_NAME: Final = re.compile(r"(?=.{2,100}=)([a-z]+=[^=]|[a-z][a-z0-9_]*([.-][a-z0-9_]+)+=).*", re.DOTALL)
"""A skipped line whose name may be shown: any other could be a line of a key or of a password."""

_BY_JAVA: Final = {known.java: name for name, known in ALLOWED.items() if known.java is not None}
_BOTH_CLIENTS: Final = frozenset(_BY_JAVA) | {
    *("security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm", "ssl.key.password"),
    *("ssl.keystore.location", "ssl.keystore.password", "sasl.oauthbearer.token.endpoint.url"),
}
_ONLY_LIBRDKAFKA: Final = ALLOWED.keys() - _BOTH_CLIENTS

_PASSWORD_LOGIN: Final = {"username": "sasl.username", "password": "sasl.password"}
_LOGINS: Final = {
    "PlainLoginModule": _PASSWORD_LOGIN,
    "ScramLoginModule": _PASSWORD_LOGIN,
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
}
"""The options of Kafka's login modules with their names in librdkafka."""
_STORE_FIX: Final = "Offsetwise reads PEM; write {name} with its path ({how})"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCluster:
    properties: Mapping[str, str]
    """librdkafka's names; secrets are references, paths absolute."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values of the references, by the name of the environment variable."""
    left_out: tuple[tuple[str, str], ...] = ()
    """(name, reason) of properties that a migration file does not have; their values are dropped."""
    folder: str | None = field(default=None, compare=False)
    """The folder of the property file; None without a file."""


def given_cluster(given: str, *, prefix: str, option: str) -> GivenCluster:
    """Read the given address or property file of a cluster.

    Args:
        given: The path of a property file, or HOST:PORT, several separated by commas.
        prefix: The prefix of the variables for its secrets: `OLD` or `NEW`.
        option: Its name in errors.

    Raises:
        ConfigError: It is neither, or the file cannot be read. No value of it is shown.
    """
    if not os.path.exists(given):
        return _given_address(given, option)
    try:
        content = regular_files.read_named(given, MAX_BYTES)
    except OSError as error:
        raise ConfigError(
            f"{option} {given}: expected a client's property file, but {error.strerror or error}. Nothing was "
            "contacted.",
            fix="Give a file that the user who runs Offsetwise may read.",
        ) from error
    if len(content) > MAX_BYTES:
        raise ConfigError(
            f"{option} {given}: expected at most {MAX_BYTES} bytes, found more.", fix="Give another file."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # the encoding of java.util.Properties
    results, left_out = _of_librdkafka(parse(text))
    secrets = {}
    for name, value in results.items():
        _check_text(name, value, f"{option} {given}")
        variable = f"{prefix}_{name.upper().replace('.', '_')}"
        if is_reference(value) or not (is_secret(name) or _USER_IN_ADDRESS.search(value)):
            continue
        secrets[variable], results[name] = value, f"${{{variable}}}"
    folder = os.path.dirname(os.path.abspath(given))
    return GivenCluster(properties=results, secrets=secrets, left_out=tuple(left_out), folder=folder)


def parse(text: str) -> dict[str, str]:
    r"""Return the properties of a file.

    >>> parse("# mine\nclient.id : a\\\n  b")
    {'client.id': 'ab'}
    >>> parse("sasl.username=a\nsasl.password=a\\b")
    {'sasl.username': 'a', 'sasl.password': 'a\\b'}
    """
    rows = [line.strip() for line in _LINE_END.split(text)]
    plain = dict(_split(row) for row in rows if row and row[0] not in "#!")
    if plain.keys() & _ONLY_LIBRDKAFKA:
        return plain
    # Kafka's own parser of settings strips trailing blanks, which java.util.Properties keeps.
    return {_unescaped(name): _unescaped(value).strip(" \t") for name, value in map(_split, _java_lines(text))}


def _check_text(name: str, value: str, where: str) -> None:
    if _FROM_PROVIDER.fullmatch(value) and not _FROM_ENVIRONMENT.fullmatch(value):
        raise ConfigError(
            f"{where}: {name}: expected a value or ${{env:NAME}}, found a reference to a configuration provider of "
            "Kafka, which only a Java client resolves. Nothing was contacted.",
            fix="Write the value itself; or, of a user, a password or a key, ${env:NAME}, and set that variable in the "
            "environment that starts Offsetwise.",
        )
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ConfigError(
            f"{where}: {name}: expected text, found half of a character: one \\u escape of a pair of two. Nothing was "
            "contacted.",
            fix="Save the file as UTF-8, with the character itself in place of its escapes.",
        )


def _java_lines(text: str) -> Iterator[str]:
    whole = ""
    for line in _LINE_END.split(text):
        part = line.lstrip(" \t\f")
        if not whole and (not part or part[0] in "#!"):
            continue
        ends_with = len(part) - len(part.rstrip("\\"))
        if ends_with % 2:
            whole += part[:-1]
            continue
        yield whole + part
        whole = ""
    if whole:
        yield whole


def _split(line: str) -> tuple[str, str]:
    match = _PROPERTY.fullmatch(line)
    return (match[1], match[2]) if match else (line, "")


def _unescaped(text: str) -> str:
    result = _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else _CONTROL.get(match[2], match[2]), text)
    # Java writes a character beyond U+FFFF as a pair of escapes.
    return result.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _of_librdkafka(given: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    results: dict[str, str] = {}
    left_out: list[tuple[str, str]] = []
    nameless = 0
    for name, value in given.items():
        if name == "sasl.jaas.config":
            results |= _login(value, left_out)
        elif name.startswith(("ssl.truststore.", "ssl.keystore.")):
            continue  # handled below, together
        elif name == "ssl.endpoint.identification.algorithm":
            results[name] = value or "none"
        elif name in ALLOWED or name in _BY_JAVA:
            results[name if name in ALLOWED else _BY_JAVA[name]] = value
        elif name in FORBIDDEN or _NAME.fullmatch(f"{name}={value}"):
            left_out.append((name, FORBIDDEN.get(name, ("it is not a setting of a connection", ""))[0]))
        else:
            nameless += 1
    if nameless:
        lines = "1 line" if nameless == 1 else f"{nameless:,} lines"
        left_out.append((lines, "not shown, as no name of a setting begins there: they may be part of a secret"))
    results |= _stores(given, left_out)
    if results.get("sasl.mechanism", "").upper() == "OAUTHBEARER":
        results.setdefault("sasl.oauthbearer.method", "oidc")
    if not any(name.startswith(("ssl.key.location", "ssl.key.pem")) for name in results):
        results.pop("ssl.key.password", None)  # belongs to a Java key store
    for name, value in results.items():
        if match := _FROM_ENVIRONMENT.fullmatch(value):
            results[name] = f"${{{match[1]}}}"
        elif ALLOWED[name].kind is Kind.PATH and not is_reference(value):
            results[name] = os.path.abspath(value)
    return results, left_out


def _login(config: str, left_out: list[tuple[str, str]]) -> dict[str, str]:
    module = config.split(maxsplit=1)[0].rpartition(".")[2] if config.strip() else ""
    options = {
        match[1]: match[4] if match[4] is not None else _unescaped(match[2] if match[2] is not None else match[3])
        for match in _LOGIN_OPTION.finditer(config)
    }
    if module not in _LOGINS:
        left_out.append(("sasl.jaas.config", f"Offsetwise signs in with {', '.join(_LOGINS)} only"))
    return {name: options[option] for option, name in _LOGINS.get(module, {}).items() if option in options}


def _stores(given: Mapping[str, str], left_out: list[tuple[str, str]]) -> dict[str, str]:
    results: dict[str, str] = {}
    trust = given.get("ssl.truststore.location")
    if trust is not None and given.get("ssl.truststore.type", "").upper() == "PEM":
        results["ssl.ca.location"] = trust
    elif trust is not None:
        how = "keytool -exportcert -rfc makes one from a trust store"
        left_out.append(("ssl.truststore.location", _STORE_FIX.format(name="ssl.ca.location", how=how)))
    if "ssl.truststore.certificates" in given:
        results["ssl.ca.pem"] = given["ssl.truststore.certificates"]
    if "ssl.keystore.certificate.chain" in given and "ssl.keystore.key" in given:
        results["ssl.certificate.pem"] = given["ssl.keystore.certificate.chain"]
        results["ssl.key.pem"] = given["ssl.keystore.key"]
    key, kind = given.get("ssl.keystore.location"), given.get("ssl.keystore.type", "").upper()
    if key is not None and kind == "PEM":
        results |= {"ssl.certificate.location": key, "ssl.key.location": key}
    elif key is not None and (kind == "PKCS12" or Path(key).suffix.lower() in {".p12", ".pfx", ".pkcs12"}):
        results["ssl.keystore.location"] = key
        if "ssl.keystore.password" in given:
            results["ssl.keystore.password"] = given["ssl.keystore.password"]
    elif key is not None:
        how = "and ssl.key.location; openssl makes them from a PKCS#12 store"
        left_out.append(("ssl.keystore.location", _STORE_FIX.format(name="ssl.certificate.location", how=how)))
    return results


def _given_address(given: str, option: str) -> GivenCluster:
    if _AWS.match(given):
        raise ConfigError(
            f"{option}: expected a cluster of Kafka, as HOST:PORT or a client's property file, found "
            f"{given[:200]!r}, which names something of AWS: init surveys clusters of Kafka. Nothing was "
            "contacted.",
            fix=BY_HAND,
        )
    if given and all(SERVER.fullmatch(part.strip()) for part in given.split(",")):
        return GivenCluster(properties={"bootstrap.servers": given})
    raise ConfigError(
        f"{option}: expected HOST:PORT or the path of a client's property file, found "
        f"{given.rpartition('@')[2][:200]!r}{' after an @' if '@' in given else ''}, which is neither. Nothing was "
        "contacted.",
        fix=f"Give an address such as broker-1:9092, or a file with bootstrap.servers: {option} client.properties",
    )
