"""Remedies of the migration file: the edit that is named is made, and the file is loaded again."""

from __future__ import annotations

import yaml

from offsetwise.config import load_migration
from tests.remedies.walk import Scene, Steps, edited, walk

OLD = "name: a\nsource: {name: old, properties: {bootstrap.servers: '127.0.0.1:1'}}\n"
NEW = "target: {name: new, properties: {bootstrap.servers: '127.0.0.1:2'}}\n"
WHOLE = OLD + NEW
SINK = "sinks: [{{name: {}, properties: {{bootstrap.servers: 'sink:9092'}}}}]\n"
CHECKPOINT = "checkpoints: [{{name: a, uri: b, job: {{sink_cluster: {}}}}}]\n"


def load(scope: str, words: str, name: str, before: str, after: str) -> None:
    edited(scope, words, name, load_migration, before, after)


READ = "strict_yaml.py::_read_yaml"
load(READ, "Correct the line;", "not_yaml", WHOLE + "groups: [\n", WHOLE + "groups: []\n")
load(READ, "Start with", "a_list", "- a\n", WHOLE)

KEYS = "strict_yaml.py::_explained"
load(KEYS, "Did you mean", "misspelt_key", WHOLE + "writer: mixed\n", WHOLE + "writers: mixed\n")
load(KEYS, "Add ", "name_missing", WHOLE.replace("name: a\n", ""), WHOLE)
load(
    KEYS,
    "Keep master",
    "two_sparks",
    WHOLE + "spark: {master: local, remote: 'sc://y'}\n",
    WHOLE + "spark: {master: local}\n",
)
load(
    KEYS,
    "Give each old topic",
    "merged_topics",
    WHOLE + "topics: {map: {a: x, b: x}}\n",
    WHOLE + "topics: {map: {a: x, b: y}}\n",
)
load(KEYS, "Correct the value;", "unknown_link", WHOLE + "link: teleport\n", WHOLE + "link: other\n")

MIGRATION = "config/migration.py::"
load(
    MIGRATION + "Migration._whole",
    "Rename one of them.",
    "checkpoint_twice",
    WHOLE + "checkpoints: [{name: a, uri: b}, {name: a, uri: c}]\n",
    WHOLE + "checkpoints: [{name: a, uri: b}, {name: c, uri: c}]\n",
)
load(
    MIGRATION + "Migration._whole",
    "Remove all of them but one.",
    "group_with_two_jobs",
    WHOLE + "groups: [a, {name: a, job: {auto_offset_reset: latest}}]\n",
    WHOLE + "groups: [{name: a, job: {auto_offset_reset: latest}}]\n",
)
load(
    MIGRATION + "_check_two_clusters",
    "Correct bootstrap.servers",
    "one_cluster_twice",
    WHOLE.replace("127.0.0.1:2", "127.0.0.1:1"),
    WHOLE,
)
load(MIGRATION + "_check_two_clusters", "Change one ", "one_name_twice", WHOLE.replace("name: new", "name: old"), WHOLE)
load(
    MIGRATION + "_check_two_clusters",
    "Correct `stream`",
    "two_streams",
    OLD + "target: {name: new, stream: kinesis, properties: {region: us-east-1}}\n",
    WHOLE,
)

SINKS = "config/sinks.py::check_names"
load(
    SINKS,
    "Rename one of them.",
    "sink_twice",
    WHOLE + SINK.format("out")[:-2] + ", " + SINK.format("out")[8:],
    WHOLE + SINK.format("out")[:-2] + ", " + SINK.format("other")[8:],
)
load(SINKS, "leave it out and state", "sink_named_old", WHOLE + SINK.format("old"), WHOLE + CHECKPOINT.format("old"))
load(
    SINKS,
    "add the cluster under `sinks`",
    "unknown_sink",
    WHOLE + CHECKPOINT.format("out"),
    WHOLE + CHECKPOINT.format("out") + SINK.format("out"),
)


@walk(READ, "Save the file as UTF-8.")
def other_bytes(scene: Scene) -> Steps:
    text = WHOLE.replace("name: a", "name: Müller")
    path = scene.write("migration.yaml", text.encode("latin-1"))
    return Steps(lambda: load_migration(path), lambda: scene.write("migration.yaml", text))


@walk(READ, "Give ", name="too_large")
def _(scene: Scene) -> Steps:
    path = scene.write("migration.yaml", WHOLE + "#" * 2**20)
    return Steps(lambda: load_migration(path), lambda: scene.write("migration.yaml", WHOLE))


@walk(KEYS, "Use only: ")
def unknown_key(scene: Scene) -> Steps:
    body = yaml.safe_load(WHOLE) | {"zzz": 1}
    path = scene.write("migration.yaml", yaml.safe_dump(body))
    return Steps(lambda: load_migration(path), lambda: scene.write("migration.yaml", WHOLE))


@walk(MIGRATION + "Migration.checkpoint", "Use one of these names")
def unknown_checkpoint(scene: Scene) -> Steps:
    path = scene.write("migration.yaml", WHOLE)
    added = WHOLE + "checkpoints: [{name: orders, uri: b}]\n"
    return Steps(lambda: load_migration(path).checkpoint("orders"), lambda: scene.write("migration.yaml", added))


WAVES = WHOLE + "groups: [etl, web]\nwaves:\n"
FIRST = "- {name: first, jobs: ['group:etl']}\n"
CHECKED = "config/waves.py::check_waves"
load(
    CHECKED,
    "Rename one of them.",
    "wave_twice",
    WAVES + FIRST + "- {name: first, jobs: ['group:web']}\n",
    WAVES + FIRST + "- {name: second, jobs: ['group:web']}\n",
)
load(
    CHECKED,
    "Name one of: ",
    "after_no_wave",
    WAVES + FIRST + "- {name: second, jobs: ['group:web'], after: [frist]}\n",
    WAVES + FIRST + "- {name: second, jobs: ['group:web'], after: [first]}\n",
)
load(
    CHECKED,
    "The file's jobs are ",
    "wave_of_no_job",
    WAVES + "- {name: first, jobs: ['group:elt']}\n",
    WAVES + FIRST,
)
load(
    CHECKED,
    "Remove one of these from `after`.",
    "waves_in_a_circle",
    WAVES + "- {name: a, jobs: ['*'], after: [b]}\n- {name: b, jobs: ['*'], after: [a]}\n",
    WAVES + "- {name: a, jobs: ['*']}\n- {name: b, jobs: ['*'], after: [a]}\n",
)


@walk(MIGRATION + "Migration.wave", "Use one of these names")
def unknown_wave(scene: Scene) -> Steps:
    path = scene.write("migration.yaml", WAVES + FIRST)
    added = WAVES + FIRST + "- {name: second, jobs: ['group:web']}\n"
    return Steps(lambda: load_migration(path).wave("second"), lambda: scene.write("migration.yaml", added))
