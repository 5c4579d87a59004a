"""Convert the librdkafka properties of a migration file to a configuration of kafka-python."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import Any, Final

from offsetwise.client_properties import AddressedCluster, ClientProperties
from offsetwise.errors import ConfigError

ONLY_LIBRDKAFKA: Final = {"ssl.keystore.location": "PKCS#12 key stores", "sasl.oauthbearer.method": "OAuth tokens"}
"""Properties that kafka-python, the second client, does not take, and what they are about."""


def configuration(config: AddressedCluster, properties: ClientProperties) -> dict[str, Any]:
    """Return kafka-python's configuration for librdkafka's properties.

    Raises:
        ConfigError: A property that kafka-python has no equivalent for; the message has its name.
    """
    protocol = properties.get("security.protocol", "plaintext").upper()
    mechanism = (properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "").upper()
    for name, why in ONLY_LIBRDKAFKA.items():
        if name in properties:
            raise ConfigError(
                f"Cluster {config.name!r}: expected properties that kafka-python can use to ask about transactions, "
                f"found {name}: it does not take {why} here. Nothing was asked.",
                fix="For the sink's cluster give ssl.certificate.location with ssl.key.location, or SCRAM: an entry of "
                "its own under `sinks` may have other properties.",
            )
    results: dict[str, Any] = {
        "bootstrap_servers": [server.strip() for server in properties["bootstrap.servers"].split(",")],
        "client_id": properties.get("client.id", "offsetwise"),
        "security_protocol": protocol,
    }
    if protocol.startswith("SASL"):
        results |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": properties.get("sasl.username"),
            "sasl_plain_password": properties.get("sasl.password"),
        }
    if protocol.endswith("SSL"):
        try:
            results["ssl_context"] = ssl_context(properties)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"Cluster {config.name!r}: expected certificates and a key that can be used, but: {error}. Nothing was "
                "asked.",
                fix="Check the files that the ssl.* properties name, and the key's password.",
            ) from error
    return results


def ssl_context(properties: ClientProperties) -> ssl.SSLContext:
    """Return the TLS context that librdkafka's properties describe.

    Raises:
        OSError: A file cannot be read, or holds no certificate or key.
        ValueError: A text is no certificate.
    """
    context = ssl.create_default_context(
        cafile=properties.get("ssl.ca.location"), cadata=properties.get("ssl.ca.pem") or None
    )
    verified = properties.get("enable.ssl.certificate.verification", "true") != "false"
    if not verified or properties.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if not verified:
        context.verify_mode = ssl.CERT_NONE
    password = properties.get("ssl.key.password")
    if "ssl.certificate.pem" in properties:
        # The standard library reads a client's certificate from files only. Only its owner can read this folder.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "client.pem"
            path.write_text(f"{properties['ssl.certificate.pem']}\n{properties.get('ssl.key.pem', '')}\n", "utf-8")
            context.load_cert_chain(path, password=password)
    elif "ssl.certificate.location" in properties:
        context.load_cert_chain(
            properties["ssl.certificate.location"], properties.get("ssl.key.location"), password=password
        )
    return context
