"""The words of the stream whose positions a page shows: labels say shard where it has shards, not partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import streamlit as st

from offsetwise.model import AnyPosition
from offsetwise.ports.stream import of_position
from offsetwise.wording.terms import in_words

_TERMS: Final = "terms"


def use(terms: Mapping[str, str]) -> None:
    """Show the labels of this session in these words from here on.

    Args:
        terms: What stands in the place of each of Kafka's words, in the singular.
    """
    st.session_state[_TERMS] = dict(terms)


def of(positions: Iterable[AnyPosition | None]) -> Mapping[str, str]:
    """Return the words of the stream that positions are of; none where no position is known."""
    first = next((each for each in positions if each is not None), None)
    stream = None if first is None else of_position(first)
    return {} if stream is None else stream.terms


def said(label: str) -> str:
    """Return a label, or a sentence without names, in the words of the stream that is shown.

    Args:
        label: As of Kafka. Names do not belong in it: a topic may be called `offsets`.
    """
    return in_words(label, st.session_state.get(_TERMS, {}))
