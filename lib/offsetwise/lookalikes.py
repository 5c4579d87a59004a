"""Texts that look alike: invisible characters, confusable characters, mixed scripts in one name.

Unicode's properties come from the library `regex`; the table of confusable characters from `confusables.tsv`, which
`tools/confusables.py` writes. Both are of Unicode 18.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files as package_files
from itertools import groupby
from typing import Final

import regex

_INVISIBLE: Final = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800\U00016FE4\U0001D159]|(?!\s)\p{Cc}")
"""Besides the property, formats, and controls that are no blanks: the empty Braille pattern, a Khitan filler and a note
without a head, which are letters, marks and symbols by their category and have no ink."""
_SCRIPTS: Final = """
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Beria_Erfe Bhaiksuki
    Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian
    Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs
    Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema
    Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inscriptional_Pahlavi
    Inscriptional_Parthian Javanese Jurchen Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer
    Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam
    Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive
    Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko
    Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic
    Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene
    Pau_Cin_Hau Phags_Pa Phoenician Proto_Cuneiform Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Seal Sharada
    Shavian Siddham Sidetic SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac
    Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tai_Yo Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh
    Tirhuta Todhri Tolong_Siki Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
"""
_WRITTEN_TOGETHER: Final = (
    {"Latin", "Han", "Bopomofo"},
    {"Latin", "Han", "Hiragana", "Katakana"},
    {"Latin", "Han", "Hangul"},
)
"""Scripts that one language mixes, by UTS #39 ("highly restrictive"): those of Taiwan, Japan, Korea."""
_HIDDEN: Final = r"[\p{Default_Ignorable_Code_Point}\p{C}\p{Zl}\p{Zp}\u2800\U00016FE4\U0001D159⟨⟩]|(?! )\p{Zs}"
_PIECE: Final = regex.compile(
    rf"(?P<hidden>(?:{_HIDDEN})|(?<![\p{{L}}\p{{M}}\p{{N}}])\p{{M}}+)|(?P<word>(?:(?!{_HIDDEN})[\p{{L}}\p{{M}}\p{{N}}_.-])+)"
)
"""The brackets too: a name with brackets would look like a marked one."""
_LETTER: Final = regex.compile(r"\P{M}\p{M}*|\p{M}+")
_USUAL: Final = re.compile("[ -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u205e\u2190-\u23ff\u2500-\u27e7]*")
"""Latin letters, punctuation and visible symbols: a fast check for most texts."""


def invisible(text: str) -> tuple[str, ...]:
    r"""Return the invisible characters of a text, each once, in their order.

    >>> invisible("a\u034fd\u3164a\u034f") == ("\u034f", "\u3164"), invisible("José ✓")
    (True, ())
    """
    return tuple(dict.fromkeys(_INVISIBLE.findall(text)))


def without_invisible(text: str, instead: str = "") -> str:
    r"""Return a text with its invisible characters replaced by `instead`.

    >>> without_invisible("a\u034fd\u3164a"), without_invisible("ada\u2800smith", " ")
    ('ada', 'ada smith')
    """
    visible: str = _INVISIBLE.sub(instead, text)
    return visible


def code_points(characters: Iterable[str]) -> str:
    r"""Return the code points of characters that cannot be displayed.

    >>> code_points("\u034f\u3164")
    'U+034F, U+3164'
    """
    return ", ".join(f"U+{ord(character):04X}" for character in characters)


def skeleton(text: str) -> str:
    """Return the skeleton of a text: two texts with one skeleton may be confused (UTS #39, section 4).

    It is for comparison, not for display.

    >>> skeleton("аda") == skeleton("ada"), skeleton("ıda") == skeleton("ida"), skeleton("ada") == skeleton("ida")
    (True, True, False)
    """
    visible = without_invisible(unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFD", visible.translate(_prototypes()))


def folded(text: str) -> str:
    """Return a text without case and width.

    >>> folded("ＳTRASSE") == folded("straße")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def likeness(text: str) -> str:
    """Return the skeleton of a text without case and blanks, for a database, which compares for equality only.

    >>> likeness("ADA Smith") == likeness("аda  smith"), likeness("ada") == likeness("ida")
    (True, False)
    """
    return "".join(folded(skeleton(folded(without_invisible(text)))).split())


def mixed_scripts(text: str) -> tuple[str, ...]:
    """Return the scripts that are mixed in a text, sorted; empty if one script, or one language, covers all letters.

    Characters of every script (the digits 0 to 9, punctuation, most marks) are ignored.

    >>> mixed_scripts("pаyments"), mixed_scripts("платежи-2"), mixed_scripts("支払いデータ")
    (('Cyrillic', 'Latin'), (), ())
    """
    results = [scripts for scripts in (_scripts(character) for character in dict.fromkeys(text)) if scripts]
    if not results or frozenset.intersection(*results):
        return ()
    if any(all(scripts & together for scripts in results) for together in _WRITTEN_TOGETHER):
        return ()
    return tuple(sorted(name.replace("_", " ") for name in frozenset.union(*results)))


def marked(text: str) -> str:
    r"""Return a text for display in which nothing is hidden; additions are in brackets.

    Invisible characters, controls, marks without a base and unusual blanks are replaced by their code point; letters of
    another script than most of their word are followed by its name. Mark a text only once: its own brackets are
    replaced by their code points, so that nothing looks marked that is not.

    >>> marked("pay\u034fments"), marked("p\u0430yments"), marked("注文-orders für платежи")
    ('pay⟨U+034F⟩ments', 'pа⟨Cyrillic⟩yments', '注文-orders für платежи')
    """
    if _USUAL.fullmatch(text):
        return text
    shown: str = _PIECE.sub(lambda piece: bracketed(piece[0]) if piece["hidden"] else _word(piece[0]), text)
    return shown


def bracketed(characters: str) -> str:
    """Return the code points of characters in brackets.

    >>> bracketed("⟨⟩")
    '⟨U+27E8⟩⟨U+27E9⟩'
    """
    return "".join(f"⟨U+{ord(character):04X}⟩" for character in characters)


def _word(word: str) -> str:
    """Mark the letters of a word that are not of its main script: that of most letters, Latin if in doubt."""
    mixed = () if word.isascii() else mixed_scripts(word)
    if not mixed:
        return word
    known = [scripts for scripts in map(_scripts, word) if scripts]
    own = max(mixed, key=lambda script: (sum(script in scripts for scripts in known), script == "Latin"))

    def other(letter: str) -> str:
        scripts = _scripts(letter[0])
        return "" if not scripts or own in scripts else min(scripts).replace("_", " ")

    runs = ((script, "".join(run)) for script, run in groupby(_LETTER.findall(word), key=other))
    return "".join(f"{run}⟨{script}⟩" if script else run for script, run in runs)


@cache
def _prototypes() -> Mapping[int, str]:
    lines = (package_files("offsetwise") / "confusables.tsv").read_text(encoding="ascii").splitlines()
    pairs = (line.split("\t") for line in lines if not line.startswith("#"))
    return {
        int(code_point, 16): "".join(chr(int(code, 16)) for code in prototype.split())
        for code_point, prototype in pairs
    }


@cache
def _patterns() -> Mapping[str, regex.Pattern[str]]:
    return {name: regex.compile(rf"\p{{Script_Extensions={name}}}") for name in _SCRIPTS.split()}


@lru_cache(maxsize=4096)
def _scripts(character: str) -> frozenset[str]:
    """Return the scripts of a character; empty for one that belongs to all."""
    if character.isascii():
        return frozenset({"Latin"}) if character.isalpha() else frozenset()
    return frozenset(name for name, pattern in _patterns().items() if pattern.match(character))
