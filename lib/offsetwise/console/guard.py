"""What every page runs first: its title, what it shows and when that was read, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise.console import blocks
from offsetwise.console.palette import Palette, palette


@dataclass(frozen=True, slots=True)
class Head:
    """The top of a page."""

    _caption: DeltaGenerator

    def says(self, text: str) -> None:
        """Set the line under the title: what is shown, and when it was read. Markdown, names escaped."""
        self._caption.markdown(f":gray[{text}]")


@contextmanager
def page(title: str) -> Iterator[Head]:
    """Draw a page's frame. An error inside is shown in place; what was drawn before it stays."""
    st.title(title, anchor=False)
    head = Head(st.empty())
    with block("page"):
        yield head


@contextmanager
def block(key: str) -> Iterator[None]:
    """Keep an error of one part of a page inside that part: a person sees words, never a traceback."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the last stop before the screen
        blocks.failed(error, retry=_again, key=key)


def colours() -> Palette:
    """Give the colours of the theme that the person sees."""
    return palette(st.context.theme.type)


def _again() -> None:
    """Do nothing: pressing a button runs the page again."""
