from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.errors import MissingError
from offsetwise.plugins.spark.engine.later_batches import crc_of, crc_path
from offsetwise.plugins.spark.engine.offset_log import GarbledError
from offsetwise.plugins.spark.engine.repairs.damaged import Damaged, state_used


def rebuild_shard_commit(damaged: Damaged, values: Mapping[str, str]) -> Repaired:  # noqa: ARG001 - as every repair
    """Write `shard-commit/<batch>` of the last committed batch from the start of that batch, or of the one after it."""
    done, last = damaged.restart.last_committed, damaged.restart.last_planned
    if done is None or last is None or done > last:
        raise UnrepairableError("No batch is committed and planned.", fix="Restore the folder from a backup.")
    replaced: dict[str, bytes] = {}
    costs: list[str] = []
    for name, line in damaged.lines(done).items():
        # The connector's offset files record where their batch begins.
        after = damaged.lines(last).get(name) if last > done else None
        starts = _starts(after.raw if after is not None else line.raw)
        if starts is None:
            continue
        folder = f"sources/{name}/shard-commit/{done}"
        lost = sorted(starts.keys() - _whole(damaged, folder))
        for shard in lost:
            path, end = f"{folder}/{shard}", _end(shard, starts[shard])
            replaced |= {path: end} | ({crc_path(path): crc_of(end)} if damaged.read(crc_path(path)) else {})
        if lost:
            costs.append(
                f"Batch {last} runs from where it was planned to: nothing is read twice because of it."
                if after is not None
                else f"{', '.join(lost[:4])}{' and more' if len(lost) > 4 else ''}: batch {last + 1} begins where "
                f"batch {done} began. What batch {done} read of them is read twice; how many records is not recorded.",
            )
    if not replaced:
        raise UnrepairableError(
            f"shard-commit/{done} of no qubole source is lost.",
            fix="Nothing is to be rebuilt: see with `offsetwise inspect` whether anything else is wrong.",
        )
    return Repaired(
        replaced=replaced,
        costs=(
            *costs,
            f"Batch ids go on after {done}: no sink ignores a batch because of it, none drops the repeated records.",
            state_used(done, stateful=damaged.stateful),
        ),
    )


def _starts(text: str | None) -> dict[str, Mapping[str, Any]] | None:
    from offsetwise.plugins.spark.engine.kinesis import parse_line  # noqa: PLC0415 - only needed for such sources

    try:
        line = parse_line(text)
    except GarbledError as error:
        raise UnrepairableError(
            f"The line of its source is garbled: {error}.", fix="Restore the folder from a backup."
        ) from error
    if line is None or line.has_sub or text is None:
        return None
    body = json.loads(text)
    return {shard: body[shard] for shard in line.positions}


def _whole(damaged: Damaged, folder: str) -> set[str]:
    from offsetwise.plugins.spark.engine.kinesis.positions import is_half_written  # noqa: PLC0415 - as above

    try:
        names = {entry.name for entry in damaged.folder.entries(folder)}
    except MissingError:
        return set()
    return {name for name in names if not is_half_written(damaged.read(f"{folder}/{name}") or b"")}


def _end(shard: str, start: Mapping[str, Any]) -> bytes:
    results = {"shardId": shard, "iteratorType": start["iteratorType"], "iteratorPosition": start["iteratorPosition"]}
    return json.dumps(results, separators=(",", ":")).encode()
