"""The map of a fleet: how many checkpoints of each verdict have planned no batch for how long."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from offsetwise.console.operate import fleet_table
from offsetwise.console.widgets.charts import FONT_PX, axis_title, named_rows, page_style
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.fleets import FleetRow, FleetVerdict
from offsetwise.wording import many, number

MIN_ROWS: Final = 13
"""With fewer checkpoints, the table alone is clear enough."""
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS
AGES: Final = (
    ("≤ 5 min", 5 * _MINUTE_MS),
    ("≤ 1 hour", _HOUR_MS),
    ("≤ 1 day", _DAY_MS),
    ("≤ 7 days", 7 * _DAY_MS),
    ("≤ 30 days", 30 * _DAY_MS),
    ("longer", None),
)
UNKNOWN_AGE: Final = "not known"
SINCE: Final = (*(name for name, _ in AGES), UNKNOWN_AGE)
_ABOVE: Final = 1e-6
_STRONGEST: Final = 0.4
"""Share of the verdict's colour that the fullest cell takes, so that its count keeps enough contrast."""


def ages_of(rows: Sequence[FleetRow], now_ms: int) -> Counter[tuple[FleetVerdict, str]]:
    return Counter((row.verdict, _column(row, now_ms)) for row in rows)


def age_columns(rows: Sequence[FleetRow], now_ms: int) -> Columns[str]:
    counted = ages_of(rows, now_ms)
    of = {verdict: {age: counted[verdict, age] for age in SINCE} for verdict in FleetVerdict}
    return (
        Column("no batch for", lambda age: age),
        *(Column(str(fleet_table.VERDICTS[verdict]), of[verdict].__getitem__) for verdict in FleetVerdict),
    )


def takeaway(rows: Sequence[FleetRow], now_ms: int) -> str:
    counted = ages_of(rows, now_ms)
    said = []
    for verdict in FleetVerdict:
        total = sum(counted[verdict, column] for column in SINCE)
        if total:
            longer = counted[verdict, AGES[-1][0]]
            said.append(f"{number(total)} {verdict}, {number(longer)} of them without a batch for more than 30 days")
    return f"{many(len(rows), 'checkpoint')} by verdict and by time since the newest batch: {'; '.join(said)}."


def age_map(rows: Sequence[FleetRow], colours: Palette, now_ms: int) -> go.Figure:
    counted = ages_of(rows, now_ms)
    lanes = [str(fleet_table.VERDICTS[verdict]) for verdict in FleetVerdict]
    largest = max(counted.values(), default=1)
    counts = [[counted[verdict, column] for column in SINCE] for verdict in FleetVerdict]
    figure = go.Figure(
        go.Heatmap(
            x=list(SINCE),
            y=lanes,
            z=[[lane + _strength(count, largest) for count in row] for lane, row in enumerate(counts)],
            zmin=0,
            zmax=len(lanes),
            colorscale=_scale(colours),
            text=[[number(count) if count else "" for count in row] for row in counts],
            texttemplate="%{text}",
            textfont={"size": FONT_PX, "color": colours.text},
            hovertemplate="%{y}, no batch for %{x}: %{text}<extra></extra>",
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    _dress(figure, lanes, colours)
    return figure


def _dress(figure: go.Figure, lanes: list[str], colours: Palette) -> None:
    figure.update_layout(
        height=84 + 38 * len(lanes),
        margin={"l": 12, "r": 12, "t": 8, "b": 48},
        **page_style(colours) | {"plot_bgcolor": colours.grid},
    )
    figure.update_xaxes(
        # On a phone the column names are rotated, and reach down to the title.
        title=axis_title("time since the newest batch was planned", colours) | {"standoff": 14},
        automargin=True,
        type="category",
        categoryorder="array",
        categoryarray=list(SINCE),
        showgrid=False,
        tickfont={"color": colours.muted},
    )
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=lanes,
        autorange="reversed",
        **named_rows(colours),
    )


def _column(row: FleetRow, now_ms: int) -> str:
    since = fleet_table.age_ms(row.planned_at_ms, now_ms)
    if since is None:
        return UNKNOWN_AGE
    return next(name for name, limit in AGES if limit is None or since <= limit)


def _scale(colours: Palette) -> list[tuple[float, str]]:
    tones = [colours.tone(fleet_table.VERDICTS[verdict].tone) for verdict in FleetVerdict]
    ends = [(lane, lane + 1 - _ABOVE) for lane in range(len(tones))]
    return [
        (min(at / len(tones), 1.0), colour)
        for (first, last), tone in zip(ends, tones, strict=True)
        for at, colour in ((first, colours.page), (last, tone))
    ] + [(1.0, tones[-1])]


def _strength(count: int, largest: int) -> float:
    if count == 0:
        return 0.0
    share = math.log1p(count) / math.log1p(largest)
    return _STRONGEST * (0.4 + 0.6 * share)
