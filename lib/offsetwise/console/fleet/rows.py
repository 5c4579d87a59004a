"""The table of a fleet: selecting a row opens its facts, and what is shown can be downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import streamlit as st

from offsetwise.console import downloads, paging
from offsetwise.console.desk import Held
from offsetwise.console.fleet import derived, exports
from offsetwise.console.palette import Palette
from offsetwise.console.selecting import Selection
from offsetwise.fleet import Fleet, FleetRow
from offsetwise.wording import many, number

_WIDTHS: Final = {
    "verdict": 126,
    "checkpoint": 120,
    "age": 74,
    "since commit": 104,
    "problems": 176,
    "restart": 346,
    "planned": 74,
    "committed": 86,
    "topics": 170,
    "partitions": 80,
    "state": 78,
    "copies": 78,
    "newest batch (UTC)": 190,
    "query id": 280,
    "engine": 70,
}
_HELP: Final = {
    "age": "Time since the newest batch was planned.",
    "since commit": "Time since the newest committed batch was planned. The commit log keeps no times of its own.",
    "problems": "What is wrong or worth knowing, by its code. Select the row to see what to do.",
    "planned": "The newest planned batch.",
    "committed": "The newest committed batch.",
    "topics": "Kafka topics, each with the number of its partitions.",
    "state": "What the files of its state stores take.",
    "copies": "How many checkpoints here carry the same query id.",
    "restart": "Where the query restarts.",
}
_WIDEST_NAME_PX: Final = 280
_LETTER_PX: Final = 7
_CELL_PADDING_PX: Final = 24
_RIGHT: Final = ("age", "since commit", "planned", "committed", "partitions", "state")


def choose(held: Held[Fleet], rows: tuple[FleetRow, ...], colours: Palette) -> FleetRow:
    """Draw the table of rows, its downloads, and the selector of one row; give that row."""
    span = paging.page(len(rows))
    page = rows[span]
    labels = derived.facts(held).labels
    ids = tuple(labels[row.uri] for row in page)
    selection = Selection(key="row", grid=f"fleet-{held.id}-{span.start}-{abs(hash(ids))}", names=ids, first=0)
    selection.draw(
        derived.fleet_table(held, page, colours),
        columns={
            name: st.column_config.Column(
                width=width, alignment=_alignment(name), help=_HELP.get(name), pinned=name == "checkpoint"
            )
            for name, width in (_WIDTHS | {"checkpoint": _name_width(ids)}).items()
        },
        alt=f"{many(len(page), 'checkpoint')} with verdict, age, problems, batches, topics, state and restart.",
    )
    _downloads(held, rows)
    return page[selection.choose("Facts of", width=420)]


def _downloads(held: Held[Fleet], rows: tuple[FleetRow, ...]) -> None:
    total = len(held.value.rows)
    amount = f"{number(len(rows))} of {many(total, 'checkpoint')}" if len(rows) < total else many(total, "checkpoint")
    now = derived.now_ms(held)
    with downloads.beside(f":gray[{amount}. Select a row to see its facts.]"):
        downloads.button(
            "CSV", "fleet.csv", lambda: exports.csv(rows, now), key="download-CSV", says="The rows shown, as CSV."
        )
        downloads.button(
            "JSON",
            "fleet.jsonl",
            lambda: exports.json_lines(rows),
            key="download-JSON",
            says="The rows shown, as JSON lines: a checkpoint a line.",
        )


def _name_width(ids: Sequence[str]) -> int:
    return min(_WIDEST_NAME_PX, max(_WIDTHS["checkpoint"], _CELL_PADDING_PX + _LETTER_PX * max(map(len, ids))))


def _alignment(name: str) -> Literal["right"] | None:
    return "right" if name in _RIGHT else None
