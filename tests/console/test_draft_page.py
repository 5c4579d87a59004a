"""The Draft page: for whom it does what, and that what it shows is what is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import offsetwise
from offsetwise import workflow
from offsetwise.approval import Verdict
from offsetwise.console import answers, board
from offsetwise.console.plan import draft
from offsetwise.console.plan.decisions import wrong_with
from offsetwise.console.plan.draft import checklist
from offsetwise.console.plan.work import begun_with
from offsetwise.console.reader import Reader
from offsetwise.console.server import access
from offsetwise.console.server.access import Access
from offsetwise.errors import StoreUnreachableError
from offsetwise.model import Ahead, Cluster, Comparison, Exactness, Method, Outcome, Snapshot, Start
from offsetwise.plan.strategies import judge_strategies
from offsetwise.review.access import Role
from offsetwise.review.answers import Approved, Done, SavedVersion
from offsetwise.review.board import Board
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import State
from offsetwise.store.store import Store, open_store
from tests.console.conftest import APP, figures, words
from tests.console.readers import ValueReader
from tests.console.test_shell import NOBODY, PEOPLE, ROLES, SECRETS, bundled, claims
from tests.plan.scene import grouped, rows, snapshot
from tests.with_cases import with_cases

DRAFT = "pages/plan/draft.py"
SAMPLE = Path(offsetwise.__file__).parent / "sample"
PARTITIONS = 10_000
HOSTILE = "<img src=x onerror=alert(1)> =cmd() **x** [a](javascript:1) \u202e"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path) -> Iterator[Store]:
    """The store of plans, of the console and of the demonstration alike."""
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'plans.sqlite'}", wait_s=60) as store:
        board.use(lambda: store.reviews, lambda: store.reviews)
        yield store
    access.use(Access())
    st.cache_resource.clear()


def opened(part: str | None = None, *, reader: Reader | None = None, of: str = "payments", **more: str) -> AppTest:
    """Open the page on the sample, as somebody of the demonstration or as nobody."""
    answers.use(reader or bundled())
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.switch_page(DRAFT)
    for name, value in {"of": f"checkpoint {of}", **({} if part is None else {"play": part}), **more}.items():
        made.query_params[name] = value
    made.run()
    assert not made.exception
    return made


def press(page: AppTest, key: str) -> AppTest:
    page.button(key=key).click().run()
    assert not page.exception
    return page


def decide(page: AppTest, offset: str, reason: str, *, row: str = "payments-0") -> AppTest:
    page.text_input(key=f"offset-{row}").input(offset)
    page.text_input(key=f"reason-{row}").input(reason)
    next(button for button in page.main.button if button.label == "Decide").click()
    page.run()
    assert not page.exception
    return page


def demo(kept: Store) -> tuple[Board, dict[Role, object]]:
    return demo_board(kept.reviews), dict(demo_people(datetime.now(UTC)))


def sheet_of(kept: Store, plan: int = 1) -> Sheet:
    made = demo_board(kept.reviews).sheet(demo_people(datetime.now(UTC))[Role.VIEWER], plan)
    assert made is not None
    return made


def disabled(page: AppTest) -> dict[str, bool]:
    return {str(each.key): each.disabled for each in page.button if each.key in ("save", "submit")}


# --------------------------------------------------------------------------- for whom


def test_where_nobody_can_sign_in_the_page_says_how_and_still_shows_what_a_plan_would_cost() -> None:
    page = opened()
    said = words(page)
    assert "Nobody can sign in here" in said
    assert "offsetwise keygen --console" in said
    assert figures(page)["Partitions"] == "2"
    assert "Deciding is off" in said
    assert not [button for button in page.main.button if button.key in ("save", "submit")]
    assert [button.label for button in page.main.button if button.label.startswith("Play")] == [
        "Play Ada, who drafts",
        "Play Rita, who reviews",
        "Play Vera, who looks",
    ]


def test_a_part_of_the_demonstration_is_one_click_away_and_marked() -> None:
    page = press(opened(), "play-author")
    assert ":material/theater_comedy: You play **Ada, who drafts**" in [each.value for each in page.markdown]
    assert disabled(page) == {"save": False, "submit": False}
    assert page.query_params["play"] == "author"
    press(page, "continue-reviewer")
    assert ":material/theater_comedy: You play **Rita, who reviews**" in [each.value for each in page.markdown]
    press(page, "play-end")
    assert not [each for each in page.markdown if "You play" in each.value]
    assert "play" not in page.query_params


@with_cases("who", PEOPLE)
def test_who_signed_in_drafts_only_with_the_role_author_and_is_told_why_not(who: str) -> None:
    user, _ = PEOPLE[who]
    access.use(Access(roles=ROLES.model_copy(update={"viewer": ()})))
    answers.use(bundled())
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.user, page.secrets = user, SECRETS
    page.switch_page(DRAFT)
    page.query_params["of"] = "checkpoint payments"
    page.run()
    assert not page.exception
    may = who == "author"
    assert disabled(page) == {"save": not may, "submit": not may}
    assert ("Saving is off" in words(page)) is not may
    if may:
        press(page, "submit")
        assert "Plan 1 waits for a decision about exactly" in words(page)
    elif user is not NOBODY:
        assert "you need the role author" in words(page)
    else:
        assert "you have to be signed in" in words(page)


def test_a_link_to_a_job_that_is_gone_says_what_is_shown_in_its_place() -> None:
    page = opened("author", of="gone")
    assert not page.exception
    (warned,) = [each.value.replace("\\", "") for each in page.warning if "link names" in each.value]
    assert "a job of orders-to-new (sample) that this console does not have: checkpoint gone" in warned
    assert "What you see is checkpoint orders." in warned


def test_a_sign_in_of_yesterday_is_nobody() -> None:
    access.use(Access(roles=ROLES.model_copy(update={"viewer": ()})))
    answers.use(bundled())
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.user = {**claims("aron", groups=["migration-team"]), "iat": 1_700_000_000}
    page.secrets = SECRETS
    page.switch_page(DRAFT)
    page.run()
    assert "you have to be signed in" in words(page)


# --------------------------------------------------------------------------- the path


def test_a_draft_is_submitted_under_the_digest_that_was_shown(kept: Store) -> None:
    page = press(opened("author"), "submit")
    sheet = sheet_of(kept)
    assert sheet.row.state is State.SUBMITTED
    assert f"exactly `{sheet.digest[:8]}`" in words(page)
    assert sheet.digest in [each.value for each in page.code]
    assert [str(each) for each in sheet.plan.targets] == ["spark-checkpoint"]
    assert (sheet.plan.author, sheet.plan.editors) == ("offsetwise:demo demo author", ())
    assert "Barred from deciding about it:** Ada, who drafts" in words(page)
    seen = demo_board(kept.reviews).observed(demo_people(datetime.now(UTC))[Role.REVIEWER], 1, 1)
    assert seen is not None
    assert seen == workflow.sample_comparison("payments")
    assert disabled(page) == {"save": True}, "what is submitted leads on to Review in place of Submit"
    assert not page.button(key="go-review-played").disabled


def test_editing_makes_a_new_version_and_drops_what_was_approved(kept: Store) -> None:
    page = press(opened("author", of="orders", way="group offsets"), "submit")
    first = sheet_of(kept)
    reviewer = demo_people(datetime.now(UTC))[Role.REVIEWER]
    answer = demo_board(kept.reviews).decide(
        reviewer,
        1,
        first.digest,
        Verdict.APPROVED,
        typed=first.facts.confirm,
        in_spite_of={"job stopped": "It was stopped a minute later."},
    )
    assert isinstance(answer, Approved)

    page.run()
    assert figures(page)["Skipped"] == "0"
    decide(page, "953", "Three test records that nobody needs.", row="orders-0")
    assert figures(page)["Skipped"] == "≤ 3"
    assert figures(page)["Decided by people"] == "1"
    assert "Saving drops 1 approval of version 1." in words(page)
    press(page, "save")

    second = sheet_of(kept)
    assert (second.row.number, second.row.state, second.status.counted) == (2, State.DRAFT, ())
    assert "1 approval of before count no more" in words(page)
    override = next(one.override for one in second.plan.positions if one.override is not None)
    assert (override.offset, override.reason) == (953, "Three test records that nobody needs.")
    press(page, "submit")
    assert sheet_of(kept).row.state is State.SUBMITTED


def test_who_opens_an_open_plan_goes_on_with_what_was_decided_in_it(kept: Store) -> None:
    press(decide(opened("author"), "590", "Read ten again, to be sure."), "save")
    again = opened("author")
    assert figures(again)["Replayed"] == "≤ 10"
    assert disabled(again)["save"], "nothing is changed"
    again.selectbox(key="take-back").select("payments-0").run()
    press(again, "take-back-now")
    assert figures(again)["Replayed"] == "0"
    press(again, "save")
    assert sheet_of(kept).plan.totals.overridden == 0


def test_an_edit_of_a_version_that_is_not_the_newest_is_refused_with_what_to_do(kept: Store) -> None:
    press(opened("author"), "save")
    one, other = opened("author"), opened("author")
    press(decide(one, "599", "One again."), "save")
    decide(other, "598", "Two again.")
    assert "You began with another version" in words(other)
    press(other, "save")
    assert "Somebody saved another version meanwhile" in words(other)
    assert sheet_of(kept).row.number == 2
    press(other, "begin-again")
    assert figures(other)["Replayed"] == "≤ 1"


def test_a_plan_that_was_withdrawn_makes_room_for_a_new_one(kept: Store) -> None:
    page = press(opened("author"), "submit")
    author = demo_people(datetime.now(UTC))[Role.AUTHOR]
    assert isinstance(demo_board(kept.reviews).withdraw(author, 1), Done)
    decide(page, "600", "As before.")
    press(page, "save")
    assert sheet_of(kept, 2).row.state is State.DRAFT


@with_cases("part", ["reviewer", "viewer"])
def test_the_other_parts_see_the_draft_and_change_nothing(kept: Store, part: str) -> None:
    press(opened("author"), "save")
    page = opened(part)
    assert disabled(page) == {"save": True, "submit": True}
    assert "you need the role author" in words(page)
    assert sheet_of(kept).row.number == 1


# --------------------------------------------------------------------------- ways, targets, starts


def test_every_way_says_what_it_keeps_gives_up_and_needs_and_why_it_does_not_apply() -> None:
    page = opened("author")
    ways = page.dataframe[0].value
    assert len(ways) >= 9
    for column in ("keeps", "gives up", "needs"):
        assert all(ways[column])
    assert all(bool(row["why not"]) == (row["here"] == "! does not apply") for _, row in ways.iterrows())
    page.selectbox(key="way").select("ignore the old state, startingOffsets").run()
    said = words(page)
    assert "! does not apply here" in said
    assert "This plan is not allowed." in said
    assert figures(page)["Skipped"] == "?", "unknown is not 0"
    assert disabled(page) == {"save": True, "submit": True}
    page.checkbox(key="sink-rewound").check().run()
    assert "This plan is not allowed." not in words(page)
    assert disabled(page) == {"save": False, "submit": False}


def test_a_way_that_needs_another_reading_gives_its_command() -> None:
    page = opened("author", way="rewind to an earlier batch, in a copy")
    assert "Not drafted here." in words(page)
    assert any("--set rewind_to=BATCH" in each.value for each in page.code)


def test_several_targets_stand_in_one_plan(kept: Store) -> None:
    page = opened("author")
    # What only another stream's jobs write is not offered.
    assert not [each for each in page.multiselect(key="also").options if "kcl" in each or "position" in each]
    page.multiselect(key="also").select("consumer-group:orders-etl").run()
    press(page, "save")
    assert [str(each) for each in sheet_of(kept).plan.targets] == ["spark-checkpoint", "consumer-group:orders-etl"]
    again = opened("author")
    assert again.multiselect(key="also").value == ["consumer-group:orders-etl"]


def test_a_topic_can_start_at_its_earliest_record_with_a_reason(kept: Store) -> None:
    page = opened("author")
    button = next(each for each in page.main.button if each.label == "Decide for the topic")
    button.click().run()
    assert "Expected the reason why this start is right" in words(page)
    page.text_input(key="start-reason").input("Everything again, the sink was emptied.")
    next(each for each in page.main.button if each.label == "Decide for the topic").click().run()
    assert figures(page)["Decided by people"] == "2"
    press(page, "save")
    plan = sheet_of(kept).plan
    assert {one.start for one in plan.positions} == {Start.EARLIEST}
    assert {each.start for each in begun_with(plan, 1, "00").starts.values()} == {Start.EARLIEST}


def test_a_pending_batch_lets_nobody_move_its_start_and_says_so() -> None:
    page = decide(opened("author", of="orders"), "951", "x", row="orders-0")
    assert "PENDING\\_BATCH\\_DIFFERS" in words(page)
    assert disabled(page)["submit"]


# --------------------------------------------------------------------------- one plan, whenever it is drawn


def shown_digest(page: AppTest) -> str:
    (found,) = re.findall(r"digest `([0-9a-f]{8})`\. A decision names exactly this", words(page))
    return str(found)


def test_a_plan_is_the_same_whenever_and_by_whomever_it_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override] # a datetime is what is asked for
            return datetime.now(tz) + timedelta(days=1)

    page = opened("author")
    first = shown_digest(page)
    monkeypatch.setattr(draft, "datetime", Tomorrow)

    assert shown_digest(page.run()) == first
    st.cache_resource.clear()
    assert shown_digest(opened("author")) == first, "read again and drawn anew, in another session"
    pressed = press(page, "save")
    assert f"digest `{first}`" in words(pressed)
    assert shown_digest_kept(pressed) == first
    assert shown_digest_kept(opened("author")) == first


def shown_digest_kept(page: AppTest) -> str:
    (found,) = re.findall(r"Version 1 of plan 1, kept: digest `([0-9a-f]{8})`", words(page))
    return str(found)


def test_a_button_pressed_before_the_page_shows_the_last_choice_saves_nothing(kept: Store) -> None:
    page = opened("author")
    before = shown_digest(page)

    page.selectbox(key="way").select("group offsets")
    press(page, "submit")

    assert kept_plans(kept) == 0
    said = words(page)
    assert f"`{before}` stood there, and the choices above give `{shown_digest(page)}` now. Nothing was saved." in said
    assert shown_digest(page) != before

    after = shown_digest(page)
    press(page, "submit")
    assert f"Plan 1 waits for a decision about exactly `{after}`" in words(page)
    assert not page.button(key="go-review").disabled
    assert "Version 2" not in words(page)


def kept_plans(kept: Store) -> int:
    return len(demo_board(kept.reviews).plans(demo_people(datetime.now(UTC))[Role.VIEWER]))


def test_a_withdrawn_plan_is_drafted_again_as_another_one(kept: Store) -> None:
    page = press(opened("author"), "submit")
    board_, people = demo(kept)
    author = people[Role.AUTHOR]
    assert isinstance(board_.withdraw(author, 1), Done)  # type: ignore[arg-type]

    page = press(page.run(), "submit")

    assert "Plan 2 waits for a decision" in words(page)
    assert sheet_of(kept, 2).digest != sheet_of(kept, 1).digest


# --------------------------------------------------------------------------- bad input


@with_cases(
    ("offset", "reason", "said"),
    [
        ("", "why", "found ''"),
        ("-1", "why", "digits"),
        ("1e3", "why", "digits"),
        ("95 0", "why", "digits"),
        ("٩٥٠", "why", "digits"),
        ("9223372036854775808", "why", "9,223,372,036,854,775,807"),
        ("950", "", "expected the reason"),
        ("950", "  \t", "expected the reason"),
    ],
)
def test_a_decision_that_is_none_changes_nothing_and_is_told(offset: str, reason: str, said: str) -> None:
    page = decide(opened("author"), offset, reason)
    assert said.casefold() in words(page).replace("\\", "").casefold()
    assert figures(page)["Decided by people"] == "0"


def test_the_largest_offset_is_taken_to_the_last_digit() -> None:
    assert wrong_with("9223372036854775807", "x") is None
    assert wrong_with("9007199254740993", "x") is None


def test_an_offset_outside_the_log_is_refused_never_moved() -> None:
    page = decide(opened("author"), "9007199254740993", "x")
    assert "NOT\\_YET\\_MIRRORED" in words(page)
    assert "9,007,199,254,740,993" in words(page).replace("\\", "")


def test_a_reason_is_never_markup_and_is_kept_as_it_is(kept: Store) -> None:
    page = press(decide(opened("author"), "599", HOSTILE), "save")
    override = next(one.override for one in sheet_of(kept).plan.positions if one.override is not None)
    assert override.reason == HOSTILE.strip()
    decided = next(each.value for each in page.dataframe if "starts at" in each.value.columns)
    assert "\u202e" not in decided["reason"].iloc[0]
    for each in page.markdown:
        assert "<img" not in each.value.replace("\\<img", "")


def test_a_time_that_is_none_is_told() -> None:
    page = opened("author")
    page.text_input(key="cutover").input("tomorrow").run()
    assert not page.exception
    assert "expected a time such as" in words(page).replace("\\", "")


def test_a_store_that_is_down_takes_nothing_else_away() -> None:
    def down() -> object:
        raise StoreUnreachableError("The store: no answer within 5 s. Nothing was kept.", fix="Start it.")

    board.use(down, down)  # type: ignore[arg-type]
    page = opened("author")
    assert "no answer within 5 s" in words(page)


def test_a_store_that_goes_down_at_the_click_says_so_and_keeps_what_was_decided(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = decide(opened("author"), "599", "One again.")

    def down(*_: object, **__: object) -> SavedVersion:
        raise StoreUnreachableError("The store: no answer within 5 s. Nothing was kept.", fix="Start it.")

    with monkeypatch.context() as patched:
        patched.setattr(Board, "save_draft", down)
        press(page, "save")
    assert "no answer within 5 s" in words(page)
    assert figures(page)["Decided by people"] == "1"
    press(page, "save")
    assert sheet_of(kept).plan.totals.overridden == 1


# --------------------------------------------------------------------------- what is drafted from


def test_without_a_comparison_the_page_says_where_one_is_made() -> None:
    reader = ValueReader(live=workflow.sample_comparison("payments"))
    page = opened(reader=reader, migration="orders-to-new", of="orders")
    assert "There is no comparison to draft from." in words(page)
    assert reader.calls["compare"] == 0, "nothing is read by opening the page"
    assert reader.calls["draft"] == 0


def test_a_comparison_whose_reading_is_gone_is_made_again_first() -> None:
    page = opened(reader=ValueReader({"payments": workflow.sample_comparison("payments")}), migration="sample")
    assert "The reading of this comparison is gone." in words(page)


def test_the_demonstration_drafts_for_nothing_but_the_sample() -> None:
    page = opened("author", reader=ValueReader(live=workflow.sample_comparison("payments")), migration="orders-to-new")
    assert "plans of the bundled sample only" in words(page)


@with_cases(
    ("minutes", "recorded", "outcome"),
    [(10, False, Outcome.PASSED), (90, False, Outcome.UNKNOWN), (90, True, Outcome.PASSED)],
)
def test_an_old_comparison_is_not_called_fresh(minutes: int, recorded: bool, outcome: Outcome) -> None:
    comparison = replace(workflow.sample_comparison("payments"), taken_at="2026-03-01T10:00:00Z")
    now = datetime(2026, 3, 1, 10 + minutes // 60, minutes % 60, tzinfo=UTC)
    (*_, fresh) = checklist(comparison, None, recorded=recorded, now=now)
    assert (fresh.name, fresh.outcome) == ("fresh", outcome)


@with_cases(
    ("place", "offset", "reason"),
    [
        (0, "500", "The lower bound: no record that was counted is missed, at most 8 records read twice."),
        (
            1,
            "600",
            "The counted cut: no record of the old log is skipped and none read twice; 2 records that the old log does "
            "not explain never read.",
        ),
    ],
)
def test_either_answer_is_taken_with_its_price_as_the_reason(
    kept: Store, large: Comparison, place: int, offset: str, reason: str
) -> None:
    one = replace(large, partitions=large.partitions[:1])
    row = replace(
        one.partitions[0],
        exactness=Exactness.BOUNDED,
        method=Method.CONTENT,
        counted=True,
        new_offset=500,
        bounds=(500, 600),
        replay=8,
        foreign_below=2,
        ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0),
    )
    reader = ValueReader({"payments": replace(one, partitions=(row,))})
    reader.seen = replace(wide(one, 1), partitions=(row,))
    page = opened("author", reader=reader, migration="sample", way="state-preserving edit, in a copy")
    assert figures(page)["Partitions"] == "?", "bounded, and not said to tolerate replay: somebody decides"
    press(page, f"alternative-{place}-payments-0")
    assert (page.text_input(key="offset-payments-0").value, figures(page)["Decided by people"]) == (offset, "1")
    press(page, "submit")
    (position,) = sheet_of(kept).plan.positions
    assert position.override is not None
    assert (str(position.override.offset), position.override.reason) == (offset, reason)


def test_partitions_without_a_commit_are_left_unset_by_a_click() -> None:
    compared = grouped(*rows({}, {"old_offset": None, "restart": (), "new_offset": None}), migration="orders-to-new")
    reader = ValueReader({"payments": compared})
    sides = (snapshot(Cluster.OLD, compared.partitions), snapshot(Cluster.NEW, compared.partitions))
    reader.seen = replace(compared, read_from=sides)
    page = opened("author", reader=reader, migration="sample", way="group offsets")
    assert figures(page)["Partitions"] == "?", "somebody decides, or leaves it"
    page.checkbox(key="leave-unset").check().run()
    assert figures(page)["Partitions"] == "1"
    page.checkbox(key="leave-unset").uncheck().run()
    assert figures(page)["Partitions"] == "?"


# --------------------------------------------------------------------------- ten thousand


def wide(seen: Comparison, count: int) -> Comparison:
    """Make a reading of as many partitions, from one of a few."""
    row = next(each for each in seen.partitions if each.partition == 0)

    def wider(snapshot: Snapshot) -> Snapshot:
        topics = tuple(
            replace(topic, partitions=tuple(replace(topic.partitions[0], partition=number) for number in range(count)))
            for topic in snapshot.topics
            if topic.name == "payments"
        )
        return replace(snapshot, topics=topics)

    rows = tuple(replace(row, partition=number) for number in range(count))
    old, new = map(wider, seen.snapshots)
    return replace(seen, partitions=rows, findings=(), read_from=(old, new))


@pytest.fixture(scope="module")
def large() -> Comparison:
    seen = workflow.load_comparison(SAMPLE / "comparison-payments.json", SAMPLE / "old.json", SAMPLE / "new.json")
    return wide(seen, PARTITIONS)


@pytest.mark.gates
def test_ten_thousand_partitions_are_drafted_once_for_every_change_and_sent_in_pages(
    kept: Store, large: Comparison
) -> None:
    reader = ValueReader({"payments": large})
    reader.seen = large
    page = opened("author", reader=reader, migration="sample", row="payments-9999", rows="9751–10000")
    assert figures(page)["Partitions"] == f"{PARTITIONS:,}"
    drafts = reader.calls["draft"]
    ways = [way for way in judge_strategies(large, workflow.sample()) if way.applies]
    assert drafts == 1 + len(ways), "once for the page, and once for each of the ways that no rule speaks against"
    for shown in ("by name", "needs a look first"):
        page.selectbox(key="show").select(shown).run()
    page.run()
    assert reader.calls["draft"] == drafts, "a click that decides nothing drafts nothing"
    assert max(len(each.value) for each in page.dataframe) <= 250
    decide(page, "599", "One again.", row=str(page.selectbox(key="row").value))
    assert reader.calls["draft"] == drafts + 1
    press(page, "submit")
    sheet = sheet_of(kept)
    assert len(sheet.plan.positions) == PARTITIONS
    assert sheet.plan.totals.overridden == 1


def test_the_fields_of_a_decision_are_folded_where_nothing_needs_one() -> None:
    page = opened("author", row="payments-0")
    folded = next(each for each in page.expander if each.label.startswith("Decide otherwise about"))
    assert not folded.proto.expanded
    decide(page, "599", "One again.")
    decided = next(each for each in page.expander if each.label.startswith("Decide about"))
    assert decided.proto.expanded
