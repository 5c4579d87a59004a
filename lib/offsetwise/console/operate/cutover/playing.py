"""A recorded cutover that plays: which look is shown, and the buttons that move it."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.watch.recording import RecordedLook
from offsetwise.wording import duration

LENGTH_S: Final = 60.0
"""How long a whole recording plays."""
EVERY_S: Final = 1.0
"""How often a playing recording is redrawn."""
_AT: Final = "cutover-at"
_STATE: Final = "cutover-playing"


@dataclass(frozen=True, slots=True)
class Playing:
    name: str
    from_ms: int
    """Position in the recording when it was started."""
    since_s: float
    """Start, on the monotonic clock."""


def played_ms(from_ms: int, elapsed_s: float, end_ms: int) -> int:
    """Return the position in a recording that is shown, in ms since its first look.

    >>> played_ms(0, 30.0, 600_000), played_ms(300_000, 45.0, 600_000)
    (300000, 600000)
    """
    return min(end_ms, from_ms + round(elapsed_s * end_ms / LENGTH_S))


def look_at(recorded: Sequence[RecordedLook], at_ms: int) -> RecordedLook:
    return recorded[max(0, bisect.bisect_right([moment.at_ms for moment in recorded], at_ms) - 1)]


def is_playing(name: str, end_ms: int) -> bool:
    playing: Playing | None = st.session_state.get(_STATE)
    return playing is not None and playing.name == name and _now_ms(playing, end_ms) < end_ms


def _now_ms(playing: Playing, end_ms: int) -> int:
    return played_ms(playing.from_ms, time.monotonic() - playing.since_s, end_ms)


def draw(name: str, recorded: Sequence[RecordedLook], *, draw_more: Callable[[], None]) -> RecordedLook:
    """Draw the buttons and the slider, and return the look to show.

    Args:
        name: Name of the recording.
        recorded: All its looks; at least one.
        draw_more: Draws what is next to the slider.
    """
    end_ms = recorded[-1].at_ms
    shown_s, goes_on = _shown_s(name, end_ms)
    over = shown_s >= end_ms // 1_000
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if goes_on:
            st.button("Pause", icon=":material/pause:", key="cutover-pause", on_click=_pause, args=(end_ms,))
        else:
            st.button(
                "Play again" if over else "Play",
                type="primary",
                icon=":material/play_arrow:",
                key="cutover-play",
                on_click=_play,
                args=(name, 0 if over else 1_000 * shown_s),
            )
        at_s = st.slider(
            f"Seconds since the first look, of {duration(end_ms)}",
            0,
            max(1, end_ms // 1_000),
            key=_AT,
            on_change=_moved,
            args=(name, goes_on),
            width="stretch",
        )
        draw_more()
    return look_at(recorded, 1_000 * at_s + 999)


def _shown_s(name: str, end_ms: int) -> tuple[int, bool]:
    playing: Playing | None = st.session_state.get(_STATE)
    if playing is not None and playing.name != name:
        playing = None
        st.session_state.pop(_STATE, None)
        st.session_state.pop(_AT, None)
    goes_on = is_playing(name, end_ms)
    if playing is not None:
        st.session_state[_AT] = _now_ms(playing, end_ms) // 1_000
        if not goes_on:
            st.session_state.pop(_STATE, None)
    return min(st.session_state.get(_AT, 0), end_ms // 1_000), goes_on


def _play(name: str, from_ms: int) -> None:
    st.session_state[_STATE] = Playing(name, from_ms, time.monotonic())


def _pause(end_ms: int) -> None:
    playing: Playing | None = st.session_state.pop(_STATE, None)
    if playing is not None:
        st.session_state[_AT] = _now_ms(playing, end_ms) // 1_000


def _moved(name: str, goes_on: bool) -> None:
    if goes_on:
        _play(name, 1_000 * st.session_state[_AT])
