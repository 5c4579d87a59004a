"""Remedies of watching the old logs, on real clusters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import offsetwise as ow
from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab
from offsetwise.model import Finding
from offsetwise.plugins.kafka.stream.logs import look_at_logs
from tests.integration.groups import Job, commit
from tests.integration.test_cutover_live import both, migration
from tests.integration.topics import copies, create, produce
from tests.remedies.walk import Scene, Steps, walk

BUNDLED = Path(ow.__file__).parent
WORKFLOW = "workflow/cutting_over.py::"


def lab_of(scene: Scene) -> Lab:
    lab: Lab = scene.request.getfixturevalue("lab")
    return lab


def watched(
    path: Path, *topics: str, plan: ow.Plan | None = None, still_for_s: float = 1, produced: Sequence[int] = ()
) -> tuple[Finding, ...]:
    """Watch the old logs; each number is how many records are written to the first topic meanwhile."""
    of = ow.Migration.load(path)
    left = itertools.chain(produced, itertools.repeat(0))
    old = of.settings.source.properties.get("bootstrap.servers", "")

    def heard(judged: ow.Cutover) -> None:
        if count := next(left):
            end = judged.partitions[0].end or 0
            produce(old, {topics[0]: copies(end, end + count)})

    found = of.cutover(topics=topics, plan=plan, still_for_s=still_for_s, every_s=0.5, records=False, heard=heard)
    return found.findings


@walk("lag/cutover.py::old_log_grows", "Stop every producer of the topic", proof=True)
def a_producer_that_was_forgotten(scene: Scene) -> Steps:
    lab = lab_of(scene)
    both(lab, "walk-grows", old=20, new=20)
    path = migration(scene.folder, lab.old_bootstrap, lab.new_bootstrap)
    producing = [5]
    return Steps(lambda: watched(path, "walk-grows", produced=producing), producing.clear)


@walk("lag/cutover.py::late_commit", "Stop every member of the group", proof=True)
def a_member_that_went_on(scene: Scene) -> Steps:
    lab = lab_of(scene)
    both(lab, "walk-late", old=40, new=40)
    commit(lab.old_bootstrap, "walk-group", {"walk-late": 20})
    job = Job(lab, "walk-group", scene.folder)
    job.write_migration()
    job.drafted()
    commit(lab.old_bootstrap, "walk-group", {"walk-late": 25})
    path = scene.folder / "m.yaml"

    def drafted_anew() -> None:
        job.folder = scene.folder / "again"
        job.folder.mkdir()
        job.write_migration()
        job.drafted()

    return Steps(
        lambda: watched(path, plan=ow.Plan.load(scene.folder / "plan.json")),
        drafted_anew,
        lambda: watched(path, plan=ow.Plan.load(scene.folder / "again" / "plan.json")),
    )


@walk("plugins/kafka/stream/logs.py::look_at_logs", "Correct the topic's name", proof=True)
def one_topic_of_two_that_is_not_there(scene: Scene) -> Steps:
    lab = lab_of(scene)
    both(lab, "walk-there", old=20, new=20)
    config = ClusterConfig(name="old", properties={"bootstrap.servers": lab.old_bootstrap})

    def look(*topics: str) -> object:
        return look_at_logs(config, topics, {}).problems

    return Steps(lambda: look("walk-there", "walk-here"), lambda: None, lambda: look("walk-there"))


@walk(WORKFLOW + "_CutoverWatch._look_at_logs", "Correct the topics' names", proof=True)
def no_topic_that_is_there(scene: Scene) -> Steps:
    lab = lab_of(scene)
    create(lab.old_bootstrap, "walk-one")
    path = migration(scene.folder, lab.old_bootstrap, lab.new_bootstrap)
    return Steps(lambda: watched(path, "walk-none"), lambda: None, lambda: watched(path, "walk-one"))


@walk(WORKFLOW + "_topics_of", "Name one with --topic", proof=True)
def no_topic_at_all(scene: Scene) -> Steps:
    lab = lab_of(scene)
    create(lab.old_bootstrap, "walk-named")
    path = migration(scene.folder, lab.old_bootstrap, lab.new_bootstrap)
    return Steps(lambda: watched(path), lambda: None, lambda: watched(path, "walk-named"))


@walk(WORKFLOW + "_CutoverWatch.__init__", "Give the longest pause that a producer makes", proof=True)
def a_time_that_two_looks_do_not_show(scene: Scene) -> Steps:
    lab = lab_of(scene)
    create(lab.old_bootstrap, "walk-short")
    path = migration(scene.folder, lab.old_bootstrap, lab.new_bootstrap)
    return Steps(lambda: watched(path, "walk-short", still_for_s=0), lambda: None, lambda: watched(path, "walk-short"))


@walk(WORKFLOW + "_CutoverWatch._require_same_cluster", "watch again from the beginning", proof=True)
def a_plan_of_another_cluster(scene: Scene) -> Steps:
    lab = lab_of(scene)
    both(lab, "walk-other", old=40, new=40)
    commit(lab.old_bootstrap, "walk-others", {"walk-other": 20})
    job = Job(lab, "walk-others", scene.folder)
    job.write_migration()
    job.drafted()
    plan = ow.Plan.load(scene.folder / "plan.json")
    path = migration(scene.folder, lab.new_bootstrap, lab.old_bootstrap)
    return Steps(
        lambda: watched(path, plan=plan), lambda: migration(scene.folder, lab.old_bootstrap, lab.new_bootstrap)
    )


@walk("streams/reader.py::look_at_logs", "Stop its producers, then compare")
def a_stream_without_ends(scene: Scene) -> Steps:
    text = (
        "name: a\n"
        "source: {name: a, stream: kinesis, properties: {region: eu-west-1}}\n"
        "target: {name: b, stream: kinesis, properties: {region: eu-west-2}}\n"
    )
    path = scene.write("migration.yaml", text)
    folder = BUNDLED / "sample_kinesis"
    snapshots = ow.load_snapshots(folder / "old.json", folder / "new.json")
    sample = ow.Migration.load(folder / "migration.yaml")
    return Steps(
        lambda: watched(path, "clicks"), lambda: None, lambda: sample.compare_all(snapshots=snapshots)[0].comparison
    )
