"""The migration file, parsed strictly, and the client properties in it."""

from offsetwise.client_properties import client_properties
from offsetwise.config.fields import Label, Location, PersonName, Visible, is_uri
from offsetwise.config.json_schema import schema, schema_text
from offsetwise.config.migration import (
    Migration,
    java_properties,
    load_migration,
    spark_properties,
)
from offsetwise.config.plugin_keys import JobKeys
from offsetwise.config.sections import (
    ApprovalSettings,
    CheckpointConfig,
    ClusterConfig,
    ContentSettings,
    JobTraits,
    NamingPolicy,
    SectionEntry,
    SparkSettings,
    TopicSettings,
    TrustedKey,
)
from offsetwise.config.sign_on import JobsConfig

__all__ = [
    "ApprovalSettings",
    "CheckpointConfig",
    "ClusterConfig",
    "ContentSettings",
    "JobKeys",
    "JobTraits",
    "JobsConfig",
    "Label",
    "Location",
    "Migration",
    "NamingPolicy",
    "PersonName",
    "SectionEntry",
    "SparkSettings",
    "TopicSettings",
    "TrustedKey",
    "Visible",
    "client_properties",
    "is_uri",
    "java_properties",
    "load_migration",
    "schema",
    "schema_text",
    "spark_properties",
]
