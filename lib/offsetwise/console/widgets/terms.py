"""The words of the stream whose positions a page shows: labels say shard where it has shards, not partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from offsetwise.wording.terms import in_words

_TERMS: Final = "terms"


def use(terms: Mapping[str, str]) -> None:
    """Show the labels of this session in these words from here on.

    Args:
        terms: What stands in the place of each of Kafka's words, in the singular.
    """
    st.session_state[_TERMS] = dict(terms)


def shown() -> Mapping[str, str]:
    words: Mapping[str, str] = st.session_state.get(_TERMS, {})
    return words


def said(label: str) -> str:
    """Return a label, or a sentence, in the words of the stream that is shown.

    Args:
        label: As of Kafka. Names without quotes do not belong in it: a topic may be called `offsets`.
    """
    return in_words(label, shown())
