"""Which Kafka client properties a migration file may set, and what they are called in Java.

One table serves both clients: librdkafka (the cluster reader) takes the names as they are, Spark's Kafka source
gets them mapped to the Java client's.
"""

from offsetwise.client_properties.addressed import AddressedCluster, PlainCluster, client_properties
from offsetwise.client_properties.allowed import ALLOWED, FORBIDDEN, ClientProperties, Kind, Property, is_secret, masked
from offsetwise.client_properties.checking import check, resolve, servers
from offsetwise.client_properties.java import jaas_quote, to_java
from offsetwise.client_properties.property_files import BY_HAND, GivenCluster, given_cluster
from offsetwise.client_properties.references import is_reference, lent, lent_now, only_reference
from offsetwise.client_properties.spark import (
    check_addresses,
    check_command_line,
    redaction,
    resolve_spark,
    with_secrets,
)
from offsetwise.client_properties.spark_allowed import check_allowed, check_server, spark_names

__all__ = [
    "ALLOWED",
    "BY_HAND",
    "FORBIDDEN",
    "AddressedCluster",
    "ClientProperties",
    "GivenCluster",
    "Kind",
    "PlainCluster",
    "Property",
    "check",
    "check_addresses",
    "check_allowed",
    "check_command_line",
    "check_server",
    "client_properties",
    "given_cluster",
    "is_reference",
    "is_secret",
    "jaas_quote",
    "lent",
    "lent_now",
    "masked",
    "only_reference",
    "redaction",
    "resolve",
    "resolve_spark",
    "servers",
    "spark_names",
    "to_java",
    "with_secrets",
]
