"""Writes the parts of the findings' pages and index that repeat the register: code, severity, title, stage.

The text of a page is written by people and stays. A finding without a page gets one with its headings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offsetwise.findings import FindingKind, findings

ROOT: Final = Path(__file__).resolve().parents[1]
INDEX: Final = ROOT / "docs/findings/README.md"
SECTIONS: Final = ("What it means", "Why it matters", "What to do", "How Offsetwise decides it")
_TABLE: Final = "| code | severity | in a word | decided |\n|---|---|---|---|\n"


def pages() -> Mapping[Path, str]:
    """Return the expected content of every page, and of the index."""
    made = {ROOT / kind.page: _page(kind) for kind in findings().values()}
    before, _, table = INDEX.read_text(encoding="utf-8").partition("| code |")
    after = table.partition("\n\n")[2]
    rows = "".join(
        f"| [{kind.code}]({kind.code}.md) | {kind.severity} | {kind.title} | {kind.stage} |\n"
        for kind in findings().values()
    )
    return {**made, INDEX: f"{before}{_TABLE}{rows}" + (f"\n{after}" if after else "")}


def _page(kind: FindingKind) -> str:
    page = ROOT / kind.page
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    body = text[text.index("## ") :] if "## " in text else "\n".join(f"## {title}\n" for title in SECTIONS)
    return f"# {kind.code}\n\n*{kind.severity}* · {kind.title}.\n\n{body}"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
