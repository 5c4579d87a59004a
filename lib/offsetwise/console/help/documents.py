"""The documents under `docs/`, made fit for a page: the console shows them, and keeps no copy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from offsetwise.findings.codes import KINDS

_DOCS: Final = Path(__file__).resolve().parents[4] / "docs"
_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)\s]+)\)")
_PICTURE: Final = re.compile(r"!\[[^\]]*\]\([^)\s]+\)\n*")
_FENCE: Final = re.compile(r"^```[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^(#+) ", flags=re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a document: Markdown, or an example to copy."""

    text: str
    example: bool


@lru_cache(maxsize=64)
def document(name: str) -> tuple[Part, ...]:
    """Give a document in its parts, its title left out and its headings below the page's.

    Links to a finding lead to it on this page; of links to other documents only the words stay, and of pictures of
    the console nothing.

    Raises:
        OSError: There is no such document.
    """
    text = (_DOCS / f"{name}.md").read_text(encoding="utf-8")
    body = text.split("\n", 1)[1] if text.startswith("# ") else text
    # What a group matched stands between what lies around it: prose, example, prose, …
    pieces = enumerate(_FENCE.split(body))
    parts = [Part(text=piece if at % 2 else _prose(piece), example=at % 2 == 1) for at, piece in pieces]
    return tuple(part for part in parts if part.text.strip())


def _prose(text: str) -> str:
    return _LINK.sub(_linked, _HEADING.sub(r"\1# ", _PICTURE.sub("", text))).replace("$", r"\$")


def _linked(link: re.Match[str]) -> str:
    words, target = link.groups()
    code = Path(target.partition("#")[0]).stem
    return f"[{words}](?code={code})" if code in KINDS else words
