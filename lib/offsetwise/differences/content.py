"""Compare the content of two documents of one kind. Pure: JSON in, changes out.

A list of objects is compared by what identifies its elements, never by their order. What two readings of the same state
never have in common is not content: times of reading or writing, salts, and hashes made with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from offsetwise.differences.changes import DOCUMENT, SECTIONS, Change, Difference, rank

Json: TypeAlias = Any
"""A value of a JSON document."""
Path: TypeAlias = tuple[str, ...]
"""The keys that lead to a value, without the elements of lists."""

KINDS: Final = ("comparison", "plan", "plan-set", "fleet-comparison", "snapshot", "cutover", "status")
"""The kinds of document that can be compared."""
TIMES: Final = frozenset({"taken_at", "written_at", "drafted_at", "compared_at", "began_at"})
"""When something was read or written."""
_NO_CONTENT: Final = frozenset({*TIMES, "format", "format_version", "made_from", "reused", "salt", "age_ms"})
"""Keys that are not content, wherever they occur."""
_NO_CONTENT_AT: Final = frozenset(
    {
        # Salted hashes of records.
        *((side, "identity") for side in ("after", "at_raw", "before", "neighbours")),
        # An observation of a cutover has its duration.
        *(("partitions", key) for key in ("moved_ms", "still_ms", "told")),
        ("looks_taken",),
        # MirrorMaker writes heartbeats continuously.
        *(("topics", key) for key in ("newest_ms", "records")),
        ("heartbeats", "timestamp_ms"),
    }
)
"""The last keys of a path to other values that are not content."""
_IDENTITIES: Final[tuple[tuple[str, ...], ...]] = (
    ("source", "topic", "partition"),
    ("code", "topic", "partition"),
    ("group", "topic", "partition"),
    ("topic", "partition", "upstream"),
    ("topic", "partition"),
    ("code",),
    ("checkpoint", "group"),
    ("job",),
    ("wave",),
    ("kind", "group"),
    ("group",),
    ("table",),
    ("transactional_id",),
    ("method", "said_by"),
    ("side", "old_offset", "new_offset"),
    ("id",),
    ("name",),
    ("batch",),
    ("partition",),
    ("topic",),
    ("producer_id",),
    ("uri",),
    ("target",),
)
"""What identifies the elements of a list: the first of these whose keys all its elements have."""
_IDENTITY_OF: Final[Mapping[str, tuple[str, ...]]] = {"topics": ("name",)}
"""For lists with certain names, tried first: a topic that was created again has another id."""
_HEADLINES: Final = ("old_offset", "new_offset", "offset", "exactness", "message")
"""The shown values of an element that only one document has, if it has any of them; else all of it, on one line."""
_LONGEST: Final = 300
"""The maximum length of an element on one line, in characters."""
_OF_LOGS: Final = frozenset({"old", "new", "lag_old", "lag_new", "behind_old", "behind_new", "behind_parts"})
_OF_EVIDENCE: Final = frozenset({"evidence", "end_evidence", "proof", "end_proof"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    section: str = ""
    subject: str | None = None
    path: Path = ()
    """From the document."""
    keys: Path = ()
    """From the subject."""

    def below(self, key: str) -> _Where:
        path = (*self.path, key)
        return replace(self, section=_section(path), path=path, keys=(*self.keys, key) if self.path else ())

    def element(self, name: str) -> _Where:
        """Return the path of an element of a list.

        Nested lists only add to the keys: the subject is the outermost element.
        """
        if self.subject is None:
            return replace(self, subject=name, keys=())
        return replace(self, keys=(*self.keys, f"[{name}]"))


def compare(
    kind: str, before: Mapping[str, Json], after: Mapping[str, Json], *, names: tuple[str, str] = ("before", "after")
) -> Difference:
    """Return the differences between two documents of one kind.

    Args:
        kind: Of both; one of `KINDS`.
        before: The first document, as its JSON has it.
        after: The second one.
        names: The names of the two.
    """
    return collected(kind, _object(before, after, _Where()), names=names)


def collected(kind: str, changes: Iterator[Change], *, names: tuple[str, str]) -> Difference:
    """Return the difference with changes in the order in which sections are shown; a section keeps its order."""
    ordered = tuple(sorted(changes, key=lambda change: rank(change.section)))
    return Difference(kind=kind, before=names[0], after=names[1], equal=not ordered, changes=ordered)


def _section(path: Path) -> str:
    if path[-1] == "state" and path[0] in ("jobs", "partitions", "state"):
        return "states"
    if path[0] in ("partitions", "positions") and len(path) > 1:
        if path[1] in _OF_LOGS:
            return "logs"
        if path[1] in _OF_EVIDENCE:
            return "evidence"
    return {"partitions": "positions", "totals": "summary"}.get(path[0], path[0])


def _is_content(path: Path) -> bool:
    return path[-1] not in _NO_CONTENT and path[-2:] not in _NO_CONTENT_AT and path not in _NO_CONTENT_AT


def _any(before: Json, after: Json, where: _Where) -> Iterator[Change]:
    """Yield the differences between two values; null, an empty list, and a missing value are equal."""
    if before == after:
        return
    if _each_is(dict, before, after):
        yield from _object(before or {}, after or {}, where)
    elif _each_is(list, before, after) and _has_elements(before, after):
        yield from _list(before or [], after or [], where)
    elif (old := _text(before)) != (new := _text(after)):
        yield _change(where, old, new)


def _change(where: _Where, before: str | None, after: str | None) -> Change:
    if where.subject is None and len(where.path) == 1:
        section = where.section if where.section in SECTIONS else DOCUMENT
        return Change(section=section, subject=None, key=where.path[0], before=before, after=after)
    return Change(section=where.section, subject=where.subject, key=".".join(where.keys), before=before, after=after)


def _each_is(type_: type, before: Json, after: Json) -> bool:
    return all(value is None or isinstance(value, type_) for value in (before, after))


def _has_elements(*lists: Sequence[Json] | None) -> bool:
    return any(isinstance(element, dict | list) for elements in lists for element in elements or ())


def _object(before: Mapping[str, Json], after: Mapping[str, Json], where: _Where) -> Iterator[Change]:
    for key in sorted(before.keys() | after.keys()):
        member = where.below(key)
        if _is_content(member.path):
            yield from _any(before.get(key), after.get(key), member)


def _list(before: Sequence[Json], after: Sequence[Json], where: _Where) -> Iterator[Change]:
    identity = _identity([*before, *after], where.path[-1])
    old, new = _by_name(before, identity), _by_name(after, identity)
    for name in [*old, *(name for name in new if name not in old)]:
        element = where.element(name)
        if name in old and name in new:
            yield from _any(old[name], new[name], element)
        else:
            yield from _one_sided(old.get(name, new.get(name)), element, removed=name in old)


def _one_sided(element: Json, where: _Where, *, removed: bool) -> Iterator[Change]:
    headlines = {}
    if isinstance(element, dict):
        headlines = {key: text for key in _HEADLINES if (text := _text(element.get(key))) is not None}
    for key, text in headlines.items():
        yield _change(where.below(key), text if removed else None, None if removed else text)
    if not headlines:
        text = _short(_line(element))
        yield _change(where, text if removed else None, None if removed else text)


def _identity(elements: Sequence[Json], name: str) -> tuple[str, ...]:
    """Return the keys that identify the elements of a list; empty if only their order does."""
    if not all(isinstance(element, dict) for element in elements):
        return ()
    for keys in (_IDENTITY_OF.get(name, ()), *_IDENTITIES):
        if keys and all(key in element for element in elements for key in keys):
            sources = {element["source"] for element in elements} if keys[0] == "source" else ()
            return keys[1:] if len(sources) == 1 else keys
    return ()


def _by_name(elements: Sequence[Json], identity: tuple[str, ...]) -> dict[str, Json]:
    """Return the elements by name. Elements with the same name are numbered."""
    results: dict[str, Json] = {}
    for index, element in enumerate(elements):
        value = element
        if isinstance(element, dict) and identity:
            name = _name([element[key] for key in identity], identity)
        elif isinstance(element, list) and len(element) > 1:
            # Rows such as (path, digest), (topic, partition, offset) or (topic, syncs).
            name, value = " ".join(str(part) for part in element[:-1]), element[-1]
        else:
            name = f"#{index + 1}"
        times = 1
        unique = name
        while unique in results:
            times += 1
            unique = f"{name} #{times}"
        results[unique] = value
    return results


def _name(values: Sequence[Json], identity: tuple[str, ...]) -> str:
    parts = dict(zip(identity, values, strict=True))
    if "partition" in parts and parts.get("topic") is not None:
        topic, partition = parts.pop("topic"), parts.pop("partition")
        parts["partition"] = topic if partition is None else f"{topic}-{partition}"
    if identity == ("checkpoint", "group"):
        return " ".join(f"{key} {value}" for key, value in parts.items() if value is not None)
    return " ".join(_line(value) for value in parts.values() if value not in (None, ""))


def _text(value: Json) -> str | None:
    if value in (None, []):
        return None
    if isinstance(value, list):
        return ", ".join("null" if part is None else _line(part) for part in value)
    return _line(value)


def _line(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
