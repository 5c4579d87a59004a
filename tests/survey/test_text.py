"""The file that a survey becomes: it passes its own reader, and leads where the one written by hand does."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from offsetwise.config import Migration, load_migration
from offsetwise.engines import discovery
from offsetwise.model import Cluster, GroupOffset, GroupState, Link, TopicPartition
from offsetwise.position import offset_of
from offsetwise.strict_yaml import MAX_BYTES
from offsetwise.survey import jobs, reading
from offsetwise.survey.missing_values import OF_A_JOB, OF_THE_MIGRATION
from offsetwise.survey.results import Survey, SurveyedCheckpoint, SurveyedGroup, SurveyedLink
from offsetwise.survey.text import migration_text, scalar
from tests.commands import call
from tests.survey.recorded import LIB, snapshots, survey_of
from tests.with_cases import with_cases


def written(survey: Survey, folder: Path, name: str = "sample") -> tuple[str, Migration]:
    """Write a survey's file into a folder; give its text and what the reader makes of it."""
    text, left = migration_text(survey, folder, name)
    assert left == 0
    (folder / "made.yaml").write_text(text, encoding="utf-8")
    return text, load_migration(folder / "made.yaml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the sample of a Spark job."""
    return Path(shutil.copytree(LIB / "sample", tmp_path / "sample"))


@with_cases("sample", ["sample", "sample_flink"])
def test_the_file_names_clusters_topics_and_groups_as_the_one_written_by_hand(sample: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LIB / sample, tmp_path / sample))
    _, made = written(survey_of(sample, folder / "checkpoints"), folder)
    by_hand = load_migration(folder / "migration.yaml")

    for part in ("link", "topics", "checkpoint_roots", "groups", "isolation_level"):
        assert getattr(made, part) == getattr(by_hand, part), part
    assert (made.source.alias, made.target.alias) == (by_hand.source.alias, by_hand.target.alias)
    assert {each.uri for each in made.checkpoints} == {each.uri for each in by_hand.checkpoints}


@with_cases("checkpoint", ["orders", "payments"])
def test_the_file_leads_to_the_same_comparison(checkpoint: str, folder: Path) -> None:
    written(survey_of("sample", folder / "checkpoints"), folder)
    compared = [
        call(
            *("compare", "-m", folder / file, "--checkpoint", checkpoint, "--json"),
            *("--snapshots", folder / "old.json", folder / "new.json"),
        ).answered()["partitions"]
        for file in ("made.yaml", "migration.yaml")
    ]

    assert len(compared[0]) > 1
    for made, by_hand in zip(*compared, strict=True):
        assert {**made, "findings": ()} == {**by_hand, "findings": ()}


def test_a_checkpoint_shows_state_watermark_and_transactions(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LIB / "sample_flink", tmp_path / "flink"))
    text, made = written(survey_of("sample_flink", folder / "checkpoints"), folder)
    (chk, savepoint, audit) = made.checkpoints

    assert (audit.job.stateful, audit.job.sink) == (None, "kafka")
    assert (chk.name, savepoint.name) == ("0ff5e70f11e00000000000000000beef-chk-6", "savepoint-0ff5e7-dddebceac2d3")
    assert (savepoint.job.stateful, savepoint.job.sink, savepoint.job.watermark_ms) == (True, "kafka", None)
    assert "sink: kafka  # transactional ids begin with order-counts" in text
    assert "# watermark_ms: 600000" in text
    assert "# commits_to: order-counts" in text, "other offsets in the same partitions are a hint"


def test_a_group_at_exactly_the_positions_of_a_checkpoint_is_no_job_of_its_own(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LIB / "sample_flink", tmp_path / "flink"))
    taken = snapshots("sample_flink")
    old = taken[Cluster.OLD]
    assert old is not None
    at = {("clicks", 0): 525, ("orders", 0): 1050, ("orders", 1): 1030, ("payments", 0): 629, ("payments", 1): 629}
    offsets = tuple(GroupOffset(topic=topic, partition=number, offset=to) for (topic, number), to in at.items())
    groups = (GroupState(name="counts", offsets=offsets), GroupState(name="spark-kafka-source-1", offsets=offsets))
    taken[Cluster.OLD] = replace(old, groups=groups)

    text, made = written(survey_of("sample_flink", folder / "checkpoints", taken=taken), folder)

    assert made.group_names == ()
    assert [each.job.commits_to for each in made.checkpoints] == ["counts", "counts", None], (
        "the third reads orders only"
    )
    assert "# left out: counts: the job of checkpoint " in text
    assert "# left out: spark-kafka-source-1: Spark reads with it; the job's positions are in its checkpoint" in text


@with_cases(
    ("subscribed", "left", "commits_to"),
    [
        ((None,), (), "etl-0"),
        ((False,), (), "etl-0"),
        ((True,), ("etl-0",), None),
        ((True, False), ("etl-0",), "etl-1"),
        ((None, None), ("etl-0", "etl-1"), None),
        ((False, False), ("etl-0", "etl-1"), None),
        ((True, True), ("etl-0", "etl-1"), None),
    ],
    ids=[
        "one, of which it is not known",
        "one that only commits",
        "one of consumers",
        "one of consumers beside one that only commits",
        "two, of which it is not known",
        "two that only commit",
        "two of consumers",
    ],
)
def test_consumers_that_stopped_where_the_job_did_are_jobs_of_their_own(
    subscribed: tuple[bool | None, ...], left: tuple[str, ...], commits_to: str | None, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(LIB / "sample_flink", tmp_path / "flink"))
    survey = survey_of("sample_flink", folder / "checkpoints")
    old = snapshots("sample_flink")[Cluster.OLD]
    assert old is not None
    at = {TopicPartition("orders", 0): offset_of(1050)}
    offsets = (GroupOffset(topic="orders", partition=0, offset=1050),)
    groups = [
        GroupState(name=f"etl-{number}", offsets=offsets, subscribed=each) for number, each in enumerate(subscribed)
    ]
    known = [SurveyedGroup(name=group.name, topics=("orders",), partitions=1, state=None) for group in groups]

    told, (checkpoint,) = jobs.told_groups(known, [(survey.checkpoints[0], at)], replace(old, groups=(*groups,)))

    assert tuple(group.name for group in told if group.left_out is None) == left
    assert checkpoint.commits_to == commits_to
    assert checkpoint.may_commit_to == (() if commits_to else left)


def test_a_group_that_has_read_everything_proves_nothing(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LIB / "sample_flink", tmp_path / "flink"))
    survey = survey_of("sample_flink", folder / "checkpoints")
    old = snapshots("sample_flink")[Cluster.OLD]
    assert old is not None
    ends = {(topic.name, each.partition): offset_of(each.hw or 0) for topic in old.topics for each in topic.partitions}
    at = {TopicPartition(topic, number): end for (topic, number), end in ends.items()}
    offsets = tuple(GroupOffset(topic=key.topic, partition=key.partition, offset=end) for key, end in at.items())
    reader = SurveyedGroup(name="reader", topics=("orders",), partitions=5, state=None)

    told, (checkpoint,) = jobs.told_groups(
        [reader], [(survey.checkpoints[0], at)], replace(old, groups=(GroupState(name="reader", offsets=offsets),))
    )

    assert told == (reader,)
    assert (checkpoint.commits_to, checkpoint.may_commit_to) == (None, ("reader",))


def test_what_cannot_be_compared_is_a_comment_with_its_reason(folder: Path) -> None:
    checkpoints = folder / "checkpoints"
    for batch in ("6", "7"):
        (checkpoints / "orders" / "offsets" / batch).write_text("v1\nnot JSON", encoding="utf-8")
    (checkpoints / "empty" / "offsets").mkdir(parents=True)
    (checkpoints / "empty" / "commits").mkdir()
    (checkpoints / "empty" / "metadata").write_text('{"id":"c743e575-33b0-49e7-a325-8d978fddcbda"}', encoding="utf-8")

    survey = survey_of("sample", checkpoints)
    text, made = written(survey, folder)

    assert [each.name for each in made.checkpoints] == ["payments"]
    said = " ".join(text.replace("#", " ").split())  # a line is broken where its path is long
    assert f"left out: orders ({checkpoints / 'orders'}" in said
    assert f"left out: empty ({checkpoints / 'empty'}" in said
    (problem,) = survey.problems
    assert problem.problem.startswith("2 checkpoints of 3 cannot be compared and are comments in the file: ")


def test_a_checkpoint_of_the_new_cluster_is_left_out(folder: Path) -> None:
    taken = snapshots("sample")
    old, new = taken[Cluster.OLD], taken[Cluster.NEW]
    assert old is not None
    assert new is not None
    swapped = {Cluster.OLD: replace(new, cluster=Cluster.OLD), Cluster.NEW: replace(old, cluster=Cluster.NEW)}
    survey = survey_of("sample", folder / "checkpoints" / "payments", taken=swapped)

    (found,) = survey.checkpoints
    assert found.name == "payments", "the root itself is the checkpoint"
    assert found.belongs_to is Cluster.NEW
    assert (found.left_out or "").startswith("The positions fit 'new' and not 'old'")


def test_a_root_without_checkpoints_is_said_and_the_rest_is_found(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    survey = survey_of("sample", tmp_path / "none", tmp_path / "nowhere", folder / "checkpoints")

    first, second = (each.problem for each in survey.problems)
    assert first == f"{tmp_path / 'none'}: expected checkpoints in it, found none in 1 folder."
    assert str(tmp_path / "nowhere") in second
    assert len(survey.checkpoints) == 2
    assert len(written(survey, folder)[1].checkpoint_roots) == 3


def test_more_checkpoints_than_are_looked_for_are_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MAX_CHECKPOINTS", 1)
    monkeypatch.setattr(reading, "MAX_CHECKPOINTS", 1)

    survey = survey_of("sample", folder / "checkpoints")

    (problem,) = survey.problems
    assert [each.name for each in survey.checkpoints] == ["orders"]
    assert ": 1 checkpoint in 3 folders, and there are more, which were not looked for." in problem.problem


def test_two_checkpoints_of_one_name_get_two_names(folder: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(folder / "checkpoints", tmp_path / "other"))
    survey = survey_of("sample", folder / "checkpoints", other)

    assert [each.name for each in survey.checkpoints] == ["orders", "payments", "orders-2", "payments-2"]


def test_two_addresses_of_one_cluster_are_said(folder: Path) -> None:
    taken = snapshots("sample")
    taken[Cluster.NEW] = taken[Cluster.OLD]

    (problem,) = survey_of("sample", folder / "checkpoints", taken=taken).problems

    assert problem.problem.startswith("--old and --new: expected two clusters, found the cluster id 'b26TW")


def test_more_than_a_file_holds_is_left_away_and_counted(folder: Path) -> None:
    survey = survey_of("sample", folder / "checkpoints")
    job = survey.checkpoints[0]
    many = tuple(replace(job, name=f"job-{n}", uri=f"s3://bucket/checkpoints/job-{n}") for n in range(10_000))

    text, left = migration_text(replace(survey, checkpoints=many), folder, "many")
    (folder / "made.yaml").write_text(text, encoding="utf-8")

    assert len(text.encode()) <= MAX_BYTES
    assert len(load_migration(folder / "made.yaml").checkpoints) == 10_000 - left > 1_000


@with_cases(
    "name",
    ["true", "null", "1e3", "a: b", "- x", "#x", "it's", '"', "", " x ", "ä", "\u202eevil", "a\tb", "\U0001f600", "~"],
)
def test_any_name_is_written_so_that_it_is_read_again(name: str) -> None:
    assert yaml.safe_load(scalar(name)) == name
    assert "\n" not in scalar(name)
    assert "\u202e" not in scalar(name)


def test_names_from_outside_drive_no_terminal_and_end_no_comment(folder: Path) -> None:
    survey = survey_of("sample", folder / "checkpoints")
    hostile = "x\nsource: {}\u2028\x1b[31m\u202e"
    left_out = SurveyedCheckpoint(name=hostile, uri=f"s3://b/{hostile}", left_out=hostile)
    group = SurveyedGroup(name="g\u202e", topics=("orders",), partitions=1, state=hostile)

    text, made = written(replace(survey, checkpoints=(left_out,), groups=(group,)), folder)

    assert made.group_names == ("g\u202e",)
    assert all(character == "\n" or character.isprintable() for character in text)


@with_cases("link", [*Link, None])
def test_a_link_is_written_or_asked_for(link: Link | None, folder: Path) -> None:
    survey = survey_of(
        "sample", folder / "checkpoints", link=SurveyedLink(link=link, evidence="records were looked at")
    )
    text, made = written(survey, folder)

    assert made.link is (link or Link.MIRRORMAKER)
    assert ("\n# link: " in text) == (link is None) == ("link" in {each.key for each in survey.missing})


def test_every_key_behind_a_comment_is_one_that_the_reader_takes(folder: Path) -> None:
    text, _ = written(survey_of("sample", folder / "checkpoints"), folder)
    filled = text.replace("\n# link: ", "\nlink: ")
    for key in (*OF_THE_MIGRATION, *OF_A_JOB):
        filled = filled.replace(f"\n# {key}: ", f"\n{key}: ").replace(f"\n      # {key}: ", f"\n      {key}: ")
    (folder / "filled.yaml").write_text(filled, encoding="utf-8")

    made = load_migration(folder / "filled.yaml")

    assert made.write_roots == (str(folder / "applied"),)
    assert [each.job.tolerates_replay for each in made.checkpoints] == [False, False]
    assert made.checkpoint("orders").job.watermark_ms == 600_000
    assert json.dumps(filled).count("# ") < json.dumps(text).count("# ")
