"""Words that mean another thing here than in Kafka's documentation, and sentences that nobody finds clear."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"(?<![\w`-])places?(?![\w-])", re.IGNORECASE)
"""For a position, or for where something stands."""
OTHERWISE = re.compile(
    r"\bin(?:\s+(?:the|its|their|the\s+password's|the\s+journal's))?\s+place\b|\b(?:takes?|took)\s+the\s+place\b|"
    r"\banother\s+place\b",
    re.IGNORECASE,
)
IN_FILES = {"place on new"}
"""Names of columns in downloads, which stay."""
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SOURCES = [ROOT / "app.py", *sorted([*(ROOT / "lib").rglob("*.py"), *(ROOT / "pages").rglob("*.py")])]


def without_code(text: str) -> str:
    """Return a page without its code blocks, code spans and addresses."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)


def spoken(tree: ast.Module) -> Iterator[str]:
    """Yield every text of a module that is not a docstring."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_no_page_calls_a_position_a_place() -> None:
    found = {
        (path.name, match[0], text[max(0, match.start() - 30) : match.end() + 20])
        for path in PAGES
        for text in [OTHERWISE.sub("", without_code(path.read_text(encoding="utf-8")))]
        for match in PLACE.finditer(text)
    }
    assert not found


def test_no_sentence_calls_a_position_a_place() -> None:
    found = {
        (str(path.relative_to(ROOT)), text)
        for path in SOURCES
        for text in spoken(ast.parse(path.read_text(encoding="utf-8")))
        if " " in text.strip() and text not in IN_FILES and PLACE.search(OTHERWISE.sub("", text))
    }
    assert not found


REPLACED = (
    "Give one cluster's.",
    "Say that it is not.",
    "Give the folder above one",
    "Not of one that ends transactions",
    "Do so as",
    "It tells that alone",
    "Changes nothing: 5 and 1",
    "a person may decide with a reason",
    "nobody may guess",
    "So it is for",
    "without it too",
    "spelled as that is",
    "as far as the disk lets",
    "how it came there",
    "as many as the desk holds",
    "what speaks against that, their own state says",
)
"""Riddles that stood in the code once; each has a sentence with subject, verb and number in its place."""


def test_no_text_of_the_product_is_a_riddle_that_was_replaced() -> None:
    found = {
        (str(path.relative_to(ROOT)), riddle)
        for path in (*SOURCES, *PAGES)
        for riddle in REPLACED
        if riddle in path.read_text(encoding="utf-8")
    }
    assert not found


def test_the_glossary_has_each_term_once_in_order() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", page, re.MULTILINE)[1:]
    terms = [term.lower() for term, _ in rows]

    assert len(terms) > 60
    assert terms == sorted(set(terms))
    assert [term for term in terms if re.search(r"[;,]", term)] == [], "one term has one row"
