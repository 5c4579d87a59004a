"""Watching through dead clusters and locked stores, and the metrics of what was seen."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files as package_files
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from offsetwise.config import ClusterConfig, load_migration
from offsetwise.errors import ConfigError, StoreLockedError, StoreUnreachableError
from offsetwise.lag.alerts import alerts
from offsetwise.lag.amounts import drift
from offsetwise.lag.subject import LagSubject
from offsetwise.model import (
    Cluster,
    GroupOffset,
    GroupState,
    LagPart,
    LagSample,
    PartitionState,
    Snapshot,
    TopicState,
)
from offsetwise.plugins.kafka.stream import client
from offsetwise.plugins.kafka.stream import reader as kafka
from offsetwise.store.store import open_store
from offsetwise.watch.background import BackgroundSamplers
from offsetwise.watch.command import watch
from offsetwise.watch.metrics import HOST, MOST_PARTITIONS, LagMetrics, label, served
from offsetwise.watch.reading import take_samples
from offsetwise.watch.sampler import Keeper, Sampler, TakenSample, subjects_of
from tests.commands import COMMAND, call
from tests.lag_samples import row, sample
from tests.plugins.flink.files import kafka_source, metadata
from tests.plugins.spark.folders import write
from tests.store.test_store import ORDERS


@pytest.fixture(autouse=True, scope="module")
def _refusals_are_final() -> Iterator[None]:
    """A broker that refuses has no second address here, and a reading asks two of them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(client, "_ALL_DOWN_GRACE_S", 0.1)
        yield


@pytest.fixture
def dead(tmp_path: Path) -> Path:
    return _dead(tmp_path)


def _dead(folder: Path) -> Path:
    """Make a migration whose checkpoints are there, and whose clusters refuse."""
    bundled = Path(str(package_files("offsetwise") / "sample"))
    shutil.copytree(bundled / "checkpoints", folder / "checkpoints")
    body = yaml.safe_load((bundled / "migration.yaml").read_text(encoding="utf-8"))
    for side, port in (("source", 1), ("target", 2)):
        body[side]["properties"]["bootstrap.servers"] = f"127.0.0.1:{port}"
    path = folder / "migration.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return path


def taken(
    of: LagSample, *, not_kept: StoreLockedError | None = None, found_beside: LagSample | None = None
) -> TakenSample:
    return TakenSample(
        subject=LagSubject.of(of), sample=of, alerts=alerts(of, found_beside), took_ms=250, not_kept=not_kept
    )


def scraped(*seen: TakenSample, most: int = MOST_PARTITIONS) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Serve what was seen, scrape it over HTTP as Prometheus does, and parse it with Prometheus' own parser."""
    metrics = LagMetrics(most_partitions=most)
    for each in seen:
        metrics.heard(each)
    with served(metrics, 0) as port, urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {
        family.name: [(each.labels, each.value) for each in family.samples]
        for family in text_string_to_metric_families(text)
    }


class TestMetrics:
    def test_they_are_the_numbers_of_the_newest_sample(self) -> None:
        found = scraped(taken(sample(row(position=7))), taken(sample(row(new=(0, 850)), seconds=30)))

        of = {"migration": "orders-to-new", "subject": "checkpoint orders"}
        place = of | {"source": "0", "topic": "orders", "partition": "0"}
        assert found["offsetwise_lag_records"] == [
            (place | {"cluster": "old"}, 150.0),
            (place | {"cluster": "new"}, -100.0),
        ]
        assert found["offsetwise_log_end_offset"] == [
            (place | {"cluster": "old"}, 1200.0),
            (place | {"cluster": "new"}, 850.0),
        ]
        assert found["offsetwise_group_drift_records"] == [(place | {"group": "orders-etl"}, -50.0)]
        assert found["offsetwise_lag_past_end_sum"] == [
            (of | {"cluster": "old"}, 0.0),
            (of | {"cluster": "new"}, 100.0),
        ]
        assert found["offsetwise_findings"] == [
            (of | {"code": "NOT_YET_MIRRORED", "severity": "blocks"}, 1.0),
        ]
        assert found["offsetwise_sample_age_seconds"][0][1] > 0

    def test_what_is_unknown_has_no_series_and_a_cluster_that_is_away_is_down(self) -> None:
        away = sample(row(new=(None, None), new_position=None), missing=(LagPart.NEW,))
        found = scraped(taken(away))

        assert [labels["cluster"] for labels, _ in found["offsetwise_lag_records"]] == ["old"]
        assert {labels["cluster"]: value for labels, value in found["offsetwise_cluster_up"]} == {"old": 1, "new": 0}
        assert {labels["cluster"]: value for labels, value in found["offsetwise_lag_unknown_partitions"]} == {
            "old": 0,
            "new": 1,
        }
        assert [labels["cluster"] for labels, _ in found["offsetwise_lag_records_sum"]] == ["old"]

    def test_series_of_a_partition_that_is_gone_are_gone(self) -> None:
        found = scraped(taken(sample(row(), row(partition=1))), taken(sample(row(), seconds=30)))
        assert {labels["partition"] for labels, _ in found["offsetwise_lag_records"]} == {"0"}

    def test_hostile_names_are_label_values_and_nothing_else(self) -> None:
        names = ['a"} 1\nup{x="', "or\u202eders", "back\\slash", "back\\u202eslash", "<img src=x onerror=alert(1)>"]
        found = scraped(taken(sample(*(row(name) for name in names), groups=("\x00",))))

        told = [labels["topic"] for labels, _ in found["offsetwise_lag_records"] if labels["cluster"] == "old"]
        assert sorted(told) == sorted(label(name) for name in names)
        assert len(set(told)) == len(names)
        assert all(name.isprintable() for name in told)

    def test_series_are_bounded_and_totals_count_all(self) -> None:
        many = [row(partition=number) for number in range(25)]
        found = scraped(taken(sample(*many)), most=20)

        assert len(found["offsetwise_lag_records"]) == 2 * 20
        assert found["offsetwise_partitions_without_series"] == [({}, 5.0)]
        assert found["offsetwise_lag_records_sum"][0][1] == 150.0 * len(many)

    def test_a_store_that_fails_is_a_metric_of_its_own(self) -> None:
        found = scraped(taken(sample(), not_kept=StoreLockedError("locked.", fix="wait.")))
        assert found["offsetwise_store_up"][0][1] == 0

    def test_a_port_that_is_taken_is_said(self) -> None:
        with (
            served(LagMetrics(), 0) as port,
            pytest.raises(ConfigError, match=f"{port} cannot be used"),
            served(LagMetrics(), port),
        ):
            pytest.fail("the port was taken")


@pytest.fixture(scope="module")
def hard_times(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[TakenSample, ...], Path]:
    """Three samples with both clusters down: the store's folder is a file; the store is locked and the checkpoint
    gone; the store is free again. Dead clusters take seconds each time, so this is done once.
    """
    folder = tmp_path_factory.mktemp("watched")
    migration = load_migration(_dead(folder))
    path = folder / "state" / "store.sqlite"
    seen: list[TakenSample] = []
    keeper = Keeper(lambda: open_store(f"sqlite:///{path}", wait_s=0.1))
    sampler = Sampler(
        migration,
        subjects_of(migration, ["orders"]),
        every_s=1,
        keeper=keeper,
        sampled_by="a test",
        heard=seen.append,
    )

    path.parent.write_text("in the folder's place")
    sampler.once()

    path.parent.unlink()
    open_store(f"sqlite:///{path}").close()
    shutil.rmtree(folder / "checkpoints" / "orders")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    sampler.once()

    holder.execute("ROLLBACK")
    holder.close()
    sampler.once()
    keeper.close()
    return tuple(seen), path


class TestHardTimes:
    def test_with_both_clusters_down_positions_stay_and_both_are_named(
        self, hard_times: tuple[tuple[TakenSample, ...], Path]
    ) -> None:
        read = hard_times[0][0].sample
        assert [each.part for each in read.missing] == [LagPart.OLD, LagPart.NEW]
        assert {p.position for p in read.partitions if p.topic_partition == ("orders", 0)} == {1050}
        assert all(p.old.hw is None and p.new.hw is None for p in read.partitions)

    def test_a_store_that_cannot_be_used_is_said_and_watching_goes_on(
        self, hard_times: tuple[tuple[TakenSample, ...], Path]
    ) -> None:
        seen, path = hard_times
        assert [type(each.not_kept) for each in seen] == [StoreUnreachableError, StoreLockedError, type(None)]
        with open_store(f"sqlite:///{path}") as opened:
            kept = opened.window(ORDERS, 0, most=10)
        assert [each.head.taken_at_ms for each in kept] == [seen[2].sample.taken_at_ms]

    def test_a_checkpoint_that_was_deleted_stays_in_view_without_positions(
        self, hard_times: tuple[tuple[TakenSample, ...], Path]
    ) -> None:
        first, second, _ = (each.sample for each in hard_times[0])
        assert {each.key for each in first.partitions} == {each.key for each in second.partitions} != set()
        assert all(each.position is None for each in second.partitions)
        lacking = [{missing.part for missing in each.missing} for each in (first, second)]
        assert [LagPart.POSITIONS in parts for parts in lacking] == [False, True]


def test_the_newest_checkpoint_of_a_flink_job_is_watched_beside_the_group_it_commits_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = "0123456789abcdef0123456789abcdef"
    write({f"{job}/chk-{n}/_metadata": metadata(kafka_source({0: at})) for n, at in ((9, 5), (10, 8))}, tmp_path)
    (tmp_path / "migration.yaml").write_text(
        "name: flink\n"
        "source: {properties: {bootstrap.servers: 'old.invalid:1'}}\n"
        "target: {properties: {bootstrap.servers: 'new.invalid:1'}}\n"
        f"checkpoints: [{{name: orders, uri: ./{job}, job: {{commits_to: etl}}}}]\n"
    )

    def read(side: Cluster, config: ClusterConfig, *, groups: tuple[str, ...], **_: object) -> SimpleNamespace:
        log = PartitionState(partition=0, leader=1, leader_epoch=0, log_start=0, lso=20, hw=20)
        commits = (GroupOffset(topic="orders", partition=0, offset=6),)
        taken = Snapshot(
            cluster=side,
            name=config.name,
            alias=config.alias,
            cluster_id=str(side),
            taken_at="2026-11-21T10:00:00+00:00",
            topics=(TopicState(name="orders", partitions=(log,)),),
            groups=tuple(GroupState(name=name, state="Stable", offsets=commits) for name in groups),
        )
        return SimpleNamespace(snapshot=lambda *_, **__: taken)

    monkeypatch.setattr(kafka, "read_whole", read)
    migration = load_migration(tmp_path / "migration.yaml")
    (taken_now,) = take_samples(migration, subjects_of(migration), sampled_by="a test")

    (partition,) = taken_now.partitions
    assert partition.position == 8
    assert taken_now.groups == ("etl",)
    assert drift(partition, 0) == -2


class TestCommand:
    def test_sigterm_ends_it_cleanly(self, dead: Path, tmp_path: Path) -> None:
        store = f"sqlite:///{tmp_path / 'store.sqlite'}"
        options = ["--checkpoint", "orders", "--every", "1", "--store", store, "--json"]
        command = [COMMAND, "watch", "-m", str(dead), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            first = running.stdout.readline()
            running.send_signal(signal.SIGTERM)
            rest, said = running.communicate(timeout=300)

        assert running.returncode == 0, said
        assert "Traceback" not in said
        for line in (first, *rest.splitlines()):
            assert json.loads(line)["format"] == "offsetwise/lag-sample"
        with open_store(store) as opened:
            assert opened.newest(ORDERS) is not None

    def test_a_signal_that_the_system_gives_to_another_thread_ends_it_too(self, dead: Path, tmp_path: Path) -> None:
        heard: list[int] = []

        def end(_: TakenSample) -> None:
            heard.append(threading.get_ident())
            if len(heard) == 1:
                signal.pthread_kill(heard[0], signal.SIGTERM)

        watch(
            [load_migration(dead)],
            checkpoints=["orders"],
            groups=(),
            every_s=0.1,
            count=20,
            metrics_port=None,
            store_url=f"sqlite:///{tmp_path / 'store.sqlite'}",
            said=lambda _: None,
            heard=end,
        )

        assert len(heard) < 20
        assert heard[0] != threading.get_ident()

    def test_an_unknown_checkpoint_is_refused_before_anything_is_read(self, dead: Path) -> None:
        error = call("watch", "-m", dead, "--checkpoint", "nobody", "--json").refused()
        assert "nobody" in error["problem"]

    def test_of_several_migrations_everything_is_watched(self, dead: Path) -> None:
        error = call("watch", "-m", dead, "-m", dead, "--group", "orders-etl", "--json").refused()
        assert "No sample was taken" in error["problem"]

    def test_a_password_in_the_stores_url_is_refused_and_not_repeated(self, dead: Path) -> None:
        ran = call("watch", "-m", dead, "--store", "postgresql://me:canary-secret@127.0.0.1/db", "--json")
        ran.refused()
        assert "canary-secret" not in ran.out + ran.err


class TestBackground:
    def test_a_migration_is_sampled_once_however_often_it_is_started(self, dead: Path, tmp_path: Path) -> None:
        keeper = Keeper(lambda: open_store(f"sqlite:///{tmp_path / 'store.sqlite'}"))
        samplers = BackgroundSamplers(keeper)
        assert samplers.sampling("mine") is None
        for _ in range(3):
            samplers.start("mine", load_migration(dead), 60, [ORDERS])
        assert [each.name for each in threading.enumerate()].count("offsetwise-watch-mine") == 1

        state = _until(lambda: (now := samplers.sampling("mine")) is not None and now.sampled == 1 and now)
        assert state
        samplers.stop("mine")
        samplers.close()
        ended = samplers.sampling("mine")
        keeper.close()

        assert ended is not None
        assert not ended.running
        with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as opened:
            assert opened.newest(ORDERS) is not None

    def test_what_cannot_be_right_ends_the_sampler_and_is_kept_for_people(self, dead: Path) -> None:
        nobody = replace(ORDERS, name="nobody")
        samplers = BackgroundSamplers(Keeper(open_store))
        samplers.start("mine", load_migration(dead), 60, [nobody])
        samplers.close()
        state = samplers.sampling("mine")

        assert state is not None
        assert not state.running
        assert isinstance(state.error, ConfigError)


def test_without_names_everything_of_the_migration_file_is_watched(dead: Path) -> None:
    assert [str(each) for each in subjects_of(load_migration(dead))] == [
        "checkpoint orders",
        "checkpoint payments",
        "group orders-etl",
    ]


def _until(done: Callable[[], object]) -> object:
    end = time.monotonic() + 60
    while not (found := done()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found
