"""Many jobs compared by one command on real clusters: the answers of one by one, and a cost that jobs do not add to."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from offsetwise.lab import Lab
from offsetwise.pipeline.client_windows import answer_by_clients
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.plugins.kafka.stream import reader as kafka
from tests.commands import Ran, call
from tests.integration.topics import copies, create, produce
from tests.plugins.spark.folders import checkpoint, write

JOBS = 300
JOBS_OF_SAMPLE = ["checkpoint orders", "checkpoint payments", "group orders-etl"]
TIMES = ("taken_at", "job", "made_from")
"""What differs between two comparisons of the same: when, and what only one of many has."""


def stable(body: Any) -> Any:
    """Leave out what is another at each reading: times, the salt, what is hashed with it, and that a job just ran."""
    if isinstance(body, list):
        return [
            stable(each) for each in body if not (isinstance(each, dict) and each.get("code") == "READER_SUSPECTED")
        ]
    if isinstance(body, str):
        return re.sub(r"(?:[\d,.]+ (?:ms|s|min|h|d) )+before the clusters were read", "before that", body)
    if not isinstance(body, dict):
        return body
    left_out = {*TIMES, "salt", "mirror_maker", *(("identity",) if "side" in body else ())}
    return {key: stable(each) for key, each in body.items() if key not in left_out}


def lines(ran: Ran) -> dict[str, dict[str, Any]]:
    found = [json.loads(line) for line in ran.out.splitlines()]
    return {each["job"]: each for each in found}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Count the readings of clusters, and the Spark jobs with the tasks of each."""
    made: dict[str, list[Any]] = {"clusters": [], "jobs": []}
    read = kafka.read_whole

    def reading(cluster: Any, *given: Any, **how: Any) -> Any:
        made["clusters"].append(cluster)
        return read(cluster, *given, **how)

    def answering(spark: Any, clients: Any, asked: Any, **how: Any) -> Any:
        made["jobs"].append([each for some in asked for each in some])
        return answer_by_clients(spark, clients, asked, **how)

    def running(*given: Any) -> Any:
        made["jobs"].append([])
        return interruptible(*given)

    monkeypatch.setattr(kafka, "read_whole", reading)
    monkeypatch.setattr("offsetwise.pipeline.window_reader.answer_by_clients", answering)
    monkeypatch.setattr("offsetwise.pipeline.window_reader.interruptible", running)
    return made


def test_all_jobs_together_get_the_answers_of_each_alone(sample: Path, tmp_path: Path) -> None:
    together = lines(call("compare", "-m", sample, "--all", "--json", "--out", tmp_path / "out"))

    assert [*together] == ["checkpoint orders", "checkpoint payments", "group orders-etl"]
    for job, body in together.items():
        kind, _, name = job.partition(" ")
        alone = call("compare", "-m", sample, f"--{kind}", name, "--json").answered()
        assert stable(body) == stable(alone)
        kept = json.loads((tmp_path / "out" / f"{kind}-{name}.json").read_text(encoding="utf-8"))
        for problem in (body["checkpoint"] or {}).get("problems", []):
            problem.pop("severity")  # only what is printed says it
        assert kept == body
    again = call("compare", "-m", sample, "--all", "--out", tmp_path / "out")
    assert again.out.count("(as compared before)") == 3


def test_all_jobs_drafted_together_get_the_plans_of_each_alone(
    sample: Path, tmp_path: Path, counted: dict[str, list[Any]]
) -> None:
    targets = ("--target", "spark-checkpoint", "--target", "consumer-group", "--author", "ada")
    ran = call("draft", "-m", sample, "--all", *targets, "--out", tmp_path / "plans", "--json")
    body = json.loads(ran.out)
    assert len(counted["clusters"]) <= 3, "each cluster once, and the groups' commits before"

    assert sorted(each["job"] for each in (*body["plans"], *body["refused"])) == JOBS_OF_SAMPLE
    assert body["plans"], ran.err
    entry = body["plans"][-1]
    kind, _, name = entry["job"].partition(" ")
    target = "spark-checkpoint" if kind == "checkpoint" else f"consumer-group:{name}"
    given = ("--target", target, "--author", "ada", f"--{kind}", name, "--out", tmp_path / "alone.json")
    assert call("draft", "-m", sample, *given).code == 0
    together, alone = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (tmp_path / "plans" / entry["file"], tmp_path / "alone.json")
    )
    differs = ("drafted_at", "compared_at")
    assert stable({key: value for key, value in together.items() if key not in differs}) == stable(
        {key: value for key, value in alone.items() if key not in differs}
    )


def test_300_jobs_cost_what_two_cost_and_what_cannot_be_read_stops_nobody(
    lab: Lab, sample: Path, tmp_path: Path, counted: dict[str, list[Any]]
) -> None:
    create(lab.old_bootstrap, "fleet-back")
    create(lab.new_bootstrap, "fleet-back")
    produce(lab.old_bootstrap, {"fleet-back": copies(0, 5)})
    produce(lab.new_bootstrap, {"fleet-back": copies(0, 50)})
    here = sample.parent / "checkpoints" / "orders"
    for number in range(JOBS - 4):
        shutil.copytree(here, tmp_path / f"job-{number:03}")
    write(checkpoint({0: '{"fleet-back":{"0":40}}'}, (0,), initial={}), tmp_path / "job-back")
    (tmp_path / "job-empty").mkdir()
    write({"metadata": b"{}", "offsets/0": b"v1\n{\n"}, tmp_path / "job-torn")
    names = sorted(["job-missing", *(path.name for path in tmp_path.glob("job-*"))])
    body = yaml.safe_load(sample.read_text(encoding="utf-8")) | {
        "checkpoint_roots": [str(tmp_path)],
        "checkpoints": [{"name": name, "uri": str(tmp_path / name)} for name in names],
        "groups": [],
    }
    path = tmp_path / "migration.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    two = ("--checkpoint", "job-000", "--checkpoint", "job-001")
    assert call("compare", "-m", path, *two).code == 0
    of_two = {name: [*each] for name, each in counted.items()}
    for each in counted.values():
        each.clear()

    ran = call("compare", "-m", path, "--all", "--json", "--out", tmp_path / "out")

    assert ran.code == 1
    assert len(names) == JOBS
    found = lines(ran)
    failed = {job: each["problem"] for job, each in found.items() if each["format"] == "offsetwise/error"}
    assert sorted(failed) == [f"checkpoint job-{name}" for name in ("back", "empty", "missing", "torn")]
    assert "found positions of the new one" in failed["checkpoint job-back"]
    assert len(found) == JOBS
    answers = {json.dumps(stable(each["partitions"])) for job, each in found.items() if job not in failed}
    assert len(answers) == 1, "copies of one checkpoint have one answer"
    assert counted["clusters"] == of_two["clusters"] == ["old", "new"]
    assert [len(each) for each in counted["jobs"]] == [len(each) for each in of_two["jobs"]]
    for asked in counted["jobs"]:
        windows = [(each.old_topic, each.partition, each.task) for each in asked]
        assert len({str(each) for each in windows}) == len(windows), "no window is asked for twice"
    summed = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert (len(summed["jobs"]), summed["unread"], summed["summary"]["exact"]) == (JOBS, 4, 8 * (JOBS - 4))
