from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from offsetwise.plugins.kinesis.stream.spec import (
    LATEST,
    SHARD_END,
    TRIM_HORIZON,
    ShardPlace,
    after,
    at,
    at_time,
    sequence_number,
)
from offsetwise.plugins.spark.engine.offset_log import GarbledError
from offsetwise.strict_json import parse

_SUB: Final = re.compile(r"-1|0|[1-9][0-9]{0,18}")
_TIME: Final = re.compile(r"[1-9][0-9]{0,14}")
_SENTINELS: Final = {"TRIM_HORIZON": TRIM_HORIZON, "LATEST": LATEST, "SHARD_END": SHARD_END}


def object_of(data: bytes) -> dict[str, Any]:
    """Parse one JSON object.

    Raises:
        GarbledError: The data is not a JSON object.
    """
    try:
        body = parse(data)
    except (ValueError, RecursionError) as error:
        raise GarbledError(f"expected one JSON object, but {error}") from error
    if not isinstance(body, dict):
        raise GarbledError(f"expected one JSON object, found {data[:60]!r}")
    return body


def place_of(body: Mapping[str, Any]) -> ShardPlace:
    """Parse the position in a shard, as the connectors write it.

    Raises:
        GarbledError: It is not such a position.
    """
    unrecognized = sorted(body.keys() - {"shardId", "iteratorType", "iteratorPosition", "subSequenceNumber", "isLast"})
    kind, position = body.get("iteratorType"), body.get("iteratorPosition")
    if unrecognized or not isinstance(kind, str) or not isinstance(position, str):
        raise GarbledError(f"expected iteratorType and iteratorPosition as texts, found {json.dumps(body)[:80]}")
    sub = _sub(body)
    if kind in _SENTINELS:
        if position or sub is not None:
            raise GarbledError(f"expected no number beside {kind}, found {position[:60]!r}")
        return _SENTINELS[kind]
    if kind == "AT_TIMESTAMP":
        if not _TIME.fullmatch(position):
            raise GarbledError(f"expected milliseconds since the epoch, found {position[:60]!r}")
        return at_time(int(position))
    number = sequence_number(position)
    if number is None:
        raise GarbledError(f"expected a sequence number, a decimal of up to 129 digits, found {position[:140]!r}")
    if kind == "AFTER_SEQUENCE_NUMBER" or (kind == "AT_SEQUENCE_NUMBER" and sub is not None):
        return after(number, sub)
    if kind == "AT_SEQUENCE_NUMBER":
        return at(number)
    raise GarbledError(f"expected an iteratorType of Kinesis, found {kind[:60]!r}")


def _sub(body: Mapping[str, Any]) -> int | None:
    """Return the last processed user record inside an aggregate; None if the whole record was processed.

    Lines of `offsets/` have both fields as strings, files of ends as a number and a boolean.
    """
    if "subSequenceNumber" not in body and "isLast" not in body:
        return None
    sub, last = body.get("subSequenceNumber"), body.get("isLast")
    written = str(sub) if type(sub) is int else sub
    if not isinstance(written, str) or not _SUB.fullmatch(written) or last not in (True, False, "true", "false"):
        raise GarbledError(f"expected subSequenceNumber and isLast, found {str(sub)[:40]!r} and {str(last)[:40]!r}")
    return None if last in (True, "true") or int(written) < 0 else int(written)


def is_half_written(data: bytes) -> bool:
    try:
        place_of(object_of(data))
    except GarbledError:
        return True
    return False
