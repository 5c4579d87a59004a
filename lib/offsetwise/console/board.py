"""The board that a page uses, and the person who uses it: the console's own plans, or those of the demonstration.

A person who plays a role in the demonstration uses the demonstration's board, which has its own people and only the
bundled sample. Everybody else uses the board on the operator's store, as the person whom the identity provider names.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import answers
from offsetwise.console.server import access, identity
from offsetwise.console.server.access import Role
from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.escaping import markdown
from offsetwise.review.board import Board
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.review.people import Person
from offsetwise.store.reviews import Reviews
from offsetwise.store.store import open_store

PART: Final = "play"
"""Key of the role that somebody plays in the demonstration, in the URL and in the session."""
_NOBODY: Final = "nobody"
PARTS: Final = (Role.AUTHOR, Role.REVIEWER, Role.VIEWER)
SET_UP: Final = (
    "Register this console at your identity provider, and write `[auth]` into `.streamlit/secrets.toml`.",
    "Make the console's key with `offsetwise keygen --console`: `--as NAME` names it, `--out console.key` is its file.",
    "Say who is author and who is reviewer in an access file, and name the key there as `decisions.key`.",
    "Start it with `offsetwise console --access access.yaml`; docs/sign-in.md shows every file.",
)
"""What an operator sets up before plans can be decided here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    board: Board
    person: Person | None
    """None if nobody is signed in; they may still look where sign-in is optional."""

    @property
    def demo(self) -> bool:
        return self.board.is_demo

    @property
    def who(self) -> str:
        return "nobody" if self.person is None else f"{self.person.issuer} {self.person.subject}"


class _Boards:
    def __init__(self, reviews: Callable[[], Reviews], demo_reviews: Callable[[], Reviews]) -> None:
        self._reviews = reviews
        self._demo_reviews = demo_reviews
        self._lock = threading.Lock()
        self._own: Board | None = None
        self._demo: Board | None = None

    def own(self) -> Board:
        with self._lock:
            if self._own is None:
                self._own = Board(self._reviews(), access.latest)
            return self._own

    def demo(self) -> Board:
        with self._lock:
            if self._demo is None:
                self._demo = demo_board(self._demo_reviews())
            return self._demo


_folders: Final[list[tempfile.TemporaryDirectory[str]]] = []


def _of_store() -> Reviews:
    return open_store().reviews


def _of_this_process() -> Reviews:
    """Open a temporary store for the demonstration's plans; it is deleted when the console ends."""
    folder = tempfile.TemporaryDirectory(prefix="offsetwise-demo-", ignore_cleanup_errors=True)
    _folders.append(folder)
    return open_store(f"sqlite:///{Path(folder.name) / 'demo.sqlite'}").reviews


def use(reviews: Callable[[], Reviews], demo_reviews: Callable[[], Reviews] = _of_this_process) -> None:
    """Set the stores that this process keeps plans in.

    Args:
        reviews: Opens the store of plans. Called when it is first needed.
        demo_reviews: Opens the store of the demonstration's plans.
    """
    _boards[:] = [_Boards(reviews, demo_reviews)]


def playing() -> Role | None:
    """Return the role that the person plays in the demonstration; None if they play none or may not view it."""
    if not identity.allowed():
        return None
    said = st.session_state.get(PART) or st.query_params.get(PART)
    return next((part for part in PARTS if part == said), None)


def keep_in_address() -> None:
    part = playing()
    if part is None:
        st.query_params.pop(PART, None)
        return
    st.session_state[PART] = part.value
    if st.query_params.get(PART) != part.value:
        st.query_params[PART] = part.value


def offers_demonstration() -> bool:
    """Return whether to offer the demonstration: only without sign-in and while all open migrations are samples."""
    return not identity.providers() and all(offered.recorded for offered in answers.current().offered)


def play(part: Role | None) -> None:
    st.session_state[PART] = _NOBODY if part is None else part.value


def board() -> Board | None:
    """Return the board of this session; None if nobody can sign in and no role is played.

    Raises:
        StoreError: The store cannot be used.
        ConfigError: Streamlit's secrets or the access file cannot be used.
    """
    if playing() is not None:
        return _boards[0].demo()
    return _boards[0].own() if identity.providers() else None


def person() -> Person | None:
    """Return the person of this session, played in the demonstration or signed in; None for neither."""
    part = playing()
    return identity.signed_in() if part is None else demo_people(datetime.now(UTC))[part]


def seat() -> Seat | None:
    current = board()
    if current is None:
        not_set_up()
        return None
    return Seat(board=current, person=person())


def not_set_up() -> None:
    blocks.empty(
        "Nobody can sign in here, so no plan can be drafted or approved.",
        "Everything under Explore works without. To set it up:\n\n"
        + "\n".join(f"{number}. {step}" for number, step in enumerate(SET_UP, 1)),
    )
    if offers_demonstration():
        offer_parts("Or walk the whole path now with the bundled samples, as one of three people who do not exist:")


def offer_parts(sentence: str) -> None:
    """Draw a button for each role of the demonstration.

    Args:
        sentence: Text above the buttons. Markdown, names escaped.
    """
    people = demo_people(datetime.now(UTC))
    with st.container(border=True):
        st.markdown(sentence)
        with st.container(horizontal=True):
            for part in PARTS:
                st.button(
                    f"Play {markdown(people[part].name)}",
                    icon=":material/theater_comedy:",
                    key=f"play-{part}",
                    on_click=partial(play, part),
                )


_boards: Final = [_Boards(_of_store, _of_this_process)]
