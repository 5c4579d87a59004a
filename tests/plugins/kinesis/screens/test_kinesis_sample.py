"""The bundled sample of streams: what was recorded, and the pages over it."""

from __future__ import annotations

import gzip
import re
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import offsetwise
from offsetwise import workflow
from offsetwise.approval import demo
from offsetwise.bundled import Bundled
from offsetwise.cli import render
from offsetwise.console.explore import compare_table, lag_charts, shard_chart
from offsetwise.console.reader import Reader
from offsetwise.console.widgets import evidence, palette
from offsetwise.console.widgets.escaping import markdown
from offsetwise.lag.amounts import furthest
from offsetwise.model import Cluster, Left, Side, SubjectKind
from offsetwise.plan.reading import read_plan
from offsetwise.watch.recording import recorded_lag
from offsetwise.wording import brief
from offsetwise.wording.time_lag import parts
from tests.commands import call
from tests.console.conftest import OpenPage, settle, words
from tests.with_cases import with_cases

SAMPLE = "orders-to-frankfurt (sample)"
APP, QUERY = "checkpoint orders-app", "checkpoint orders-query"


@pytest.fixture(scope="module")
def bundled() -> Reader:
    return Reader(())


@pytest.fixture
def without_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("boto3", "botocore"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("without_boto3")
def test_an_application_and_a_query_of_a_resharded_stream_have_places_on_another_one() -> None:
    migration = workflow.sample(Bundled.KINESIS)
    for each in migration.checkpoints:
        seen = workflow.with_sample_snapshots(workflow.sample_comparison(each.name, Bundled.KINESIS), Bundled.KINESIS)
        read = workflow.checkpoint_reading(migration, each.name).checkpoint
        assert seen.checkpoint is not None
        assert read.sources == seen.checkpoint.sources
        assert [row.exactness.proven for row in seen.partitions].count(True) >= 2
        assert all(row.behind_old is not None for row in seen.partitions)
        assert seen.quota is not None
        (old,), (new,) = seen.snapshots[0].topics, seen.snapshots[1].topics
        assert [(shard.partition, shard.parents, shard.closed) for shard in old.shards] == [
            (0, (), True),
            (1, (), False),
            (2, (0,), False),
            (3, (0,), False),
        ]
        assert len(new.shards) == 3
    codes = {finding.code for finding in workflow.sample_comparison("orders-query", Bundled.KINESIS).findings}
    assert {"LEASE_DRIFT", "CLOSED_SHARD_UNREAD"} <= codes


def test_positions_are_written_into_the_shards_as_far_as_they_fit() -> None:
    seen = workflow.with_sample_snapshots(workflow.sample_comparison("orders-app", Bundled.KINESIS), Bundled.KINESIS)
    (old,), (new,) = seen.snapshots[0].topics, seen.snapshots[1].topics
    shards, marks = shard_chart.shards_of([(old, new)]), shard_chart.marks_of(seen.partitions)
    assert sorted(marks) == [("new", "orders", 0), ("new", "orders", 1), ("new", "orders", 2)] + [
        ("old", "orders", number) for number in (1, 2, 3)
    ]
    labels = [note.text for note in shard_chart.tree(shards, palette.LIGHT, marks).layout.annotations]
    assert len(labels) == 7
    assert [text for text in labels if "●" in text or "◆" in text] == labels[1:]
    mark = "[●◆]<br>(seq:4968…[0-9]{4}|TRIM_HORIZON)<br>([0-9.a-z ]+ behind|at the end)"
    assert all(re.fullmatch(rf"<b>\d</b>( {mark})?", text) for text in labels)
    assert "Shard 3: ● seq:4968…" in shard_chart.takeaway(shards, marks)

    one = shard_chart.shards_of([(old, old)])
    both = {(side, "orders", 1): marks["new", "orders", 1] for side in ("old", "new")}
    labels = [note.text for note in shard_chart.tree(one, palette.LIGHT, both).layout.annotations]
    assert [text for text in labels if "●◆<br>seq:" in text] == labels[1:2]


def test_no_text_stands_on_a_bar_of_the_shards() -> None:
    seen = workflow.with_sample_snapshots(workflow.sample_comparison("orders-app", Bundled.KINESIS), Bundled.KINESIS)
    shards = shard_chart.shards_of([(seen.snapshots[0].topics[0], seen.snapshots[1].topics[0])])
    figure = shard_chart.tree(shards, palette.LIGHT, shard_chart.marks_of(seen.partitions))
    bars = [(y - bar.width / 2, y + bar.width / 2) for bar in figure.data for y in bar.y]
    notes = figure.layout.annotations
    assert len(notes) == len(bars) == 7
    lane_px = figure.layout.height / len({note.y for note in notes})
    for note in notes:
        half = (note.text.count("<br>") + 1) * note.font.size / 2 / lane_px
        assert not any(top < note.y + half and note.y - half < bottom for top, bottom in bars), note.text


def test_the_legend_of_lag_names_only_lines_that_are_drawn() -> None:
    drawn = lag_charts.Line(name="drawn", points=(lag_charts.Point(at_ms=0, value=1, said="1"),), old=True)
    empty = lag_charts.Line(name="empty", points=(lag_charts.Point(at_ms=0, value=None, said="?"),), old=False)
    figure = lag_charts.over_time([drawn, empty], palette.LIGHT, "seconds behind")
    assert [line.name for line in figure.data] == ["drawn"]


def test_each_part_of_a_position_in_several_shards_has_its_own_lag_on_the_tree_of_shards() -> None:
    seen = workflow.with_sample_snapshots(workflow.sample_comparison("orders-query", Bundled.KINESIS), Bundled.KINESIS)
    (old,), (new,) = seen.snapshots[0].topics, seen.snapshots[1].topics
    shards, marks = shard_chart.shards_of([(old, new)]), shard_chart.marks_of(seen.partitions)
    late = {key[2]: mark.lag for key, mark in marks.items() if key[0] == "old"}
    assert sorted(late) == [0, 1, 2, 3]
    assert [None if each is None else each.left for each in late.values()] == [Left.RECORDS] * 4
    assert late[0] is not None
    assert late[0].records == 7
    assert "Shard 2: ● TRIM_HORIZON · " in shard_chart.takeaway(shards, marks)

    rows = [replace(row, behind_old=None, behind_new=None, behind_parts=()) for row in seen.partitions]
    marks = shard_chart.marks_of(rows)
    hovers = [text for bar in shard_chart.tree(shards, palette.LIGHT, marks).data for text in bar.hovertext]
    assert sum("behind: not asked" in text for text in hovers) == 7
    assert "TRIM_HORIZON · lag not asked" in shard_chart.takeaway(shards, marks)


def test_a_position_in_several_shards_is_short_in_the_table_and_whole_in_its_evidence_and_files(
    open_page: OpenPage, bundled: Reader
) -> None:
    row = workflow.sample_comparison("orders-query", Bundled.KINESIS).partitions[0]
    page = open_page(bundled, "pages/explore/compare.py", migration=SAMPLE, of=QUERY, row="orders-0")
    settle(page)
    assert not page.exception
    assert any(brief(row.old_offset) in one.value.to_string() for one in page.dataframe)
    assert re.fullmatch(r"3 shards, 0 at seq:\d{4}…\d{4}", brief(row.old_offset))
    assert row.old_offset is not None
    told = parts(row.topic_partition, row.old_offset, row.behind_old, row.behind_parts)
    assert [each.partition(":")[0] for each in told] == ["shard 0", "shard 2", "shard 3"]
    for each in (*told, str(row.new_offset), "The positions are of another stream"):
        assert markdown(each) in words(page)
    assert "MirrorMaker" not in words(page)
    assert str(row.old_offset).encode() in compare_table.csv([row])


def test_the_command_has_the_same_words_on_a_hundred_columns() -> None:
    made, out = workflow.sample_comparison("orders-query", Bundled.KINESIS), StringIO()
    render.comparison(Console(file=out, width=100, highlight=False), made)
    lines = out.getvalue().splitlines()
    for row in made.partitions:
        (line,) = (each for each in lines if each.startswith(f" {row.topic_partition} "))
        assert len(line) <= 100
        assert brief(row.old_offset) in line
        assert row.old_offset is not None
        for each in parts(row.topic_partition, row.old_offset, row.behind_old, row.behind_parts):
            assert f"{row.topic_partition} on old, {each}" in lines


def test_the_recorded_lag_is_a_time_that_grows_while_nobody_reads() -> None:
    samples = recorded_lag(Bundled.KINESIS)._samples
    of_app = [each for each in samples if each.checkpoint == "orders-app"]
    late = [found.ms for each in of_app if (found := furthest(each, Cluster.OLD)) is not None]
    assert len(late) == len(of_app) > 10
    assert late[-1] > late[0]
    assert {Left.RECORDS} <= {row.behind_old.left for row in of_app[-1].partitions if row.behind_old is not None}


def test_a_plan_of_it_shows_the_records_of_every_shard_that_prove_its_places(tmp_path: Path) -> None:
    folder, out = Path(offsetwise.__file__).parent / "sample_kinesis", tmp_path / "plan.json"
    target = ("--target", "starting-position", "--author", "ann")
    files = ("--comparison", folder / "comparison-orders-query.json")
    given = (*files, "--snapshots", folder / "old.json", folder / "new.json", "--migration", folder / "migration.yaml")
    drafted = call("draft", "--checkpoint", "orders-query", *given, *target, "--out", out)
    assert drafted.code == 0, drafted.err

    for one in read_plan(out.read_bytes(), subject="plan").positions:
        assert one.proof is not None
        shown = evidence.copied(one.proof.parts)
        assert {number for number, _, _ in shown} <= {0, 1, 2, 3}
        assert {side for _, side, _ in shown} == {Side.READ, Side.UNREAD}
        columns = evidence.copied_records()
        for number, side, record in shown:
            cells = [column.value((number, side, record)) for column in columns]
            assert cells == [number, record.old, record.new, record.identity[:8], str(side)]


def test_nothing_in_it_leads_anywhere() -> None:
    folder = Bundled.KINESIS.file("")
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".gz"]
    texts.append(gzip.decompress(Bundled.KINESIS.file("lag.jsonl.gz").read_bytes()))
    assert not [text for text in texts if re.search(rb"127\.0\.0\.1|localhost|/tmp/|secret|AKIA", text)]
    old, new = demo.sample_clusters(Bundled.KINESIS)
    assert all(str(each).endswith("http://kinesis.sample.invalid") for each in (old, new))


def test_the_overview_opens_it_with_one_click(open_page: OpenPage, bundled: Reader) -> None:
    page = open_page(bundled)
    assert not page.exception
    assert "Open the KCL sample" in [button.label for button in page.button]
    assert "**Positions that are not offsets.**" in words(page)
    assert "recorded from two streams on local servers" in words(page)


@pytest.mark.usefixtures("without_boto3")
@with_cases("of", [APP, QUERY])
@with_cases(
    ("path", "told"),
    {
        "explore/checkpoint": "shardId-000000000001",
        "explore/compare": "is the position on the old stream",
        "explore/lag": "as the stream says at its position",
        "explore/clusters": "A shard lies below those it was made of",
        "operate/fleet": "orders-query",
        "operate/audit": "Who did or tried what",
        "operate/cutover": "No cutover was recorded with this sample.",
        "plan/draft": "begin a Spark query at the positions",
        "plan/review": "walk the whole path now with the bundled samples",
        "plan/export": "Plans and approvals as files",
    }.items(),
    ids=lambda each: each,
)
def test_every_page_opens_on_it(open_page: OpenPage, bundled: Reader, path: str, told: str, of: str) -> None:
    page = open_page(bundled, f"pages/{path}.py", migration=SAMPLE, of=of)
    settle(page)
    assert not page.exception
    held = "\n".join(one.value.to_string() for one in page.dataframe)
    offered = "\n".join(str(option) for box in page.selectbox for option in box.options)
    assert "could not be read" not in words(page)
    assert told in words(page) + held + offered


def test_the_subjects_are_both(bundled: Reader) -> None:
    (offered,) = (each for each in bundled.offered() if each.name == SAMPLE)
    assert [(each.kind, each.name) for each in offered.subjects] == [
        (SubjectKind.CHECKPOINT, "orders-app"),
        (SubjectKind.CHECKPOINT, "orders-query"),
    ]
