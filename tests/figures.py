"""The figures of a full run of the gates, written between two marks of a page."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def machine() -> str:
    """Describe when and where this is: the figures mean nothing without."""
    today = datetime.now(UTC).date().isoformat()
    return f"{today}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def write_figures(page: Path, figures: Iterable[str], *, where: str) -> None:
    """Replace what stands between the marks of a page; the rest of it stays.

    Raises:
        ValueError: The page has not exactly one pair of marks, in order.
    """
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"{page}: expected {BEGIN} and then {END}, once each")
    before, rest = text.split(BEGIN)
    lines = "".join(f"- {figure}\n" for figure in figures)
    page.write_text(f"{before}{BEGIN}\n{where}:\n\n{lines}{END}{rest.split(END)[1]}", encoding="utf-8")
