"""Characters that nobody sees, characters that look like others, scripts that meet in one name."""

from __future__ import annotations

import doctest
import sys

import regex

from offsetwise import lookalikes
from offsetwise.lookalikes import invisible, mixed_scripts, skeleton, without_invisible
from tests.with_cases import with_cases

UNSEEN = {
    "combining grapheme joiner": "\u034f",
    "variation selector 16": "\ufe0f",
    "variation selector 256": "\U000e01ef",
    "Mongolian variation selector": "\u180b",
    "Hangul filler": "\u3164",
    "halfwidth Hangul filler": "\uffa0",
    "Hangul initial filler": "\u115f",
    "Hangul vowel filler": "\u1160",
    "Khmer inherent vowel": "\u17b4",
    "Khitan filler": "\U00016fe4",
    "empty Braille pattern": "\u2800",
    "null note head": "\U0001d159",
    "musical control": "\U0001d173",
    "tag": "\U000e0041",
    "reserved, plane 14": "\U000e0fff",
    "reserved, plane 0": "\ufff0",
    "soft hyphen": "\u00ad",
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "right-to-left override": "\u202e",
}
ALIKE = {
    "Cyrillic а": ("аda", "ada"),
    "all Cyrillic": ("раураӏ", "paypal"),
    "dotless ı": ("ıda", "ida"),
    "Greek ο": ("οscar", "oscar"),
    "fullwidth": ("ａｄａ", "ada"),
    "mathematical": ("𝐚𝒹𝕒", "ada"),
    "Roman numeral": ("adaⅿ", "adam"),
    "two for one": ("rnira", "mira"),
    "one and l": ("ha1", "hal"),
    "zero and O": ("0tto", "Otto"),
    "of Unicode 16 and later": ("\U0001ccd6da", "Ada"),
}


@with_cases("character", UNSEEN.values(), ids=UNSEEN)
def test_what_nobody_sees_is_found_and_left_out(character: str) -> None:
    assert invisible(f"a{character}da{character}") == (character,)
    assert without_invisible(f"{character}a{character}da") == "ada"
    assert skeleton(f"a{character}da") == skeleton("ada")


@with_cases("text", ["ada@example.org", "José Núñez", "e\u0301", "платежи", "データ 支払い", "✓ ½", "한국어", ""])
def test_what_is_seen_is_kept(text: str) -> None:
    assert invisible(text) == ()
    assert without_invisible(text) == text


@with_cases("pair", ALIKE.values(), ids=ALIKE)
def test_what_looks_alike_has_one_skeleton(pair: tuple[str, str]) -> None:
    one, other = pair
    assert one != other
    assert skeleton(one) == skeleton(other)


@with_cases(("one", "other"), [("ada", "ida"), ("aron", "arno"), ("alice", "alicia"), ("jose", "josé")])
def test_what_looks_different_has_two(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


def test_a_skeleton_is_its_own_skeleton() -> None:
    once = [skeleton(chr(each)) for each in lookalikes._prototypes()]
    assert len(once) > 6_000
    assert [each for each in once if skeleton(each) != each] == []


@with_cases(
    ("text", "scripts"),
    [
        ("pаyments", ("Cyrillic", "Latin")),
        ("οscar", ("Greek", "Latin")),
        ("Ꭺda", ("Cherokee", "Latin")),
        ("pay漢ments", ()),
        ("한ひ", ("Hangul", "Hiragana")),
        ("payments-2.orders_v1", ()),
        ("josé", ()),
        ("платежи-2", ()),
        ("支払いデータ", ()),
        ("한국漢字", ()),
        ("漢ㄅ", ()),
        ("12:30 ✓ 𝐚", ()),
        ("\u09eaorders", ("Bengali", "Chakma", "Latin", "Syloti Nagri")),
        ("", ()),
    ],
)
def test_scripts_that_meet_in_one_name_are_told(text: str, scripts: tuple[str, ...]) -> None:
    assert mixed_scripts(text) == scripts


def test_every_letter_has_a_script_or_is_common_to_all() -> None:
    names = (*lookalikes._SCRIPTS.split(), "Common", "Inherited")
    known = regex.compile("[" + "".join(rf"\p{{Script_Extensions={name}}}" for name in names) + "]")
    letters = [chr(each) for each in range(sys.maxunicode + 1) if chr(each).isalpha()]
    assert [each for each in letters if not known.match(each)] == []


def test_the_examples_hold() -> None:
    assert doctest.testmod(lookalikes).failed == 0
