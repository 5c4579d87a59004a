"""`offsetwise init` on real clusters: the file that it writes leads where the one written by hand does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from offsetwise.client_properties import GivenCluster
from offsetwise.config import ClusterConfig, load_migration
from offsetwise.lab import Lab
from offsetwise.model import Cluster, Link, Snapshot
from offsetwise.plugins.kafka.stream import reader as kafka
from offsetwise.plugins.kafka.stream.client import RequestCounter
from offsetwise.plugins.kafka.stream.snapshot import ClusterReading, read_whole
from offsetwise.survey import reading
from offsetwise.survey.link import link_of
from offsetwise.survey.naming import naming
from offsetwise.survey.results import SurveyedLink
from offsetwise.survey.text import migration_text
from tests.commands import Ran, call
from tests.integration.clusters import take_snapshot
from tests.integration.topics import START_MS, copies, create, produce
from tests.plugins.spark.folders import checkpoint, write
from tests.survey.recorded import LIB

COMPARED = (
    "topic",
    "partition",
    "old_offset",
    "new_topic",
    "new_offset",
    "exactness",
    "method",
    "replay",
    "skip",
    "raw",
)


def init(old: str, new: str, root: Path, out: Path, *more: str) -> Ran:
    return call("init", "--old", old, "--new", new, "--checkpoints", root, "--out", out, "--json", *more)


def compared(migration: Path, *job: str, records: bool = True) -> list[list[Any]]:
    told = call("compare", "-m", migration, *job, "--json", *([] if records else ["--no-content"])).answered()
    return [[row[key] for key in COMPARED] for row in told["partitions"]]


def with_local_spark(path: Path) -> Path:
    """Let a file that init wrote use as many cores as the one written by hand."""
    path.write_text(path.read_text(encoding="utf-8").replace("local[*]", "local[2]"), encoding="utf-8")
    return path


@pytest.fixture
def migration(lab: Lab, sample: Path, tmp_path: Path) -> Path:
    """The file that init writes about the reference migration: MirrorMaker with and without renaming."""
    init(lab.old_bootstrap, lab.new_bootstrap, sample.parent / "checkpoints", tmp_path / "m.yaml")
    return with_local_spark(tmp_path / "m.yaml")


def test_the_reference_migration_is_found_as_it_was_written_by_hand(sample: Path, migration: Path) -> None:
    made, by_hand = load_migration(migration), load_migration(sample)

    assert (made.link, made.topics.policy) == (by_hand.link, by_hand.topics.policy)
    assert made.topics.map["clicks"] == "old.clicks"
    assert (made.source.alias, made.target.alias) == ("old", "new")
    assert {each.name: (each.uri, each.job.stateful) for each in made.checkpoints} == {
        each.name: (each.uri, each.job.stateful) for each in by_hand.checkpoints
    }
    assert set(by_hand.groups) <= set(made.groups)


@pytest.mark.parametrize("job", [("--checkpoint", "orders"), ("--group", "orders-etl")], ids=["checkpoint", "group"])
def test_it_leads_to_the_same_comparison(sample: Path, migration: Path, job: tuple[str, str]) -> None:
    assert compared(migration, *job) == compared(sample, *job)


def test_a_flink_checkpoint_leads_to_the_same_comparison(lab: Lab, sample: Path, tmp_path: Path) -> None:
    """The recorded savepoint stands on topics as the lab's sample has them."""
    shutil.copytree(LIB / "sample_flink" / "checkpoints", tmp_path / "checkpoints")
    init(lab.old_bootstrap, lab.new_bootstrap, tmp_path / "checkpoints", tmp_path / "m.yaml")
    name = "savepoint-0ff5e7-dddebceac2d3"
    body = yaml.safe_load(sample.read_text(encoding="utf-8"))
    body |= {"checkpoint_roots": ["./checkpoints"], "checkpoints": [{"name": name, "uri": f"./checkpoints/{name}"}]}
    (tmp_path / "by-hand.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")

    assert load_migration(tmp_path / "m.yaml").checkpoint(name).job.sink == "kafka"
    assert compared(tmp_path / "m.yaml", "--checkpoint", name, records=False) == compared(
        tmp_path / "by-hand.yaml", "--checkpoint", name, records=False
    )


def test_each_cluster_is_read_once(lab: Lab, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[RequestCounter] = []

    def counting(*given: Any, **more: Any) -> ClusterReading:
        counted.append(RequestCounter())
        return read_whole(*given, **more, counter=counted[-1])

    monkeypatch.setattr(kafka, "read_whole", counting)
    init(lab.old_bootstrap, lab.new_bootstrap, sample.parent / "checkpoints", tmp_path / "m.yaml")

    assert len(counted) == len(Cluster)
    for each in counted:
        assert each.by_type["Metadata"] <= 8, each.by_type
        assert each.by_type["DescribeConfigs"] == 1, each.by_type


Looked = Callable[[str], tuple[dict[Cluster, Snapshot | None], SurveyedLink]]


@pytest.fixture
def linked(lab: Lab) -> Looked:
    return linked_by(lab)


def linked_by(lab: Lab) -> Looked:
    """Return a function that looks at one topic as if the lab's MirrorMaker were not there."""
    given = {
        Cluster.OLD: GivenCluster(properties={"bootstrap.servers": lab.old_bootstrap}),
        Cluster.NEW: GivenCluster(properties={"bootstrap.servers": lab.new_bootstrap}),
    }

    def look(topic: str) -> tuple[dict[Cluster, Snapshot | None], SurveyedLink]:
        taken: dict[Cluster, Snapshot | None] = {
            side: take_snapshot(
                side, ClusterConfig(name=side, properties=each.properties), topics=(topic,), groups=(), mirror=False
            )
            for side, each in given.items()
        }
        return taken, link_of(given, taken, naming(*taken.values()), [])

    return look


@pytest.mark.parametrize(
    ("name", "first", "link"), [("kept", 0, Link.PRESERVING), ("shifted", 7, Link.OTHER), ("empty", None, None)]
)
def test_a_link_without_mirror_maker_is_told_by_the_records(
    name: str,
    first: int | None,
    link: Link | None,
    lab: Lab,
    linked: Looked,
    tmp_path: Path,
) -> None:
    topic = f"init-{name}"
    for bootstrap, start in ((lab.old_bootstrap, 0), (lab.new_bootstrap, first)):
        create(bootstrap, topic)
        produce(bootstrap, {topic: copies(start or 0, 60 if first is not None else 0)})

    taken, told = linked(topic)

    assert told.link is link, told.evidence
    if link is not Link.PRESERVING:
        return
    batch = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":{START_MS},"conf":{{}}}}\n{{"{topic}":{{"0":30}}}}'
    write(checkpoint({0: batch.encode()}, (0,)), tmp_path / "checkpoints" / "job")
    given = {
        side: GivenCluster(properties={"bootstrap.servers": bootstrap})
        for side, bootstrap in ((Cluster.OLD, lab.old_bootstrap), (Cluster.NEW, lab.new_bootstrap))
    }
    roots = [str(tmp_path / "checkpoints")]
    found = reading.surveyed(given, taken, naming(*taken.values()), link=told, roots=roots)
    (tmp_path / "m.yaml").write_text(migration_text(found, tmp_path, "kept")[0], encoding="utf-8")

    ((*_, new_offset, exactness, method, _replay, _skip, _raw),) = compared(
        with_local_spark(tmp_path / "m.yaml"), "--checkpoint", "job"
    )
    assert (new_offset, exactness, method) == ("30", "PRESERVED", "preserved")


def test_the_file_names_no_group_or_topic_of_kafkas_own(migration: Path) -> None:
    text = migration.read_text(encoding="utf-8")

    assert "__consumer_offsets" not in text
    assert "mm2-offsets" not in text
