"""Stepping through the batches: what the checkpoint holds at each moment, and what a failure right then re-reads."""

from __future__ import annotations

import streamlit as st

from offsetwise.console import blocks, choosing, guard, table
from offsetwise.console.checkpoint import derived, sentences
from offsetwise.console.escaping import markdown
from offsetwise.wording.verdicts import Tone

_ICON = {Tone.RIGHT: "✓", Tone.CAREFUL: "▲", Tone.WRONG: "!", Tone.UNKNOWN: "?"}


@st.fragment
def draw(held: derived.Reading) -> None:
    """Draw one step, with the buttons to the ones before and after it."""
    st.subheader("What a failure would read again", anchor=False)
    with guard.block("step"):
        steps = derived.steps(held)
        if not steps:
            blocks.empty("No step to show.", "No batch is planned, and no initial offsets are recorded.")
            return
        found = derived.history(held)
        names = list(steps)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            place = _place(names)
            st.button(
                "Previous",
                icon=":material/arrow_back:",
                key="step-previous",
                disabled=place == 0,
                help="The oldest retained step." if place == 0 else None,
                on_click=_go,
                args=(names, -1),
            )
            _step(names)
            last = place == len(names) - 1
            st.button(
                "Next",
                icon=":material/arrow_forward:",
                icon_position="right",
                key="step-next",
                disabled=last,
                help="The newest step: where the checkpoint stands now." if last else None,
                on_click=_go,
                args=(names, 1),
            )
            topics = derived.topics(held)
            scope = topics[choosing.choice("Topic", list(topics), "step-topic", width=220)] if topics else None
        now = " This is where it stands now." if _place(names) == len(names) - 1 else ""
        moment = steps[names[_place(names)]]
        if scope is None:
            st.markdown(f"{sentences.holds(found, moment)}{now}")
            blocks.empty("No Kafka partition to draw.", "The batches hold no Kafka offsets that can be read.")
            return
        whole = derived.Scope(name="", first=0, count=len(found.lanes))
        tone, head, rest = sentences.fails(found, moment, derived.standing_at(held, moment, whole))
        st.markdown(
            f"{markdown(sentences.holds(found, moment))}{now}  \n"
            f":{tone.colour}-badge[{_ICON[tone]} {markdown(head)}] {markdown(rest)}"
        )
        places = derived.step_places(held, moment, scope)
        figure, numbers = derived.step_chart(held, moment, scope, guard.colours())
        if len(places) < scope.count:
            st.markdown(
                f":gray[{len(places)} of {scope.count:,} partitions are drawn, chosen by what they would read again. "
                "Choose a topic to see others.]"
            )
        said = sentences.taken(found, moment, derived.standing_at(held, moment, scope), scope.lanes)
        st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=said, key="step-chart", theme=None)
        with st.expander("Data"):
            table.plain(numbers, alt=said)


def _place(names: list[str]) -> int:
    """Give the step to show: the one in the address, else the newest."""
    wanted = st.session_state.get("step") or st.query_params.get("step")
    return names.index(wanted) if wanted in names else len(names) - 1


def _step(names: list[str]) -> None:
    if st.session_state.get("step") not in names:
        st.session_state["step"] = names[_place(names)]
    st.selectbox("Step", names, key="step", bind="query-params", width=260)


def _go(names: list[str], by: int) -> None:
    st.session_state["step"] = names[max(0, min(len(names) - 1, _place(names) + by))]
