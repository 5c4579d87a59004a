"""Tables of the Review screen as data frames. Names are neutralised, integers nullable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import pandas as pd

from offsetwise.console.escaping import cell
from offsetwise.console.reviewing import sentences
from offsetwise.console.reviewing.rows import LOOKS, Row, at_most, mark, spoken
from offsetwise.model import PlannedPosition
from offsetwise.review.difference import PositionChange
from offsetwise.review.sheet import Waiting
from offsetwise.store.review_rows import PlanRow, VersionRow
from offsetwise.wording import number

POSITIONS: Final = (
    "look",
    "topic",
    "p",
    "from",
    "to",
    "exactness",
    "replays",
    "skips",
    "reason",
    "source",
    "new topic",
)
"""The columns of `positions`. The last two are shown when they say something."""
_TOLD: Final = 160
"""Characters of a reason in a cell; the whole one stands below the table."""


def positions(rows: Sequence[Row]) -> pd.DataFrame:
    """Give one row per partition, in the order of `rows`."""
    ones = [row.position for row in rows]
    return pd.DataFrame(
        {
            "look": [str(LOOKS[row.look]) for row in rows],
            "topic": [cell(one.topic) for one in ones],
            "p": _integers([one.partition for one in ones]),
            "from": _integers([one.old_offset for one in ones]),
            "to": _integers([one.new_offset for one in ones]),
            "exactness": [str(mark(one)) for one in ones],
            "replays": [at_most(one, one.replay) for one in ones],
            "skips": [at_most(one, one.skip) for one in ones],
            "reason": [cell(cut(row.told)) for row in rows],
            "source": [cell(one.source) for one in ones],
            "new topic": [cell(one.new_topic) for one in ones],
        },
        columns=list(POSITIONS),
    )


def plans(found: Sequence[PlanRow], waiting: Mapping[int, Waiting], now: datetime) -> pd.DataFrame:
    """Give one row per plan."""
    return pd.DataFrame(
        {
            "plan": _integers([row.id for row in found]),
            "for you": [cell(waiting[row.id].why) if row.id in waiting else "" for row in found],
            "state": [str(sentences.STATES[row.state]) for row in found],
            "moves": [cell(cut(row.moves)) for row in found],
            "migration": [cell(cut(row.migration)) for row in found],
            "version": _integers([row.number for row in found]),
            "changed": [sentences.ago(row.changed_at_ms, now) for row in found],
        }
    )


def versions(found: Sequence[VersionRow]) -> pd.DataFrame:
    """Give one row per version."""
    return pd.DataFrame(
        {
            "version": _integers([row.number for row in found]),
            "digest": [row.digest[:8] for row in found],
            "saved by": [cell(sentences.named(row.by)) for row in found],
            "at (UTC)": [sentences.at(row.at_ms) for row in found],
        }
    )


def changes(found: Sequence[PositionChange]) -> pd.DataFrame:
    """Give one row per partition that two versions treat differently."""
    return pd.DataFrame(
        {
            "topic": [cell(change.topic) for change in found],
            "p": _integers([change.partition for change in found]),
            "to, before": [_place(change.before) for change in found],
            "to, now": [_place(change.after) for change in found],
            "what differs": [cell(cut(_differs(change))) for change in found],
            "decided by a person": [cell(cut(_decided(change.after))) for change in found],
        }
    )


def cut(text: str) -> str:
    """Shorten a text for a cell."""
    return text if len(text) <= _TOLD else f"{text[: _TOLD - 1]}…"


def _differs(change: PositionChange) -> str:
    if change.before is None:
        return "only in the later version"
    if change.after is None:
        return "only in the earlier version"
    return ", ".join(map(spoken, change.parts))


def _place(one: PlannedPosition | None) -> str:
    return "none" if one is None else number(one.new_offset)


def _decided(one: PlannedPosition | None) -> str:
    return "" if one is None or one.override is None else f"{one.override.by}: {one.override.reason}"


def _integers(values: Sequence[int | None]) -> pd.Series[int]:
    return pd.Series(pd.array(list(values), dtype="Int64"))
