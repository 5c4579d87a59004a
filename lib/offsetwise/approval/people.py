"""Decide whether two names may be one person's. Doubt counts as yes: that costs a signature, the other way the rule.

Names come in many forms: `alice`, `Alice <alice@example.org>`, `auth0|alice`, `CN=Alice,OU=Data`, and as the console
records people, `https://login.example.org alice <alice@example.org>`. Two names may be one person's if

- one of them, as a whole, is in the other, between separators;
- they share an e-mail address, or the local part of an address in one is a part of the other.

They are compared by appearance: without case, width and invisible characters, and by the skeletons of UTS #39.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from offsetwise.lookalikes import folded, skeleton, without_invisible

_BETWEEN_PARTS: Final = re.compile(r"[\s|#/\\<>()\[\]{}\"',;:=?&]+")
_ISSUER: Final = re.compile(r"\s*https?://\S+\s+(?=\S)", re.IGNORECASE)
"""The issuer that the console records before a subject. Many people share one, so it identifies nobody."""


def plain(name: str) -> str:
    """Return a name without case, width, invisible characters and repeated blanks.

    >>> plain("  ＡＬＩＣＥ Smith ")
    'alice smith'
    """
    return " ".join(folded(without_invisible(unicodedata.normalize("NFKC", name))).split())


def same_person(name: str, other: str) -> bool:
    """Return whether two names may be one person's.

    >>> same_person("Alice", "Alice Smith <alice@example.org>"), same_person("alice@a.org", "alice@b.org")
    (True, False)
    >>> same_person("auth0|62e", "https://login.example.org auth0|62e"), same_person("аda", "ada")
    (True, True)
    """
    return any(first.may_be(second) for first in _readings(name) for second in _readings(other))


def distinct_people(names: Sequence[str]) -> tuple[int, ...]:
    """Number the people behind names, so that all names that may be one person's share a number.

    If a name may be either of two people, all three share one, so that numbers never depend on the order.

    >>> distinct_people(["alice", "bob", "ALICE"])
    (0, 1, 0)
    """
    people = list(range(len(names)))
    for here, name in enumerate(names):
        for before in range(here):
            if same_person(name, names[before]):
                retained, dropped = sorted((people[before], people[here]))
                people = [retained if person == dropped else person for person in people]
    return tuple(people)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadName:
    whole: str
    parts: tuple[str, ...]
    """In their order."""
    addresses: frozenset[str]
    local_parts: frozenset[str]
    """Of the addresses."""

    def may_be(self, other: _ReadName) -> bool:
        return (
            (self.whole != "" and self.whole == other.whole)
            or _within(self.parts, other.parts)
            or _within(other.parts, self.parts)
            or not self.addresses.isdisjoint(other.addresses)
            or not self.local_parts.isdisjoint(other.parts)
            or not other.local_parts.isdisjoint(self.parts)
        )


@lru_cache(maxsize=4096)
def _readings(name: str) -> frozenset[_ReadName]:
    """Return the readings of a name: invisible characters removed or as blanks, with and without case.

    A letter may look like another one only as a capital, or only as a small letter.
    """
    texts = {without_invisible(unicodedata.normalize("NFKC", name), instead) for instead in ("", " ")}
    return frozenset(_reading(variant) for text in texts for variant in (text, folded(text)))


def _reading(text: str) -> _ReadName:
    said = _BETWEEN_PARTS.split(_ISSUER.sub("", text, count=1) if _ISSUER.match(text) else text)
    parts = tuple(_skeleton(part) for part in said if part)
    addresses = frozenset(part for part in parts if "@" in part)
    return _ReadName(
        whole="".join(_skeleton(text).split()),
        parts=parts,
        addresses=addresses,
        local_parts=frozenset(local for local in (address.partition("@")[0] for address in addresses) if local),
    )


def _skeleton(text: str) -> str:
    return folded(skeleton(text))


def _within(some: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    ends = range(len(some), len(parts) + 1)
    return some != () and any(parts[end - len(some) : end] == some for end in ends)
