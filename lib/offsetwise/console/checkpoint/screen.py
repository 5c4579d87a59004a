"""The Checkpoint screen: the restart first, then what its engine kept beside the positions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import blocks, choosing, downloads, guard
from offsetwise.console.checkpoint import boxes, derived, flink, sentences, spark
from offsetwise.console.checkpoint.questions import ReadingOf
from offsetwise.console.desk import Desk, Offered, Subject
from offsetwise.console.escaping import markdown, plain
from offsetwise.console.explained import linked
from offsetwise.model import Checkpoint, Problem

_ENGINES: Final = {"spark": spark.draw, "flink": flink.draw}
"""What is drawn below the restart, by the engine that wrote the checkpoint."""
_ID_OF: Final = {"spark": "query id", "flink": "job id"}
_COMPARE: Final = Path("pages/explore/compare.py")


def no_checkpoint(migration: Offered, subject: Subject) -> None:
    """Say that a consumer group has no checkpoint, and where its positions are shown."""
    blocks.empty(
        f"{markdown(subject.name)} is a consumer group: it has no checkpoint.",
        "Its positions are kept by the old cluster itself. Compare shows them beside the new cluster.",
    )
    st.page_link(
        _COMPARE,
        label="Open in Compare",
        icon=":material/compare_arrows:",
        query_params={"migration": migration.name, "of": str(subject)},
    )


def reading(desk: Desk, migration: Offered, subject: Subject, head: guard.Head) -> derived.Reading | None:
    """Give the reading to show. A checkpoint costs little and asks no cluster, so it is read when the page opens."""
    question = ReadingOf(migration=migration.name, name=subject.name)
    name = markdown(str(subject))
    held = blocks.live(desk, question, _offer(name, "checkpoint"))
    if held is None:
        head.says(f"{name} · not read")
        return None
    other = _retained(held.value.checkpoint)
    if other is not None:
        asked = replace(question, retained=other)
        held = blocks.live(desk, asked, _offer(f"checkpoint {other}", "retained"))
        if held is None:
            return None
    shown = held.value.checkpoint
    query = f" · {_ID_OF[shown.engine]} **{markdown(shown.job_id)}**" if shown.job_id else ""
    where = "bundled sample · " if desk.recorded(question) else ""
    head.says(f"{where}{name}{query} · read **{held.at:%Y-%m-%d %H:%M:%S} UTC** · :material/lock: read-only")
    return held


def _offer(what: str, key: str) -> blocks.Offer:
    return blocks.Offer(
        what=what,
        why="Reading lists the folder and reads its small files. Nothing is written.",
        now="Read now",
        again="Read again",
        icon=":material/save:",
        key=key,
        at_once=True,
    )


def _retained(shown: Checkpoint) -> int | None:
    """Let the person choose another checkpoint that the job retained, by its id; None for the one that is named."""
    others = () if shown.saved is None else shown.saved.retained
    if not others:
        return None
    named = {shown.uri.rpartition("/")[2]: None, **{each.uri.rpartition("/")[2]: each.id for each in others}}
    return named[choosing.choice("Retained checkpoint", list(named), "retained", width=200)]


def draw(desk: Desk, migration: Offered, subject: Subject, held: derived.Reading) -> None:
    """Draw the whole screen of one reading."""
    shown = held.value.checkpoint
    boxes.draw(sentences.restart_tone(shown), f"**The restart.** {markdown(shown.restart)}")
    with guard.block("banners"):
        for problem in shown.problems:
            _banner(problem)
    _ENGINES[shown.engine](desk, migration, subject.name, held)
    _identifiers(held)


def _banner(problem: Problem) -> None:
    fix = f"  \n**What to do:** {markdown(problem.fix)}" if problem.fix else ""
    said = markdown(sentences.beside_restart(problem))
    boxes.draw(sentences.tone(problem), f"**{sentences.title(problem)}** ({linked(problem.code)})  \n{said}{fix}")


def _identifiers(held: derived.Reading) -> None:
    shown = held.value.checkpoint
    with downloads.beside(":gray[The whole checkpoint as it was read, as a file of Offsetwise:]"):
        downloads.button(
            "Checkpoint (JSON)",
            "checkpoint.json",
            lambda: derived.checkpoint_file(held),
            key="checkpoint-file",
            says="What `offsetwise inspect --json` prints of it.",
        )
    with st.expander("Identifiers, to copy"):
        for title, value in (
            ("checkpoint", shown.uri),
            ("endpoint that the environment leads to", shown.endpoint),
            (_ID_OF[shown.engine], shown.job_id),
            ("files that decide the restart, SHA-256", "\n".join(f"{d}  {path}" for path, d in shown.offset_files)),
        ):
            if value:
                st.markdown(title)
                st.code("\n".join(map(plain, value.split("\n"))), language=None, wrap_lines=True)
