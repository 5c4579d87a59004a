"""Files of format version 1: what was recorded keeps its bytes, and so its digest, and no key ever goes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from offsetwise import files
from tests.with_cases import with_cases

ROOT: Final = Path(__file__).parents[1]
KEYS: Final[dict[str, list[str]]] = json.loads(
    (Path(__file__).parent / "data" / "format-1-keys.json").read_text(encoding="utf-8")
)
"""The keys of each kind of file, with those above them, as they were published. Later ones may be added."""
RECORDED: Final = [
    *(ROOT / "lib" / "offsetwise").glob("sample*/[!s]*.json"),
    *(ROOT / "tests" / "data" / "receipts").glob("*/[!a]*.json"),
]
"""Snapshots, comparisons, reconciliations, plans and receipts, the oldest of commit 1061f4c."""
ADDED: Final[dict[str, dict[str, Any]]] = {"receipt": {"envelopes": []}}
"""What is written today and was not when these files were recorded."""


def key_tree(schema: Mapping[str, Any], types: Mapping[str, Any], within: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the keys of a JSON schema, each with those below it; a type inside itself is left out."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return {} if name in within else key_tree(types[name], types, (*within, name))
    tree: dict[str, Any] = {key: key_tree(part, types, within) for key, part in schema.get("properties", {}).items()}
    parts = [part for form in ("anyOf", "oneOf", "allOf", "prefixItems") for part in schema.get(form, ())]
    parts += [schema[form] for form in ("items", "additionalProperties") if isinstance(schema.get(form), dict)]
    for part in parts:
        for key, below in key_tree(part, types, within).items():
            tree[key] = tree.get(key, {}) | below
    return tree


def dotted(tree: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield every key of a tree, behind those above it."""
    for key, below in tree.items():
        yield above + key
        yield from dotted(below, f"{above}{key}.")


@with_cases("kind", KEYS)
def test_no_key_goes(kind: str) -> None:
    schema = files.schema(kind)

    assert set(KEYS[kind]) - set(dotted(key_tree(schema, schema.get("$defs", {})))) == set()


def test_every_kind_of_file_has_its_keys_recorded() -> None:
    assert KEYS.keys() == files.KINDS.keys()


@with_cases("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_recorded_keeps_its_bytes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    body = json.loads(text)
    kind = body["format"].removeprefix("offsetwise/")

    written = files.dump(files.load(text, kind, subject=path.name))

    if kind in ADDED:
        assert json.loads(written) == body | ADDED[kind]
    else:
        assert written == text
