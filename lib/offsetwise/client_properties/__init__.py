"""Which Kafka client properties a migration file may set, and what they are called in Java.

One table serves both clients: librdkafka (the cluster reader) takes the names as they are, Spark's Kafka source
gets them mapped to the Java client's.
"""

from offsetwise.client_properties.allowed import ALLOWED, FORBIDDEN, ClientProperties, Kind, Property
from offsetwise.client_properties.checking import check, resolve, servers
from offsetwise.client_properties.java import jaas_quote, to_java
from offsetwise.client_properties.references import is_reference

__all__ = [
    "ALLOWED",
    "FORBIDDEN",
    "ClientProperties",
    "Kind",
    "Property",
    "check",
    "is_reference",
    "jaas_quote",
    "resolve",
    "servers",
    "to_java",
]
