"""The numbers behind a chart over time: the newest moments to look at, all of them to download."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from offsetwise.console import downloads, table
from offsetwise.wording import many

_SHOWN: Final = 50
"""Rows sent with every rerun although the table is folded away."""


def draw(frame: pd.DataFrame, name: str, *, alt: str) -> None:
    """Draw them folded, newest first.

    Args:
        frame: All of them, newest first.
        name: What the downloads are called, and what tells this table from others.
        alt: What they show, in words.
    """
    with st.expander("Data"):
        table.plain(frame.head(_SHOWN), alt=alt)
        newest = "" if len(frame) <= _SHOWN else f"The newest {_SHOWN} of "
        with downloads.beside(f":gray[{newest}{many(len(frame), 'moment')}.]"):
            downloads.rows(name, name, lambda: frame)
