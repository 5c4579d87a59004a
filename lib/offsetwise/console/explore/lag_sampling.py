"""The sampler of a migration's lag in this console, with the button that starts or stops it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise.console.answers import Answers
from offsetwise.console.reader import Offered
from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.escaping import sentence
from offsetwise.watch.background import Sampling
from offsetwise.wording import many

_EVERY: Final = {"10 s": 10.0, "30 s": 30.0, "60 s": 60.0, "5 min": 300.0}


def draw(answers: Answers, migration: Offered, row: DeltaGenerator) -> None:
    """Draw the sampler of this migration, with the button to start or stop it.

    Args:
        answers: The answers of this process.
        migration: The migration.
        row: Container of the controls; errors are drawn below it.
    """
    state = answers.reader.sampling(migration.name)
    with row.container(horizontal=True, vertical_alignment="bottom"):
        if state is not None and state.running:
            st.button(
                "Stop sampling",
                icon=":material/stop_circle:",
                key="stop-sampling",
                on_click=_stop,
                args=(answers, migration.name),
            )
        else:
            every = st.selectbox("Sample every", list(_EVERY), index=1, key="sample-every", width=110)
            st.button(
                "Start sampling",
                icon=":material/play_circle:",
                key="start-sampling",
                on_click=_start,
                args=(answers, migration.name, _EVERY[every]),
                help="Reads the checkpoints and groups of this migration and both clusters again and again, for as "
                "long as this console runs. Nothing is written to them.",
            )
        st.markdown(f":gray[{_state_text(state)}]", width="stretch")
    if state is not None and state.error is not None:
        blocks.failed(state.error, key="sampler")
    if state is not None and state.running and state.not_kept:
        st.warning(
            f"**Samples are taken, but not kept.**  \n{sentence(state.not_kept)}", icon=":material/database_off:"
        )


def recorded(migration: Offered) -> None:
    gaps = ", with its gaps: a group read on while the job was stopped, and the mirror stood still twice"
    message = f"{migration.recorded_from}{'' if migration.may_be_one else gaps}"
    st.markdown(f":gray[This lag was recorded from {message}. There is nothing to sample.]")


def _start(answers: Answers, migration: str, every_s: float) -> None:
    answers.reader.start_sampling(migration, every_s)


def _stop(answers: Answers, migration: str) -> None:
    answers.reader.stop_sampling(migration)


def _state_text(state: Sampling | None) -> str:
    if state is None:
        return "This console takes no samples."
    sampled = f"{many(state.sampled, 'moment')} sampled"
    if state.last_at_ms is not None:
        last = datetime.fromtimestamp(state.last_at_ms / 1000, UTC)
        sampled += f", the last one at {last:%H:%M:%S} UTC"
    if not state.running:
        return f"This console takes no more samples: {sampled}."
    return f"This console samples every {state.every_s:g} s, since {state.started_at:%H:%M:%S} UTC: {sampled}."
