from __future__ import annotations

from collections.abc import Sequence

from offsetwise import wording
from offsetwise.console.operate import fleet_table
from offsetwise.console.widgets import downloads, table
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.fleets import FleetRow


def csv(rows: Sequence[FleetRow], now_ms: int) -> bytes:
    return downloads.csv(table.frame(_columns(now_ms), rows, file=True))


def json_lines(rows: Sequence[FleetRow]) -> bytes:
    """Return the output of `offsetwise inspect --json`: one line for each checkpoint or its error."""
    # A folder's name need not be UTF-8; other bytes are lone surrogates, which JSON can only escape.
    return "".join(row.json_line() for row in rows).encode(errors="backslashreplace")


def _columns(now_ms: int) -> Columns[FleetRow]:
    """Return the columns of the CSV: times are ISO 8601, ages seconds, and unknown values are empty."""
    return (
        Column("uri", lambda row: row.uri),
        Column("names", lambda row: ", ".join(row.names)),
        Column("verdict", lambda row: str(row.verdict)),
        Column("problems", lambda row: ", ".join(row.codes)),
        Column("newest batch", lambda row: _time(row.planned_at_ms)),
        Column("newest committed batch", lambda row: _time(row.committed_at_ms)),
        Column("age (s)", lambda row: _seconds(row.planned_at_ms, now_ms)),
        Column("planned", fleet_table.planned),
        Column("committed", fleet_table.committed),
        Column("topics", lambda row: fleet_table.topics(row, at_most=len(row.topics))),
        Column("partitions", lambda row: row.partitions),
        Column("state (bytes)", lambda row: row.state_bytes),
        Column("checkpoints with this query id", lambda row: row.same_query),
        Column("query id", lambda row: (row.checkpoint and row.checkpoint.job_id) or ""),
        Column("engine", lambda row: row.checkpoint.engine if row.checkpoint else ""),
        Column("restart", fleet_table.restart),
        Column("what to do", _remedy),
    )


def _time(timestamp_ms: int | None) -> str:
    shown = wording.moment(timestamp_ms)
    return "" if shown == "?" else shown


def _seconds(then_ms: int | None, now_ms: int) -> int | None:
    since = fleet_table.age_ms(then_ms, now_ms)
    return None if since is None else since // 1000


def _remedy(row: FleetRow) -> str:
    if isinstance(row.read, FailedCheckpoint):
        return row.read.fix
    return " ".join(dict.fromkeys(problem.fix for problem in row.read.problems if problem.fix))
