"""The words of the stream whose positions a page shows: labels say shard where it has shards, not partition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import streamlit as st

from offsetwise.model import AnyPosition
from offsetwise.ports.stream import of_position

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


def in_words(label: str, terms: Mapping[str, str]) -> str:
    """Return a label with these words in the place of Kafka's, in the plural and with a capital where it has them.

    >>> in_words("Partitions by topic", {"partition": "shard", "topic": "stream"})
    'Shards by stream'
    >>> in_words("Every partition", {})
    'Every partition'
    """
    if not terms:
        return label
    words = re.compile(rf"\b({'|'.join(map(re.escape, terms))})(s?)\b", re.IGNORECASE)
    return words.sub(lambda found: _like(found[0], terms[found[1].lower()] + found[2]), label)


def _like(word: str, other: str) -> str:
    return other[0].upper() + other[1:] if word[0].isupper() else other
