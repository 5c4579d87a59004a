"""An address that leads to another cluster from some moment on: nothing is ever changed there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from offsetwise.apply.disk import Disk
from offsetwise.apply.journal import Journal
from offsetwise.apply.writing import Context
from offsetwise.config import ClusterConfig, client_properties
from offsetwise.errors import LostReplyError, OffsetwiseError, StalePlanError
from offsetwise.lab import Lab
from offsetwise.model import GroupBefore, Plan, PlannedTransaction, ReceiptStep, Settlement, StepState, Target
from offsetwise.plugins.kafka.stream.client import Deadline
from offsetwise.plugins.kafka.stream.transaction_ends import contact
from offsetwise.plugins.kafka.stream.wire import Wire
from offsetwise.plugins.kafka.targets.group import brokers, kafka
from offsetwise.plugins.kafka.targets.group.kafka import KafkaGroups
from offsetwise.plugins.kafka.targets.group.requests import GroupRequests
from offsetwise.plugins.kafka.targets.group.writer import GroupWriter
from offsetwise.plugins.kafka.targets.transactions.kafka import KafkaSink
from offsetwise.transactions.observed import Described
from tests.apply.plans import POLLUTED, drafted
from tests.gates import of_all
from tests.integration.groups import Job, commit, committed
from tests.plugins.kafka.live.leading_away import (
    DELETE_GROUPS,
    END_TXN,
    FIND_COORDINATOR,
    OFFSET_COMMIT,
    LeadingAway,
    leading_away,
)
from tests.plugins.kafka.live.led_topic import GONE, TOPIC, fill
from tests.plugins.spark.folders import SAMPLES

AT, BEFORE = 17, 5


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    fill(lab.old_bootstrap, 0)
    fill(lab.new_bootstrap, GONE)
    return TOPIC


@pytest.fixture(scope="module")
def proxy(lab: Lab) -> Iterator[LeadingAway]:
    with leading_away(lab.new_bootstrap, lab.old_bootstrap) as made:
        yield made


class Written:
    """A plan for one group, written through the proxy by the writer alone."""

    def __init__(self, lab: Lab, address: str, folder: Path, group: str, *, before: int | None) -> None:
        self.lab, self.address, self.group = lab, address, group
        self.path = str(folder / f"{group}.journal")
        if before is not None:
            commit(lab.new_bootstrap, group, {TOPIC: before})
        self.plan = _plan(lab, group, before)
        self.target = self.plan.targets[0]

    def _tried(self, verb: str, *given: Any) -> ReceiptStep | OffsetwiseError:
        writer = GroupWriter(KafkaGroups(_config(self.address), timeout_s=3))
        with Journal.open(self.path, digest="00" * 32, begun_at="2026-01-01T00:00:00Z") as journal:
            context = Context(
                digest=journal.digest, output=None, write_roots=(), read_roots=None, journal=journal, disk=Disk()
            )
            try:
                done: ReceiptStep = getattr(writer, verb)(self.plan, *given, context)
            except OffsetwiseError as error:
                return error
        return done

    def write(self) -> ReceiptStep | OffsetwiseError:
        return self._tried("write", self.target)

    def undo(self, step: ReceiptStep) -> ReceiptStep | OffsetwiseError:
        return self._tried("undo", step)

    def there(self) -> int | None:
        return committed(self.lab.new_bootstrap, self.group).get(TOPIC, (None, ""))[0]

    def elsewhere(self) -> dict[str, tuple[int, str]]:
        return committed(self.lab.old_bootstrap, self.group)


def _config(address: str) -> ClusterConfig:
    return ClusterConfig(name="new", properties={"bootstrap.servers": address})


def _plan(lab: Lab, group: str, before: int | None) -> Plan:
    plan = drafted(str(SAMPLES / POLLUTED))
    held = () if before is None else ((TOPIC, 0, before),)
    new = replace(plan.requirements.new, cluster_id=_cluster_id(lab.new_bootstrap))
    return replace(
        plan,
        targets=(Target(kind="consumer-group", group=group),),
        positions=(replace(plan.positions[0], topic=TOPIC, new_topic=TOPIC, partition=0, new_offset=AT),),
        requirements=replace(
            plan.requirements, new=new, groups=(GroupBefore(group=group, state="Empty", offsets=held),)
        ),
    )


def _cluster_id(bootstrap: str) -> str:
    return str(AdminClient({"bootstrap.servers": bootstrap, "log_level": 2}).list_topics(timeout=30).cluster_id)


LED = (
    pytest.param(BEFORE, True, id="a commit before, connections break"),
    pytest.param(None, False, id="no commit before, connections go on"),
    pytest.param(BEFORE, False, id="a commit before, connections go on"),
    pytest.param(None, True, id="no commit before, connections break"),
)


@pytest.mark.parametrize(("before", "cuts"), of_all(LED, LED[:1]))
def test_no_moment_of_a_write_or_a_rollback_changes_a_group_of_another_cluster(
    before: int | None, cuts: bool, lab: Lab, proxy: LeadingAway, topic: str, tmp_path: Path
) -> None:
    assert topic
    moments = 0
    for moment in range(200):
        proxy.again()
        group = f"led-{cuts}-{before}-{moment}"
        run = Written(lab, proxy.bootstrap, tmp_path, group, before=before)
        proxy.again(proxy.after(moment), cuts=cuts)
        written = run.write()
        led_away = proxy.leads_away
        assert run.elsewhere() == {}, f"request {moment}: {proxy.requests}"
        assert run.there() in (before, AT)
        if isinstance(written, ReceiptStep):
            assert run.there() == AT
        proxy.again()
        step = run.write()
        assert isinstance(step, ReceiptStep), step

        proxy.again(proxy.after(moment), cuts=cuts)
        undone = run.undo(step)
        assert run.elsewhere() == {}, f"rollback, request {moment}: {proxy.requests}"
        led_away |= proxy.leads_away
        proxy.again()
        if isinstance(undone, OffsetwiseError):
            undone = run.undo(step)
        assert isinstance(undone, ReceiptStep), undone
        assert undone.state is StepState.UNDONE
        assert run.there() == before
        if not led_away:
            break
        moments += 1
    assert moments > 10


@pytest.mark.parametrize("number", [OFFSET_COMMIT, DELETE_GROUPS, FIND_COORDINATOR], ids=["commit", "delete", "find"])
def test_a_request_that_meets_the_change_is_not_sent_again_elsewhere(
    number: int, lab: Lab, proxy: LeadingAway, topic: str, tmp_path: Path
) -> None:
    """The moment that a comparison on another connection cannot see: after it, before the request is there."""
    assert topic
    proxy.again()
    run = Written(lab, proxy.bootstrap, tmp_path, f"led-at-{number}", before=None)
    step = run.write() if number == DELETE_GROUPS else None
    proxy.again(lambda key: key == number)

    tried = run.write() if step is None or isinstance(step, OffsetwiseError) else run.undo(step)

    assert proxy.leads_away
    assert isinstance(tried, LostReplyError | StalePlanError)
    assert run.elsewhere() == {}
    if number != DELETE_GROUPS:  # a commit is read back, and that says which cluster it leads to
        assert _cluster_id(lab.old_bootstrap) in str(tried)


@pytest.mark.parametrize(
    ("moment", "code", "told"),
    [
        ("after the recheck", 3, "Nothing was sent for this group"),
        ("at the request", 1, "Whether they are committed is not known"),
    ],
)
def test_apply_says_where_the_address_led_and_goes_on_when_it_leads_back(
    moment: str,
    code: int,
    told: str,
    lab: Lab,
    proxy: LeadingAway,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job(lab, f"led-applied-{code}", tmp_path)
    commit(lab.old_bootstrap, job.group, {topic: AT + GONE})
    proxy.again()
    job.write_migration(target={"properties": {"bootstrap.servers": proxy.bootstrap}})
    job.drafted()
    before = committed(lab.old_bootstrap, job.group)
    if moment == "at the request":
        proxy.again(lambda key: key == OFFSET_COMMIT)
    changing = GroupRequests.commit

    def change(self: GroupRequests, wanted: Any) -> Any:
        if moment == "after the recheck":
            proxy.again(proxy.after(0))
        return changing(self, wanted)

    monkeypatch.setattr(GroupRequests, "commit", change)
    monkeypatch.setattr(kafka, "_commit", brokers.commit)  # in this process, where it can be patched
    ran = job.apply("--execute")

    assert ran.code == code, ran.out + ran.err
    assert told in ran.err
    assert proxy.leads_away
    assert committed(lab.old_bootstrap, job.group) == before
    assert job.now() == {}
    assert _cluster_id(lab.old_bootstrap) in ran.out + ran.err

    monkeypatch.undo()
    proxy.again()
    assert job.apply("--execute").code == 0
    assert job.now() == {topic: (AT, "")}
    assert json.loads((job.folder / "receipt.json").read_text())["steps"][0]["state"] == "done"


@pytest.mark.parametrize(
    "cuts", of_all([True, False], [False]), ids=lambda cuts: f"connections {'break' if cuts else 'go on'}"
)
def test_no_moment_ends_a_transaction_of_another_cluster(cuts: bool, lab: Lab, proxy: LeadingAway, topic: str) -> None:
    for moment in range(200):
        proxy.again()
        name = f"led-{cuts}-{moment}-0-1"
        producers = [_open(bootstrap, name, topic) for bootstrap in (lab.new_bootstrap, lab.old_bootstrap)]
        there = _described(lab.old_bootstrap, name)
        planned = PlannedTransaction(
            transactional_id=name,
            producer_id=there.producer_id,
            epoch=there.epoch,
            version=4,
            decision=Settlement.ABORT,
            partitions=(),
            deadline=None,
            reason="",
        )
        config = _config(proxy.bootstrap)
        contacted = contact(config, timeout_s=3)
        with Wire(config, client_properties(config), Deadline(3)) as wire:
            sink = KafkaSink(contacted, wire)
            proxy.again(proxy.after(moment), cuts=cuts)
            sink._begin_anew = lambda wire=wire: setattr(wire, "deadline", Deadline(3))  # type: ignore[method-assign,misc]
            sink.end(planned)
        led_away = proxy.leads_away
        assert _described(lab.old_bootstrap, name).state == "Ongoing", f"request {moment}: {proxy.requests}"
        for producer in producers:
            producer.abort_transaction()
        if not led_away:
            assert END_TXN in proxy.requests
            break
    assert moment > 1


def _open(bootstrap: str, name: str, topic: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 2})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(30)
    return producer


def _described(bootstrap: str, name: str) -> Described:
    config = ClusterConfig(name="one", properties={"bootstrap.servers": bootstrap})
    with Wire(config, client_properties(config), Deadline(20)) as wire:
        found = wire.describe([name])[name]
    assert isinstance(found, Described)
    return found
