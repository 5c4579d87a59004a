"""Remedies of what reads clusters, checkpoints and the store over time: watch, init, reconcile, the store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

import offsetwise as ow
from offsetwise.comparison import Scene as Joined
from offsetwise.comparison.subjects import ReadSubject, positions_of
from offsetwise.config import load_migration
from offsetwise.lag.alerts import alerts
from offsetwise.lag.subject import LagSubject
from offsetwise.model import Cluster, GroupPosition, GroupState, PartitionState, Snapshot, TopicPartition
from offsetwise.ports.log_observations import SeenLog
from offsetwise.storage.object_stores import CONNECTION_STRING, _refuse_other_account
from offsetwise.store.address import address
from offsetwise.store.store import open_store
from offsetwise.store.troubles import troubles
from offsetwise.survey import reading as survey
from offsetwise.survey.results import Trouble
from offsetwise.watch import reading as watching
from offsetwise.workflow import checkpoints, counting, scenes
from offsetwise.workflow.drifting import drift
from tests.lag_samples import row
from tests.lag_samples import sample as lag_sample
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_commands import drafted, run, sample, snapshots
from tests.remedies.walks_workflow import belongs
from tests.store.postgres import PASSWORD_VARIABLE, Server
from tests.subjects import checkpoint
from tests.subjects import group as consumer_group

Call = Callable[[], object]


# watch, on the recorded clusters.
def recorded(scene: Scene, path: Path) -> dict[Cluster, Snapshot]:
    """Put the recorded clusters in the place of live ones; they can be changed."""
    taken = dict(zip(Cluster, ow.load_snapshots(path.with_name("old.json"), path.with_name("new.json")), strict=True))
    scene.patch.setattr(watching, "read_cluster", lambda _, side, **__: taken[side])
    return taken


def watched(path: Path, subject: LagSubject) -> Call:
    def command() -> object:
        (made,) = watching.take_samples(load_migration(path), (subject,), sampled_by="test")
        return made.missing

    return command


def job(path: Path, name: str) -> LagSubject:
    return LagSubject.in_migration(load_migration(path).name, checkpoint(name))


def group(path: Path, name: str) -> LagSubject:
    return LagSubject.in_migration(load_migration(path).name, consumer_group(name))


WATCH = "watch/reading.py::"


@walk(WATCH + "_require_two", "Correct bootstrap.servers of one of them")
def one_cluster_watched_twice(scene: Scene) -> Steps:
    path = sample(scene)
    taken = recorded(scene, path)
    right = taken[Cluster.NEW]
    taken[Cluster.NEW] = replace(right, cluster_id=taken[Cluster.OLD].cluster_id)
    return Steps(
        watched(path, group(path, "orders-etl")), lambda: taken.update({Cluster.NEW: right})
    )  # what the other bootstrap servers answer


@walk(WATCH + "_uncommitted", "Check the group's name")
def group_that_has_committed_nothing(scene: Scene) -> Steps:
    path = sample(scene)
    recorded(scene, path)
    return Steps(watched(path, group(path, "orders-etll")), lambda: None, watched(path, group(path, "orders-etl")))


@walk(WATCH + "_belongs_elsewhere", "state `belongs_to: old`")
def positions_of_the_new_cluster(scene: Scene) -> Steps:
    path = sample(scene)
    taken = recorded(scene, path)
    taken[Cluster.OLD], taken[Cluster.NEW] = (
        replace(taken[Cluster.NEW], cluster=Cluster.OLD, name="old", alias="old"),
        replace(taken[Cluster.OLD], cluster=Cluster.NEW, name="new", alias="new"),
    )
    return Steps(watched(path, job(path, "orders")), belongs(path, "old"))


@walk(WATCH + "_subject", "Look at it: offsetwise inspect")
def checkpoint_without_positions(scene: Scene) -> Steps:
    path = sample(scene)
    recorded(scene, path)
    folder = path.parent / "checkpoints" / "orders"
    for file in (folder / "offsets").iterdir():
        file.write_text("v1\n{}\n0\n", encoding="utf-8")
    return Steps(watched(path, job(path, "orders")), lambda: None, run("inspect", folder))


@walk("lag/alerts.py::group_drift", "Stop the group's members, take a new snapshot")
def group_that_moves(_: Scene) -> Steps:
    def at(commit: int, seconds: float) -> Any:
        return lag_sample(row(groups=(GroupPosition(old=commit, new=900),)), seconds=seconds)

    def told(earlier: Any, later: Any) -> object:
        return tuple(each.finding for each in alerts(later, earlier) if each.finding.code == "GROUP_DRIFT")

    return Steps(lambda: told(at(1000, 0), at(1040, 30)), lambda: None, lambda: told(at(1040, 60), at(1040, 90)))


# init.
def init(found: Callable[[list[Trouble]], object]) -> Call:
    def command() -> object:
        problems: list[Trouble] = []
        found(problems)
        return tuple(problems)

    return command


@walk("survey/reading.py::_checkpoints_below", "Give narrower roots")
def too_many_checkpoints(scene: Scene) -> Steps:
    folder = sample(scene).parent / "checkpoints"
    scene.patch.setattr(survey, "MAX_CHECKPOINTS", 2)
    return Steps(
        init(lambda problems: survey._checkpoints_below(str(folder), problems)),
        lambda: None,
        init(lambda problems: survey._checkpoints_below(str(folder / "orders"), problems)),
    )


# compare, drift and reconcile.
@walk("workflow/comparing_all.py::ComparisonFolder.__init__", "or one below a folder that does")
def folder_of_comparisons(scene: Scene) -> Steps:
    path = sample(scene)

    def into(folder: Path) -> Call:
        return run("compare", "-m", path, "--all", *snapshots(path), "--no-content", "--out", folder)

    return Steps(into(scene.folder / "no" / "such"), lambda: None, into(scene.folder / "comparisons"))


@walk("workflow/drifting.py::drift", "Give the migration file that the plan was drafted with")
def drift_of_another_migration(scene: Scene) -> Steps:
    plan = ow.Plan.load(drafted(scene))
    right = load_migration(sample(scene))
    taken = dict(zip(Cluster, plan_clusters(scene), strict=True))
    scene.patch.setattr("offsetwise.workflow.drifting.read_cluster", lambda _, side, **__: taken[side])
    other = right.model_copy(update={"name": "other"})
    return Steps(
        lambda: drift(plan.document, other) and None, lambda: None, lambda: drift(plan.document, right) and None
    )


def plan_clusters(scene: Scene) -> tuple[Snapshot, Snapshot]:
    path = sample(scene)
    return ow.load_snapshots(path.with_name("old.json"), path.with_name("new.json"))


@walk("workflow/checkpoints.py::checkpoint_reading", "Choose one that is still retained")
def retained_checkpoint_that_is_gone(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    migration = load_migration(path)
    name = next(
        each.name for each in migration.checkpoints if checkpoints.checkpoint_reading(migration, each.name).checkpoint
    )
    return Steps(
        lambda: checkpoints.checkpoint_reading(migration, name, retained=999) and None,
        lambda: None,
        lambda: checkpoints.checkpoint_reading(migration, name) and None,
    )


@walk("workflow/scenes.py::_check_group", "Name a group here that has read")
def share_group(scene: Scene) -> Steps:
    path = sample(scene)
    old, new = plan_clusters(scene)
    shared = replace(old, groups=(*old.groups, GroupState(name="shared", state="Empty", type="Share")))
    migration = load_migration(path)

    def compared(name: str) -> Call:
        def command() -> None:
            subject = ow.Migration.load(path).group(name).named()
            scenes._check_group(Joined.of(migration, ReadSubject.of(subject, migration), shared, new, live=False), name)

        return command

    return Steps(compared("shared"), lambda: None, compared("orders-etl"))


COUNTING = "workflow/counting.py::"


def logs_of(scene: Scene, path: Path, name: str, change: Callable[[PartitionState], PartitionState]) -> Call:
    """Return the ranges that reconcile reads of a topic, with a change to what the broker answers."""
    old, _ = plan_clusters(scene)
    topics = tuple(replace(topic, partitions=tuple(change(each) for each in topic.partitions)) for topic in old.topics)
    taken = replace(old, topics=topics)

    def command() -> object:
        scene.patch.setattr(counting, "read_cluster", lambda *_, **__: only(taken, name))
        return counting._topic_log(load_migration(path), Cluster.OLD, name, None) and None  # type: ignore[arg-type]

    return command


def only(taken: Snapshot, name: str) -> Snapshot:
    return replace(taken, topics=tuple(topic for topic in taken.topics if topic.name == name))


@walk(COUNTING + "_topic_log", "Check the broker that leads it, then try again")
def partition_without_an_end(scene: Scene) -> Steps:
    path = sample(scene)
    return Steps(
        logs_of(scene, path, "orders", lambda one: replace(one, hw=None, lso=None)),
        lambda: None,
        logs_of(scene, path, "orders", lambda one: one),
    )


@walk(COUNTING + "_topic_log", "Check the topic's name")
def topic_that_is_not_there(scene: Scene) -> Steps:
    path = sample(scene)
    return Steps(
        logs_of(scene, path, "order", lambda one: one), lambda: None, logs_of(scene, path, "orders", lambda one: one)
    )


for words, name, now in (
    (
        "Check the broker that leads it, then run it again",
        "start_not_told_again",
        SeenLog(hw=9),
    ),
    ("Run it again; extend the topic's retention", "retention_passed", SeenLog(log_start=500, hw=1200)),
):

    @walk(COUNTING + "_check_not_passed", words, name=name)
    def passed(scene: Scene, now: SeenLog = now) -> Steps:
        migration, at = load_migration(sample(scene)), TopicPartition("orders", 0)
        log: Any = SimpleNamespace(topic="orders", ranges=(SimpleNamespace(topic_partition=at, start=100, end=1200),))
        taken, found = only(plan_clusters(scene)[0], "orders"), {at: now}
        scene.patch.setattr(counting, "reader_of", lambda _: SimpleNamespace(log_ranges=lambda *_: found))
        return Steps(
            lambda: counting._check_not_passed(migration, Cluster.OLD, log, taken),
            lambda: found.update({at: SeenLog(log_start=100, hw=1200)}),
        )


@walk("comparison/subjects.py::positions_of", "State the name of the stream as `job.stream`")
def stream_without_a_name(_: Scene) -> Steps:
    from offsetwise.engines.checkpoint import read_checkpoint  # noqa: PLC0415 - engines import subjects

    (source,) = read_checkpoint(str(DATA / "kcl" / "2.7.2-two-shards.json")).sources
    return Steps(lambda: positions_of(source) and None, lambda: None, lambda: positions_of(source, "clicks") and None)


# The store.
STORE = "store/troubles.py::"


def stored(scene: Scene, raising: Callable[[], Exception]) -> tuple[Call, list[Callable[[], Exception] | None]]:
    """Write into a store, whose driver fails at first; what it raises can be taken away."""
    url = f"sqlite:///{scene.folder / 'store.sqlite'}"
    open_store(url).close()
    fails: list[Callable[[], Exception] | None] = [raising]

    def command() -> None:
        with open_store(url, wait_s=0.1) as store, troubles(address(url), "Writing a sample"):
            if fails[-1] is not None:
                raise fails[-1]()
            store.add(lag_sample())

    return command, fails


def driver(said: str, *, state: str | None = None) -> Callable[[], Exception]:
    def made() -> Exception:
        original = sqlite3.OperationalError(said)
        if state is not None:
            original.sqlstate = state  # type: ignore[attr-defined]
        return DBAPIError("INSERT", {}, original)

    return made


for function, words, name, raising in (
    ("troubles", "Try again in a moment", "connections_in_use", lambda: PoolTimeout("all in use")),
    ("troubles", "Check the store, then try again", "other_trouble", lambda: SQLAlchemyError("odd")),
    ("sqlite_trouble", "Make room, then try again", "disk_full", driver("database or disk is full")),
    ("sqlite_trouble", "Check the file, then try again", "disk_error", driver("disk I/O error")),
):

    @walk(STORE + function, words, name=name)
    def trouble(scene: Scene, raising: Callable[[], Exception] = raising) -> Steps:
        command, fails = stored(scene, raising)
        return Steps(command, lambda: fails.append(None))


POSTGRESQL = "_postgresql"


def on_server(words: str, name: str) -> Callable[[Callable[[Server, str], tuple[Call, Call]]], None]:
    """Add a walk on a real server: what is wrong is made there, and mended."""

    def added(given: Callable[[Server, str], tuple[Call, Call]]) -> None:
        @walk(STORE + POSTGRESQL, words, name=name)
        def _(scene: Scene) -> Steps:
            server: Server = scene.request.getfixturevalue("server")
            scene.patch.setenv(PASSWORD_VARIABLE, server.password)
            url = server.new_database()
            open_store(url).close()

            def add() -> None:
                with open_store(url, wait_s=0.3) as store:
                    store.add(lag_sample())

            wrong, mend = given(server, url.rpartition("/")[2])
            wrong()
            return Steps(add, mend)

    return added


@on_server("Let the other process finish", "table_locked")
def _(server: Server, database: str) -> tuple[Call, Call]:
    other = server.connect(database)
    other.autocommit = False
    return lambda: other.execute("LOCK TABLE lag_sample IN ACCESS EXCLUSIVE MODE"), other.close


@on_server("Name the primary server, or make the database writable", "read_only")
def _(server: Server, database: str) -> tuple[Call, Call]:
    writable = f"ALTER DATABASE {database} SET default_transaction_read_only = off"
    return (
        lambda: server.make_read_only(database),
        lambda: server.run_sql(f"BEGIN READ WRITE; {writable}; COMMIT"),
    )


@on_server("Check that the server runs", "server_stopped")
def _(server: Server, _: str) -> tuple[Call, Call]:
    return server.stop, server.start


@walk(STORE + POSTGRESQL, "Grant the user CREATE on the schema", name="user_without_rights")
def _(scene: Scene) -> Steps:
    server: Server = scene.request.getfixturevalue("server")
    scene.patch.setenv(PASSWORD_VARIABLE, server.password)
    url = server.new_database()
    database = url.rpartition("/")[2]
    user = f"reader_{database}"
    server.run_sql(f"CREATE USER {user} PASSWORD '{server.password}'")
    theirs = url.replace("//offsetwise:", f"//{user}:")

    def grant() -> None:
        server.run_sql(f"GRANT CREATE, USAGE ON SCHEMA public TO {user}", database=database)
        tables = f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {user}"
        server.run_sql(tables, database=database)

    return Steps(lambda: open_store(theirs).close(), grant)


for words, name, state in (
    ("Make room on the server", "server_full", "53100"),
    ("Check the server's log", "other_answer", "XX000"),
):

    @walk(STORE + POSTGRESQL, words, name=name)
    def of_server(scene: Scene, state: str = state) -> Steps:
        server: Server = scene.request.getfixturevalue("server")
        scene.patch.setenv(PASSWORD_VARIABLE, server.password)
        url = server.new_database()
        fails = [driver("it was refused", state=state)]

        def add() -> None:
            with open_store(url) as store, troubles(address(url), "Writing a sample"):
                if fails:
                    raise fails[0]()
                store.add(lag_sample())

        return Steps(add, fails.clear)


@walk("regular_files.py::opening", "Run `chown")
def file_of_another_user(scene: Scene) -> Steps:
    from tests.remedies.walks_storage import _refused  # noqa: PLC0415 - the other walks of files

    path = scene.write("secrets.toml", "")
    path.chmod(0o600)
    path.parent.chmod(0o700)
    owner = path.stat().st_uid
    if owner == 0:  # only root can give a file away, and takes root's own for whomever
        os.chown(path, 4_000, -1)
        return Steps(lambda: _refused(path), lambda: os.chown(path, os.geteuid(), -1))
    users = [owner + 4_000]
    scene.patch.setattr("offsetwise.regular_files.os.geteuid", lambda: users[0])
    return Steps(lambda: _refused(path), lambda: users.__setitem__(0, owner))


# Object stores.
@walk("storage/object_stores.py::_refuse_other_account", "Unset ")
def other_account_in_the_environment(scene: Scene) -> Steps:
    scene.patch.setenv(CONNECTION_STRING, "AccountName=other;BlobEndpoint=https://other.blob.core.windows.net")
    return Steps(
        lambda: _refuse_other_account("abfs://a@mine", "mine", "mine.blob.core.windows.net"),
        lambda: scene.patch.delenv(CONNECTION_STRING),
    )
