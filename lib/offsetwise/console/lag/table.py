"""The table of partitions in the newest sample; choosing a row shows it over time."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.console import choosing, downloads, paging
from offsetwise.console.lag import derived, frames
from offsetwise.console.palette import Palette
from offsetwise.console.selecting import Selection
from offsetwise.lag.view import LagView
from offsetwise.model import LagPartition
from offsetwise.wording import many, number

_WORST: Final = "Worst first"
_BY_TOPIC: Final = "By topic"
_WIDTHS: Final = {
    "topic": 96,
    "p": 36,
    "place on new": 94,
    "by": 116,
    "exactness": 84,
    "old log start": 86,
    "new log start": 92,
}


def choose(held: derived.Shown, view: LagView, colours: Palette) -> LagPartition | None:
    """Draw the table with its filters and downloads, and the choice of one partition; None where none is left."""
    sample = view.newest.sample
    with st.container(horizontal=True):
        wanted = choosing.several("Topic", "lag-topic", derived.topics(held, view))
        order = choosing.choice("Order", [_WORST, _BY_TOPIC], "lag-order", width=160)
    rows = derived.rows(held, view, wanted, worst_first=order == _WORST)
    if not rows:
        return None
    page = rows[paging.page(len(rows))]
    names = choosing.row_names(page, among=sample.partitions)
    selection = Selection(key="lag-row", grid=f"lag-{held.id}-{abs(hash(names))}", names=names, first=0)
    selection.draw(
        derived.partition_table(held, view, page, colours),
        columns={
            column: st.column_config.Column(width=width or 90, alignment=alignment, pinned=column in ("topic", "p"))
            for column, (width, alignment) in derived.partition_layout(held, view, page, _WIDTHS).items()
        },
        alt=f"{many(len(page), 'partition')} with position and lag on both clusters.",
    )
    amount = "" if len(rows) == len(sample.partitions) else f"{number(len(rows))} of "
    with downloads.beside(
        f":gray[{amount}{many(len(sample.partitions), 'partition')}. A negative lag is past the end. "
        "Select a row to see it over time.]"
    ):
        downloads.button(
            "CSV",
            "lag.csv",
            lambda: downloads.csv(frames.partition_table(sample, rows, groups=len(sample.groups))),
            key="lag-csv",
            says="The rows shown, as CSV.",
        )
        downloads.button(
            "JSON",
            "lag.json",
            lambda: files.dump(replace(sample, partitions=rows)).encode(),
            key="lag-json",
            says="The newest sample with the rows shown, as an offsetwise/lag-sample file.",
        )
    return page[selection.choose("Partition over time", width=320)]
