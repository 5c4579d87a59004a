"""A plan that moves the offsets of one connector to another one: workers on loopback, clusters as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.disk import Disk
from offsetwise.apply.run import Tools, apply
from offsetwise.apply.writers import TargetWriters
from offsetwise.apply.writing import Preview
from offsetwise.config import Migration
from offsetwise.model import Cluster, GroupOffset, GroupState, Plan, Snapshot, Target, TargetBefore
from offsetwise.plan.target import target_type
from offsetwise.plugins.connect.section import ConnectConfig
from offsetwise.plugins.connect.target.writer import ConnectorWriter
from tests.apply import worlds
from tests.apply.plans import SHIFT, context
from tests.apply.worlds import NOW, World
from tests.plugins.connect.service import ConnectCluster, Connector, Worker, uri

OLD = {("orders", 0): 1050, ("orders", 1): 7}
TARGET = Target(kind="connector", group="moved")
BEFORE = {("orders", 0): 3, ("kept", 0): 9}
WRITTEN = {at: offset + SHIFT for at, offset in OLD.items()}
AFTER = BEFORE | WRITTEN


@dataclass
class OfConnector(World):
    """A world whose new cluster has the connector's group."""

    group: Callable[[], GroupState] = field(kw_only=True)

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        return replace(super().cluster(side, topics, ()), groups=(self.group(),) if groups else ())


@dataclass
class Stage(worlds.Stage):
    """A plan in a world, ready to be applied."""

    old: ConnectCluster = field(kw_only=True)
    new: ConnectCluster = field(kw_only=True)
    members: str = "Empty"
    """The state of the connector's group on the new cluster."""
    commits: dict[tuple[str, int], int] | None = None
    """What that group holds where the connector reads another cluster; None where it is what the workers tell."""

    @property
    def sink(self) -> Connector:
        return self.new.connectors["moved"]

    def group(self) -> GroupState:
        held = self.sink.offsets if self.commits is None else self.commits
        offsets = tuple(GroupOffset(topic=t, partition=p, offset=o) for (t, p), o in held.items())
        return GroupState(name="connect-moved", state=self.members, type="Classic", offsets=offsets)

    @property
    def writer(self) -> ConnectorWriter:
        return ConnectorWriter(self.migration, self._read_new)

    def _read_new(self, _migration: Migration, _plan: Plan, group: str) -> Snapshot:
        assert group == "connect-moved"
        return replace(self.world.clusters[Cluster.NEW], groups=(self.group(),))

    def tools(self, disk: Disk | None = None) -> Tools:
        writers = TargetWriters(self.migration)
        writers[TARGET.kind] = self.writer
        return Tools(readers=self.world, writers=writers, disk=disk or Disk(), now=lambda: NOW)

    def prepare(self) -> Preview:
        return self.writer.prepare(self.plan, TARGET, context(self.folder))

    def apply(self) -> Any:
        return apply(self.order(), self.receipt, self.tools())

    def at(self, worker: Worker) -> Stage:
        """Return the same with another worker of the new cluster in the migration file."""
        there, here = self.migration.entries_of(ConnectConfig)
        moved = self.migration.model_copy(update={"connect": (there, here.model_copy(update={"urls": (worker.url,)}))})
        live = LiveReaders(migration=moved, progress=lambda *_: None)
        world = OfConnector(live=live, clusters=self.world.clusters, groups=self.groups, group=self.group)
        return replace(self, migration=moved, world=world)

    def review(self) -> None:
        """Let the plan have what the workers tell now."""
        before = target_type(TARGET.kind).before_of(self.migration, TARGET, ())
        assert before is not None
        targets = (TargetBefore(target=TARGET, before=before),)
        self.plan = replace(self.plan, requirements=replace(self.plan.requirements, groups=(), targets=targets))


def clusters() -> tuple[ConnectCluster, ConnectCluster]:
    """Return the Connect clusters of a plan."""
    old = ConnectCluster({"sink": Connector(dict(OLD))}, kafka="id-of-old")
    return old, ConnectCluster({"moved": Connector(dict(BEFORE))}, kafka="id-of-new")


def stage(folder: Path, old: ConnectCluster, new: ConnectCluster, there: Worker, here: Worker) -> Stage:
    """Lay out a plan between a worker of each."""
    made = worlds.stage(folder, TARGET, source=uri(there.host))  # type: ignore[arg-type] # a URI is no path
    stated = [
        {"name": "sink", "url": there.url, "connector": "sink"},
        {"name": "moved", "url": here.url, "cluster": "new"},
    ]
    body = {"name": "test", "connect": stated, "write_roots": [str(folder)]} | {
        side: {"properties": {"bootstrap.servers": f"{name}.invalid:9092"}}
        for side, name in (("source", "old"), ("target", "new"))
    }
    migration = Migration.model_validate(body)
    live = LiveReaders(migration=migration, progress=lambda *_: None)
    result = Stage(
        folder=folder,
        source=made.source,
        plan=made.plan,
        migration=migration,
        world=made.world,
        groups=made.groups,
        old=old,
        new=new,
    )
    result.world = OfConnector(live=live, clusters=made.world.clusters, groups=made.groups, group=result.group)
    result.review()
    return result
