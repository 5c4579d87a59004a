"""Codes of findings on screen: each leads to its explanation."""

from __future__ import annotations

from offsetwise.console.escaping import markdown
from offsetwise.findings.codes import KINDS


def linked(code: str) -> str:
    r"""Give a code as Markdown, leading to its explanation on the Help page if this release has one.

    >>> linked("PENDING_BATCH"), linked("OF_LATER")
    ('[PENDING\\_BATCH](help?code=PENDING_BATCH)', 'OF\\_LATER')
    """
    return f"[{markdown(code)}](help?code={code})" if code in KINDS else markdown(code)
