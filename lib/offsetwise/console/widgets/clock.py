from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from offsetwise.wording import clock, duration


def until(deadline_ms: int, *, recorded_ms: int | None = None) -> None:
    """Draw when the first transaction times out, with a countdown that is updated every second.

    Args:
        deadline_ms: Time of the time-out, epoch ms.
        recorded_ms: Time of the sample's recording, at which its clock stands still; None for live clusters.
    """
    if recorded_ms is None:
        _running(deadline_ms)
        return
    remaining = duration(deadline_ms - recorded_ms)
    st.markdown(
        f":material/timer: The first time-out was at **{clock(deadline_ms)}**: {remaining} were left when the sample "
        "was recorded."
    )


@st.fragment(run_every=1)
def _running(deadline_ms: int) -> None:
    left_ms = deadline_ms - int(datetime.now(UTC).timestamp() * 1000)
    if left_ms > 0:
        st.markdown(f":material/timer: The first time-out is at **{clock(deadline_ms)}**: {duration(left_ms)} left.")
    else:
        ago = duration(-left_ms)
        st.markdown(f":material/timer_off: The first time-out was at **{clock(deadline_ms)}**, {ago} ago.")
