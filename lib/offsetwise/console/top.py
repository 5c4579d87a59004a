from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

import streamlit as st

from offsetwise.console import board, search
from offsetwise.console.server import guard, identity
from offsetwise.console.server.access import Role
from offsetwise.console.widgets import theme
from offsetwise.console.widgets.escaping import markdown
from offsetwise.errors import OffsetwiseError
from offsetwise.review.demo import demo_people

LINE: Final = "top-line"
"""Key of the line, used by the page's styles."""
LOOK_S: Final = 5
"""How often an open page looks for new plans."""
_FRESH_S: Final = 2.0
_COUNT: Final = "plans-waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    who: str
    plans: int
    at_s: float


def draw(pages: search.Pages) -> None:
    """Draw the line outside of the sidebar, which has the navigation only.

    Args:
        pages: Title and path of each page, for the search.
    """
    with st.container(key=LINE, horizontal=True, vertical_alignment="center", gap="small"):
        if identity.allowed():
            search.draw(pages)
        part = board.playing()
        if part is not None:
            _played(part)
        if part is None or identity.current().signed_in:
            identity.line()
        if part is None and board.offers_demonstration():
            st.button(
                "Try the demonstration",
                type="tertiary",
                icon=":material/theater_comedy:",
                key="play-start",
                help="The bundled samples lead the whole way, from a draft to its export, with people who do not exist "
                "and a key that `offsetwise apply` refuses on anything else.",
                on_click=partial(board.play, board.PARTS[0]),
            )
        theme.watch()


def _played(part: Role) -> None:
    people = demo_people(datetime.now(UTC))
    st.markdown(
        f":material/theater_comedy: You play **{markdown(people[part].name)}**",
        width="content",
        help="Nobody here exists, and approvals are good for the bundled samples only.",
    )
    for other in board.PARTS:
        if other is not part:
            given = people[other].name.partition(",")[0]
            st.button(
                f"Continue as {markdown(given)}",
                type="tertiary",
                key=f"continue-{other}",
                help=f"{markdown(people[other].name)}.",
                on_click=partial(board.play, other),
            )
    st.button(
        "End", type="tertiary", key="play-end", help="Leaves the demonstration.", on_click=partial(board.play, None)
    )


def waiting() -> int:
    """Count the plans that wait for the person of this session; 0 if nobody decides about plans here.

    `guard.WAITING` keeps the number for the title of the window. The count is up to two seconds old: every rerun asks
    for it. A store that cannot be read counts as 0; the pages that need it show the error.
    """
    count = st.session_state[guard.WAITING] = _waiting()
    return count


def _waiting() -> int:
    try:
        current_board, person = board.board(), board.person()
        if current_board is None or person is None:
            return 0
        who = f"{current_board.is_demo} {person.issuer} {person.subject}"
        known: _Count | None = st.session_state.get(_COUNT)
        now_s = time.monotonic()
        if known is None or known.who != who or now_s - known.at_s > _FRESH_S:
            known = _Count(who=who, plans=len(current_board.waiting_for(person)), at_s=now_s)
            st.session_state[_COUNT] = known
    except OffsetwiseError:
        return 0
    return known.plans


def watch(shown: int) -> None:
    with guard.block("waiting-count"):
        if board.board() is not None and board.person() is not None:
            st.fragment(_refresh, run_every=LOOK_S)(shown)


def _refresh(shown: int) -> None:
    with guard.block("waiting-count"):
        # After a sign-out, redrawing the page would remove its fields, with the text typed into them.
        if waiting() != shown and board.person() is not None:
            st.rerun()
