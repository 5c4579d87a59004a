"""Tables of the Fleet screen. An unknown age or size is missing, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from offsetwise.console import wording
from offsetwise.console.fleet import sentences
from offsetwise.fleet import FleetRow
from offsetwise.model import Checkpoint

COLUMNS: Final = (
    "verdict",
    "checkpoint",
    "age",
    "since commit",
    "problems",
    "planned",
    "committed",
    "topics",
    "partitions",
    "state",
    "copies",
    "restart",
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
            "checkpoint": [wording.cell(labels[row.uri]) for row in rows],
            "age": _integers([sentences.age_ms(row.planned_at_ms, now_ms) for row in rows]),
            "since commit": _integers([sentences.age_ms(row.committed_at_ms, now_ms) for row in rows]),
            "problems": [wording.cell(", ".join(row.codes)) for row in rows],
            "planned": _integers([one.last_planned_batch if one else None for one in read]),
            "committed": _integers([one.last_committed_batch if one else None for one in read]),
            "topics": [wording.cell(sentences.topics(row)) for row in rows],
            "partitions": _integers(
                [sum(count for _, count in row.topics) if row.checkpoint else None for row in rows]
            ),
            "state": _integers([row.state_bytes for row in rows]),
            "copies": [sentences.copies(row) for row in rows],
            "restart": [wording.cell(sentences.restart(row)) for row in rows],
            "newest batch (UTC)": [wording.moment(row.planned_at_ms) for row in rows],
            "query id": [wording.cell(one.job_id or "?") if one else "?" for one in read],
            "engine": [wording.cell(one.engine) if one else "?" for one in read],
        },
        columns=list(COLUMNS),
    )


def topic_table(row: FleetRow) -> pd.DataFrame:
    """Give the topics of one checkpoint."""
    return pd.DataFrame(
        {
            "topic": [wording.cell(topic) for topic, _ in row.topics],
            "partitions": _integers([partitions for _, partitions in row.topics]),
        }
    )


def state_table(checkpoint: Checkpoint) -> pd.DataFrame:
    """Give the size of every operator's state, from its files."""
    return pd.DataFrame(
        {
            "operator": _integers([one.operator for one in checkpoint.state]),
            "partitions": _integers([one.partitions for one in checkpoint.state]),
            "files": _integers([one.files for one in checkpoint.state]),
            "bytes": _integers([one.size_bytes for one in checkpoint.state]),
            "rows, by its files": _integers([one.keys for one in checkpoint.state]),
        }
    )


def _integers(values: Sequence[int | None]) -> pd.Series[int]:
    return pd.Series(pd.array(list(values), dtype="Int64"))
