"""Whether two names may mean one person. Doubt counts as yes: it costs a signature, the other way costs the rule.

Names come in many forms: `alice`, `Alice <alice@example.org>`, `https://login.example.org alice`. Two names may be one
person where one of them, whole, is a part of the other, or where they share a mail address.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_BETWEEN_PARTS: Final = re.compile(r"[\s|#/<>()\[\]\"',;]+")


def plain(name: str) -> str:
    """Give a name without case, width, invisible characters and doubled blanks.

    >>> plain("  ＡＬＩＣＥ Smith ")
    'alice smith'
    """
    seen = "".join(each for each in unicodedata.normalize("NFKC", name) if unicodedata.category(each) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", seen.casefold()).split())


def same_person(one: str, other: str) -> bool:
    """Whether two names may mean one person.

    >>> same_person("Alice", "Alice Smith <alice@example.org>"), same_person("alice@a.org", "alice@b.org")
    (True, False)
    """
    first, second = _parts(one), _parts(other)
    addresses = {part for part in first & second if "@" in part}
    return plain(one) in second or plain(other) in first or bool(addresses)


def distinct_people(names: Sequence[str]) -> tuple[int, ...]:
    """Number the people behind names, so that two names of one person have one number.

    Where a name may be either of two people, all three are one: numbers never depend on the order.

    >>> distinct_people(["alice", "bob", "ALICE"])
    (0, 1, 0)
    """
    people = list(range(len(names)))
    for here, name in enumerate(names):
        for before in range(here):
            if same_person(name, names[before]):
                kept, dropped = sorted((people[before], people[here]))
                people = [kept if each == dropped else each for each in people]
    return tuple(people)


def _parts(name: str) -> frozenset[str]:
    whole = plain(name)
    parts = {whole, *_BETWEEN_PARTS.split(whole)}
    local = {part.partition("@")[0] for part in parts if "@" in part}
    return frozenset(part for part in parts | local if part)
