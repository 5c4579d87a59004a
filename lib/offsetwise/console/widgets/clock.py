"""A clock that runs down to the first time-out of a transaction."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from offsetwise.wording import duration, utc


@st.fragment(run_every=1)
def until(deadline_ms: int) -> None:
    """Draw when the first transaction times out, and how long that is from now, every second anew."""
    left_ms = deadline_ms - int(datetime.now(UTC).timestamp() * 1000)
    if left_ms > 0:
        st.markdown(f":material/timer: The first time-out is at **{utc(deadline_ms)}**: {duration(left_ms)} left.")
    else:
        st.markdown(f":material/timer_off: The first time-out was at **{utc(deadline_ms)}**, {duration(-left_ms)} ago.")
