"""The whole way of a SQL job on a real Flink: Kafka to an exactly-once Kafka sink, moved by its savepoint."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.lab import Lab, Policy
from offsetwise.plan.sinks.gate import PENDING, RESTORE
from tests.commands import call
from tests.gates import of_all
from tests.integration.flink_cluster import Flink, running, wait_until
from tests.integration.flink_distribution import DISTRIBUTIONS, Distribution
from tests.integration.moving import GONE, Move, Orders, create, key_of, moved, tree
from tests.integration.test_settling_live import end_elsewhere
from tests.integration.topics import START_MS
from tests.lab.reading import read_log
from tests.plugins.flink.live.java_job import DYNAMIC, HYBRID, JavaJob
from tests.plugins.flink.live.lost_splits import changed, dropping, forgotten, handed_back
from tests.plugins.positions.live.test_positions_live import moved as moved_in_a_file

pytestmark = pytest.mark.timeout(1800)  # a whole job with its Flink, on a machine that may be busy
OLDEST, WITH_STRATEGIES, NEWEST = DISTRIBUTIONS
TRIED: Final = of_all((OLDEST, NEWEST), (NEWEST,))
TOPIC: Final = "flink-orders"
FEW: Final = 4
"""Records that arrive in a test: in all of a Flink's tests fewer than `GONE`, or the old position is in the new log."""
COUNT: Final = """
INSERT INTO counted
SELECT serial, COUNT(*) OVER (PARTITION BY k ORDER BY arrived ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
FROM orders
"""
"""Keeps a count for every key: it goes on only with its state."""
Drafted = tuple[Move, dict[int, dict[str, Any]], dict[str, Any]]
EARLIEST: Final = {"scan.startup.mode": "earliest-offset"}
RESETS: Final = EARLIEST | {"properties.auto.offset.reset": "none"}
"""What docs/plans.md says of connectors up to 5.0.0: the mode sets the property itself, and resets silently."""
OR_STOP: Final = {"scan.startup.mode": "group-offsets", "properties.auto.offset.reset": "none"}
"""What stops a restored job whose position is not in the log: the mode `earliest-offset` would reset it silently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A topic that jobs write to."""

    bootstrap: str
    topic: str
    strategy: str | None = None
    """How its transactions are named; None where the connector has one way only."""

    def rows(self, *, isolation: str = "read_committed") -> list[tuple[int, int]]:
        """Return serial and count of every record; by default as somebody reads them who waits for transactions."""
        logs = [read_log(self.bootstrap, self.topic, at, isolation=isolation) for at in GONE]
        rows = [json.loads(record.value) for log in logs for record in log.records]
        return [(int(row["serial"]), row["nth"]) for row in rows]

    @property
    def written(self) -> int:
        """How many records were ever written to it, committed or not."""
        return len(self.rows(isolation="read_uncommitted"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Jobs of one Flink that count the records of the topic."""

    flink: Flink
    folder: Path
    """Of whatever is kept of them."""

    def start(
        self,
        bootstrap: str,
        sink: Sink,
        *,
        state: Path | None = None,
        begin: Mapping[str, str],
        parallelism: int = 2,
        topic: str = TOPIC,
        more: Mapping[str, str] | None = None,
    ) -> str:
        """Start one, from state if there is some; give its id. It takes checkpoints when it is told to."""
        settings = dict(more or {}) | {
            "parallelism.default": str(parallelism),
            # The first one comes at any time within the interval, and would commit what the savepoint is to have open.
            "execution.checkpointing.interval": "300 d",
            "execution.checkpointing.dir": (self.folder / "retained").as_uri(),
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        }
        if state is not None:
            settings["execution.state-recovery.path"] = str(state)
        return self.flink.submit(settings, orders_table(bootstrap, begin, topic), sink_table(sink), COUNT)

    def wait(self, job: str, sink: Sink, count: int) -> None:
        """Wait until so many records were written to a sink."""
        told = f"{count} records in {sink.topic}"
        wait_until(lambda: sink.written >= count, told, refuse=lambda: self.flink.failure(job))

    def stop(self, job: str, sink: Sink, count: int, savepoints: Path) -> Path:
        """Wait for as many records, then stop a job with a savepoint, which commits them."""
        self.wait(job, sink, count)
        return self.flink.stop(job, savepoints)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A job that was stopped with a savepoint on the old cluster, after which more records arrived."""

    jobs: Jobs
    orders: Orders
    sink: Sink
    """On the old cluster, where it stays."""
    savepoint: Path
    job: str
    """Its id."""


def orders_table(bootstrap: str, begin: Mapping[str, str], topic: str = TOPIC) -> str:
    columns = "k STRING, serial STRING, arrived AS PROCTIME()"
    options = {"topic": topic, "properties.bootstrap.servers": bootstrap, "properties.group.id": TOPIC, **begin}
    formats = {"key.format": "raw", "key.fields": "k", "value.format": "raw", "value.fields-include": "EXCEPT_KEY"}
    return f"CREATE TABLE orders ({columns}) WITH ({_listed(options | formats)})"


def sink_table(sink: Sink) -> str:
    options = {
        "topic": sink.topic,
        "properties.bootstrap.servers": sink.bootstrap,
        "format": "json",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": sink.topic,
        "properties.transaction.timeout.ms": "900000",
    }
    if sink.strategy is not None:
        options["sink.transaction-naming-strategy"] = sink.strategy
    return f"CREATE TABLE counted (serial STRING, nth BIGINT) WITH ({_listed(options)})"


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in ({"connector": "kafka"} | dict(options)).items())


@pytest.fixture(scope="module")
def orders(lab: Lab) -> Iterator[Orders]:
    made = Orders(lab, topic=TOPIC)
    made.begin()
    mirror = lab.start_mirror(Policy.IDENTITY, topics=[TOPIC], name=TOPIC)
    made.write(400)
    yield made
    lab.stop_mirror(mirror)


@pytest.fixture(scope="module")
def jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    folder = tmp_path_factory.mktemp("flink")
    with running(request.param, folder / "cluster") as flink:
        yield Jobs(flink=flink, folder=folder)


def flinks(*distributions: Distribution) -> pytest.MarkDecorator:
    """Run a test on each of these."""
    names = [f"flink-{each.version}" for each in distributions]
    return pytest.mark.parametrize("jobs", distributions, ids=names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def stopped(jobs: Jobs, orders: Orders) -> Stopped:
    sink = _sink(orders.lab, f"counted-{jobs.folder.name}")  # a Flink may be started twice
    begun = jobs.start(orders.lab.old_bootstrap, sink, begin=EARLIEST)
    savepoint = jobs.stop(begun, sink, len(serials(orders)), jobs.folder / "savepoints")
    arrive(orders, 50)
    return Stopped(jobs=jobs, orders=orders, sink=sink, savepoint=savepoint, job=begun)


@pytest.fixture(scope="module")
def drafted(stopped: Stopped) -> Drafted:
    """Its migration, with the comparison by partition and the plan; nobody writes to it but who applies the plan."""
    move = moved(stopped.orders.lab, stopped.savepoint, stopped.jobs.folder / "move", job={"sink": "kafka"})
    compared = {row["partition"]: row for row in move.compare()["partitions"]}
    return move, compared, move.draft("flink-savepoint")


@pytest.fixture(scope="module")
def applied(drafted: Drafted) -> Drafted:
    """The plan, applied."""
    move, _, _ = drafted
    move.sign()
    output = ("--output", str(move.copy))
    assert move.apply(*output)["changes"]
    assert not move.copy.exists(), "a dry run writes nothing"
    move.apply(*output, "--execute")
    return drafted


def _sink(lab: Lab, topic: str, strategy: str | None = None) -> Sink:
    create(lab.old_bootstrap, topic)
    return Sink(bootstrap=lab.old_bootstrap, topic=topic, strategy=strategy)


def arrive(orders: Orders, count: int) -> None:
    orders.write(count)
    orders.lab.wait_until_mirrored([TOPIC], mirror=TOPIC)


def serials(orders: Orders) -> list[int]:
    """Return all that was ever written and not deleted before anybody read."""
    return [serial for (partition, offset), serial in orders.by_offset.items() if offset >= GONE[partition]]


def once(wanted: list[int]) -> Counter[tuple[str, int]]:
    """Return the counts by key that a job makes of these records, each read once."""
    keys = Counter(key_of(serial) for serial in wanted)
    return Counter((key, nth) for key, count in keys.items() for nth in range(1, count + 1))


@flinks(*TRIED)
def test_a_job_goes_on_from_an_edited_savepoint_and_its_sink_holds_every_record_exactly_once(
    stopped: Stopped, applied: Drafted
) -> None:
    orders, (move, compared, _), flink = stopped.orders, applied, stopped.jobs.flink
    old = tree(stopped.savepoint)
    inspected = call("inspect", move.checkpoint, "--json").answered()
    assert stopped.sink.topic in {each["transactional_id_prefix"] for each in inspected["operators"]}
    assert {each["schema"] for each in inspected["transactions"]} >= {"v1"}, "prepared before the savepoint"
    assert {row["exactness"] for row in compared.values()} == {"EXACT"}
    assert {at: int(row["old_offset"]) - int(row["new_offset"]) for at, row in compared.items()} == GONE
    assert move.verify() == (0, {"CONFIRMED"}, False), "as planned, and no job has begun"
    code, origin, asked = move.asked(f"{flink.rest}/jobs/{stopped.job}")
    assert (code, origin, asked["state"]) == (5, "FRESH_START", "FINISHED"), "the one that ran on the old cluster"

    job = stopped.jobs.start(orders.lab.new_bootstrap, stopped.sink, state=move.copy, begin=OR_STOP)
    arrive(orders, 20)
    stopped.jobs.wait(job, stopped.sink, len(serials(orders)))
    code, origin, asked = move.asked(f"{flink.rest}/#/job/running/{job}/overview")
    assert (code, origin, asked["state"]) == (0, "RESTORED_FROM_PLAN", "RUNNING"), asked["told"]
    told = "show no position before the planned one, in 2 of 2 partitions"
    wait_until(lambda: told in move.asked(f"{flink.rest}/jobs/{job}")[2]["told"], told)
    own = flink.stop(job, move.folder / "checkpoints")

    rows = stopped.sink.rows()
    assert Counter(serial for serial, _ in rows) == Counter(serials(orders)), "every record once"
    assert Counter((key_of(serial), nth) for serial, nth in rows) == once(serials(orders)), "with the state it had"
    assert tree(move.checkpoint) == old, "the old savepoint is as it was"
    assert move.verify("--checkpoint", str(own)) == (0, {"MOVED_ON"}, True)
    assert move.verify("--checkpoint", str(move.checkpoint))[::2] == (1, False), "the old one tells nothing of the job"


@pytest.mark.gates
@flinks(*TRIED)
def test_the_same_job_restored_unedited_does_exactly_the_damage_that_is_predicted(
    stopped: Stopped, applied: Drafted
) -> None:
    orders, lab = stopped.orders, stopped.orders.lab
    move, compared, plan = applied
    assert {at: row["raw"]["verdict"] for at, row in compared.items()} == {0: "OUT_OF_RANGE", 1: "LOSS"}
    prediction = plan["prediction"]
    assert prediction["effect"] == "silent skip"
    assert f"never reads {GONE[1]} records" in prediction["told"]
    assert "reads the whole log again" in prediction["told"]
    begins = {0: GONE[0], 1: int(compared[1]["old_offset"]) + int(compared[1]["raw"]["skip"])}
    predicted = [serial for (partition, offset), serial in orders.by_offset.items() if offset >= begins[partition]]

    sink = _sink(lab, f"{stopped.sink.topic}-unedited")
    job = stopped.jobs.start(lab.new_bootstrap, sink, state=move.checkpoint, begin=RESETS)
    stopped.jobs.wait(job, sink, len(predicted))
    code, origin, asked = move.asked(f"{stopped.jobs.flink.rest}/jobs/{job}")
    assert (code, origin) == (5, "RESTORED_FROM_OTHER")
    assert "whose positions are those of the old cluster" in asked["told"]
    stopped.jobs.flink.stop(job, move.folder / "unedited")

    assert Counter(serial for serial, _ in sink.rows()) == Counter(predicted)


LEFT: Final = "flink-left"
NEW_GRAPH: Final = {
    "pipeline.operator-chaining.enabled": "false",
    "execution.state-recovery.ignore-unclaimed-state": "true",
}
"""Gives every operator of a SQL job another id, and lets Flink pass over state that no operator has the id of."""


@flinks(NEWEST)
def test_a_source_that_left_its_state_behind_contradicts_the_restore_by_its_own_metrics(
    jobs: Jobs, lab: Lab, tmp_path: Path
) -> None:
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, 10)):
        create(bootstrap, LEFT)
        producer = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
        for serial in range(2 * first, 60):
            time_ms = START_MS + serial
            producer.produce(LEFT, key=key_of(serial), value=str(serial), partition=serial % 2, timestamp=time_ms)
        assert producer.flush(30) == 0
    sink = _sink(lab, "before-left")
    begun = jobs.start(lab.old_bootstrap, sink, begin=EARLIEST, topic=LEFT)
    move = moved(lab, jobs.stop(begun, sink, 60, tmp_path / "savepoints"), tmp_path / "move", job={"sink": "kafka"})
    assert {position["new_offset"] for position in move.draft("flink-savepoint")["positions"]} == {"20"}
    move.sign()
    move.apply("--output", str(move.copy), "--execute")

    sink = _sink(lab, "after-left")
    again = jobs.start(lab.new_bootstrap, sink, state=move.copy, begin=EARLIEST, topic=LEFT, more=NEW_GRAPH)
    jobs.wait(again, sink, 40)  # all of the new log, up to the planned positions: nothing was unread

    address, before = f"{jobs.flink.rest}/jobs/{again}", "before the planned"
    wait_until(lambda: before in move.asked(address)[2]["told"], "metrics", refuse=lambda: jobs.flink.failure(again))
    code, origin, asked = move.asked(address)
    assert (code, origin, asked["state"]) == (5, "RESTORED_FROM_OTHER", "RUNNING")
    assert asked["restored_from"].rstrip("/").endswith(str(move.copy)), "Flink says that it was restored from the copy"
    jobs.flink.stop(again, tmp_path / "after")


@flinks(*TRIED)
def test_a_job_that_may_not_reset_stops_where_its_position_is_not_in_the_log(stopped: Stopped) -> None:
    lab = stopped.orders.lab
    sink = _sink(lab, f"{stopped.sink.topic}-stops")

    job = stopped.jobs.start(lab.new_bootstrap, sink, state=stopped.savepoint, begin=OR_STOP)

    assert "out of range" in stopped.jobs.flink.failed(job)
    assert sink.rows() == []


@flinks(*TRIED)
def test_a_job_whose_sources_state_is_dropped_begins_at_the_groups_offsets_with_all_its_other_state(
    stopped: Stopped, tmp_path: Path
) -> None:
    orders, lab = stopped.orders, stopped.orders.lab
    group = f"without-source-state-{stopped.jobs.flink.distribution.version}"
    move = moved(lab, stopped.savepoint, tmp_path / "move", job={"sink": "kafka"})
    move.draft("flink-savepoint-without-sources", "--target", f"consumer-group:{group}")
    move.sign()
    move.apply("--output", str(move.copy), "--execute")
    assert not read_checkpoint(str(move.copy)).sources, "no source has a position in the copy"
    assert move.verify()[0] == 0

    sink = _sink(lab, f"counted-{group}")
    job = stopped.jobs.start(lab.new_bootstrap, sink, state=move.copy, begin=OR_STOP | {"properties.group.id": group})
    arrive(orders, FEW)
    unread = [serial for each in beyond(orders, kept(stopped.savepoint)).values() for serial in each]
    stopped.jobs.stop(job, sink, len(unread), tmp_path / "after")

    rows = sink.rows()
    assert Counter(serial for serial, _ in rows) == Counter(unread), "every record once"
    before = Counter(serials(orders)) - Counter(unread)
    counted = once(serials(orders)) - once([*before.elements()])
    assert Counter((key_of(serial), nth) for serial, nth in rows) == counted, "with the state it had"


@flinks(NEWEST)
def test_specific_offsets_of_a_table_are_moved_in_a_file_and_a_job_begins_there(
    stopped: Stopped, tmp_path: Path
) -> None:
    orders, lab, at = stopped.orders, stopped.orders.lab, kept(stopped.savepoint)
    offsets = ";".join(f"partition:{partition},offset:{offset}" for partition, offset in sorted(at.items()))
    options = {"topic": TOPIC, "scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": offsets}
    text = ",\n".join(f"'{name}' = '{value}'" for name, value in options.items())

    written, _ = moved_in_a_file(lab, tmp_path, text)
    begin = dict(re.findall(r"'([^']+)' = '([^']*)'", written.read_text()))
    assert begin.keys() == options.keys()
    assert begin != options
    sink = _sink(lab, "from-specific-offsets")
    job = stopped.jobs.start(lab.new_bootstrap, sink, begin=begin)
    unread = [serial for each in beyond(orders, at).values() for serial in each]
    stopped.jobs.stop(job, sink, len(unread), tmp_path / "after")

    assert Counter(serial for serial, _ in sink.rows()) == Counter(unread), "every record that was not read, once"


NOBODY: Final = "no reader keeps a position"


def refuse(move: Move, *told: str) -> None:
    """Draft plans of a savepoint, which are refused with one of these reasons: the source's, not the sink's."""
    for target in ("flink-savepoint", "consumer-group:orders"):
        chosen = ("--checkpoint", "orders", "--author", "ada", "--out", move.plan, "--json", "--target", target)
        refused = json.dumps(call("draft", "-m", move.migration, *chosen).refused())
        assert any(each in refused for each in told), (target, refused)
        assert not move.plan.exists()


def kept(savepoint: Path) -> dict[int, int]:
    """Return the position of every partition of the source."""
    return {
        at.partition: int(str(at.offset)) for each in read_checkpoint(str(savepoint)).sources for at in each.positions
    }


@flinks(*TRIED)
@pytest.mark.parametrize("lost", of_all([{0}, {0, 1}], [{0}]), ids=lambda lost: f"{len(lost)} of 2")
def test_a_partition_that_no_reader_holds_is_never_read_and_no_plan_is_drafted(
    stopped: Stopped, lost: set[int], tmp_path: Path
) -> None:
    orders, lab, jobs = stopped.orders, stopped.orders.lab, stopped.jobs
    savepoint = changed(stopped.savepoint, tmp_path / "lost", dropping(lost))
    move = moved(lab, savepoint, tmp_path / "move", job={"sink": "kafka"})
    sources = read_checkpoint(str(move.checkpoint)).sources
    assert {at.partition for source in sources for at in source.marked if at.starts_at == "none"} == lost
    refuse(move, "NO_POSITION", NOBODY)

    sink = _sink(lab, f"lost-{jobs.flink.distribution.version}-{len(lost)}")
    job = jobs.start(lab.old_bootstrap, sink, state=savepoint, begin=OR_STOP)
    orders.write(FEW)
    unread = beyond(orders, kept(stopped.savepoint))
    assert unread.keys() == GONE.keys()
    read = [serial for at, serials_of in unread.items() if at not in lost for serial in serials_of]
    jobs.stop(job, sink, len(read), tmp_path / "after")
    assert Counter(serial for serial, _ in sink.rows()) == Counter(read), "Flink reads what is held, and nothing else"


def beyond(orders: Orders, positions: Mapping[int, int]) -> dict[int, list[int]]:
    """Return what lies at and behind the positions, by partition."""
    unread: dict[int, list[int]] = {}
    for (partition, offset), serial in orders.by_offset.items():
        if offset >= positions[partition]:
            unread.setdefault(partition, []).append(serial)
    return unread


def looked(move: Move) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(call("transactions", "orders", "-m", move.migration, "--json").out)
    return body


def decisions(seen: Mapping[str, Any], *, held: bool) -> set[str]:
    """Return what was decided about what the checkpoint holds, or about what else is open."""
    return {row["decision"] for row in seen["transactions"] if row["held"] is held and row["decision"] != "NOTHING"}


EACH: Final = ((OLDEST, None), (NEWEST, "POOLING"), (WITH_STRATEGIES, "INCREMENTING"))
"""Each version and each strategy."""


@pytest.mark.gates
@pytest.mark.parametrize(
    ("jobs", "strategy"),
    EACH,
    ids=[f"flink-{flink.version}, {strategy}" for flink, strategy in EACH],
    indirect=["jobs"],
    scope="module",
)
def test_28_a_sink_that_moves_too_is_settled_and_marked_and_both_clusters_hold_every_record_exactly_once(
    jobs: Jobs, strategy: str | None, orders: Orders
) -> None:
    lab, flink = orders.lab, jobs.flink
    name = f"moves-{flink.distribution.version}-{strategy}"
    old, new = _sink(lab, name, strategy), Sink(bootstrap=lab.new_bootstrap, topic=name, strategy=strategy)
    create(lab.new_bootstrap, name)
    written = serials(orders)
    job = jobs.start(lab.old_bootstrap, old, begin=EARLIEST)
    jobs.wait(job, old, len(written))
    savepoint = flink.savepoint(job, jobs.folder / name)  # which commits nothing
    arrive(orders, 5)
    jobs.wait(job, old, len(serials(orders)))
    flink.kill(job)
    assert old.rows() == [], "the job was killed before it committed"

    stated = {"sink": "kafka", "sink_cluster": "old", "new_sink_cluster": "new", "transaction_timeout_ms": 900_000}
    move = moved(lab, savepoint, jobs.folder / f"{name}-move", job=stated)
    inspected = call("inspect", move.checkpoint, "--json").answered()["transactions"]
    assert {each["strategy"] for each in inspected} == {strategy}
    seen = looked(move)
    assert decisions(seen, held=True) == {"COMMIT"}
    assert decisions(seen, held=False) == {"ABORT"}
    one = ("draft", "-m", move.migration, "--checkpoint", "orders", "--author", "ada", "--target", "flink-savepoint")
    unmarked = call(*one, "--out", move.folder / "unmarked.json", "--json").answered()
    assert [each["outcome"] for each in unmarked["gate"] if each["name"] == RESTORE] == ["failed"]
    refused = call(*one, "--mark-settled", "--out", move.folder / "refused.json", "--json").refused()["problem"]
    assert "MARK_NOT_SETTLED" in refused

    unsettled = flink.failed(jobs.start(lab.old_bootstrap, new, state=move.checkpoint, begin=OR_STOP))
    assert "InvalidPidMapping" in unsettled
    assert new.rows() == [], "as the gate said"

    plan = move.draft("sink-transactions", "--target", "flink-savepoint", "--mark-settled")
    held = {(row["transactional_id"], row["producer_id"], row["epoch"]) for row in seen["transactions"] if row["held"]}
    assert {(each["transactional_id"], each["producer_id"], each["epoch"]) for each in plan["marks"]} == held
    assert {each["outcome"] for each in plan["gate"] if each["name"] in (PENDING, RESTORE)} == {"passed"}
    move.sign("--confirm", "cannot be taken back")
    move.apply("--output", str(move.copy), "--execute")
    assert Counter(serial for serial, _ in old.rows()) == Counter(written), "settled"
    assert move.verify()[0] == 0

    before = new.written
    begun = jobs.start(lab.new_bootstrap, new, state=move.copy, begin=OR_STOP)
    arrive(orders, 20)
    later = len(serials(orders)) - len(written)
    jobs.stop(begun, new, before + later, move.folder / "later")

    rows = [*old.rows(), *new.rows()]
    assert len(new.rows()) == later
    assert Counter(serial for serial, _ in rows) == Counter(serials(orders)), "every record once"
    assert Counter((key_of(serial), nth) for serial, nth in rows) == once(serials(orders)), "with the state it had"
    assert decisions(looked(move), held=True) == {"SETTLED"}


@pytest.mark.gates
@flinks(NEWEST)
def test_3_of_names_that_are_used_again_a_decision_by_name_duplicates_what_is_decided_to_be_aborted(
    jobs: Jobs, orders: Orders
) -> None:
    lab, flink = orders.lab, jobs.flink
    sink = _sink(lab, "by-name", "POOLING")
    job = jobs.start(lab.old_bootstrap, sink, begin=EARLIEST)
    for _ in range(2):
        jobs.wait(job, sink, len(serials(orders)))
        checkpoint = flink.checkpoint(job)
        taken = len(serials(orders))
        wait_until(
            lambda taken=taken: len(sink.rows()) == taken,  # type: ignore[misc] # a lambda has no types
            "what the checkpoint holds is committed",
        )
        orders.write(5)
    jobs.wait(job, sink, len(serials(orders)))
    flink.savepoint(job, jobs.folder / "beside")  # after it, the names that the checkpoint freed are used again
    before = serials(orders)
    arrive(orders, 5)
    jobs.wait(job, sink, len(serials(orders)))
    flink.kill(job)

    move = moved(lab, checkpoint, jobs.folder / "by-name", job={"sink": "kafka", "sink_cluster": "old"})
    seen = looked(move)
    # a name in use again does not say how its transaction from before ended: the log does
    assert (decisions(seen, held=True), decisions(seen, held=False)) == ({"SETTLED"}, {"ABORT"})
    names = {row["transactional_id"] for row in seen["transactions"] if row["held"]}
    by_name = {row["transactional_id"] for row in seen["transactions"] if row["decision"] == "ABORT"} & names
    for name in by_name:
        end_elsewhere(lab.old_bootstrap, name)

    written = sink.written
    begun = jobs.start(lab.old_bootstrap, sink, state=checkpoint, begin=OR_STOP)
    jobs.stop(begun, sink, written + len(serials(orders)) - taken, jobs.folder / "again")
    twice = Counter(serial for serial, _ in sink.rows()) - Counter(serials(orders))
    assert by_name
    assert twice == Counter(set(serials(orders)) - set(before)), "what was written under these names"


@flinks(NEWEST)
def test_4_what_a_job_that_failed_over_has_aborted_is_lost_with_exactly_its_records(jobs: Jobs, orders: Orders) -> None:
    lab, flink = orders.lab, jobs.flink
    sink = _sink(lab, "failed-over", "POOLING")
    job = jobs.start(lab.old_bootstrap, sink, begin=EARLIEST)
    jobs.wait(job, sink, len(serials(orders)))
    checkpoint = flink.checkpoint(job)
    taken = len(serials(orders))
    wait_until(lambda: len(sink.rows()) == taken, "what the checkpoint holds is committed")
    orders.write(40)
    arrived = len(serials(orders)) - taken
    jobs.wait(job, sink, taken + arrived)
    savepoint = flink.savepoint(job, jobs.folder / "failed-over")  # which holds the records that arrived
    flink.kill(job)
    again = jobs.start(lab.old_bootstrap, sink, state=checkpoint, begin=OR_STOP)  # aborts them, and uses the names
    jobs.wait(again, sink, taken + 2 * arrived)
    flink.kill(again)

    move = moved(lab, savepoint, jobs.folder / "failed-over-move", job={"sink": "kafka", "sink_cluster": "old"})
    seen = looked(move)

    held = [row for row in seen["transactions"] if row["held"]]
    assert {row["decision"] for row in held} == {"LOST"}
    assert sum(int(at["records"]) for row in held for at in row["partitions"]) == arrived
    from_savepoint = jobs.start(lab.old_bootstrap, sink, state=savepoint, begin=OR_STOP)
    orders.write(5)
    jobs.stop(from_savepoint, sink, taken + 2 * arrived + 5, jobs.folder / "after-failed-over")
    missing = Counter(serials(orders)) - Counter(serial for serial, _ in sink.rows())
    assert sum(missing.values()) == arrived, "as the savepoint counts them as written"


@pytest.mark.gates
@flinks(NEWEST)
def test_6_what_a_job_holds_that_was_resubmitted_under_another_id_is_never_aborted(jobs: Jobs, orders: Orders) -> None:
    lab, flink = orders.lab, jobs.flink
    sink = _sink(lab, "resubmitted", "INCREMENTING")
    taken = len(serials(orders))
    first = jobs.start(lab.old_bootstrap, sink, begin=EARLIEST)
    savepoint = jobs.stop(first, sink, taken, jobs.folder / "resubmitted")
    again = jobs.start(lab.old_bootstrap, sink, state=savepoint, begin=OR_STOP)
    assert again != first
    orders.write(30)
    jobs.wait(again, sink, taken + 30)
    newer = flink.savepoint(again, jobs.folder / "resubmitted-newer")  # which commits nothing: it holds 30 records
    flink.kill(again)
    assert len(sink.rows()) == taken

    move = moved(lab, savepoint, jobs.folder / "resubmitted-move", job={"sink": "kafka", "sink_cluster": "old"})
    chosen = ("draft", "-m", move.migration, "--checkpoint", "orders", "--author", "ada", "--target")
    assert decisions(looked(move), held=False) == {"ABORT"}, "nobody can know of a checkpoint out of reach"
    shutil.copytree(newer, move.folder / "checkpoints" / "of-another-job")
    seen = looked(move)
    assert decisions(seen, held=False) == {"NOT_NEWEST"}
    refused = call(*chosen, "sink-transactions", "--out", move.folder / "refused.json", "--json").refused()["problem"]
    assert "NOT_NEWEST" in refused

    begun = jobs.start(lab.old_bootstrap, sink, state=newer, begin=OR_STOP)
    orders.write(5)
    jobs.stop(begun, sink, taken + 35, jobs.folder / "resubmitted-again")
    assert Counter(serial for serial, _ in sink.rows()) == Counter(serials(orders)), "every record once"


ENDS: Final = (
    pytest.param("committed", "SINK_WENT_ON", True, id="committed"),
    pytest.param("open", "ABORT", False, id="left open, which the moved job writes again"),
)


@flinks(NEWEST)
@pytest.mark.parametrize(("ends", "decision", "refused"), of_all(ENDS, ENDS[:1]))
def test_7_a_signed_plan_that_marks_is_applied_only_where_a_fresh_draft_may_be(
    ends: str, decision: str, refused: bool, jobs: Jobs, orders: Orders
) -> None:
    lab, flink = orders.lab, jobs.flink
    name = f"went-on-{ends}"
    sink = _sink(lab, name, "INCREMENTING")
    create(lab.new_bootstrap, name)
    job = jobs.start(lab.old_bootstrap, sink, begin=EARLIEST)
    savepoint = jobs.stop(job, sink, len(serials(orders)), jobs.folder / name)
    stated = {"sink": "kafka", "sink_cluster": "old", "new_sink_cluster": "new", "transaction_timeout_ms": 900_000}
    move = moved(lab, savepoint, jobs.folder / f"{name}-move", job=stated)
    assert move.draft("flink-savepoint", "--mark-settled")["marks"]
    move.sign()
    again = jobs.start(lab.old_bootstrap, sink, state=savepoint, begin=OR_STOP)  # somebody starts it where it was
    orders.write(FEW)
    jobs.wait(again, sink, len(serials(orders)))
    if ends == "committed":
        flink.stop(again, jobs.folder / f"{name}-later")
    else:
        flink.kill(again)

    given = ("--approval", move.folder / "plan.approval.json", *move.trusted, "--output", move.copy, "--execute")
    chosen = ("--checkpoint", "orders", "--target", "flink-savepoint", "--mark-settled", "--author", "ada")
    fresh = call("draft", "-m", move.migration, *chosen, "--out", move.folder / "again.json", "--json")
    ran = call("apply", move.plan, "-m", move.migration, *given, "--json")

    assert fresh.code == (1 if refused else 0), fresh.err
    assert ran.code == (3 if refused else 0), ran.err
    assert move.copy.exists() != refused
    assert decisions(looked(move), held=False) == {decision}


@pytest.mark.gates
@flinks(NEWEST)
def test_5_of_a_savepoint_that_holds_nothing_it_is_said_that_the_sink_went_on(jobs: Jobs, orders: Orders) -> None:
    lab, flink = orders.lab, jobs.flink
    sink = _sink(lab, "holds-nothing", "POOLING")
    job = jobs.start(lab.old_bootstrap, sink, begin=EARLIEST)
    jobs.wait(job, sink, len(serials(orders)))
    flink.checkpoint(job)
    taken = len(serials(orders))
    wait_until(lambda: len(sink.rows()) == taken, "what the checkpoint holds is committed")
    flink.checkpoint(job)  # since which nothing was written
    savepoint = flink.savepoint(job, jobs.folder / "holds-nothing")
    orders.write(30)
    arrived = len(serials(orders)) - taken
    jobs.wait(job, sink, taken + arrived)
    flink.checkpoint(job)
    wait_until(lambda: len(sink.rows()) == taken + arrived, "what came after the savepoint is committed")
    flink.kill(job)

    move = moved(lab, savepoint, jobs.folder / "holds-nothing-move", job={"sink": "kafka", "sink_cluster": "old"})
    seen = looked(move)

    assert [row for row in seen["transactions"] if row["held"]] == []
    assert decisions(seen, held=False) == {"SINK_WENT_ON"}
    begun = jobs.start(lab.old_bootstrap, sink, state=savepoint, begin=OR_STOP)
    jobs.stop(begun, sink, taken + 2 * arrived, jobs.folder / "after-holds-nothing")
    twice = Counter(serial for serial, _ in sink.rows()) - Counter(serials(orders))
    assert sum(twice.values()) == arrived, "as a start from the savepoint writes them again"


SPREAD: Final = "flink-spread"
ALL: Final = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A job that was stopped with a savepoint while each of its two readers kept two partitions."""

    jobs: Jobs
    lab: Lab
    savepoint: Path
    written: dict[int, list[int]] = field(default_factory=lambda: {at: [] for at in ALL})
    """The serials of each partition, in its order."""

    def write(self, count: int) -> None:
        """Write as many records to every partition."""
        producer = Producer({"bootstrap.servers": self.lab.old_bootstrap, "log_level": 2})
        for at, serials_of in self.written.items():
            for _ in range(count):
                serials_of.append(len(ALL) * len(serials_of) + at)
                producer.produce(SPREAD, key=key_of(serials_of[-1]), value=str(serials_of[-1]), partition=at)
        assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def spread(jobs: Jobs, lab: Lab) -> Spread:
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(SPREAD, len(ALL), 1)])[SPREAD].result(30)
    made = Spread(jobs=jobs, lab=lab, savepoint=jobs.folder / "spread")
    made.write(10)
    sink = _sink(lab, "spread")
    savepoint = jobs.stop(jobs.start(lab.old_bootstrap, sink, begin=EARLIEST, topic=SPREAD), sink, 40, made.savepoint)
    assert kept(savepoint) == dict.fromkeys(ALL, 10)
    return replace(made, savepoint=savepoint)


@flinks(NEWEST)
@pytest.mark.parametrize("lost", of_all([{1}, {0, 3}, {0, 1, 2}], [{0, 3}]), ids=lambda lost: f"{len(lost)} of 4")
def test_of_the_partitions_of_a_reader_those_that_it_lost_are_never_read_and_no_plan_is_drafted(
    spread: Spread, lost: set[int], tmp_path: Path
) -> None:
    savepoint = changed(spread.savepoint, tmp_path / "lost", dropping(lost))
    move = moved(spread.lab, savepoint, tmp_path / "move", job={"sink": "kafka"})
    sources = read_checkpoint(str(move.checkpoint)).sources
    assert {at.partition for source in sources for at in source.marked if at.starts_at == "none"} == lost
    refuse(move, "NO_POSITION", NOBODY)

    sink = _sink(spread.lab, f"spread-{len(lost)}")
    job = spread.jobs.start(spread.lab.old_bootstrap, sink, state=savepoint, begin=OR_STOP, topic=SPREAD)
    spread.write(10)
    read = [serial for at, serials_of in spread.written.items() if at not in lost for serial in serials_of[10:]]
    spread.jobs.stop(job, sink, len(read), tmp_path / "after")
    assert Counter(serial for serial, _ in sink.rows()) == Counter(read), "Flink reads what is held, and nothing else"


HANDED_OUT: Final = (
    pytest.param({0, 1}, True, id="all, at their offsets"),
    pytest.param({1}, False, id="one, at earliest"),
    pytest.param({0}, True, id="one, at its offset"),
)


@flinks(NEWEST)
@pytest.mark.parametrize(("partitions", "known"), of_all(HANDED_OUT, HANDED_OUT[1:2]))
def test_a_partition_that_the_coordinator_has_to_hand_out_is_read_exactly_once_from_the_copy(
    stopped: Stopped, partitions: set[int], known: bool, tmp_path: Path
) -> None:
    """As a reader that failed leaves it: nobody holds its partitions, and all is read."""
    orders, lab, jobs = stopped.orders, stopped.orders.lab, stopped.jobs
    positions = kept(stopped.savepoint)
    back = handed_back(partitions, positions if known else None)
    savepoint = changed(stopped.savepoint, tmp_path / "back", dropping(partitions), back)
    move = moved(lab, savepoint, tmp_path / "move", job={"sink": "kafka"})
    decided: tuple[str, ...] = ()
    if not known:
        refuse(move, "NO_POSITION")
        for at in partitions:
            decided += ("--override", f"{TOPIC}:{at}={positions[at] - GONE[at]}", "--reason", "as its reader had it")
    move.draft("flink-savepoint", *decided)
    move.sign()
    move.apply("--output", str(move.copy), "--execute")

    sink = _sink(lab, f"back-{len(partitions)}-{known}".lower())
    job = jobs.start(lab.new_bootstrap, sink, state=move.copy, begin=OR_STOP)
    arrive(orders, FEW)
    unread = [serial for serials_of in beyond(orders, positions).values() for serial in serials_of]
    jobs.stop(job, sink, len(unread), tmp_path / "after")
    assert Counter(serial for serial, _ in sink.rows()) == Counter(unread), "every record once"


@flinks(NEWEST)
def test_a_partition_that_the_coordinator_does_not_know_is_no_plan(stopped: Stopped, tmp_path: Path) -> None:
    """Flink takes it for a new one, and begins it at earliest, although a reader keeps its position."""
    orders, lab, jobs = stopped.orders, stopped.orders.lab, stopped.jobs
    savepoint = changed(stopped.savepoint, tmp_path / "unknown", forgotten({0}))
    move = moved(lab, savepoint, tmp_path / "move", job={"sink": "kafka"})
    refuse(move, "CHECKPOINT_DAMAGED", "which its coordinator does not know")

    sink = _sink(lab, "unknown")
    job = jobs.start(lab.old_bootstrap, sink, state=savepoint, begin=EARLIEST)
    orders.write(FEW)
    unread = beyond(orders, kept(stopped.savepoint))
    again = [serial for (at, offset), serial in orders.by_offset.items() if at == 0 and offset >= GONE[0]]
    jobs.stop(job, sink, len(again) + len(unread[1]), tmp_path / "after")
    assert len(again) > len(unread[0])
    assert not Counter([*again, *unread[1]]) - Counter(serial for serial, _ in sink.rows()), "all of it is read again"


@pytest.mark.gates
@flinks(NEWEST)
def test_readers_without_a_partition_lose_none(jobs: Jobs, orders: Orders, tmp_path: Path) -> None:
    """A job with twice as many readers as partitions: half of them are idle, and every record is read once."""
    lab, sink = orders.lab, _sink(orders.lab, "idle-readers")
    begun = jobs.start(lab.old_bootstrap, sink, begin=EARLIEST, parallelism=2 * len(GONE))
    savepoint = jobs.stop(begun, sink, len(serials(orders)), tmp_path / "savepoints")
    move = moved(lab, savepoint, tmp_path / "move", job={"sink": "kafka"})
    move.draft("flink-savepoint")
    move.sign()
    move.apply("--output", str(move.copy), "--execute")

    job = jobs.start(lab.new_bootstrap, sink, state=move.copy, begin=OR_STOP, parallelism=2 * len(GONE))
    arrive(orders, FEW)
    jobs.stop(job, sink, len(serials(orders)), tmp_path / "after")

    assert Counter(serial for serial, _ in sink.rows()) == Counter(serials(orders)), "every record once"


WEST: Final = "west"
"""What a DynamicKafkaSource calls the old cluster, and then the new one."""


@flinks(NEWEST)
def test_a_source_of_several_clusters_goes_on_from_an_edited_savepoint_with_every_record_once(
    jobs: Jobs, orders: Orders, tmp_path: Path
) -> None:
    lab, version = orders.lab, jobs.flink.distribution.version
    elsewhere = f"elsewhere-{version}"
    create(lab.new_bootstrap, elsewhere)
    others = [f"other-{each}" for each in range(20)]
    _put(lab.new_bootstrap, elsewhere, others[:10])
    job = JavaJob.compiled(DYNAMIC, jobs.flink, tmp_path, f"dynamic-{version}")
    east = f"east={elsewhere}@{lab.new_bootstrap}"
    begun = job.start(f"{WEST}={TOPIC}@{lab.old_bootstrap}", east)
    job.until(begun, len(serials(orders)) + 10)
    savepoint = jobs.flink.stop(begun, tmp_path / "savepoints")
    arrive(orders, FEW)
    _put(lab.new_bootstrap, elsewhere, others[10:])

    stated = {"dynamic_cluster": WEST, "dynamic_servers": lab.new_bootstrap}
    move = moved(lab, savepoint, tmp_path / "move", job=stated)
    assert {row["exactness"] for row in move.compare()["partitions"]} == {"EXACT"}
    move.draft("flink-savepoint")
    move.sign()
    move.apply("--output", str(move.copy), "--execute")
    assert move.verify() == (0, {"CONFIRMED"}, False)

    again = job.start(f"{WEST}={TOPIC}@{lab.new_bootstrap}", east, state=move.copy)
    wanted = Counter([*others, *(str(serial) for serial in serials(orders))])
    job.until(again, wanted.total())
    own = jobs.flink.stop(again, move.folder / "checkpoints")
    assert Counter(job.read()) == wanted, "every record once"
    assert move.verify("--checkpoint", str(own)) == (0, {"MOVED_ON"}, True)


@flinks(*TRIED)
def test_a_hybrid_source_that_reads_its_topic_goes_on_from_an_edited_savepoint_with_every_record_once(
    jobs: Jobs, orders: Orders, tmp_path: Path
) -> None:
    lab, version = orders.lab, jobs.flink.distribution.version
    folder = tmp_path / "before"
    folder.mkdir()
    lines = [f"line-{each}" for each in range(20)]
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    job = JavaJob.compiled(HYBRID, jobs.flink, tmp_path, f"hybrid-{version}")
    begun = job.start(folder.as_uri(), f"{TOPIC}@{lab.old_bootstrap}")
    job.until(begun, len(serials(orders)) + len(lines))
    savepoint = jobs.flink.stop(begun, tmp_path / "savepoints")
    arrive(orders, FEW)

    move = moved(lab, savepoint, tmp_path / "move")
    assert {row["exactness"] for row in move.compare()["partitions"]} == {"EXACT"}
    move.draft("flink-savepoint")
    move.sign()
    move.apply("--output", str(move.copy), "--execute")
    assert move.verify() == (0, {"CONFIRMED"}, False)

    again = job.start(folder.as_uri(), f"{TOPIC}@{lab.new_bootstrap}", state=move.copy)
    wanted = Counter([*lines, *(str(serial) for serial in serials(orders))])
    job.until(again, wanted.total())
    own = jobs.flink.stop(again, move.folder / "checkpoints")
    assert Counter(job.read()) == wanted, "every record once"
    assert move.verify("--checkpoint", str(own)) == (0, {"MOVED_ON"}, True)


def _put(bootstrap: str, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
    for value in values:
        producer.produce(topic, value=value)
    assert producer.flush(30) == 0
