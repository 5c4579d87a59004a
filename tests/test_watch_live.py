"""Watching two real clusters: what the samples hold, and what one cluster's absence leaves of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from offsetwise import files
from offsetwise.lag.amounts import lag
from offsetwise.lag.subject import LagSubject
from offsetwise.model import Cluster, Exactness, LagPart, LagPartition, LagSample, Method, SubjectKind
from offsetwise.store.store import open_store
from tests.commands import call

GROUP = LagSubject(migration="orders-to-new", kind=SubjectKind.GROUP, name="orders-etl")


@pytest.fixture(scope="module")
def watched(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[LagSample], str]:
    """Two samples of everything in the migration file, as printed, and the store's URL."""
    store = f"sqlite:///{tmp_path_factory.mktemp('watched') / 'store.sqlite'}"
    ran = call("watch", "-m", sample, "--every", "1", "--count", "2", "--store", store, "--json", width=300)
    assert ran.code == 0, ran.err
    return [files.load(line, "lag-sample", subject="stdout") for line in ran.out.splitlines()], store


def place(of: LagSample, topic: str, partition: int) -> LagPartition:
    (found,) = (row for row in of.partitions if row.topic_partition == (topic, partition))
    return found


def test_the_lag_of_1050_is_known_on_both_clusters_with_what_the_mirror_claims(
    watched: tuple[list[LagSample], str],
) -> None:
    taken = watched[0][0]
    row = place(taken, "orders", 0)

    assert (taken.checkpoint, taken.batch) == ("orders", 6)
    assert row.position == 1050
    assert lag(row, Cluster.OLD, taken.isolation_level) == 150
    assert row.new_position is not None
    assert row.new_position <= 950, "a claim never lies past the place"
    assert (row.method, row.exactness) == (Method.MIRROR_SYNC, Exactness.CLAIMED)
    assert row.new.hw == 1100
    assert row.groups[taken.groups.index("orders-etl")].old == 1000
    assert taken.heartbeat_ms is not None
    assert not taken.missing


def test_renamed_topics_are_found_under_their_new_names(watched: tuple[list[LagSample], str]) -> None:
    row = place(watched[0][0], "clicks", 0)
    assert row.new_topic == "old.clicks"
    assert row.new.hw is not None


def test_a_group_is_watched_where_it_committed(watched: tuple[list[LagSample], str]) -> None:
    (first, second) = (each for each in watched[0] if each.group == "orders-etl")
    assert [place(first, "orders", at).position for at in (0, 1)] == [1000, 975]
    assert second.taken_at_ms > first.taken_at_ms


def test_what_is_printed_is_what_is_kept(watched: tuple[list[LagSample], str]) -> None:
    printed, url = watched
    with open_store(url) as store:
        assert [str(each) for each in store.subjects()] == [
            "checkpoint orders",
            "checkpoint payments",
            "group orders-etl",
        ]
        newest = store.newest(GROUP)
    assert newest is not None
    assert newest.sample == printed[-1]


def test_with_the_new_cluster_away_the_old_side_is_there_and_the_exit_code_says_it(
    sample: Path, tmp_path: Path
) -> None:
    body = yaml.safe_load(sample.read_text(encoding="utf-8"))
    body["target"]["properties"]["bootstrap.servers"] = "127.0.0.1:9"
    body["checkpoint_roots"] = [str(sample.parent)]
    body["checkpoints"] = [{"name": "orders", "uri": str(sample.parent / "checkpoints" / "orders")}]
    path = tmp_path / "migration.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    store = f"sqlite:///{tmp_path / 'store.sqlite'}"

    ran = call("watch", "-m", path, "--count", "1", "--store", store, "--json", width=300)
    of_checkpoint, of_group = (files.load(line, "lag-sample", subject="stdout") for line in ran.out.splitlines())

    assert ran.code == 1
    assert "new not read" in ran.err
    for each, position in ((of_checkpoint, 1050), (of_group, 1000)):
        row = place(each, "orders", 0)
        assert [missing.part for missing in each.missing] == [LagPart.NEW]
        assert (row.position, row.old.hw) == (position, 1200)
        assert (row.new.hw, row.new.lso, row.new_position) == (None, None, None)
        assert lag(row, Cluster.NEW, each.isolation_level) is None
    assert json.loads(ran.out.splitlines()[0])["new"]["read_at_ms"] is None
