"""The terms of the stream that a page shows: labels say shard instead of partition if it has shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from offsetwise.wording.terms import in_words

_TERMS: Final = "terms"


def use(terms: Mapping[str, str]) -> None:
    """Use these terms for the labels of this session.

    Args:
        terms: The replacement of each of Kafka's terms, in the singular.
    """
    st.session_state[_TERMS] = dict(terms)


def shown() -> Mapping[str, str]:
    words: Mapping[str, str] = st.session_state.get(_TERMS, {})
    return words


def said(label: str) -> str:
    """Return a label, or a sentence, in the terms of the stream that is shown.

    Args:
        label: In Kafka's terms. Names without quotes do not belong in it: a topic may be called `offsets`.
    """
    return in_words(label, shown())
