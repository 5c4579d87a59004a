"""Remedies of the lab, each on brokers of its own that are broken, and of its sample, on fewer records."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from collections.abc import Callable

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab import Lab, cluster, consumers, flink, making, migration, plan_of_jobs, progress, sample
from offsetwise.lab.flink import jobs as flink_jobs
from offsetwise.lab.mirrors import Policy
from tests.commands import call
from tests.integration.flink_distribution import DISTRIBUTIONS
from tests.integration.groups import Job
from tests.remedies.walk import Remembered, Scene, Steps, walk
from tests.remedies.walks_commands import run

CLUSTER = "lab/cluster.py::Lab."
MIGRATION = "lab/migration.py::"
SAMPLE = "lab/sample.py::"
FLINK = "lab/flink/running.py::"
JOBS_OF_FLINK = "lab/flink/jobs.py::"
TOPIC = "walked"


def lab_of(scene: Scene) -> Lab:
    """Return the lab of the scene, which ends with it."""
    lab = Lab.at(scene.folder / "lab")
    scene.request.addfinalizer(lab.down)
    return lab


def running(scene: Scene) -> Lab:
    return Lab.up(lab_of(scene).directory)


def commands_of(text: str) -> list[list[str]]:
    """Return the arguments of every command of the product that a remedy names."""
    return [shlex.split(command) for command in re.findall(r"`offsetwise (.+?)`", text)]


def give(*arguments: str) -> None:
    ran = call(*arguments)
    assert ran.code == 0, ran.err


def create(bootstrap: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, 1, 1) for name in topics]).values():
        future.result(20)


@walk(CLUSTER + "_bootstrap", "Start it: offsetwise lab up", proof=True)
def broker_that_was_stopped(scene: Scene) -> Steps:
    lab = lab_of(scene)

    mirror = Remembered(lambda: lab.start_mirror(Policy.IDENTITY, topics=[TOPIC]))
    return Steps(mirror, lambda: give(*shlex.split(mirror.remedy.partition("offsetwise ")[2])))


@walk(CLUSTER + "_format", "Check the disk and the folder's permissions", proof=True)
def disk_that_is_not_mounted(scene: Scene) -> Steps:
    lab, disk = lab_of(scene), scene.folder / "disk"
    (lab.directory / "old").mkdir(parents=True)
    (lab.directory / "old" / "data").symlink_to(disk)
    return Steps(run("lab", "up", "--dir", lab.directory), disk.mkdir)


@walk(CLUSTER + "_wait_until_listening", "Correct what the log names", proof=True)
def broker_with_the_data_of_another(scene: Scene) -> Steps:
    lab = running(scene)
    lab.down()
    meta = lab.directory / "new" / "data" / "meta.properties"
    own = meta.read_text()
    meta.write_text(own.replace("node.id=1", "node.id=7"))
    return Steps(run("lab", "up", "--dir", lab.directory), lambda: meta.write_text(own))


@walk(CLUSTER + "wait_until_mirrored", "start the mirror again and wait again", proof=True)
def mirror_that_was_killed(scene: Scene) -> Steps:
    lab = running(scene)
    create(lab.old_bootstrap, TOPIC)
    producer = Producer({"bootstrap.servers": lab.old_bootstrap})
    producer.produce(TOPIC, b"record")
    assert producer.flush(20) == 0

    def start() -> str:
        return lab.start_mirror(Policy.IDENTITY, topics=[TOPIC])

    lab.stop_mirror(start(), kill=True)
    return Steps(lambda: lab.wait_until_mirrored([TOPIC], mirror=Policy.IDENTITY), start)


@walk(CLUSTER + "wait_until_mirrored", "Start the mirror first", proof=True)
def mirror_that_was_never_started(scene: Scene) -> Steps:
    lab = running(scene)
    create(lab.old_bootstrap, TOPIC)
    return Steps(
        lambda: lab.wait_until_mirrored([TOPIC], mirror=Policy.IDENTITY),
        lambda: lab.start_mirror(Policy.IDENTITY, topics=[TOPIC]),
    )


@walk("lab/progress.py::silent", "Run `offsetwise lab down`, then `offsetwise lab up`", proof=True)
def broker_that_was_killed(scene: Scene) -> Steps:
    lab = running(scene)
    bootstrap = lab.old_bootstrap
    create(bootstrap, TOPIC)
    os.kill(lab.status()[0].pid, signal.SIGKILL)
    scene.patch.setattr(progress, "TIMEOUT_S", 2)
    read = Remembered(lambda: [*progress.read_to_end(TOPIC, bootstrap=bootstrap)])

    def restart() -> None:
        scene.patch.setattr(progress, "TIMEOUT_S", 20)
        for arguments in commands_of(read.remedy):
            give(*arguments, "--dir", str(lab.directory))

    return Steps(read, restart)


# The sample: of a few records, so that it takes no minute.
def shortened(scene: Scene) -> Lab:
    changes = {"STEPS": (400,), "PLANNED": 450, "LOG_END": 500, "GROUP_POSITIONS": (300, 300)}
    for name, value in changes.items():
        scene.patch.setattr(sample, name, value)
    return running(scene)


def in_a_new_folder(lab: Lab, correct: Callable[[], object], *, again: Callable[[], object] | None = None) -> Steps:
    """Return the walk of a sample that is not complete, after what its log names is corrected.

    Args:
        lab: Its lab.
        correct: What corrects it.
        again: The steps up to the one that failed; None for the whole sample, which takes longest.
    """
    command = Remembered(run("lab", "sample", "--dir", lab.directory))

    def follow() -> None:
        correct()
        down, last = commands_of(command.remedy)
        give(*down)
        shutil.rmtree(lab.directory)
        assert last == ["lab", "sample", "--dir", str(lab.directory)]

    return Steps(command, follow, again)


def first_steps(lab: Lab) -> None:
    Lab.up(lab.directory)
    sample.create_topics(lab)
    sample.produce(lab, 0, sample.STEPS[0])
    sample.move_log_start(lab)
    sample._wait_until_compacted(lab)


@walk(SAMPLE + "create_topics", "To begin again", proof=True)
def sample_that_was_interrupted(scene: Scene) -> Steps:
    lab = shortened(scene)
    sample.create_topics(lab)
    return in_a_new_folder(lab, lambda: None, again=lambda: first_steps(lab))


@walk(SAMPLE + "_job.run", "Correct what the log names", proof=True)
def java_that_went_away(scene: Scene) -> Steps:
    lab = shortened(scene)
    scene.patch.setenv("JAVA_HOME", str(scene.folder / "no-java"))
    return in_a_new_folder(lab, lambda: scene.patch.delenv("JAVA_HOME"))


@walk(SAMPLE + "wait_until", "Correct what the logs in", proof=True)
def broker_that_never_compacts(scene: Scene) -> Steps:
    lab = shortened(scene)
    throttle = ConfigEntry("log.cleaner.io.max.bytes.per.second", "1", incremental_operation=AlterConfigOpType.SET)
    broker = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[throttle])
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    for future in admin.incremental_alter_configs([broker]).values():
        future.result(20)
    scene.patch.setattr(sample, "WAIT_S", 1)
    scene.patch.setattr(cluster, "STOP_GRACE_S", 1)
    return in_a_new_folder(lab, lambda: scene.patch.setattr(sample, "WAIT_S", 90), again=lambda: first_steps(lab))


@walk(MIGRATION + "create_topics", "lab migration --dir", proof=True)
def migration_that_was_interrupted(scene: Scene) -> Steps:
    lab = running(scene)
    migration.create_topics(lab)

    def begin() -> None:
        migration.create_topics(Lab.up(lab.directory))

    command = Remembered(run("lab", "migration", "--dir", lab.directory))

    def follow() -> None:
        down, last = commands_of(command.remedy)
        give(*down)
        shutil.rmtree(lab.directory)
        assert last == ["lab", "migration", "--dir", str(lab.directory)]

    return Steps(command, follow, begin)


@walk(MIGRATION + "jobs_of_wave", "Name one of")
def wave_of_another_name(scene: Scene) -> Steps:
    lab = Lab.at(scene.folder)
    jobs_of = migration.jobs_of_wave
    return Steps(lambda: jobs_of(lab, "first"), lambda: None, lambda: jobs_of(lab, "pilot"))


@walk(MIGRATION + "run_on_new", "Draft, sign and apply", proof=True)
def job_that_has_not_moved(scene: Scene) -> Steps:
    lab = running(scene)
    job = next(job for job in plan_of_jobs.jobs() if job.subject == "group audit-trail")
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, "audit")
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        making.send(producer, plan_of_jobs.records_of(plan_of_jobs.TOPICS["audit"], 0, 20))
    consumers.commit(lab.old_bootstrap, job.name, {("audit", 0): 10})
    moving = Job(lab, job.name, scene.folder)

    def move() -> None:
        moving.write_migration()
        moving.drafted()
        assert moving.apply("--execute").code == 0

    return Steps(lambda: migration.run_on_new(lab, [job]), move)


@walk(FLINK + "FlinkFolder.at", "Unpack Flink 1.20 or later")
def folder_without_flink(scene: Scene) -> Steps:
    folder = scene.folder / "flink"

    def unpack() -> None:
        for jar in ("flink-dist-2.2.0.jar", "flink-sql-connector-kafka-5.0.0-2.2.jar"):
            scene.write(f"flink/lib/{jar}", b"")

    return Steps(lambda: flink.FlinkFolder.at(folder), unpack)


@walk(FLINK + "FlinkFolder.at", "Unpack a later Flink")
def flink_that_is_too_old(scene: Scene) -> Steps:
    for version in ("1.19.1", "2.2.0"):
        scene.write(f"{version}/lib/flink-dist-{version}.jar", b"")
        scene.write(f"{version}/lib/flink-sql-connector-kafka-5.0.0-2.2.jar", b"")
    at = flink.FlinkFolder.at
    return Steps(lambda: at(scene.folder / "1.19.1"), lambda: None, lambda: at(scene.folder / "2.2.0"))


@walk(JOBS_OF_FLINK + "keep_again", "Name another folder")
def migration_without_flink(scene: Scene) -> Steps:
    chosen = flink.FlinkFolder(scene.folder)
    made = Lab(scene.folder)
    return Steps(lambda: flink_jobs.keep_again(made, chosen), lambda: None, lambda: flink_jobs.keep_again(made, None))


ROWS = """
CREATE TABLE made (serial BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1');
CREATE TABLE gone (serial BIGINT) WITH ('connector' = '{connector}');
INSERT INTO gone SELECT serial FROM made;
"""


@walk(FLINK + "_unfinished", "Correct what the message or the log names", proof=True)
def job_of_a_connector_that_there_is_not(scene: Scene) -> Steps:
    stated = {"connector": "no-such-connector"}
    folder = scene.folder / "job"

    def run_job() -> None:
        with flink.running_job(
            folder,
            classpath=DISTRIBUTIONS[-1].classpath(),
            settings={"parallelism.default": 1},
            sql=ROWS.format(**stated),
            log=scene.folder / "job.log",
        ) as job:
            job.stop(folder)

    started = Remembered(run_job)

    def correct() -> None:
        assert "no-such-connector" in (scene.folder / "job.log").read_text()
        stated["connector"] = "blackhole"

    return Steps(started, correct)
