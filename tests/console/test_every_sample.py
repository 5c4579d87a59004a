"""What the pages say of the bundled samples is true, and one thing is said in one way: over all samples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.console import answers, board
from offsetwise.console.answers import Question
from offsetwise.console.explore.checkpoint import charts
from offsetwise.console.plan import positions, strategy
from offsetwise.console.plan.checklist import checks, in_words
from offsetwise.console.plan.panel.position_words import in_one_line, moves
from offsetwise.console.plan.work import Frozen
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.widgets import palette
from offsetwise.console.widgets.escaping import markdown
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.findings import severity_of
from offsetwise.fleets import FleetVerdict
from offsetwise.lag.proven import is_proven, partition_from, proven_of, view_from
from offsetwise.model import Ahead, Exactness, Outcome, Plan, Severity, Subject
from offsetwise.model.digest import digest
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.strategies import Strategy, targets_of
from offsetwise.plugins.spark.screens import batches, steps
from offsetwise.store.store import open_store
from offsetwise.wording import verdicts
from tests.console.conftest import APP, figures, settle, words
from tests.screens import OF_ONE_MIGRATION
from tests.with_cases import with_cases

READER = Reader(())
JOBS = [(each, subject) for each in READER.offered() for subject in each.subjects]
ALL = with_cases(("offered", "subject"), JOBS, ids=[f"{each.name} {of.name}" for each, of in JOBS])
_DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def _board(tmp_path: Path) -> Iterator[None]:
    st.cache_resource.clear()
    answers.use(READER)
    with open_store(f"sqlite:///{tmp_path / 'plans.sqlite'}", wait_s=60) as store:
        board.use(lambda: store.reviews, lambda: store.reviews)
        yield
    st.cache_resource.clear()


def page_of(path: str, offered: Offered, subject: Subject, **more: str) -> AppTest:
    page = AppTest.from_file(str(APP), default_timeout=90).switch_page(f"pages/{path}.py")
    for name, value in (offered.address(subject) | more).items():
        page.query_params[name] = value
    page.run()
    settle(page)
    assert not page.exception
    assert "\\`" not in words(page), "a key or a command is shown with its marks, not as code"
    return page


def frozen_of(offered: Offered, subject: Subject) -> Frozen:
    compared = answers.current().cached(Question.of(Reader.comparison, offered.name, subject))
    assert compared is not None
    observed = READER.observed(offered.name, subject, compared.value)
    assert observed is not None
    return Frozen(migration=offered.name, subject=subject, comparison=observed, id=compared.id)


def ways_of(frozen: Frozen) -> tuple[Strategy, ...]:
    comparison = frozen.comparison
    found = READER.strategies(frozen.migration, frozen.subject, comparison, sink_rewound=False)
    return strategy.judged(answers.current(), frozen, found, sink_rewound=False)


def drafted(frozen: Frozen, way: Strategy) -> Plan:
    seen = frozen.comparison
    request = DraftRequest(targets=targets_of(way.kind, seen, seen.snapshots[1]), author="Ada")
    return READER.draft(frozen.migration, frozen.subject, seen, request, seen.taken_at)


def text(page: AppTest) -> str:
    shown = "\n".join(each.value.to_string() for each in page.dataframe)
    return re.sub(r"\\(.)", r"\1", f"{words(page)}\n{shown}")


@ALL
def test_every_way_that_applies_is_drafted_and_the_first_fits_the_engine(offered: Offered, subject: Subject) -> None:
    frozen = frozen_of(offered, subject)
    ways = ways_of(frozen)
    assert ways[0].drafts
    for way in ways:
        if way.drafts:
            assert drafted(frozen, way).positions, way.kind.title
    if frozen.comparison.engine == "kcl":
        assert ways[0].kind.name == "kcl-leases"
        assert drafted(frozen, ways[0]).targets[0].group == frozen.comparison.checkpoint.job_id  # type: ignore[union-attr]


@ALL
def test_the_badge_of_each_way_says_what_its_draft_came_to(offered: Offered, subject: Subject) -> None:
    for way in ways_of(frozen_of(offered, subject)):
        page = page_of("plan/draft", offered, subject, play="author", way=way.kind.title)
        told = text(page)
        submit = [each for each in page.button if each.key == "submit"]
        if not way.drafts:
            assert "✓ applies here" not in told, way.kind.title
            assert all(each.disabled for each in submit), way.kind.title
            assert "a plan may be drafted" not in told
        else:
            assert "✓ applies here" in told, way.kind.title
            assert "This plan is not allowed" not in told
            assert [each.disabled for each in submit] == [False], way.kind.title


@ALL
def test_the_field_of_a_decision_takes_a_whole_position_of_the_stream(offered: Offered, subject: Subject) -> None:
    page = page_of("plan/draft", offered, subject, play="author")
    (field,) = [each for each in page.text_input if str(each.key).startswith("offset-")]
    rows = frozen_of(offered, subject).comparison.partitions
    assert field.proto.max_chars >= max(len(str(row.new_offset)) for row in rows)


@ALL
def test_draft_names_the_largest_changes_under_its_title(offered: Offered, subject: Subject) -> None:
    frozen = frozen_of(offered, subject)
    plan = drafted(frozen, ways_of(frozen)[0])
    shown = [each.value for each in page_of("plan/draft", offered, subject).markdown]
    line = in_one_line(digest(files.dump(plan).encode()), plan)
    assert shown.index(line) < next(at for at, each in enumerate(shown) if "On this page:" in each)
    shifts = {one: abs(verdicts.shift(one) or 0) for one in plan.positions if moves(one)}
    named = [one for one in shifts if f"**{markdown(str(one.topic_partition))}**" in line]
    assert len(named) == min(3, len(shifts))
    assert all(shifts[one] <= min(map(shifts.__getitem__, named)) for one in shifts.keys() - set(named))


@ALL
def test_no_check_is_not_met_where_compare_proves_the_position(offered: Offered, subject: Subject) -> None:
    frozen = frozen_of(offered, subject)
    plan = drafted(frozen, ways_of(frozen)[0])
    (inside,) = [each for each in checks(plan, None) if each.name.endswith("inside its log")]
    assert all(one.exactness.proven or one.exactness is Exactness.BOUNDED for one in plan.positions)
    assert inside.outcome is Outcome.PASSED


@ALL
def test_what_exactness_means_agrees_with_what_was_read_ahead(offered: Offered, subject: Subject) -> None:
    for row in frozen_of(offered, subject).comparison.partitions:
        meaning, ahead = verdicts.meaning(row.exactness, row.ahead), verdicts.ahead(row.ahead)
        if row.exactness is Exactness.POSITION_EXACT:
            assert ("the same" in meaning) == (ahead.tone is verdicts.Tone.RIGHT)
            assert ("not examined" in meaning) == (not row.ahead.examined)
            assert ("differs" in meaning) == (ahead.tone is verdicts.Tone.CAREFUL)


@with_cases(
    ("ahead", "word"),
    [
        (Ahead(examined=True, missing=0, duplicated=0, foreign=0), "the same"),
        (Ahead(examined=True, missing=3, duplicated=0, foreign=0), "differs: 3 missing"),
        (Ahead(examined=False, missing=0, duplicated=0, foreign=0), "not examined"),
    ],
)
def test_a_position_exact_row_says_one_thing_ahead(ahead: Ahead, word: str) -> None:
    assert word in verdicts.meaning(Exactness.POSITION_EXACT, ahead)


@ALL
def test_lag_has_the_position_that_compare_proves(offered: Offered, subject: Subject) -> None:
    comparison = frozen_of(offered, subject).comparison
    proven = proven_of(comparison)
    view = READER.lag(offered.name, subject, 30 * _DAY_MS, lambda *_: None)
    if view is None:
        pytest.skip("the sample has no lag of it")
    newest = view_from(view, proven).newest.sample
    for row in newest.partitions:
        if is_proven(row, proven):
            assert row.new_position == proven[row.key].new_offset
            one = READER.lag_of_partition(offered.name, subject, 30 * _DAY_MS, row.key, lambda *_: None)
            assert one is not None
            assert partition_from(one, proven).row == next(each for each in newest.partitions if each.key == row.key), (
                "the table and the partition's own chart end in one number"
            )
    told = text(page_of("explore/lag", offered, subject))
    for row in view.newest.sample.partitions:
        found = proven.get(row.key)
        if found is not None and row.position == found.old_offset and row.new_position != found.new_offset:
            assert "by the mirror's claim" in told


@ALL
def test_the_chart_of_a_failure_draws_every_offset_at_itself(offered: Offered, subject: Subject) -> None:
    reading = answers.current().cached(Question.of(Reader.checkpoint_reading, offered.name, subject.name, None))
    assert reading is not None
    if not reading.value.checkpoint.details.batches:
        pytest.skip("an engine without batches has no such chart")
    found = batches.history(reading)
    for moment in steps.steps_of(reading).values():
        for scope in batches.scopes(reading).values():
            at = steps.standing_at(reading, moment, scope)
            places = steps.step_places(reading, moment, scope)
            figure = charts.step(found, at, places, scope.lanes, palette.LIGHT)
            marks = next(trace for trace in figure.data if trace.name == "a restart reads on here")
            known = [place for place in places if at.start_known[place]]
            assert list(marks.x) == [int(at.start[place]) for place in known]
            assert figure.layout.xaxis.title.text == "offset"


@ALL
def test_a_recording_says_when_it_was_written_and_never_when_it_was_copied(offered: Offered, subject: Subject) -> None:
    recorded = frozen_of(offered, subject).comparison.checkpoint
    assert recorded is not None
    shown = READER.checkpoint_reading(offered.name, subject.name, None, lambda *_: None).checkpoint
    fleet = READER.fleet(offered.name, lambda *_: None)
    row = next(each for each in fleet.rows if subject.name in each.names)
    assert shown.details.written_ms == recorded.details.written_ms == row.planned_at_ms
    told = text(page_of("explore/checkpoint", offered, subject))
    assert "Written **" not in told
    if shown.engine == "flink":
        assert "Recorded as written **2026-11-23" in told


@ALL
def test_kinesis_is_shown_in_its_own_words(offered: Offered, subject: Subject) -> None:
    page = page_of("explore/checkpoint", offered, subject)
    shown = READER.checkpoint_reading(offered.name, subject.name, None, lambda *_: None).checkpoint
    if any(source.shards for source in shown.sources):
        assert "Kafka" not in text(page)
        assert "Read again on restart" not in [each.label for each in page.metric]
        assert any("shard" in each.value.columns for each in page.dataframe)
    else:
        assert "sequence number" not in text(page).casefold()


@ALL
def test_what_changes_says_how_many_do_and_shows_them_first(offered: Offered, subject: Subject) -> None:
    frozen = frozen_of(offered, subject)
    rows = positions.rows_of(drafted(frozen, ways_of(frozen)[0]), None)
    changing = sum(row.position.old_offset != row.position.new_offset for row in rows)
    told = f"{changing:,} change" if changing else "no offset changes"
    assert positions.headline(rows).startswith(told)
    assert "as before" not in positions.headline(rows)
    for look in positions.Attention:
        moved = [moves(row.position) for row in rows if row.attention is look]
        assert moved == sorted(moved, reverse=True) or look is positions.Attention.UNSAFE


@ALL
def test_people_have_one_name_and_whoever_plays_a_part_is_not_called_nobody(offered: Offered, subject: Subject) -> None:
    page = page_of("plan/draft", offered, subject, play="author")
    page.button(key="submit").click().run()
    settle(page)
    assert not page.exception
    assert page.toast[0].value == "**✓** Plan 1 is submitted for review."
    review = page_of("plan/review", offered, subject, play="author")
    for shown in (page, review):
        told = text(shown)
        assert "Not signed in" not in told
        assert "demo author" not in told


@with_cases("offered", READER.offered(), ids=lambda each: each.name)
def test_clusters_and_fleet_say_what_their_verdicts_are_about(offered: Offered) -> None:
    clusters = page_of("explore/clusters", offered, offered.subjects[0])
    assert any("configuration" in each.value.columns for each in clusters.dataframe)
    assert not any({"verdict", "held old"} <= {*each.value.columns} for each in clusters.dataframe)
    if "agree** in partitions" in (told := text(clusters)):
        assert "What they hold is not compared here" in told

    fleet = READER.fleet(offered.name, lambda *_: None)
    page = page_of("operate/fleet", offered, offered.subjects[0])
    shown = figures(page)
    severities = [
        {severity_of(code) for code in row.codes} if not isinstance(row.read, FailedCheckpoint) else set()
        for row in fleet.rows
    ]
    assert shown["Blocked"] == str(sum(Severity.BLOCKS in each for each in severities))
    warned = sum(
        Severity.WARNS in each and row.verdict is FleetVerdict.RESTARTABLE
        for each, row in zip(severities, fleet.rows, strict=True)
    )
    assert shown["Warned"] == str(warned)
    assert bool(warned) == (" warnings: the column problems names them" in text(page))


ISO_8601 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}")
EVERY_PAGE = (*(f"explore/{name}" for name in OF_ONE_MIGRATION), "operate/fleet", "plan/draft")


@ALL
def test_every_time_on_a_page_is_written_in_one_way(offered: Offered, subject: Subject) -> None:
    for path in EVERY_PAGE:
        page = page_of(path, offered, subject)
        cells = [str(cell) for table in page.dataframe for cell in table.value.astype(str).to_numpy().ravel()]
        # What the mirror and the stream say themselves stands in their own words.
        shown = [text for text in (*words(page).splitlines(), *cells) if ISO_8601.search(text)]
        assert shown == [], path


@ALL
def test_what_access_takes_is_said_once(offered: Offered, subject: Subject) -> None:
    said = words(page_of("explore/clusters", offered, subject, part="Access"))
    assert said.count("were recorded and do not run") == 1
    assert said.count("What reading this migration takes") == 1


@ALL
def test_checks_that_are_met_are_folded_and_the_others_stand_open(offered: Offered, subject: Subject) -> None:
    frozen = frozen_of(offered, subject)
    results = checks(drafted(frozen, ways_of(frozen)[0]), None)
    met = [each for each in results if each.outcome is Outcome.PASSED]
    page = page_of("plan/draft", offered, subject, play="author")
    (folded,) = [each for each in page.expander if each.label.endswith(" met")]
    assert not folded.proto.expanded
    (inside,) = [each.value for each in folded.markdown]
    assert met
    assert all(in_words([each]) in inside for each in met)
    assert all("[✓ met]" in line for line in inside.splitlines())
    assert words(page).count("[✓ met]") == len(inside.splitlines()), "none stands open"
