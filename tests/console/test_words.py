"""Names, numbers and verdicts as they are printed."""

from __future__ import annotations

import doctest
import random
from dataclasses import replace
from types import ModuleType

from markdown_it import MarkdownIt

from offsetwise import wording
from offsetwise.console.widgets import charts, escaping, palette
from offsetwise.console.widgets.palette import DARK, LIGHT, Palette
from offsetwise.model import Exactness, RawReuse, RawVerdict
from offsetwise.wording import verdicts
from offsetwise.wording.verdicts import Tone
from tests.console import builders
from tests.with_cases import with_cases


@with_cases("module", [wording, charts], ids=lambda module: module.__name__)
def test_every_example_in_the_docstrings_is_true(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@with_cases("name", builders.HOSTILE)
def test_a_hostile_name_stays_text_in_markdown(name: str) -> None:
    escaped = escaping.markdown(name)
    assert "<img" not in escaped.replace("\\<", "")
    assert "\u202e" not in escaped
    assert "\u200f" not in escaped


def test_marks_of_code_in_a_sentence_show_code_and_hide_nothing_else() -> None:
    """Whatever a name in it is: no link, picture or emphasis comes of it, and every character is still there."""
    parts = (*"````", "```", "[a](b)", "![c](d)", "*", "_", "**e**", "<img>", "\\", "|", " ", "init", "www.f", "]", "a")
    made = random.Random(1050)
    markdown = MarkdownIt("gfm-like", {"linkify": False})
    codes = 0
    for _ in range(2_000):
        text = "".join(made.choices(parts, k=made.randint(1, 9))).strip() or "x"
        (inline,) = markdown.parseInline(escaping.sentence(f"x {text} x"))
        children = inline.children or []
        assert {child.type for child in children} <= {"text", "text_special", "code_inline"}, text
        shown = "".join(child.content for child in children).replace(escaping.BREAK, "")
        assert shown.replace("`", "") == f"x {text} x".replace("`", ""), text
        codes += any(child.type == "code_inline" for child in children)
    assert codes > 50


@with_cases("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_cell_never_begins_like_a_formula(start: str) -> None:
    assert not escaping.cell(f"{start}cmd()").startswith(start)


@with_cases("timestamp", [None, -1, 2**62])
def test_a_time_that_is_no_time_is_unknown(timestamp: int | None) -> None:
    assert wording.moment(timestamp) == "?"


def test_a_number_that_was_not_read_is_never_zero() -> None:
    assert (wording.number(None), wording.signed(None), wording.lag(None)) == ("?", "?", "?")


@with_cases(
    ("raw", "printed"),
    [
        (RawReuse(verdict=RawVerdict.SAME, skip=0, replay=0), "✓ same record"),
        (RawReuse(verdict=RawVerdict.LOSS, skip=100, replay=0), "! skips 100"),
        (RawReuse(verdict=RawVerdict.LOSS), "! skips records"),
        (RawReuse(verdict=RawVerdict.REPLAY, replay=1_000), "! replays 1,000"),
        (RawReuse(verdict=RawVerdict.CONFUSION), "! other records"),
        (RawReuse(verdict=RawVerdict.UNKNOWN), "? unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_verdict_has_an_icon_and_a_word(raw: RawReuse, printed: str) -> None:
    assert str(verdicts.raw(builders.partition(raw=raw))) == printed


@with_cases(
    ("log", "printed"),
    [((0, 950), "! 100 past the end"), ((2_000, 3_000), "! 950 before the start"), ((None, None), "! outside the log")],
)
def test_a_number_outside_the_log_says_on_which_side(log: tuple[int | None, int | None], printed: str) -> None:
    row = builders.partition(new_log=log, raw=RawReuse(verdict=RawVerdict.OUT_OF_RANGE))
    assert str(verdicts.raw(row)) == printed


def test_a_cost_that_is_only_bounded_says_at_most() -> None:
    row = builders.partition(exactness=Exactness.BOUNDED, raw=RawReuse(verdict=RawVerdict.LOSS, skip=60))
    assert str(verdicts.raw(row)) == "! skips ≤ 60"


def test_the_answer_counts_what_would_go_wrong_and_says_at_least() -> None:
    tone, head, rest = verdicts.answer(builders.comparison())
    assert (tone, head) == (Tone.WRONG, "5 of 8 partitions would go wrong")
    assert "at least 200 records never read" in rest
    assert "For 1 more partition this is not known yet." in rest


@with_cases(
    ("replay", "skip", "printed"),
    [
        (0, 0, "At the new offsets no record is skipped, and none is read twice."),
        (60, 0, "At the new offsets, records read twice: ≤ 60; never read: 0."),
        (0, 7, "At the new offsets, records read twice: 0; never read: ≤ 7."),
        (None, 7, "What a restart at the new offsets would read twice or never is not counted for any partition."),
    ],
)
def test_what_the_new_offsets_cost_is_one_sentence(replay: int | None, skip: int, printed: str) -> None:
    row = replace(builders.partition(), replay=replay, skip=skip)
    assert verdicts.at_new_offsets(builders.comparison((row,))) == printed


def test_unknown_partitions_never_read_as_right() -> None:
    unknown = builders.partition(new=None, exactness=Exactness.UNKNOWN, raw=RawReuse(verdict=RawVerdict.UNKNOWN))
    tone, head, _ = verdicts.answer(builders.comparison((unknown,)))
    assert tone is Tone.CAREFUL
    assert head == "For 1 of 1 partition it is not known"


def test_all_partitions_right_is_said_plainly() -> None:
    same = builders.partition(old=998, new=998, raw=RawReuse(verdict=RawVerdict.SAME, skip=0, replay=0))
    tone, head, _ = verdicts.answer(builders.comparison((same, replace(same, partition=1))))
    assert (tone, head) == (Tone.RIGHT, "The current offsets are right for all 2 partitions")


@with_cases(
    ("said", "printed"),
    [
        (None, "It has no answer for this position."),
        (950, "950, the same position."),
        (911, "911, which is 39 offsets earlier: safe, but those records would be read again."),
        (951, "951, which is 1 offset too late."),
    ],
)
def test_mirror_makers_answer_stands_beside_ours(said: int | None, printed: str) -> None:
    assert verdicts.mirror_maker(builders.partition(mirror_maker=said)) == printed


@with_cases("raw", list(RawVerdict))
def test_every_consequence_is_a_sentence(raw: RawVerdict) -> None:
    assert verdicts.consequence(builders.partition(raw=RawReuse(verdict=raw))).endswith(".")


@with_cases("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_words_reach_contrast_4_5_and_marks_3(colours: Palette) -> None:
    for tone in Tone:
        assert contrast(colours.tone(tone), colours.page) >= 4.5, tone
    assert contrast(colours.muted, colours.page) >= 4.5
    for mark in (colours.old, colours.new, colours.next_record, colours.raw, colours.bound):
        assert contrast(mark, colours.page) >= 3, mark


def test_an_unknown_theme_is_light() -> None:
    assert palette.current() is LIGHT


def contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
