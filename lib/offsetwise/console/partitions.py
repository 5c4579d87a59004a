"""The table of partitions: choosing a row opens its evidence, and what is shown can be downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console import choosing, derived, downloads, exports, frames, paging
from offsetwise.console.desk import Held
from offsetwise.console.palette import Palette
from offsetwise.console.selecting import Selection
from offsetwise.model import Comparison, PartitionComparison
from offsetwise.wording import many, number, verdicts

_WIDTHS: Final[dict[str, int]] = {
    "topic": 96,
    "p": 36,
    "old offset": 78,
    "new offset": 82,
    "shift": 52,
    "exactness": 94,
    "if unedited": 118,
    "lag old": 62,
    "lag new": 64,
    "replay": 54,
    "skip": 44,
    "ahead": 92,
    "findings": 82,
}
_HELP: Final = {
    "p": "Partition.",
    "old offset": "The next record to read on the old cluster.",
    "new offset": "The same place on the new cluster.",
    "shift": "New offset minus old offset.",
    "exactness": "How well the new offset is known.",
    "if unedited": "What the old number would do on the new cluster.",
    "lag old": "Records left to read on the old cluster. Negative: past the end.",
    "lag new": "Records left to read on the new cluster. Negative: past the end.",
    "replay": "Records read twice at the new offset, at most.",
    "skip": "Records never read at the new offset, at most.",
    "ahead": "How the records from the position on differ on the new cluster.",
    "findings": "How many: ! blocks, ▲ warns, i informs. The row's proof names them, and so do filter and downloads.",
}


def choose(held: Held[Comparison], rows: tuple[PartitionComparison, ...], colours: Palette) -> PartitionComparison:
    """Draw the table of partitions, its downloads, and the selector of one row; give that row."""
    span = paging.page(len(rows))
    page = rows[span]
    ids = choosing.row_names(page, among=held.value.partitions)
    first = min(range(len(page)), key=lambda index: verdicts.urgency(page[index]))
    selection = Selection(key="row", grid=f"partitions-{held.id}-{span.start}-{abs(hash(ids))}", names=ids, first=first)
    columns = tuple(name for name in frames.PARTITION_COLUMNS if _says_something(name, page))
    selection.draw(
        derived.partition_table(held, page, columns, colours),
        columns={
            name: st.column_config.Column(
                width=width or 110, alignment=alignment, help=_HELP.get(name), pinned=name in ("topic", "p")
            )
            for name, (width, alignment) in derived.partition_layout(held, page, columns, _WIDTHS).items()
        },
        alt=f"{many(len(page), 'partition')} with old and new offset, exactness, and what the old number would do.",
    )
    _downloads(held, rows)
    return page[selection.choose("Evidence of", width=320)]


def _downloads(held: Held[Comparison], rows: tuple[PartitionComparison, ...]) -> None:
    total = len(held.value.partitions)
    amount = f"{number(len(rows))} of {many(total, 'partition')}" if len(rows) < total else many(total, "partition")
    with downloads.beside(f":gray[{amount}. Select a row to see its proof.]"):
        for text, make in (("CSV", lambda: exports.csv(rows)), ("JSON", lambda: exports.json(held.value, rows))):
            downloads.button(
                text,
                f"comparison.{text.lower()}",
                make,
                key=f"download-{text}",
                says=f"The rows shown, as {text}.",
            )


def _says_something(name: str, rows: Sequence[PartitionComparison]) -> bool:
    match name:
        case "source":
            return len({row.source for row in rows}) > 1
        case "new topic":
            return any(row.new_topic != row.topic for row in rows)
        case _:
            return True
