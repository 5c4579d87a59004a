from __future__ import annotations

from typing import Any, Final

import streamlit as st

from offsetwise.console.answers import Answers, Question
from offsetwise.console.explore.checkpoint import sources
from offsetwise.console.reader import Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, selectors, table
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.console.widgets.shards import several
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.engines.batch_files import SHOWN_BYTES, BatchFiles, RawFile
from offsetwise.plugins.spark.engine.offset_log import Head, Lines
from offsetwise.wording import clock, many, number

_LONG: Final = 4_000
"""Characters of a file above which it is shown in a scrolling box."""
_OFFSETS: Final[Columns[tuple[str, str, int, int]]] = (
    Column("topic", lambda row: row[1]),
    table.partition(lambda row: row[2]),
    Column("end offset", lambda row: row[3]),
    Column("source", lambda row: row[0], when=lambda rows: several(row[0] for row in rows)),
)
"""Source, topic, partition and offset of one line of an offset file."""


def files_of(
    answers: Answers, migration: str, name: str, reading: sources.Reading, batch: int, *, key: str
) -> BatchFiles | None:
    question = Question.of(Reader.batch_files, migration, name, batch, edition=reading.id)
    known = answers.cached(question)
    if known is not None:
        return known.value
    offer = blocks.Offer(
        what=f"the files of batch {number(batch)}",
        why="Two small files.",
        now="Read now",
        again="Read again",
        icon=":material/description:",
        key=key,
        at_once=True,
    )
    result = blocks.live(answers, question, offer)
    return None if result is None else result.value


@st.fragment
def draw(answers: Answers, migration: str, name: str, reading: sources.Reading) -> None:
    blocks.section("A batch's files")
    with guard.block("files"):
        ids = {str(batch.id): batch.id for batch in reversed(reading.value.checkpoint.details.batches)}
        if not ids:
            blocks.empty("No batch is retained.", "There is no file to show.")
            return
        batch = ids[selectors.choice("Batch", list(ids), "batch", width=160)]
        files = files_of(answers, migration, name, reading, batch, key="files")
        if files is None:
            return
        generator, right = st.columns(2)
        with generator:
            _raw(files.offsets)
            _raw(files.commit)
        with right:
            _parsed(files)


def _raw(file: RawFile[Any]) -> None:
    size = "" if file.data is None else f" · {many(len(file.data), 'byte')}"
    with downloads.to_the_right_of(f"**{markdown(file.path)}**{size}"):
        if file.data is not None:
            downloads.button(
                "Raw",
                file.path.replace("/", "-"),
                file.data,
                key=f"raw-{file.path}",
                says="The file's bytes, unchanged.",
            )
    if file.data is None:
        st.markdown(f":gray[{sentence(file.problem or 'It cannot be read.')}]")
        return
    # The keyboard cannot scroll a box, so only a long file gets one.
    st.code(file.text, language=None, wrap_lines=True, height=460 if len(file.text) > _LONG else "content")
    if file.cut:
        st.markdown(f":gray[Its first {SHOWN_BYTES:,} bytes. The download has all.]")
    st.markdown(f":gray[SHA-256 {(file.sha256 or '')[:8]}…]")


def _parsed(files: BatchFiles) -> None:
    st.markdown("**What they say**")
    parsed = files.offsets.parsed
    if parsed is None:
        st.markdown(f":red-badge[! not readable] {sentence(files.offsets.problem or '')}")
    else:
        _offsets(*parsed)
    version = files.commit.parsed
    if version is not None:
        st.markdown(f":green-badge[✓ committed] commit log v{version}. A commit holds no source offsets.")
    elif files.commit.data is None:
        st.markdown(f":orange-badge[▲ not committed] {sentence(files.commit.problem or '')}")
    else:
        st.markdown(f":red-badge[! not readable] {sentence(files.commit.problem or '')}")


def _offsets(head: Head, lines: Lines) -> None:
    st.markdown(
        f"Offset log **v{head.version}** · planned **{clock(head.timestamp_ms)}** · watermark "
        f"**{sources.watermark(head.watermark_ms)}** · {many(len(head.configuration), 'setting')}"
    )
    for source in lines.values():
        if source.damage is not None:
            st.markdown(f":red-badge[! source {markdown(source.id)} is garbled] {sentence(source.damage)}")
        elif source.kind is None:
            st.markdown(f"Source **{markdown(source.id)}** has no offset yet.")
        elif not source.is_kafka:
            st.markdown(f"Source **{markdown(source.id)}**: its text is on the left.")
    rows = [
        (source.id, offsets.topic, partition, offset)
        for source in lines.values()
        for offsets in source.offsets
        for partition, offset in zip(offsets.partitions, offsets.offsets, strict=True)
    ]
    if rows:
        table.paged(_OFFSETS, rows, "file-rows", alt=f"{many(len(rows), 'partition')} in the order of the file.")
    negative = [(s.id, *offset) for s in lines.values() for offset in s.negative]
    if negative:
        st.markdown(f":red-badge[! {many(len(negative), 'number')} that is no position] left out of the table.")
    with st.expander(f"{many(len(head.configuration), 'setting')} of this batch"):
        table.show(sources.PAIRS, head.configuration, alt="Configuration recorded with this batch.")
