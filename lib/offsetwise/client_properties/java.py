"""Map the properties to those of the Java client, for Spark's Kafka source.

Names and meanings: Apache Kafka consumer configuration, KIP-651 for PEM; `org.apache.kafka.common.security.JaasConfig`
for quoting.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offsetwise.client_properties.allowed import ALLOWED, ClientProperties
from offsetwise.client_properties.checking import sasl_mechanism
from offsetwise.client_properties.references import read_text
from offsetwise.errors import ConfigError

_UNENCRYPTED_KEY: Final = "-----BEGIN PRIVATE KEY-----"
_ENCRYPTED_KEY: Final = "-----BEGIN ENCRYPTED PRIVATE KEY-----"


def to_java(properties: Mapping[str, str], *, where: str) -> ClientProperties:
    """Map resolved properties to the Java client's names and values.

    Certificates are passed as text, so that Spark's executors need no file.

    Raises:
        ConfigError: A property that the Java client has no equivalent for. Nothing was read.
    """
    referred = properties.referred if isinstance(properties, ClientProperties) else frozenset()
    client_properties = ClientProperties(referred=(ALLOWED[name].java or name for name in referred))
    for name, value in properties.items():
        java = ALLOWED[name].java
        if java is not None:
            client_properties[java] = value
    protocol = properties.get("security.protocol", "plaintext").upper()
    client_properties["security.protocol"] = protocol
    algorithm = properties.get("ssl.endpoint.identification.algorithm")
    if algorithm is not None:
        client_properties["ssl.endpoint.identification.algorithm"] = "" if algorithm.lower() == "none" else "https"
    for part in (_java_trust, _java_key, _java_sasl):
        client_properties.update(part(properties, where))
    if properties.get("broker.address.family", "any") != "any":
        raise _unmappable("broker.address.family", where, fix="Remove it, or list addresses in bootstrap.servers.")
    return client_properties


def jaas_quote(text: str) -> str:
    r"""Quote a value for `sasl.jaas.config`, whose parser is Java's StreamTokenizer.

    >>> print(jaas_quote('pa"ss\\word'))
    "pa\"ss\\word"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for character, written in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        escaped = escaped.replace(character, written)
    return f'"{escaped}"'


def _unmappable(name: str, where: str, *, fix: str) -> ConfigError:
    return ConfigError(
        f"{where}.{name}: Spark reads records with the Java client, which has no equal for this setting, "
        "so records cannot be compared. Nothing was read.",
        fix=fix,
    )


def _java_trust(properties: Mapping[str, str], where: str) -> dict[str, str]:
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        raise _unmappable(
            "enable.ssl.certificate.verification", where, fix="Give the broker's CA certificate in ssl.ca.location."
        )
    pem = _pem(properties, "ssl.ca", where)
    return {} if pem is None else {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}


def _java_key(properties: Mapping[str, str], where: str) -> dict[str, str]:
    if "ssl.keystore.location" in properties:
        results = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": properties["ssl.keystore.location"]}
        if "ssl.keystore.password" in properties:
            results["ssl.keystore.password"] = properties["ssl.keystore.password"]
        return results
    certificate, key = _pem(properties, "ssl.certificate", where), _pem(properties, "ssl.key", where)
    if certificate is None and key is None:
        return {}
    if certificate is None or key is None:
        missing = "ssl.certificate.location" if certificate is None else "ssl.key.location"
        raise ConfigError(
            f"{where}: expected a client certificate with its key, found only one of them; {missing} is missing.",
            fix=f"Add {missing}: a certificate and its key belong together.",
        )
    encrypted = _ENCRYPTED_KEY in key
    if not encrypted and _UNENCRYPTED_KEY not in key:
        raise ConfigError(
            f"{where}.ssl.key: expected a PKCS#8 key ('{_UNENCRYPTED_KEY}'), found another form, "
            "which the Java client does not read. Nothing was read.",
            fix="Convert it: openssl pkcs8 -topk8 -in key.pem -out key.pkcs8.pem",
        )
    if encrypted and "ssl.key.password" not in properties:
        raise ConfigError(
            f"{where}: the client key is encrypted and ssl.key.password is missing, so it cannot be used.",
            fix="Add ssl.key.password as a reference.",
        )
    results = {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": certificate, "ssl.keystore.key": key}
    return results | ({"ssl.key.password": properties["ssl.key.password"]} if encrypted else {})


def _java_sasl(properties: Mapping[str, str], where: str) -> dict[str, str]:
    mechanism = sasl_mechanism(properties)
    if not mechanism:
        return {}
    # The login handler's class moved between kafka-clients 3 and 4, and both need a list of allowed URLs in a JVM
    # property of every executor, which a source option cannot set.
    if mechanism == "OAUTHBEARER":
        raise _unmappable(
            "sasl.mechanism", where, fix="Use SCRAM, PLAIN or a client certificate, or compare without content."
        )
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    username, password = jaas_quote(properties["sasl.username"]), jaas_quote(properties["sasl.password"])
    login = f"org.apache.kafka.common.security.{module} required username={username} password={password};"
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}


def _pem(properties: Mapping[str, str], stem: str, where: str) -> str | None:
    inline = properties.get(f"{stem}.pem")
    if inline is not None:
        return inline
    location = properties.get(f"{stem}.location")
    if location is None:
        return None
    text = read_text(Path(location), f"{where}.{stem}.location")
    if "-----BEGIN " not in text:
        raise ConfigError(
            f"{where}.{stem}.location: expected a PEM file at {location}, found no '-----BEGIN' line in it, "
            "so the Java client cannot use it. Nothing was read.",
            fix="Convert it to PEM with openssl.",
        )
    return text
