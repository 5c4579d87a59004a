"""The table of the Fleet screen. An unknown age or size is missing, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from offsetwise import wording
from offsetwise.console import escaping
from offsetwise.console.fleet import sentences
from offsetwise.fleet import FleetRow

COLUMNS: Final = (
    "verdict",
    "checkpoint",
    "age",
    "problems",
    "restart",
    "since commit",
    "planned",
    "committed",
    "topics",
    "partitions",
    "state",
    "copies",
    "newest batch (UTC)",
    "query id",
    "engine",
)


def fleet_table(rows: Sequence[FleetRow], labels: Mapping[str, str], now_ms: int) -> pd.DataFrame:
    """Give one row per checkpoint.

    Args:
        rows: The checkpoints.
        labels: What each is called on screen, by URI.
        now_ms: Up to when ages are counted. `age` and `since commit` are milliseconds, `state` bytes.
    """
    read = [row.checkpoint for row in rows]
    return pd.DataFrame(
        {
            "verdict": [str(sentences.VERDICTS[row.verdict]) for row in rows],
            "checkpoint": [escaping.cell(labels[row.uri]) for row in rows],
            "age": _integers([sentences.age_ms(row.planned_at_ms, now_ms) for row in rows]),
            "since commit": _integers([sentences.age_ms(row.committed_at_ms, now_ms) for row in rows]),
            "problems": [escaping.cell(", ".join(sentences.problems(row))) for row in rows],
            "planned": _integers([one.last_planned_batch if one else None for one in read]),
            "committed": _integers([one.last_committed_batch if one else None for one in read]),
            "topics": [escaping.cell(sentences.topics(row)) for row in rows],
            "partitions": _integers([row.partitions for row in rows]),
            "state": _integers([row.state_bytes for row in rows]),
            "copies": [sentences.copies(row) for row in rows],
            "restart": [escaping.cell(sentences.restart(row)) for row in rows],
            "newest batch (UTC)": [wording.moment(row.planned_at_ms) for row in rows],
            "query id": [escaping.cell(one.job_id or "?") if one else "?" for one in read],
            "engine": [escaping.cell(one.engine) if one else "?" for one in read],
        },
        columns=list(COLUMNS),
    )


def _integers(values: Sequence[int | None]) -> pd.Series[int]:
    return pd.Series(pd.array(list(values), dtype="Int64"))
