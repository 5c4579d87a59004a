"""The Checkpoint screen: the restart first, then what the engine stores in addition to the positions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console.answers import Answers, Question
from offsetwise.console.engine_screens import screen_of
from offsetwise.console.explore.checkpoint import sources
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, selectors, terms
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.evidence import linked
from offsetwise.engines.registry import engine_of
from offsetwise.findings import describe, worded
from offsetwise.model import Checkpoint, Problem, Subject
from offsetwise.wording import clock

_COMPARE: Final = Path("pages/explore/compare.py")


def no_checkpoint(migration: Offered, subject: Subject) -> None:
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


def reading(answers: Answers, migration: Offered, subject: Subject, head: guard.Head) -> sources.Reading | None:
    """Return the reading to show. A checkpoint is cheap and needs no cluster, so it is read when the page opens."""
    question = Question.of(Reader.checkpoint_reading, migration.name, subject.name, None)
    name = markdown(str(subject))
    clusters = blocks.clusters(migration.old, migration.new)
    answer = blocks.live(answers, question, _offer(name, "checkpoint"), actions=head.actions)
    if answer is None:
        head.context(f"{clusters} · not read yet")
        return None
    other = _retained(answer.value.checkpoint)
    if other is not None:
        question_of_other = Question.of(Reader.checkpoint_reading, migration.name, subject.name, other)
        answer = blocks.live(answers, question_of_other, _offer(f"checkpoint {other}", "retained"))
        if answer is None:
            return None
    shown = answer.value.checkpoint
    head.context(f"{clusters} · read {clock(answer.at)}")
    if shown.job_id:
        head.says(f"{engine_of(shown.engine).job} id **{markdown(shown.job_id)}**")
    return answer


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
    """Let the person choose another retained checkpoint, by its id; None for the one that the migration names."""
    others = shown.details.retained
    if not others:
        return None
    named = {shown.uri.rpartition("/")[2]: None, **{other.uri.rpartition("/")[2]: other.id for other in others}}
    return named[selectors.choice("Retained checkpoint", list(named), "retained", width=200)]


def draw(answers: Answers, migration: Offered, subject: Subject, reading: sources.Reading) -> None:
    shown = reading.value.checkpoint
    with guard.block("banners"):
        said = [problem for problem in shown.problems if beside_restart(problem, shown.restart) != problem.message]
        more = "".join(f" {_sentence(problem, shown.restart)}" for problem in said)
        blocks.box(sources.restart_tone(shown), f"**The restart.** {sentence(shown.restart)}{more}")
        for problem in shown.problems:
            if problem not in said:
                blocks.box(sources.tone(problem), f"**{title(problem)}** {_sentence(problem, shown.restart)}")
    screen_of(shown.engine).draw(answers, migration, subject.name, reading)
    _identifiers(reading)


def _sentence(problem: Problem, restart: str) -> str:
    shown = worded(replace(problem, message=beside_restart(problem, restart)), terms.shown())
    fix = f"**What to do:** {sentence(shown.fix)}" if shown.fix else ""
    return "  \n".join(part for part in (f"({linked(shown.code)})", sentence(shown.message), fix) if part)


def _identifiers(reading: sources.Reading) -> None:
    shown = reading.value.checkpoint
    with downloads.to_the_right_of(":gray[The whole checkpoint as it was read, as a file of Offsetwise:]"):
        downloads.button(
            "Checkpoint (JSON)",
            "checkpoint.json",
            lambda: sources.checkpoint_file(reading),
            key="checkpoint-file",
            says="What `offsetwise inspect --json` prints of it.",
        )
    with st.expander("Identifiers, to copy"):
        for title, value in (
            ("checkpoint", shown.uri),
            ("endpoint that the environment leads to", shown.endpoint),
            (f"{engine_of(shown.engine).job} id", shown.job_id),
            ("files that decide the restart, SHA-256", "\n".join(f"{d}  {path}" for path, d in shown.pins)),
        ):
            if value:
                st.markdown(title)
                st.code("\n".join(map(plain, value.split("\n"))), language=None, wrap_lines=True)


def title(problem: Problem) -> str:
    kind = describe(problem.code)
    return terms.said(kind.heading or kind.title)


def beside_restart(problem: Problem, restart: str) -> str:
    """Return what a problem adds to the restart sentence above it."""
    return describe(problem.code).beside or ("" if problem.message in restart else problem.message)
