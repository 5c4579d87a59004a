"""Tables of DynamoDB: a live one, or dumps in a file.

A dump is the output of `aws dynamodb scan`, or an object of such outputs by table name, each with its key schema; or
the items alone in a list; or an export to S3, or the CSV that the AWS console downloads. An item is DynamoDB's JSON:
every value in an object with one key, its type.

This module needs the standard library only, because it is shipped to Spark's workers; a live table needs boto3.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from offsetwise.errors import LibraryMissingError, MissingError, NotACheckpointError, OutsideRootsError, StorageError
from offsetwise.storage.dynamodb_files import MANIFESTS, export_of, lines_of, plain, read_export, rows_of_csv
from offsetwise.storage.folders import open_tree
from offsetwise.storage.location import is_live
from offsetwise.storage.single_file import roots_of_file
from offsetwise.strict_json import parse

MAX_ITEMS: Final = 1_000_000
SEGMENTS: Final = 8
"""How many segments of a table with more than one page are scanned in parallel."""
MAX_DUMP_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a dump: some 60,000 leases."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_ANSWER: Final = frozenset(
    {"Items", "Count", "ScannedCount", "ConsumedCapacity", "NextToken", "LastEvaluatedKey", "ResponseMetadata"}
)
_TYPES: Final = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})
_TYPES_OF: Final = {
    "leaseCounter": "N",
    "ownerSwitchesSinceCheckpoint": "N",
    "checkpointSubSequenceNumber": "N",
    "pendingCheckpointSubSequenceNumber": "N",
    "pendingCheckpointState": "B",
    "throughputKBps": "N",
    "parentShardId": "SS",
    "childShardIds": "SS",
}
"""The types of lease attributes that are no text, because CSV does not have them. All others are read as text."""
_CHECK_DUMP: Final = (
    "Give the folder; or take the dump again: aws dynamodb scan --output json --table-name TABLE --consistent-read > "
    "TABLE.json"
)
_MISSING: Final = frozenset({"ResourceNotFoundException"})
REFUSED: Final = frozenset(
    {"AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"}
)
"""DynamoDB's error codes for missing rights."""
_THROTTLED: Final = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"})

Item = Mapping[str, Mapping[str, Any]]
"""One row: by the name of each attribute, an object with one key, the type, and the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str
    keys: tuple[tuple[str, str], ...] | None
    """(attribute, `HASH` or `RANGE`); None if unknown."""
    items: tuple[Item, ...]
    is_whole: bool = True
    """Whether these are known to be all of its items: CSV, and one file of an export, do not show that."""

    @property
    def key_names(self) -> frozenset[str]:
        if self.keys is not None:
            return frozenset(name for name, _ in self.keys)
        return frozenset[str].intersection(*map(frozenset, self.items)) if self.items else frozenset()


def text_of(item: Item, name: str, kind: str = "S") -> str | None:
    """Return an attribute of one type as text; None if it is absent.

    Raises:
        ValueError: It has another type; the message has both.
    """
    results = item.get(name)
    if results is None:
        return None
    value = results.get(kind)
    if not isinstance(value, str):
        raise ValueError(_other(name, kind, "a text in quotes", results))
    return value


def texts_of(item: Item, name: str) -> tuple[str, ...]:
    """Return a set of strings, sorted; empty if it is absent.

    Raises:
        ValueError: It has another type.
    """
    results = item.get(name)
    if results is None:
        return ()
    value = results.get("SS")
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(text, str) for text in value):
        raise ValueError(_other(name, "SS", "a list of texts", results))
    return tuple(sorted(value))


def _other(name: str, kind: str, form: str, results: Mapping[str, Any]) -> str:
    if kind in results:
        return f"expected {name} of type {kind} as {form}, found {json.dumps(results[kind])[:60]}"
    return f"expected {name} of type {kind}, found type {', '.join(results) or 'none'}"


def tables_at(uri: str, *, roots: Sequence[str] | None = None) -> tuple[Table, ...]:
    """Return the tables in a dump, or the one live table.

    Args:
        uri: A file, or `dynamodb://TABLE?region=R&endpoint=URL`.
        roots: The folders that may be read; None if a person named the path.

    Raises:
        OutsideRootsError: The file leaves the roots; or a live table is not one of them.
        LibraryMissingError: boto3 is not installed.
        MissingError: There is no such file or table.
        StorageError: It cannot be read completely.
        NotACheckpointError: It is no dump.
    """
    if is_live(uri):
        if roots is not None and uri not in roots:
            raise OutsideRootsError(
                f"{uri}: expected a path inside the configured roots, or a table that is one of them, "
                "found a live table that is none. Nothing was read.",
                fix="Name the table itself under checkpoint_roots, or take a dump of it into a folder there: "
                + _CHECK_DUMP.partition(": ")[2],
            )
        return (_scanned(uri),)
    above, slash, name = uri.rpartition("/")
    roots = roots_of_file(uri, roots)
    export = above or slash or "." if name in MANIFESTS else export_of(above, name, roots)
    if export is not None:
        return (_exported(export, roots),)
    if not (name and _is_file(uri, roots)):
        return (_exported(uri, roots),)
    return _dump_in_file(uri, above or slash or ".", name, roots)


def _dump_in_file(uri: str, folder: str, name: str, roots: Sequence[str] | None) -> tuple[Table, ...]:
    data = open_tree(folder, roots=roots).read(name)
    if len(data) > MAX_DUMP_BYTES:
        raise StorageError(
            f"{uri}: expected a dump of at most {MAX_DUMP_BYTES:,} bytes, found {len(data):,}. It was not used.",
            fix="Read the table itself: dynamodb://TABLE?region=REGION",
        )
    try:
        return _tables_in(data, name)
    except (ValueError, RecursionError) as error:
        raise _no_dump(uri, "a file that is no such dump", error) from error


def _tables_in(data: bytes, name: str) -> tuple[Table, ...]:
    """Parse a dump of one item per line, of rows of CSV, or of one JSON document.

    Raises:
        ValueError: It has none of these forms.
        RecursionError: Its JSON is nested too deeply.
    """
    text = plain(data, MAX_DUMP_BYTES)
    table = name.removesuffix(".gz").removesuffix(".json").removesuffix(".csv")
    items = lines_of(text)
    if items is not None:
        return (_table(table, {"Items": items}, None, is_whole=False),)
    if text.lstrip()[:1] not in (b"{", b"["):
        return (_table(table, {"Items": rows_of_csv(text, _TYPES_OF)}, None, is_whole=False),)
    return _dumped(parse(text), table)


def _is_file(uri: str, roots: Sequence[str] | None) -> bool:
    try:
        open_tree(uri, roots=roots).entries()
    except StorageError:
        return True
    return False


def _exported(uri: str, roots: Sequence[str] | None) -> Table:
    try:
        name, items = read_export(open_tree(uri, roots=roots), MAX_DUMP_BYTES)
        return _table(name, {"Items": items}, None)
    except (ValueError, RecursionError) as error:
        raise _no_dump(uri, "a folder that is not a complete export to S3", error) from error


def _no_dump(uri: str, actual: str, error: Exception) -> NotACheckpointError:
    return NotACheckpointError(
        f"{uri}: expected a checkpoint's folder, or the dump of a table of DynamoDB; found {actual}: {error}. No "
        "position was read.",
        fix=_CHECK_DUMP,
    )


def _dumped(body: Any, name: str) -> tuple[Table, ...]:
    if isinstance(body, list) and body:  # an empty list could be of anything
        body = {"Items": body}
    if not isinstance(body, dict):
        raise ValueError(f"its top level is a {type(body).__name__}")
    if "Items" in body:
        unrecognized = sorted(body.keys() - _ANSWER)
        if unrecognized:
            raise ValueError(f"an answer of scan has no {unrecognized[0][:60]!r}")
        return (_table(name, body, None),)
    if not body:
        raise ValueError("it names no table")
    if _is_item(body):
        raise ValueError("it is one item alone, and a dump has all items of its table: one scan, or a list of them")
    tables = []
    for table, answer in body.items():
        if not _NAME.fullmatch(table) or not isinstance(answer, dict) or not {"Items", "KeySchema"} <= answer.keys():
            raise ValueError(f"expected Items and KeySchema of each table by its name, found {table[:60]!r}")
        tables.append(_table(table, answer, _keys(answer["KeySchema"])))
    return tuple(tables)


def _keys(schema: Any) -> tuple[tuple[str, str], ...]:
    try:
        results = tuple((str(key["AttributeName"]), str(key["KeyType"])) for key in schema)
    except (TypeError, KeyError) as error:
        raise ValueError("expected AttributeName and KeyType of each key in KeySchema, found another shape") from error
    if [kind for _, kind in results] not in (["HASH"], ["HASH", "RANGE"]):
        raise ValueError("expected a KeySchema with one HASH, and at most one RANGE behind it, found another one")
    return results


def _table(
    name: str, answer: Mapping[str, Any], keys: tuple[tuple[str, str], ...] | None, *, is_whole: bool = True
) -> Table:
    items = answer["Items"]
    if not isinstance(items, list):
        raise ValueError(f"expected Items of table {name!r} as a list, found {type(items).__name__}")
    for more in ("NextToken", "LastEvaluatedKey"):
        if answer.get(more) is not None:
            raise ValueError(f"it is one page of several of table {name!r}: {more} says that more items follow")
    count = answer.get("Count", len(items))
    if count != len(items):
        raise ValueError(f"table {name!r} says Count {count}, and has {len(items):,} items")
    scanned = answer.get("ScannedCount", count)
    if scanned != count:
        raise ValueError(f"table {name!r} says ScannedCount {scanned} and Count {count}: a filter left items out")
    for index, item in enumerate(items):
        if not _is_item(item):
            has_types = not isinstance(item, dict) or any(isinstance(attribute, dict) for attribute in item.values())
            why = "" if has_types else ": its values lack their types, which boto3's Table leaves out"
            raise ValueError(f"item {index:,} of table {name!r} is no item in DynamoDB's JSON{why}")
        if keys is not None and not all(key in item for key, _ in keys):
            raise ValueError(f"item {index:,} of table {name!r} has no key {', '.join(key for key, _ in keys)}")
    return Table(name=name, keys=keys, items=tuple(items), is_whole=is_whole)


def _is_item(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(typed, dict) and len(typed) == 1 and _TYPES.issuperset(typed) for typed in value.values()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    table: str
    region: str | None
    endpoint: str | None


def _address(uri: str) -> _Address:
    parts = urlsplit(uri)
    query = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(query)
    endpoint = options.get("endpoint")
    fits = (
        _NAME.fullmatch(parts.netloc)
        and parts.path in ("", "/")
        and not parts.fragment
        and len(options) == len(query)
        and options.keys() <= {"region", "endpoint"}
        and all(options.values())
        and (endpoint is None or (urlsplit(endpoint).scheme in ("http", "https") and "@" not in endpoint))
    )
    if not fits:
        raise StorageError(
            f"{uri[:300]!r}: expected dynamodb://TABLE?region=REGION&endpoint=URL, both options may be left out, found "
            "another form. Nothing was read.",
            fix="Name the table, and nothing but its region and endpoint; credentials come from the environment.",
        )
    return _Address(table=parts.netloc, region=options.get("region"), endpoint=endpoint)


def _scanned(uri: str) -> Table:
    """Scan a whole table with consistent reads; a failing page fails the scan."""
    address = _address(uri)
    try:
        import boto3  # noqa: PLC0415 - of an extra, and slow to import
        from botocore.config import Config  # noqa: PLC0415 - as above
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above
    except ImportError as error:
        raise LibraryMissingError(
            f"{uri}: expected boto3 to be installed, found {error}. Nothing was read.",
            fix="Install it: pip install 'offsetwise[kinesis]'; or give a dump of the table, which needs nothing.",
        ) from error
    try:
        client = boto3.Session().client(
            "dynamodb",
            region_name=address.region,
            endpoint_url=address.endpoint,
            config=Config(connect_timeout=10, read_timeout=30, retries={"mode": "standard", "max_attempts": 5}),
        )
        items = all_items(client, uri, {"TableName": address.table, "ConsistentRead": True})
    except ClientError as error:
        raise _answered(uri, error.response.get("Error", {})) from error
    except (BotoCoreError, ValueError) as error:
        raise StorageError(
            f"{uri}: expected an answer of DynamoDB, found {type(error).__name__}: {str(error)[:200]}. Nothing was "
            "used from it.",
            fix="Check region, endpoint, network and the credentials in the environment.",
        ) from error
    return Table(name=address.table, keys=None, items=tuple(items))


def all_items(client: Any, uri: str, request: Mapping[str, Any]) -> list[Item]:
    """Return all items: from a single call if they fit in a page, or else from segments in parallel.

    The first page returns a continuation key of the whole table, which segments cannot use, so it is read again. The
    order is that of the segments, the same each time.

    Args:
        client: A boto3 client for DynamoDB.
        uri: The name of the table in errors.
        request: The arguments of `scan`: the table's name, and its consistency.

    Raises:
        StorageError: There are more than any lease table has.
        ClientError: Raised by boto3; `BotoCoreError` likewise.
    """
    first = client.scan(**request)
    if not first.get("LastEvaluatedKey"):
        return list(first["Items"])
    del first
    parts: list[list[Item]] = [[] for _ in range(SEGMENTS)]
    stopped = threading.Event()

    def read(segment: int) -> None:
        pages = client.get_paginator("scan").paginate(**request, Segment=segment, TotalSegments=SEGMENTS)
        try:
            for page in pages:
                parts[segment] += page["Items"]
                _require_few(uri, sum(map(len, parts)))
                if stopped.is_set():
                    return
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(SEGMENTS, thread_name_prefix="scan") as pool:
        try:
            list(pool.map(read, range(SEGMENTS)))  # raises the exception of any of them
        finally:
            stopped.set()
    return list(chain.from_iterable(parts))


def _answered(uri: str, said: Mapping[str, Any]) -> StorageError:
    code, message = str(said.get("Code", "")), str(said.get("Message", ""))[:200]
    if code in _MISSING:
        return MissingError(
            f"{uri}: expected a table of this name, found none in this region and account. Nothing was read.",
            fix="Check the table's name (of a KCL application: the application's), the region and the account.",
        )
    if code in REFUSED:
        return StorageError(
            f"{uri}: expected to be allowed to read the table, found access refused ({code}: {message}). Nothing was "
            "used from it.",
            fix="Allow dynamodb:Scan on the table to this user, or run with credentials that have it.",
        )
    if code in _THROTTLED:
        return StorageError(
            f"{uri}: expected all items, found reading throttled ({code}). Nothing was used from what came before.",
            fix="Try again later, or give the table more read capacity.",
        )
    return StorageError(
        f"{uri}: expected all items, found {code}: {message}. Nothing was used from it.",
        fix="Check region, endpoint and the credentials in the environment.",
    )


def _require_few(uri: str, items: int) -> None:
    if items > MAX_ITEMS:
        raise StorageError(
            f"{uri}: expected at most {MAX_ITEMS:,} items, found more. Nothing was used from it.",
            fix="Check that it is a lease table: it has one item per shard.",
        )
