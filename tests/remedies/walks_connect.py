"""Walks of connectors of Kafka Connect, at workers on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from offsetwise import workflow
from offsetwise.apply.reversal import rollback
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings import judge_migration
from offsetwise.model import Cluster, Finding, GroupOffset, GroupState, Problem
from offsetwise.plan.target import target_type
from offsetwise.plugins.connect import survey
from offsetwise.plugins.connect.engine.findings import connector_group
from offsetwise.plugins.connect.engine.reading import observe
from offsetwise.plugins.connect.section import ConnectConfig, new_connector
from offsetwise.plugins.connect.target.requests import change
from offsetwise.progress import no_progress
from offsetwise.survey.connectors import parse_connect, surveyed_connectors
from offsetwise.survey.results import Trouble
from offsetwise.workflow import planning
from tests.checkpoints import changed
from tests.findings.cases import migration as migration_case
from tests.plan.scene import ETL, comparison, drafted
from tests.plugins.connect.connectors import BEFORE, TARGET, Stage, clusters, stage
from tests.plugins.connect.service import Bad, ConnectCluster, Connector, Worker, hangs_up, says, serving, uri
from tests.plugins.connect.test_reading import CLUSTERS, named
from tests.remedies.walk import Scene, Steps, walk
from tests.survey.recorded import GIVEN

_READING = "plugins/connect/engine/reading.py"
_WORKERS = "plugins/connect/engine/workers.py"
_CHECKS = "plugins/connect/target/checks.py"
_REQUESTS = "plugins/connect/target/requests.py"


def _served(scene: Scene, *clusters: ConnectCluster) -> Sequence[Worker]:
    stack = ExitStack()
    scene.request.addfinalizer(stack.close)
    return stack.enter_context(serving(*clusters))


def _sink(**told: object) -> ConnectCluster:
    return ConnectCluster({"sink": replace(Connector({("orders", 0): 1}), **told)})  # type: ignore[arg-type] # as given


def _problems(address: str) -> tuple[Problem, ...] | None:
    return read_checkpoint(address).problems or None


def _bad(scope: str, words: str, name: str, at: tuple[str, str], bad: Bad) -> None:
    """Add a walk of an answer that gets better."""

    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        cluster = _sink()
        (worker,) = _served(scene, cluster)
        cluster.bad[at] = bad
        return Steps(lambda: _problems(uri(worker.host)), cluster.bad.clear)


_bad(f"{_WORKERS}::read_json", "in a minute", "connect_rebalances", ("GET", "/status"), says(409))
_bad(f"{_WORKERS}::unusable", "Check the addresses", "connect_is_another_service", ("GET", "/"), says(200, {}))
_bad(f"{_READING}::unknown_answer", "GET /connectors/NAME/status", "connect_proxy", ("GET", "/status"), says(200))
_bad(f"{_READING}::observe", "GET /connectors/NAME/offsets", "connect_offset", ("GET", "/offsets"), says(200, {}))


@walk(f"{_WORKERS}::read_json", "Correct user and password")
def connect_user_unknown(scene: Scene) -> Steps:
    cluster = _sink()
    cluster.users = {"Basic YWRhOnNlY3JldA==": "ada"}
    (worker,) = _served(scene, cluster)
    scene.patch.setenv("CONNECT_PASSWORD", "secret")
    return Steps(
        lambda: _problems(uri(worker.host)),
        lambda: None,
        lambda: _problems(f"{uri(worker.host)}?user=ada&password=${{CONNECT_PASSWORD}}"),
    )


@walk(f"{_WORKERS}::read_json", "Correct `connector`")
def connector_missing(scene: Scene) -> Steps:
    (worker,) = _served(scene, _sink())
    return Steps(lambda: _problems(uri(worker.host, name="sing")), lambda: None, lambda: _problems(uri(worker.host)))


@walk(f"{_READING}::read_connector", "Let the connector read and commit")
def connector_without_offsets(scene: Scene) -> Steps:
    cluster = _sink(offsets={})
    (worker,) = _served(scene, cluster)
    offsets = cluster.connectors["sink"].offsets
    return Steps(lambda: _problems(uri(worker.host)), lambda: offsets.update({("orders", 0): 1}))


@walk(f"{_READING}::_address", "Name it under `connect`")
def connector_not_named(scene: Scene) -> Steps:
    (worker,) = _served(scene, _sink())

    def read() -> object:
        roots = load_migration(scene.folder / "m.yaml").checkpoint_roots
        return read_checkpoint(uri(worker.host), roots=roots) and None

    named(scene.folder, url="http://localhost:1")
    return Steps(read, lambda: named(scene.folder, url=worker.url))


@walk(f"{_READING}::_address", "Write connect+http")
def connector_of_another_form(scene: Scene) -> Steps:
    (worker,) = _served(scene, _sink())
    return Steps(
        lambda: _problems(f"connect+http://{worker.host}/sink"), lambda: None, lambda: _problems(uri(worker.host))
    )


@walk(f"{_READING}::brokers_of", "State both alike")
def connector_of_two_clusters(scene: Scene) -> Steps:
    config = {"consumer.override.bootstrap.servers": "a:1"}
    cluster = _sink(config=config)
    (worker,) = _served(scene, cluster)
    return Steps(
        lambda: _problems(uri(worker.host)), lambda: config.update({"admin.override.bootstrap.servers": "a:1"})
    )


@walk("plugins/connect/engine/findings.py::connector_running", "Stop the connector")
def connector_that_runs(scene: Scene) -> Steps:
    cluster = _sink(state="RUNNING")
    (worker,) = _served(scene, cluster)

    def stop() -> None:
        cluster.connectors["sink"].state = "STOPPED"

    return Steps(lambda: _problems(uri(worker.host)), stop)


@walk("plugins/connect/engine/findings.py::connector_source", "Move a source connector")
def connector_that_is_a_source(scene: Scene) -> Steps:
    cluster = _sink(kind="source", entries=[])
    (worker,) = _served(scene, cluster)
    return Steps(lambda: _problems(uri(worker.host)), lambda: None, lambda: None)


@walk("plugins/connect/engine/findings.py::connector_group", "Stop the connector and every task")
def connector_group_with_members(scene: Scene) -> Steps:
    (worker,) = _served(scene, _sink())
    offsets = (GroupOffset(topic="orders", partition=0, offset=1050),)
    group = GroupState(name="connect-sink", state="Stable", offsets=offsets)
    read = read_checkpoint(uri(worker.host))
    cases = [migration_case(checkpoint=changed(read), committed=group)]

    def judged() -> tuple[Finding, ...] | None:
        return tuple(found for found in judge_migration(cases[-1]) if found.code == connector_group.code) or None

    return Steps(judged, lambda: cases.append(replace(cases[0], committed=replace(group, state="Empty"))))


@walk("plugins/connect/section.py::new_connector", "Use one of these names")
def connector_that_the_file_lacks(scene: Scene) -> Steps:
    (worker,) = _served(scene, _sink())
    migration = load_migration(named(scene.folder, url=worker.url, cluster="new"))
    unknown, known = (partial(new_connector, migration, name) for name in ("elt", "etl"))
    return Steps(lambda: unknown() and None, lambda: None, lambda: known() and None)


@walk("config/migration.py::Migration._without_services", "Name it under `connect`")
def connector_among_the_checkpoints(scene: Scene) -> Steps:
    path = scene.write("m.yaml", f"{CLUSTERS}checkpoints: [{{name: sink, uri: {json.dumps(uri('h:1'))}}}]\n")
    return Steps(lambda: load_migration(path) and None, lambda: named(scene.folder, url="http://h:1"))


def _staged(scene: Scene) -> Stage:
    old, new = clusters()
    there, here = _served(scene, old, new)
    return stage(scene.folder, old, new, there, here)


def _prepared(staged: Stage) -> Callable[[], object]:
    return lambda: staged.prepare() and None


@walk("plugins/connect/target/spec.py::ConnectorTarget.before_of", "Stop the connector")
def new_connector_that_runs(scene: Scene) -> Steps:
    staged = _staged(scene)
    staged.sink.state = "RUNNING"

    def stop() -> None:
        staged.sink.state = "STOPPED"

    target = target_type(TARGET.kind)
    return Steps(lambda: target.before_of(staged.migration, TARGET, ()) and None, stop)


@walk("plugins/connect/target/spec.py::ConnectorTarget.objections", "Write to the group that holds")
def positions_of_a_query_to_a_connector(scene: Scene) -> Steps:  # noqa: ARG001 - nothing is asked
    return Steps(lambda: drafted(comparison(), TARGET), lambda: None, lambda: drafted(comparison(), ETL))


@walk("plugins/connect/target/spec.py::ConnectorTarget.unfit", "Draft without --comparison")
def connector_that_nobody_has_read(scene: Scene) -> Steps:
    staged = _staged(scene)
    unread = replace(staged.plan.requirements, targets=())
    staged.plan = replace(staged.plan, requirements=unread)
    return Steps(_prepared(staged), staged.review)


@walk(f"{_CHECKS}::_stale", "Find out who has changed")
def new_connector_that_was_changed(scene: Scene) -> Steps:
    staged = _staged(scene)
    staged.sink.offsets["orders", 0] += 1
    return Steps(_prepared(staged), lambda: staged.sink.offsets.update(BEFORE))


@walk(f"{_CHECKS}::require_reviewed", "Name the connector on the new workers")
def new_connector_on_the_old_cluster(scene: Scene) -> Steps:
    staged = _staged(scene)
    staged.new.kafka = "id-of-old"
    staged.review()

    def name_another() -> None:
        staged.new.kafka = "id-of-new"
        staged.review()

    return Steps(_prepared(staged), name_another)


@walk(f"{_CHECKS}::require_own", "draft a plan from where it is")
def new_connector_that_went_on(scene: Scene) -> Steps:
    staged = _staged(scene)
    staged.apply()
    staged.sink.offsets["orders", 0] += 9

    def draft_anew() -> object:
        return read_checkpoint(new_connector(staged.migration, "moved").address.uri).problems or None

    return Steps(lambda: rollback(staged.back(), staged.tools()) and None, lambda: None, draft_anew)


@walk(f"{_CHECKS}::require_inside", "Compare again")
def new_log_that_is_shorter(scene: Scene) -> Steps:
    staged = _staged(scene)
    whole = staged.world.clusters.copy()
    staged.world.change_logs(Cluster.NEW, hw=10, lso=10)
    return Steps(_prepared(staged), lambda: staged.world.clusters.update(whole))


@walk(f"{_CHECKS}::require_no_members", "Wait until the tasks have ended")
def new_group_with_members(scene: Scene) -> Steps:
    staged = _staged(scene)
    staged.members = "Stable"

    def leave() -> None:
        staged.members = "Empty"

    return Steps(_prepared(staged), leave)


@walk(f"{_CHECKS}::reads_another_cluster", "Let the connector read the new cluster")
def new_connector_of_another_cluster(scene: Scene) -> Steps:
    staged = _staged(scene)
    staged.commits = {}

    def read_the_new_one() -> None:
        staged.commits = None

    return Steps(_prepared(staged), read_the_new_one)


def _changing(scope: str, words: str, name: str, bad: Bad) -> None:
    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        staged = _staged(scene)
        staged.new.bad["PATCH", "/offsets"] = bad
        return Steps(lambda: staged.apply() and None, staged.new.bad.clear)


_changing(f"{_REQUESTS}::lost", "Run the same command again", "connect_answer_lost", hangs_up)
_changing(f"{_REQUESTS}::change", "rebalanced (409)", "connect_change_refused", says(409))


@walk(f"{_REQUESTS}::_sent", "Start a worker")
def workers_that_end_before_the_change(scene: Scene) -> Steps:
    staged = _staged(scene)
    found = observe(new_connector(staged.migration, "moved").address)
    away = replace(found, workers=replace(found.workers, answering=("http://localhost:1",)))
    return Steps(lambda: change(away, {}) and None, lambda: None, lambda: change(found, {}) and None)


def _asked(address: str) -> tuple[Trouble, ...]:
    """Ask the workers at an address, as init does."""
    problems: list[Trouble] = []
    surveyed_connectors([parse_connect(address)], GIVEN, {}, problems, no_progress)
    return tuple(problems)


@walk("survey/connectors.py::parse_connect", "Give http://HOST:PORT of a worker")
def connect_without_scheme(scene: Scene) -> Steps:
    (worker,) = _served(scene, _sink())
    return Steps(lambda: _asked(worker.host), lambda: None, lambda: _asked(f"http://{worker.host}"))


@walk("plugins/connect/survey.py::_of_workers", "Check the address: each Connect cluster")
def workers_without_connectors(scene: Scene) -> Steps:
    empty, other = _served(scene, ConnectCluster(), _sink())
    return Steps(lambda: _asked(empty.url), lambda: None, lambda: _asked(other.url))


@walk("plugins/connect/survey.py::_of_workers", "Name the others by hand")
def more_connectors_than_are_read(scene: Scene) -> Steps:
    scene.patch.setattr(survey, "MOST", 1)
    many = {name: Connector({("orders", 0): 1}) for name in ("first", "other")}
    (worker,) = _served(scene, ConnectCluster(many))
    body = {
        "name": "mine",
        "source": {"properties": {"bootstrap.servers": "old:9092"}},
        "target": {"properties": {"bootstrap.servers": "new:9092"}},
        "connect": [{"name": "mine", "url": worker.url, "connector": "other"}],
    }

    def by_hand() -> object:
        migration = load_migration(scene.write("m.yaml", json.dumps(body)))
        return read_checkpoint(migration.checkpoint("mine").uri, roots=migration.checkpoint_roots).problems

    return Steps(lambda: _asked(worker.url), lambda: None, by_hand)


@walk("workflow/planning.py::_read_before", "Compare again, so that it is read anew.")
def connector_that_ran_when_its_job_was_compared(scene: Scene) -> Steps:
    old, new = clusters()
    staged = stage(scene.folder, old, new, *_served(scene, old, new))
    new.connectors["moved"].state = "RUNNING"
    moved = comparison(checkpoint=read_checkpoint(staged.migration.entries_of(ConnectConfig)[0].address.uri))
    compared = [workflow.with_services(staged.migration, moved)]

    def stop_and_compare() -> None:
        new.connectors["moved"].state = "STOPPED"
        compared[0] = workflow.with_services(staged.migration, compared[0])

    return Steps(lambda: [*planning._read_before(compared[0].services, [TARGET])] and None, stop_and_compare)
