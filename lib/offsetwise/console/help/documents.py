"""The documents under `docs/`, made fit for a page: the console shows them, and keeps no copy."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from offsetwise.findings.codes import KINDS

_DOCS: Final = Path(__file__).resolve().parents[4] / "docs"
_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)\s]+)\)")
_FENCE: Final = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^(#+) ", flags=re.MULTILINE)


@lru_cache(maxsize=64)
def document(name: str) -> str:
    """Give a document, its title left out and its headings below the page's.

    Links to a finding lead to it on this page; of links to other documents only the words stay.

    Raises:
        OSError: There is no such document.
    """
    text = (_DOCS / f"{name}.md").read_text(encoding="utf-8")
    body = text.split("\n", 1)[1] if text.startswith("# ") else text
    parts, end = [], 0
    for fence in _FENCE.finditer(body):
        parts += [_prose(body[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join((*parts, _prose(body[end:]))).strip()


def _prose(text: str) -> str:
    return _LINK.sub(_linked, _HEADING.sub(r"\1# ", text)).replace("$", r"\$")


def _linked(link: re.Match[str]) -> str:
    words, target = link.groups()
    code = Path(target.partition("#")[0]).stem
    return f"[{words}](?code={code})" if code in KINDS else words
