"""The frame that every page runs first: access, title, context bar, and error handling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise.console import help
from offsetwise.console.server import identity
from offsetwise.console.server.access import Role
from offsetwise.console.server.identity import Person
from offsetwise.console.widgets import blocks, terms
from offsetwise.console.widgets.escaping import plain

PRODUCT: Final = "Offsetwise"
REVIEW: Final = "Review"
WAITING: Final = "waiting-plans"
"""Session key of the number of plans that wait for the person, for the window's title of `REVIEW`."""
UNSENT: Final = "unsent-remark"
"""Session key that tells whether a remark was typed and not sent, for a person who has to sign in again."""
BAR: Final = "context-bar"
"""Key of the context bar, used by the page's styles."""
_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Head:
    """The top of a page: the context bar with the job that is shown, and the title below it."""

    choices: DeltaGenerator
    """Part of the bar in which a migration and a job are chosen."""
    actions: DeltaGenerator
    """Part of the bar with the button that reads again."""
    _context: DeltaGenerator
    _caption: DeltaGenerator

    def context(self, text: str) -> None:
        """Set the text of the bar: both clusters, and the age of the reading. Markdown, names escaped."""
        self._context.markdown(f":gray[{text}]")

    def says(self, text: str) -> None:
        """Set the line under the title: what the page is about. Markdown, names escaped."""
        self._caption.markdown(f":gray[{text}]")


@contextmanager
def page(title: str) -> Iterator[Head]:
    """Draw a page's frame for those who may look; others see that it is locked, and the page does not run.

    An error inside is shown in the page; what was drawn before stays.
    """
    st.set_page_config(page_title=_window_title(title))
    terms.use({})
    if is_closed(title):
        st.stop()
    with st.container(key=BAR, horizontal=True, vertical_alignment="center", gap="small"):
        choices = st.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content")
        context, actions = st.empty(), st.container(width="content")
    _title(title)
    head = Head(choices, actions, context, st.empty())
    with block("page"):
        yield head


def _title(title: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title(title, anchor=False, width="content")
        if title in help.questions() and st.button(
            "About this page", icon=":material/help:", type="tertiary", key="about-page"
        ):
            st.dialog(f"About {title}", width="large")(help.of_page)(title)


def _window_title(title: str) -> str:
    plan, job = (st.query_params.get(key) for key in ("plan", "of"))
    shown = f"plan {plan}" if plan else job
    parts = [title, *([plain(shown)[:_LONGEST_NAME]] if shown else []), *([PRODUCT] if title != PRODUCT else [])]
    count = st.session_state.get(WAITING) if title == REVIEW else None
    return f"{f'({count}) ' if count else ''}{' · '.join(parts)}"


def is_closed(title: str) -> bool:
    """Return whether a page is closed to the person; if so, draw how to sign in instead.

    An access file that cannot be used closes every page.
    """
    with block("access"):
        person = identity.current()
        if Role.VIEWER in person.roles:
            return False
        st.title(title, anchor=False)
        _locked(person)
    return True


@contextmanager
def block(key: str) -> Iterator[None]:
    """Contain an error in its part of a page, and show it in words instead of a traceback."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - last handler before the screen
        blocks.failed(error, retry=_again, key=key)


def _locked(person: Person) -> None:
    if person.unseen:
        blocks.denied(
            identity.why_no_role(person.unseen),
            permission="the role viewer",
            next_step="Ask the operator of the identity provider for another subject.",
        )
        return
    if person.signed_in:
        blocks.denied(
            "You are signed in, and you have no role here.",
            permission="the role viewer",
            next_step="Ask the operator to name you in the access file, by exactly these two:",
            shown=f"issuer: {person.issuer}\nsubject: {person.subject}",
        )
        return
    why = "Your sign-in is too old." if person.expired else "This console is for people who sign in."
    note = " What you wrote is kept, and is in its field then." if st.session_state.get(UNSENT) else ""
    blocks.denied(
        why,
        permission="to be signed in, with the role viewer",
        next_step=f"This page opens when you have signed in.{note}",
    )
    identity.sign_in_buttons("locked")


def _again() -> None:
    """Do nothing: pressing a button reruns the page."""
