from __future__ import annotations

import json
from collections.abc import Mapping

from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.plugins.spark.engine.later_batches import crc_of, crc_path
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_query_id
from offsetwise.plugins.spark.engine.repairs.damaged import Damaged, state_used


def restore_metadata(damaged: Damaged, values: Mapping[str, str]) -> Repaired:
    """Write `metadata`, which is lost or garbled: the query goes on under the id that it had."""
    query_id = values["query_id"]
    data = damaged.read("metadata")
    try:
        known = None if data is None else parse_query_id(data)
    except GarbledError:
        known = None
    if known is not None:
        raise UnrepairableError(
            f"metadata is whole and names the query {known}.",
            fix="Nothing is to be written: see with `offsetwise inspect` whether anything else is wrong.",
        )
    written = json.dumps({"id": query_id}, separators=(",", ":")).encode()
    checksum = crc_path("metadata")
    replaced = {"metadata": written} | ({checksum: crc_of(written)} if damaged.read(checksum) is not None else {})
    return Repaired(
        replaced=replaced,
        costs=(
            "No record is read twice because of it.",
            f"A sink that keeps batch ids by the query's id, as Delta's does, ignores those that it has of {query_id}. "
            "If the query had another id, such a sink takes a batch twice that it has already.",
            state_used(damaged.restart.starts_after, stateful=damaged.stateful),
        ),
        job_id=query_id,
    )
