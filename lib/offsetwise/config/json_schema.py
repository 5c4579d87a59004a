from __future__ import annotations

import json
from typing import Any

from offsetwise import client_properties as allowed
from offsetwise.config.migration import Migration
from offsetwise.config.sections import JobTraits
from offsetwise.ports.stream import specs
from offsetwise.registry import STREAMS


def _with_every_key() -> dict[str, Any]:
    """Return the schema of a migration with the keys of all plug-ins, at the top level and in every `job` section."""
    results, job = Migration.with_every_key().model_json_schema(), JobTraits.with_every_key()
    of_job = job.model_json_schema()
    results["$defs"] |= of_job.pop("$defs") | {"JobTraits": of_job}
    for section in results["$defs"].values():
        if "job" in section.get("properties", ()):
            section["properties"]["job"]["default"] = job().model_dump(mode="json")
    return results


def schema() -> dict[str, Any]:
    results = _with_every_key()
    cluster = results["$defs"]["ClusterConfig"]
    cluster["required"] = ["properties"]
    # Only the two clusters of a migration have names already.
    results["properties"]["sinks"]["items"]["required"] = ["name"]
    group = results["$defs"]["GroupConfig"]
    results["properties"]["groups"]["items"] = {"anyOf": [group["properties"]["name"], {"$ref": "#/$defs/GroupConfig"}]}
    cluster["properties"]["stream"]["enum"] = sorted(STREAMS)
    kafka = {
        "type": "object",
        "required": ["bootstrap.servers"],
        "additionalProperties": False,
        "properties": {
            name: {"description": str(known.kind), "type": ["string", "integer", "boolean"]}
            for name, known in allowed.ALLOWED.items()
        },
    }
    results["$defs"]["SparkSettings"]["properties"]["conf"]["propertyNames"] = {"pattern": allowed.spark_names()}
    others = [
        {
            "type": "object",
            "required": [*spec.needs],
            "additionalProperties": False,
            "properties": {
                name: {"description": description, "type": "string"} for name, description in spec.properties.items()
            },
        }
        for spec in specs()
        if spec.properties
    ]
    cluster["properties"]["properties"] = {"anyOf": [kafka, *others]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | results | {"title": "offsetwise/migration"}


def schema_text() -> str:
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"
