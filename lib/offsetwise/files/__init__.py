"""Offsetwise's own files: versioned JSON, parsed strictly.

Every file is `{"format": "offsetwise/<kind>", "format_version": "1.0", ...}`, UTF-8, sorted keys, a newline at the end.
Offsets and counts are decimal strings. Minor versions add keys; an unknown major version is rejected. A file has the
lowest version that has all its keys, so that stored files keep their bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import field, fields, make_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from offsetwise import regular_files, strict_json
from offsetwise.engines.engine import CheckpointEngine
from offsetwise.engines.flat import flat_type, flatten, whole
from offsetwise.engines.registry import engines
from offsetwise.errors import FileError, VersionError
from offsetwise.files.strict import strict_reader
from offsetwise.findings import severity_of
from offsetwise.model import (
    Checkpoint,
    Comparison,
    Cutover,
    FleetComparison,
    LagSample,
    Plan,
    PlanSet,
    Receipt,
    Reconciliation,
    Requirements,
    Snapshot,
    Status,
    Verification,
)
from offsetwise.registry import STREAMS
from offsetwise.transactions.snapshot import SinkSnapshot

FORMAT_VERSION: Final = "1.0"
PLAN_VERSION: Final = "1.2"
"""The newest version of a plan."""
_VERSION: Final = re.compile(r"([0-9]+)\.(0|[1-9][0-9]*)")
_KEYS_OF_1_1: Final = ("aggregate", "from_files", "left_unset", "parts", "repair", "settings", "tables")
"""Keys of a plan, its requirements, positions and proofs that need version 1.1."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of the JSON Schemas."""
MAX_BYTES: Final = 40 * 1024 * 1024
"""The maximum of any file. With `strict_json`'s limits, parsing one takes less than 512 MB: docs/formats.md,
"Limits"."""
MAX_PLAN_BYTES: Final = 24 * 1024 * 1024
"""The maximum of a plan: its receipt, which repeats it, is read again too."""
_Seen = (
    Checkpoint | Snapshot | SinkSnapshot | Comparison | FleetComparison | Reconciliation | LagSample | Cutover | Status
)
Stored = _Seen | Plan | PlanSet | Receipt | Verification
KINDS: Final[dict[str, type]] = {
    "checkpoint": Checkpoint,
    "snapshot": Snapshot,
    "sink-snapshot": SinkSnapshot,
    "comparison": Comparison,
    "fleet-comparison": FleetComparison,
    "reconciliation": Reconciliation,
    "lag-sample": LagSample,
    "cutover": Cutover,
    "status": Status,
    "plan": Plan,
    "plan-set": PlanSet,
    "receipt": Receipt,
    "verification": Verification,
}
_WRITTEN: Final = tuple(column for column in fields(Comparison) if column.compare)
"""The fields of a comparison that its file has."""
_UNWRITTEN: Final = {column.name for column in fields(Comparison)} - {column.name for column in _WRITTEN}
_HEADER: Final = ("format", "format_version")
_LEFT_OUT_OF_LOOKS: Final = ("search", "silent", "unlisted")
_LEFT_OUT_WHEN_NULL: Final = ("endpoint", "job", "leases", "made_from", "pooled_prefixes", "quota", *_LEFT_OUT_OF_LOOKS)
_LEFT_OUT_OF_ROWS: Final = ("aggregate", "behind_new", "behind_old", "behind_parts", "parts")
"""In partitions of a comparison or a sample, and in their evidence, if they are null or empty."""
_LEFT_OUT_OF_GROUPS: Final = ("application", "start_offsets", "subscribed")  # of a consumer group
_LEFT_OUT_WITHOUT_SHARDS: Final = ("cluster", "ranges", "shards")
"""In topics and sources whose stream has no shards, or no ranges of them; and in sources of one cluster."""
_LEFT_OUT_WHEN_EMPTY: Final = ("identities", "marks", "savepoint", "transactions", *_KEYS_OF_1_1)
"""In a plan: without them it keeps the bytes, and so the digest, of earlier releases. In a verification likewise."""


def dump(value: Stored, *, indent: int | None = 1, severities: bool = False) -> str:
    """Return a value as the text of its file, newline included.

    With `severities` the problems of a checkpoint have their severity. `indent=None` returns a single line. A plan has
    one position per line, so that a reviewer can compare two plans, and 10,000 positions are written quickly.
    """
    kind = next(kind for kind, type_ in KINDS.items() if type(value) is type_)
    body = _adapter(kind, _known()).dump_python(_flattened(value), mode="json")
    if isinstance(value, Comparison) and body["checkpoint"] is not None:
        body["checkpoint"] |= _header("checkpoint", {})
    observations = body.get("looks", {})
    for section in (body, body.get("checkpoint"), observations, observations.get("first"), observations.get("second")):
        if isinstance(section, dict):
            for problem in section.get("problems", ()) if severities else ():
                problem["severity"] = severity_of(problem["code"])
            _leave_out(section, _LEFT_OUT_WHEN_NULL)
            _leave_out_shards(section)
    for group in body["groups"] if isinstance(value, Snapshot) else ():
        _leave_out(group, _LEFT_OUT_OF_GROUPS)
    for row in body["partitions"] if isinstance(value, Comparison | LagSample) else ():
        for part in (row, row.get("evidence"), row.get("end_evidence")):
            _leave_out(part or {}, _LEFT_OUT_OF_ROWS)
    for part in (*body["steps"], *body["approvers"]) if isinstance(value, Receipt) else ():
        _leave_out(part, ("accepted_unproven", "leases", "table"))
    if isinstance(value, Plan | Receipt | Verification):
        _leave_out_empty(body["plan"] if isinstance(value, Receipt) else body)
    body |= _header(kind, body)
    if isinstance(value, Plan) and indent is not None:
        text = _by_line(body)
    else:
        text = json.dumps(body, ensure_ascii=False, sort_keys=True, indent=indent, allow_nan=False) + "\n"
    # UTF-8 cannot encode all of it: a file's name may have other bytes, which Python keeps as unpaired surrogates.
    return text if text.isascii() else strict_json.HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _leave_out_empty(body: dict[str, Any]) -> None:
    _leave_out(body, _LEFT_OUT_WHEN_EMPTY)
    job = body.get("job")
    _leave_out(job if isinstance(job, dict) else {}, ("dynamic_cluster", "dynamic_servers"))
    requirements = body.get("requirements", {})
    for row in (*body.get("positions", ()), *requirements.get("tables", ()), *_proofs(body)):
        _leave_out(row, ("absent", "aggregate", "parts"))
    _leave_out(requirements, ("cutover", "sink", "tables", "targets"))
    for side in ("old", "new"):
        _leave_out_shards(requirements.get(side, {}))


def _proofs(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [row.get(key) or {} for row in body.get("positions", ()) for key in ("proof", "end_proof")]


def _leave_out_shards(body: dict[str, Any]) -> None:
    for entry in (*body.get("topics", ()), *body.get("sources", ())):
        _leave_out(entry if isinstance(entry, dict) else {}, _LEFT_OUT_WITHOUT_SHARDS)


def _leave_out(body: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Remove keys without a value, so that files without them keep their bytes."""
    for key in keys:
        if body.get(key, "") in (None, []):
            del body[key]


def load(text: str | bytes, kind: str, *, subject: str) -> Any:
    """Parse a file of one kind.

    Args:
        text: The whole file.
        kind: One of `KINDS`.
        subject: The name of the file in errors, usually its path.

    Raises:
        FileError: Not JSON, duplicate keys, floats, numbers outside int64, too deep, too large, or of another shape.
        VersionError: Another kind of file, or a major version that this release does not know.
    """
    body = read_object(text, subject=subject, most=MAX_PLAN_BYTES if kind == "plan" else None)
    check_header(body, kind, subject=subject)
    _check_requirements(body.get("requirements") if kind == "plan" else None, subject=subject)
    if kind == "comparison":
        body = {key: value for key, value in body.items() if key not in _UNWRITTEN}
    try:
        if kind == "comparison" and body.get("checkpoint") is not None:
            body["checkpoint"] = _read("checkpoint", body["checkpoint"])
        return _read(kind, body)
    except ValidationError as error:
        first = error.errors()[0]
        read = kind != "comparison" or isinstance(body.get("checkpoint"), Checkpoint | None)
        at = first["loc"] if read else ("checkpoint", *first["loc"])
        # If a list may have several types, pydantic adds the type to the path.
        location = ".".join(str(part) for part in at if "[" not in str(part))
        raise FileError(
            f"{subject}: expected an offsetwise/{kind} file, but {location or 'the top level'} is wrong: "
            f"{first['msg']}. Nothing was used from it.",
            fix=first.get("ctx", {}).get("fix", "Write the file again with this version of Offsetwise."),
        ) from error
    except VersionError as error:
        raise VersionError(f"{subject}: {error.problem}", fix=error.fix) from error
    except ValueError as error:
        raise _not_ours(subject, str(error)) from error


def _read(kind: str, body: Any) -> Any:
    """Return what a file of a kind says, without its header. A comparison's checkpoint is read before it."""
    given = {k: v for k, v in body.items() if k not in _HEADER} if isinstance(body, dict) else body
    read = _reader(kind, _known()).validate_python(given)
    return whole(read) if kind == "checkpoint" else read


def read_bytes(
    path: str | Path, what: str, *, fix: str, effect: str = "Nothing was used from it.", most: int | None = None
) -> bytes:
    """Read a whole file; of one that is too large, only as much as it takes to reject it.

    Args:
        path: The file.
        what: The expected kind of file, with its article.
        fix: The remedy if it cannot be read.
        effect: The consequence if it cannot be read.
        most: Its maximum size in bytes; None for `MAX_BYTES`.

    Raises:
        FileError: It cannot be read, or is larger than any file of ours.
    """
    most = most or MAX_BYTES
    try:
        content = regular_files.read_named(path, most)
    except OSError as error:
        raise FileError(f"{path}: expected {what}, but {error.strerror or error}. {effect}", fix=fix) from error
    if len(content) > most:
        raise FileError(f"{path}: expected {what} of at most {most:,} bytes, found more. {effect}", fix=fix)
    return content


def read_object(text: str | bytes, *, subject: str, most: int | None = None) -> dict[str, Any]:
    """Parse one JSON object strictly.

    Args:
        text: The whole file.
        subject: The name of the file in errors.
        most: Its maximum size in bytes; None for `MAX_BYTES`.

    Raises:
        FileError: Not one JSON object, duplicate keys, floats, NaN, integers outside int64, too deep or too large.
    """
    try:
        body = parse_object(text, most=most or MAX_BYTES)
    except ValueError as error:
        raise _not_ours(subject, str(error)) from error
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if strict_json.HALF_ESCAPED.search(data) and (half := strict_json.half_of_a_pair(body)) is not None:
        raise _not_ours(subject, f"a text in it has half of a character, U+{ord(half):04X}")
    return body


def parse_object(text: str | bytes, *, most: int) -> dict[str, Any]:
    """Parse one JSON object of at most `most` bytes strictly.

    Raises:
        ValueError: As for `read_object`; the message is one clause.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(data) > most:
        raise ValueError(f"it has {len(data):,} bytes, the limit is {most:,}")
    try:
        value = strict_json.parse(data)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(value, dict):
        raise ValueError(f"its top level is a {type(value).__name__}")
    return value


def check_header(body: dict[str, Any], kind: str, *, subject: str) -> None:
    """Check `format` and `format_version`.

    Raises:
        VersionError: Another kind, or an unknown major version; the message has both.
    """
    expected = f"offsetwise/{kind}"
    if body.get("format") != expected:
        raise VersionError(
            f"{subject}: expected format {expected!r}, found {body.get('format')!r}. Nothing was used from it.",
            fix=f"Give a file that says {expected!r}.",
        )
    version = str(body.get("format_version"))
    newest = PLAN_VERSION if kind == "plan" else FORMAT_VERSION
    match = _VERSION.fullmatch(version)
    if match is None or match[1] != newest.partition(".")[0]:
        raise VersionError(
            f"{subject}: this release reads {expected} version {newest}, found version {version}. "
            "Nothing was used from it.",
            fix="Use the release of Offsetwise that wrote it, or write it again with this one.",
        )


def _check_requirements(requirements: object, *, subject: str) -> None:
    """Raise for a plan of a later minor version with requirements that this release would not check."""
    names = requirements if isinstance(requirements, dict) else {}
    unrecognized = sorted(names.keys() - {attribute.name for attribute in fields(Requirements)})
    if unrecognized:
        raise VersionError(
            f"{subject}: expected a plan that requires what this release knows, found the requirement "
            f"{unrecognized[0][:80]!r}. Nothing was used from it.",
            fix="Use the release of Offsetwise that wrote it: this one would not look whether that holds.",
        )


def schema(kind: str) -> dict[str, Any]:
    return schema_of(_adapter(kind, _known()), kind)


def schema_of(adapter: TypeAdapter[Any], kind: str) -> dict[str, Any]:
    results = adapter.json_schema(mode="serialization")
    header = {
        "format": {"const": f"offsetwise/{kind}"},
        "format_version": {"type": "string", "pattern": r"^1\.[0-9]+$"},
    }
    keys = {"properties": header | results["properties"], "required": [*header, *results.get("required", [])]}
    return results | keys | {"$schema": DIALECT, "title": f"offsetwise/{kind}"}


_Known = tuple[tuple[CheckpointEngine, ...], tuple[str, ...]]
"""The registered engines and streams, whose checkpoints and positions files hold."""


def _known() -> _Known:
    return engines(), tuple(STREAMS)


@cache
def _adapter(kind: str, known: _Known) -> TypeAdapter[Any]:  # noqa: ARG001 - whose fields it has
    match kind:
        case "checkpoint":
            return TypeAdapter(flat_type())
        case "comparison":
            return TypeAdapter(_flat_comparison(flat_type()))
        case _:
            return TypeAdapter(KINDS[kind])


@cache
def _reader(kind: str, known: _Known) -> SchemaValidator:
    return strict_reader(TypeAdapter(Comparison) if kind == "comparison" else _adapter(kind, known))


@cache
def _flat_comparison(checkpoint: type) -> type:
    hints = get_type_hints(Comparison, include_extras=True) | {"checkpoint": checkpoint | None}
    namespace = {"__doc__": Comparison.__doc__, "__module__": __name__}
    results = [(attribute.name, hints[attribute.name], field(default=attribute.default)) for attribute in _WRITTEN]
    return make_dataclass("Comparison", results, namespace=namespace, frozen=True, slots=True, kw_only=True)


def _flattened(value: Stored) -> Any:
    if isinstance(value, Checkpoint):
        return flatten(value)
    if isinstance(value, Comparison):
        checkpoint = None if value.checkpoint is None else flatten(value.checkpoint)
        written = {attribute.name: getattr(value, attribute.name) for attribute in _WRITTEN}
        return _flat_comparison(flat_type())(**written | {"checkpoint": checkpoint})
    return value


def _by_line(body: dict[str, Any]) -> str:
    """Return JSON with one key, or list element, per line: Python's own indentation takes seconds for large files."""
    encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, allow_nan=False).encode
    members = []
    for key, value in sorted(body.items()):
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(map(encode, value)) + "\n ]"
        else:
            text = encode(value)
        members.append(f" {encode(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _header(kind: str, body: dict[str, Any]) -> dict[str, str]:
    parts = (body, body["requirements"], *body["positions"], *_proofs(body)) if kind == "plan" else ()
    version = "1.1" if any(key in part for part in parts for key in _KEYS_OF_1_1) else FORMAT_VERSION
    newest = kind == "plan" and "cutover" in body["requirements"]
    return {"format": f"offsetwise/{kind}", "format_version": PLAN_VERSION if newest else version}


def _not_ours(subject: str, what: str) -> FileError:
    return FileError(
        f"{subject}: expected one of Offsetwise's JSON files, but {what}. Nothing was used from it.",
        fix="Give the file as Offsetwise wrote it.",
    )
