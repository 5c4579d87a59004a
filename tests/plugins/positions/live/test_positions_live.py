"""Positions files on a real lab: printed by a system's own tool, moved by a plan, and taken by that tool or Spark."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from offsetwise.config import SparkSettings
from offsetwise.lab import Lab
from offsetwise.lab.brokers import jvm
from offsetwise.pipeline.session import open_session
from tests.commands import call
from tests.integration.groups import commit, committed, read_on
from tests.integration.topics import copies, create, produce

ORDERS, VIEWS = "filed-orders", "filed-views-with-a-name-of-over-24-characters"
N: Final = 300
POSITIONS: Final = {ORDERS: 250, VIEWS: 120}
"""The next record to read on the old cluster."""
SHIFTS: Final = {ORDERS: -100, VIEWS: 0}
"""What the mirror's copy of the old log begins without."""
MOVED: Final = {topic: (offset + SHIFTS[topic], "") for topic, offset in POSITIONS.items()}
UNREAD: Final = {topic: [f"r{number}" for number in range(offset, N)] for topic, offset in POSITIONS.items()}
TOOL: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture(scope="module")
def filled(lab: Lab) -> Lab:
    """Return the lab with the topics on both clusters."""
    create(lab.old_bootstrap, ORDERS, VIEWS)
    create(lab.new_bootstrap, ORDERS, VIEWS)
    produce(lab.old_bootstrap, {ORDERS: copies(0, N), VIEWS: copies(0, N)})
    produce(lab.new_bootstrap, {ORDERS: copies(100, N), VIEWS: copies(0, N)})
    return lab


def run(lab: Lab, main_class: str, *arguments: str) -> str:
    """Run one of Kafka's tools, and return what it prints."""
    settings = next(lab.directory.rglob("log4j2.properties")).parent
    command = jvm(settings, main_class, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def groups(*names: str) -> list[str]:
    return [word for name in names for word in ("--group", name)]


def exported(lab: Lab, *names: str) -> str:
    """Let Kafka's tool export what groups have committed on the old cluster."""
    for name in names:
        commit(lab.old_bootstrap, name, POSITIONS)
    asked = ("--reset-offsets", "--to-current", "--all-topics", "--export", "--dry-run")
    return run(lab, TOOL, "--bootstrap-server", lab.old_bootstrap, *groups(*names), *asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMove:
    """The migration of a positions file in a folder of its own."""

    folder: Path
    target: str = "positions-file"

    @classmethod
    def of(cls, lab: Lab, folder: Path, text: str, shape: str | None, target: str = "positions-file") -> FileMove:
        """Write the file and its migration."""
        (folder / "positions").write_text(text)
        body = {
            "name": "moved",
            "source": {"properties": {"bootstrap.servers": lab.old_bootstrap}},
            "target": {"properties": {"bootstrap.servers": lab.new_bootstrap}},
            "link": "other",
            "writers": "mirror-only",
            "positions": [
                {"name": "filed", "file": "./positions", "belongs_to": "old"} | ({"shape": shape} if shape else {})
            ],
            "write_roots": ["."],
            "spark": {"master": "local[2]"},
        }
        (folder / "m.yaml").write_text(yaml.safe_dump(body))
        return cls(folder=folder, target=target)

    def run(self) -> tuple[Path, dict[str, Any]]:
        """Compare, draft, sign, apply, verify; return the file that is written, if any, and the receipt."""
        folder, plan, written = self.folder, self.folder / "plan.json", self.folder / "written"
        given = ("--migration", folder / "m.yaml", "--json")
        compared = call("compare", "--checkpoint", "filed", *given).answered()
        assert {row["exactness"] for row in compared["partitions"]} == {"EXACT"}
        target = ("--checkpoint", "filed", "--target", self.target, "--author", "ann", "--out", plan)
        assert call("draft", *target, *given).answered()["positions"]
        assert call("keygen", "--out", folder / "rea", "--as", "rea").code == 0
        signing = ("--key", folder / "rea", "--as", "rea", "--out", folder / "approval.json")
        assert call("sign", plan, *signing).code == 0
        signed = ("--approval", folder / "approval.json", "--trust", folder / "rea.pub")
        place = ("--output", written) if self.target == "positions-file" else ()
        applied = (*place, "--receipt", folder / "receipt.json", "--execute")
        receipt = call("apply", plan, *signed, *applied, *given).answered()
        verified = call("verify", folder / "receipt.json", *given).answered()
        assert {each["turnout"] for each in verified["positions"]} == {"CONFIRMED"}
        return written, receipt


def moved(lab: Lab, folder: Path, text: str, shape: str | None = None) -> tuple[Path, dict[str, Any]]:
    """Move a positions file into another one.

    Returns:
        The file that is written, and the receipt.
    """
    return FileMove.of(lab, folder, text, shape).run()


@pytest.mark.parametrize("names", [("filed-one",), ("filed-first", "filed-second")], ids=["one group", "two groups"])
def test_what_kafkas_tool_exports_is_moved_and_taken_by_it_and_a_consumer_goes_on(
    filled: Lab, tmp_path: Path, names: tuple[str, ...]
) -> None:
    written, receipt = moved(filled, tmp_path, exported(filled, *names))

    (step,) = receipt["steps"]
    assert f"--from-file {written} --execute" in step["told"]
    taken = ("--reset-offsets", "--from-file", str(written), "--execute")
    run(filled, TOOL, "--bootstrap-server", filled.new_bootstrap, *groups(*names), *taken)

    for name in names:
        assert committed(filled.new_bootstrap, name) == MOVED
        found = read_on(filled.new_bootstrap, name, [ORDERS, VIEWS], sum(map(len, UNREAD.values())))
        assert found == UNREAD, "every record that was not read, once, in order"


def test_one_group_in_four_columns_is_taken_with_all_groups(filled: Lab, tmp_path: Path) -> None:
    text = "".join(f"filed-alone,{topic},0,{offset}\n" for topic, offset in POSITIONS.items())
    commit(filled.new_bootstrap, "filed-alone", {ORDERS: 1})  # the tool resets only groups that are there
    written, receipt = moved(filled, tmp_path, text)

    assert "--all-groups --from-file" in receipt["steps"][0]["told"]
    taken = ("--all-groups", "--reset-offsets", "--from-file", str(written), "--execute")
    run(filled, TOOL, "--bootstrap-server", filled.new_bootstrap, *taken)

    assert committed(filled.new_bootstrap, "filed-alone") == MOVED


def test_starting_offsets_of_spark_are_moved_and_a_query_begins_there(filled: Lab, tmp_path: Path) -> None:
    text = json.dumps({topic: {"0": offset} for topic, offset in POSITIONS.items()})
    written, _ = moved(filled, tmp_path, text, "spark-starting-offsets")
    read: dict[str, list[str]] = {}
    spark = open_session(SparkSettings(master="local[2]"), kafka=True)

    def write(batch: Any, _: int) -> None:
        for row in batch.orderBy("topic", "offset").collect():
            read.setdefault(row["topic"], []).append(json.loads(row["value"])["serial"])

    (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": filled.new_bootstrap, "subscribe": f"{ORDERS},{VIEWS}"})
        .option("startingOffsets", written.read_text())
        .load()
        .selectExpr("topic", "offset", "CAST(value AS STRING) value")
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
        .awaitTermination()
    )

    assert read == UNREAD, "every record that was not read, once, in order"


OFFSET, MOVED_OFFSET = POSITIONS[ORDERS], MOVED[ORDERS][0]
SEGMENT: Final = {
    "segment.name": "filed__0__4__20260301T1504Z",
    "segment.realtime.startOffset": "200",
    "segment.realtime.endOffset": str(OFFSET),
    "segment.realtime.status": "DONE",
}
CHECKPOINT: Final = (
    f"Checkpoint{{consumerGroupId=filed-mirror, topicPartition={ORDERS}-0, upstreamOffset={OFFSET}, "
    f"downstreamOffset={MOVED_OFFSET}, metadata=}}\n"
)
PRINTED: Final = {
    "offsets-json": f'{{"{ORDERS}":{{"0":%d}}}}\n',
    "druid-supervisor": f'{{"type":"kafka","partitions":{{"type":"end","stream":"{ORDERS}",'
    '"partitionOffsetMap":{"0":%d}}}\n',
    "hudi": f"{ORDERS},0:%d\n",
}
"""Files of the shapes whose systems do not run here, with the offset to be filled in."""
READ_ONLY: Final = {f"pinot-segments:{ORDERS}": json.dumps(SEGMENT), "mirror-checkpoints": CHECKPOINT}
"""Files of the shapes that their systems take no offsets in."""


@pytest.mark.parametrize("shape", PRINTED)
def test_a_shape_whose_system_does_not_run_here_is_proven_and_printed_back(
    shape: str, filled: Lab, tmp_path: Path
) -> None:
    written, _ = moved(filled, tmp_path, PRINTED[shape] % OFFSET, shape)

    assert written.read_text() == PRINTED[shape] % MOVED_OFFSET
    again = json.loads(call("inspect", f"{written}#{shape}", "--json").out)
    assert [at["offset"] for source in again["sources"] for at in source["positions"]] == [str(MOVED_OFFSET)]


@pytest.mark.parametrize("shape", READ_ONLY)
def test_a_shape_that_no_system_takes_offsets_in_is_proven_and_moves_into_a_group_that_goes_on(
    shape: str, filled: Lab, tmp_path: Path
) -> None:
    group = f"filed-{shape.partition(':')[0]}"
    FileMove.of(filled, tmp_path, READ_ONLY[shape], shape, f"consumer-group:{group}").run()

    assert committed(filled.new_bootstrap, group) == {ORDERS: MOVED[ORDERS]}
    assert read_on(filled.new_bootstrap, group, [ORDERS], N - OFFSET) == {ORDERS: UNREAD[ORDERS]}


def test_mirrormakers_own_checkpoints_are_read_and_proven_as_its_formatter_prints_them(sample: Path, lab: Lab) -> None:
    text = run(
        lab,
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", lab.new_bootstrap, "--topic", "old.checkpoints.internal", "--from-beginning"),
        *("--timeout-ms", "15000"),
        *("--formatter", "org.apache.kafka.connect.mirror.formatters.CheckpointFormatter"),
    )
    lines = [line for line in text.splitlines() if line.startswith("Checkpoint")]  # the lab's tools log there too
    file = sample.parent / "checkpoints.txt"
    file.write_text("\n".join(lines))

    read = json.loads(call("inspect", file, "--json").out)

    upstream = {source["id"]: source["positions"] for source in read["sources"]}
    assert "mirror-checkpoints:orders-etl" in upstream
    admin = KafkaAdminClient(bootstrap_servers=lab.old_bootstrap)
    group = {at: one.offset for at, one in admin.list_group_offsets("orders-etl")["orders-etl"].items()}
    admin.close()
    for at in upstream["mirror-checkpoints:orders-etl"]:
        commit_there = group[TopicPartition(at["topic"], at["partition"])]
        assert int(at["offset"]) <= commit_there, "a checkpoint is never ahead of the commit"

    compared = call("compare", "--migration", sample, "--positions", file, "--json").answered()
    rows = {(row["source"], row["topic"], row["partition"]): row for row in compared["partitions"]}
    for at in upstream["mirror-checkpoints:orders-etl"]:
        row = rows["mirror-checkpoints:orders-etl", at["topic"], at["partition"]]
        assert (row["old_offset"], row["exactness"]) == (at["offset"], "EXACT")
