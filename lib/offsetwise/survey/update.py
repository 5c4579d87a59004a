"""Add new elements to a migration file as lines between the existing lines, which stay unchanged byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml

from offsetwise.client_properties import servers
from offsetwise.config import Migration, is_uri
from offsetwise.survey.jobs import unused
from offsetwise.survey.results import Survey
from offsetwise.survey.text import Item, checkpoint_item, connector_item, group_item, located, map_item, root_item

INDENT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    keys: tuple[str, ...]
    """The path of keys from the top level."""
    items: tuple[Item, ...]


def additions(text: str, migration: Migration, survey: Survey, folder: Path) -> tuple[Addition, ...]:
    """Return what was found and is not in the file. Elements that a person has commented out stay so."""
    commented = {_key((line.lstrip("# "),)) for line in text.splitlines() if _is_comment(line)}
    same = (survey.topics.policy, survey.topics.separator) == (migration.topics.policy, migration.topics.separator)
    known = {checkpoint.uri for checkpoint in migration.checkpoints}
    names = {checkpoint.name for checkpoint in migration.checkpoints}
    groups = {*migration.group_names}
    checkpoints = [
        checkpoint_item(replace(checkpoint, name=unused(checkpoint.name, names)), folder)
        for checkpoint in survey.checkpoints
        if checkpoint.left_out is None and _loaded(checkpoint.uri, folder) not in known
    ]
    roots, listed = migration.checkpoint_roots, "checkpoint_roots" in migration.model_fields_set
    results: tuple[tuple[tuple[str, ...], list[Item]], ...] = (
        (
            ("topics", "map"),
            [map_item(*mapping) for mapping in survey.topics.map if same and mapping[0] not in migration.topics.map],
        ),
        (
            ("checkpoint_roots",),
            [root_item(root, folder) for root in survey.roots if listed and _loaded(root, folder) not in roots],
        ),
        (("checkpoints",), checkpoints),
        (("connect",), _connectors(migration, survey, folder, names)),
        (
            ("groups",),
            [group_item(group) for group in survey.groups if group.left_out is None and group.name not in groups],
        ),
    )
    fresh = ((keys, tuple(entry for entry in items if _key(entry) not in commented)) for keys, items in results)
    return tuple(Addition(keys=keys, items=items) for keys, items in fresh if items)


def _connectors(migration: Migration, survey: Survey, folder: Path, names: set[str]) -> list[Item]:
    named = [entry.address for entry in migration.entries if entry.address is not None]
    known = {(worker, address.connector) for address in named for worker in address.workers}
    names |= {entry.name for entry in migration.entries}
    return [
        connector_item(replace(connector, name=unused(connector.name, names)), folder)
        for connector in survey.connectors
        if connector.left_out is None and not any((worker, connector.connector) in known for worker in connector.urls)
    ]


def differences(migration: Migration, survey: Survey, folder: Path) -> Iterator[str]:
    for key, said, read in (("source", migration.source, survey.old), ("target", migration.target, survey.new)):
        named, surveyed = servers(said.properties), servers(dict(read.properties))
        if named != surveyed:
            yield f"{key} is {', '.join(sorted(named))} in the file; {', '.join(sorted(surveyed))} was read."
    if survey.link.link not in (None, migration.link):
        yield f"link is {migration.link} in the file; found {survey.link.link}: {survey.link.evidence}."
    for name in ("policy", "separator"):
        said, observed = getattr(migration.topics, name), getattr(survey.topics, name)
        if said != observed:
            yield f"topics.{name} is {said} in the file; found {observed}: {survey.topics.evidence}."
    for old, new in survey.topics.map:
        if old in migration.topics.map and migration.topics.map[old] != new:
            yield f"topics.map calls {old} {migration.topics.map[old]} on the new cluster; found {new}."
    usable = {_loaded(checkpoint.uri, folder): checkpoint.left_out for checkpoint in survey.checkpoints}
    entries = {entry.name for entry in migration.entries}
    for config in migration.checkpoints:
        if config.name in entries:
            continue  # no folder holds it
        if config.uri not in usable:
            yield f"checkpoint {config.name} was not found below the roots that were looked into."
        elif usable[config.uri] is not None:
            yield f"checkpoint {config.name} cannot be compared: {usable[config.uri]}"


def updated(text: str, added: Sequence[Addition]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = text if text.endswith("\n") else text + newline
    root = yaml.compose(whole, Loader=yaml.SafeLoader)
    # The addition that is written last comes first at its line: elements of the last list before keys that follow it.
    edits = sorted(
        (_edit(whole, root, addition) for addition in reversed(added)), key=lambda edit: edit[:2], reverse=True
    )
    for start, _, end, result in edits:
        whole = whole[:start] + result.replace("\n", newline) + whole[end:]
    return whole


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _key(item: Item) -> str:
    """Return the key of an item: its URI, or else its only line, without the comment."""
    line = next((line for line in item if line.startswith(("  uri: ", "  connector: "))), item[-1])
    return line.partition(" #")[0].strip()


def _loaded(uri: str, folder: Path) -> str:
    written = located(uri, folder)
    return written if is_uri(written) else str(folder / written)


def _edit(text: str, root: Any, added: Addition) -> tuple[int, bool, int, str]:
    """Return the index of an addition, whether it is a top-level key, the end of the replaced text, and its text."""
    above, keys, in_flow, column = root, list(added.keys), False, -INDENT
    while keys and (results := _value(above, keys[0])) is not None:
        column, above = results[0].start_mark.column, results[1]
        in_flow = in_flow or (bool(getattr(above, "flow_style", False)) and bool(above.value))
        keys = keys[1:]
    if in_flow:
        at = above.end_mark.index - 1
        return at, False, at, (", " if above.value else "") + _in_flow(added.items, keys)
    lines = [*chain.from_iterable(added.items)]
    for key in reversed(keys):
        lines = [f"{key}:", *(" " * INDENT + line for line in lines)]
    if not above.value:  # nothing, `[]` or `{}`
        result = ("\n" + _indented(lines, column + INDENT)).rstrip("\n")
        return above.start_mark.index, False, above.end_mark.index, result
    at = _after(text, above)
    return at, above is root, at, ("\n" if above is root else "") + _indented(lines, above.start_mark.column)


def _value(node: Any, key: str) -> tuple[Any, Any] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in pairs if pair[0].value == key), None)


def _indented(lines: Sequence[str], column: int) -> str:
    return "".join(f"{' ' * column}{line}\n" for line in lines)


def _in_flow(items: Sequence[Item], keys: Sequence[str]) -> str:
    whole = yaml.safe_load("\n".join(chain.from_iterable(items)))
    for key in reversed(keys):
        whole = {key: whole}
    return json.dumps(whole, ensure_ascii=False)[1:-1]


def _after(text: str, node: Any) -> int:
    """Return the start of the line after a block, including comments with the block's indentation."""
    last = node
    while not isinstance(last, yaml.ScalarNode) and last.value and not last.flow_style:
        last = last.value[-1][1] if isinstance(last, yaml.MappingNode) else last.value[-1]
    at = text.find("\n", max(last.end_mark.index - 1, 0)) + 1 or len(text)
    while at < len(text):
        line = text[at : text.find("\n", at) + 1 or len(text)]
        if not _is_comment(line) or len(line) - len(line.lstrip()) <= node.start_mark.column:
            break
        at += len(line)
    return at
