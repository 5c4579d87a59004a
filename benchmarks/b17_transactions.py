"""B17: 63,000 transactional ids listed and decided about, and 100 transactions ended and verified, on a real broker.

The list is asked for once, and decided about as `offsetwise transactions` does; the target is for the time by the
clock, beside which processor time, the machine's load and its speed are told. The ending is all that the writer does:
look, journal (synced), request, look, and logs. Its peer is Kafka's own tool, which takes one id a call and only
aborts: the median of some calls of `kafka-transactions.sh forceTerminateTransaction`, multiplied by the number.

    python -m benchmarks.b17_transactions [--ids 2000 --transactions 20 --rounds 1]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.protocol.producer.produce import ProduceRequest
from kafka.protocol.producer.transaction import InitProducerIdRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from offsetwise.apply.journal import Journal
from offsetwise.apply.writing import Context
from offsetwise.config import ClusterConfig, JobTraits, Migration
from offsetwise.garbage import collected_seldom
from offsetwise.lab import Lab
from offsetwise.lab.brokers import jvm
from offsetwise.model import NamingStrategy, Plan, Target, Transaction
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sinks.ending import Ending, settle
from offsetwise.plugins.kafka.stream.client import Client, Deadline
from offsetwise.plugins.kafka.stream.transactions import look_at_transactions
from offsetwise.plugins.kafka.stream.wire import Wire
from offsetwise.plugins.kafka.targets.transactions.writer import writer
from offsetwise.transactions.deciding import decide
from offsetwise.transactions.observed import HeldTransactions, TransactionLook, to_describe
from offsetwise.transactions.report import report
from tests.plans import plan_of
from tests.subjects import checkpoint

IDS_TARGET_S, END_TARGET_S = 1.0, 5.0
TOPIC, PARTITIONS = "sink", 4
TARGET = Target(kind="sink-transactions")
TOOL_CALLS = 3
LIMIT_S = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, default=63_000)
    parser.add_argument("--transactions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    os.environ["_JAVA_OPTIONS"] = "-Xmx1500m"  # as in B19
    with tempfile.TemporaryDirectory() as name, Lab.up(Path(name) / "lab").no_longer_than_this_process() as lab:
        del os.environ["_JAVA_OPTIONS"]
        return run(lab.old_bootstrap, Path(name), arguments)


def run(bootstrap: str, folder: Path, arguments: argparse.Namespace) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    config = ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap})
    with Wire(config, Client(config, timeout_s=60).properties, Deadline(LIMIT_S)) as wire:
        begin(wire, ["huge-0-0"])
        for first in range(0, arguments.ids, 1_000):
            init(wire, [f"huge-{number % 64}-{number}" for number in range(first, min(first + 1_000, arguments.ids))])
        held = HeldTransactions(checkpoint_id=arguments.ids, written_ms=None, prefixes=("huge",))
        begun = time.process_time()
        took = timed(arguments.rounds, lambda: listed_and_decided(wire, held, arguments.ids))
        processor = (time.process_time() - begun) / arguments.rounds
        ended = [
            end(wire, config, folder / f"{number}.journal", number, arguments.transactions)
            for number in range(arguments.rounds)
        ]
        peer = statistics.median(tool(bootstrap, folder, wire, number) for number in range(TOOL_CALLS))
    listed, settled = statistics.median(took), statistics.median(ended)
    told = f"median {listed:.2f} s ({min(took):.2f} to {max(took):.2f} s), {processor:.2f} s of processor time"
    print(f"{arguments.ids:,} ids listed and decided about: {told}")
    told = f"median {settled:.2f} s ({min(ended):.2f} to {max(ended):.2f} s)"
    print(f"{arguments.transactions} transactions ended and verified: {told}")
    print(f"Kafka's tool: {peer:.1f} s a call, {peer * arguments.transactions:,.0f} s for all")
    begun = time.perf_counter()
    for _ in range(10_000_000):
        pass
    print(f"load {os.getloadavg()[0]:.1f}; an empty loop of 10,000,000 takes {time.perf_counter() - begun:.2f} s")
    met = listed <= IDS_TARGET_S and settled <= END_TARGET_S
    print("targets met" if met else "TARGET MISSED")
    return 0 if met else 1


def timed(rounds: int, work: Callable[[], object]) -> list[float]:
    """Return the seconds of each round."""
    took = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return took


def listed_and_decided(wire: Wire, held: HeldTransactions, least: int) -> None:
    """List all ids, describe those that decide, and decide about each."""
    with collected_seldom():
        listed, whole = wire.list_transactions()
        look = TransactionLook(taken_ms=0, listed=listed, answers=wire.describe(to_describe(held, listed)))
        if not whole or len(decide(held, look, look)) < least:
            raise SystemExit("not every id was decided about")


def end(wire: Wire, config: ClusterConfig, journal: Path, number: int, count: int) -> float:
    """Open transactions, plan the commit of half of them and the abort of the rest; give the seconds of the ending."""
    prefix = f"job{number}"
    held_ids = [f"{prefix}-{each}-7" for each in range(count // 2)]
    later = [f"{prefix}-{each}-8" for each in range(count - count // 2)]
    begun = begin(wire, held_ids) | begin(wire, later)
    held = HeldTransactions(
        checkpoint_id=7,
        written_ms=None,
        prefixes=(prefix,),
        transactions=tuple(transaction(each, *begun[each]) for each in held_ids),
    )
    found = report(held, look_at_transactions(config, held, apart_s=0))
    request = DraftRequest(targets=(TARGET,), author="amy", subject=checkpoint("job"))
    now_ms = time.time_ns() // 1_000_000
    planned = settle(found, cluster="old", topics=(), request=request, job=JobTraits(), now_ms=now_ms)
    plan = planned_as(planned)
    migration = Migration.model_validate(
        {
            "name": "bench",
            "source": {"properties": dict(config.properties)},
            "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
        }
    )
    with Journal.open(str(journal), digest="ab" * 32, begun_at="2026-11-23T00:00:00Z") as opened:
        context = Context(digest="ab" * 32, output=None, write_roots=(), read_roots=None, journal=opened)
        (took,) = timed(1, lambda: writer(migration).write(plan, TARGET, context))
    if len(plan.transactions) != count:
        raise SystemExit(f"{len(plan.transactions)} transactions were planned")
    return took


def planned_as(planned: Ending) -> Plan:
    """Make a plan of no position that ends transactions."""
    made = plan_of(targets=(TARGET,))
    return replace(
        made, transactions=planned.transactions, requirements=replace(made.requirements, sink=planned.requirement)
    )


def transaction(name: str, producer_id: int, epoch: int) -> Transaction:
    return Transaction(
        operator="ab" * 16,
        transactional_id=name,
        producer_id=producer_id,
        epoch=epoch,
        checkpoint_id=7,
        state="received",
        schema="v1",
        strategy=NamingStrategy.INCREMENTING,
    )


def init(wire: Wire, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Make ids known to their coordinator."""
    made = {}
    for name in names:
        request = InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=600_000, producer_id=-1, producer_epoch=-1
        )
        while name not in made:
            answer = wire.ask(1, request)
            if answer is not None and answer.error_code == 0:
                made[name] = answer.producer_id, answer.producer_epoch
            elif not wire.may_go_on():
                raise SystemExit(f"{name} was not made")
    return made


def begin(wire: Wire, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Begin a transaction of each id, with one record in one partition."""
    made: dict[str, tuple[int, int]] = {}
    wire.coordinator(names[0])
    data = ProduceRequest.TopicProduceData
    for number, name in enumerate(names):
        made |= init(wire, [name])
        batch = DefaultRecordBatchBuilder(2, 0, True, *made[name], 0, 65_536)
        batch.append(0, time.time_ns() // 1_000_000, None, name.encode(), [])
        part = data.PartitionProduceData(index=number % PARTITIONS, records=bytes(batch.build()))
        request = ProduceRequest(
            transactional_id=name,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[data(name=TOPIC, partition_data=[part])],
            min_version=12,
            max_version=12,
        )
        codes = [1]
        while codes != [0]:
            answer = wire.ask(1, request)
            if answer is not None:
                codes = [each.error_code for topic in answer.responses for each in topic.partition_responses]
            if codes != [0] and not wire.may_go_on():
                raise SystemExit(f"{name} was not begun: {codes}")
    return made


def tool(bootstrap: str, folder: Path, wire: Wire, number: int) -> float:
    """Abort one transaction with Kafka's own tool; give the seconds."""
    name = f"tool-0-{number}"
    begin(wire, [name])
    command = jvm(folder, "org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", bootstrap)
    command += ["forceTerminateTransaction", "--transactionalId", name]
    (took,) = timed(1, lambda: subprocess.run(command, check=True, capture_output=True, timeout=120))
    return took


if __name__ == "__main__":
    sys.exit(main())
