"""Strict validation of files that may be anybody's: no value is converted from another type."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

from offsetwise.model.offsets import IN_FILES_FIRST


def strict_reader(adapter: TypeAdapter[Any]) -> SchemaValidator:
    return SchemaValidator(_strictly(adapter.core_schema))


def _strictly(schema: Any) -> Any:
    """Make a schema take numbers, texts and booleans only as such, and stop a list at its first error.

    The messages of a million errors would take a gigabyte.
    """
    if isinstance(schema, list):
        return [_strictly(subschema) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    if IN_FILES_FIRST in (schema.get("metadata") or {}):
        return schema["choices"][0]
    results = {key: _strictly(subschema) for key, subschema in schema.items()}
    match results.get("type"):
        case "int" | "str" | "bool":
            results.setdefault("strict", True)
        case "tuple" | "list":
            results["fail_fast"] = True
    return results
