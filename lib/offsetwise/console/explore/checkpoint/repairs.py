from __future__ import annotations

from shlex import quote
from typing import Final

import streamlit as st

from offsetwise.console.answers import Answers, Question
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.blocks import draw_answer
from offsetwise.console.widgets.escaping import markdown, plain
from offsetwise.model import Checkpoint
from offsetwise.workflow.repairing import FittingRepair

_OFFER: Final = blocks.Offer(
    what="the repairs that this checkpoint fits",
    why="The files of the checkpoint are read, and each repair is tried on paper. Nothing is written: a repair is "
    "drafted, signed and applied on the command line, in a copy.",
    now="Look for repairs",
    again="Look again",
    icon=":material/build:",
    key="repairs",
)


def draw(answers: Answers, migration: Offered, name: str, shown: Checkpoint) -> None:
    if migration.recorded:
        return
    with st.expander("Repair in a copy", icon=":material/build:"):
        answer = draw_answer(answers, Question.of(Reader.fitting_repairs, migration.name, name), _OFFER)
        if answer is None:
            return
        if not answer.value:
            st.markdown("No repair fits: there is nothing that one of them mends.")
        for repair in answer.value:
            st.markdown(f"**{markdown(repair.kind)}**: {markdown(' '.join(repair.costs))}")
            blocks.command(plain(command(repair, shown)))


def command(repair: FittingRepair, shown: Checkpoint) -> str:
    given = "".join(f" --set {quote(setting)}" for setting in repair.settings)
    uri = quote(shown.uri)
    return f"offsetwise draft --set repair={repair.kind}{given} --checkpoint {uri} --author NAME --out plan.json"
