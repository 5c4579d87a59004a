"""Downloads of a fleet: the rows shown, with plain digits, and no cell that can run as a formula."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from offsetwise import files, wording
from offsetwise.console import downloads, escaping
from offsetwise.console.fleet import sentences
from offsetwise.fleet import FleetRow
from offsetwise.sources.spark_checkpoint_rows import FailedCheckpoint


def csv(rows: Sequence[FleetRow], now_ms: int) -> bytes:
    """Write the table as CSV (UTF-8, LF). An unknown number is an empty cell; times are ISO 8601, ages seconds."""
    read = [row.checkpoint for row in rows]
    table = pd.DataFrame(
        {
            "uri": [escaping.cell(row.uri) for row in rows],
            "names": [escaping.cell(", ".join(row.names)) for row in rows],
            "verdict": [str(row.verdict) for row in rows],
            "problems": [escaping.cell(", ".join(row.codes)) for row in rows],
            "newest batch": [_time(row.planned_at_ms) for row in rows],
            "newest committed batch": [_time(row.committed_at_ms) for row in rows],
            "age (s)": pd.array([_seconds(row.planned_at_ms, now_ms) for row in rows], dtype="Int64"),
            "planned": pd.array([one.last_planned_batch if one else None for one in read], dtype="Int64"),
            "committed": pd.array([one.last_committed_batch if one else None for one in read], dtype="Int64"),
            "topics": [escaping.cell(sentences.topics(row, at_most=len(row.topics))) for row in rows],
            "partitions": pd.array([row.partitions for row in rows], dtype="Int64"),
            "state (bytes)": pd.array([row.state_bytes for row in rows], dtype="Int64"),
            "checkpoints with this query id": [row.same_query for row in rows],
            "query id": [escaping.cell((one.job_id if one else None) or "") for one in read],
            "engine": [escaping.cell(one.engine) if one else "" for one in read],
            "restart": [escaping.cell(sentences.restart(row)) for row in rows],
            "what to do": [escaping.cell(_remedy(row)) for row in rows],
        }
    )
    return downloads.csv(table)


def json_lines(rows: Sequence[FleetRow]) -> bytes:
    """Write what `offsetwise inspect --json` prints: a checkpoint a line, or the error in its place."""
    # A folder's name need not be UTF-8; what is not stands in it as a lone surrogate, which JSON can only escape.
    return "".join(_line(row) for row in rows).encode(errors="backslashreplace")


def _line(row: FleetRow) -> str:
    if not isinstance(row.read, FailedCheckpoint):
        return files.dump(row.read, indent=None)
    failed = row.read
    header = {"format": "offsetwise/error", "format_version": files.FORMAT_VERSION}
    body = header | {"error": failed.error, "problem": failed.problem, "fix": failed.fix, "uri": failed.uri}
    return json.dumps(body, ensure_ascii=False, sort_keys=True) + "\n"


def _time(timestamp_ms: int | None) -> str:
    shown = wording.moment(timestamp_ms)
    return "" if shown == "?" else shown


def _seconds(then_ms: int | None, now_ms: int) -> int | None:
    since = sentences.age_ms(then_ms, now_ms)
    return None if since is None else since // 1000


def _remedy(row: FleetRow) -> str:
    if isinstance(row.read, FailedCheckpoint):
        return row.read.fix
    return " ".join(dict.fromkeys(problem.fix for problem in row.read.problems if problem.fix))
