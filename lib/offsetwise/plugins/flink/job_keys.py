from __future__ import annotations

from dataclasses import replace
from typing import Self

from pydantic import StrictBool, model_validator

from offsetwise.config import JobKeys, Label
from offsetwise.model import StatedJob


class FlinkJob(JobKeys):
    """What only a migration of Flink jobs asks of them. None means not stated."""

    sql: StrictBool | None = None
    """Whether it is a SQL job, whose operators get no uids."""
    uids: StrictBool | None = None
    """Whether every operator with state has a uid of its own."""
    subscription_changeable: StrictBool | None = None
    """Whether the topics that the job reads can be given other names."""
    needs_retained_data: StrictBool | None = None
    """Whether records that lie on the old cluster only still matter."""
    dynamic_cluster: Label | None = None
    """The id by which a DynamicKafkaSource calls the old cluster, and will call the new one."""
    dynamic_servers: Label | None = None
    """`bootstrap.servers` of the new cluster, as the metadata service of that source will name them."""

    @model_validator(mode="after")
    def _whole_cluster(self) -> Self:
        if (self.dynamic_cluster is None) != (self.dynamic_servers is None):
            raise ValueError("dynamic_cluster and dynamic_servers are stated together, or neither of them")
        return self

    @property
    def old_cluster_id(self) -> str | None:
        return self.dynamic_cluster

    @property
    def can_read_other_names(self) -> bool | None:
        return self.subscription_changeable

    @property
    def needs_old_records(self) -> bool | None:
        return self.needs_retained_data

    def in_plan(self, stated: StatedJob) -> StatedJob:
        return replace(stated, dynamic_cluster=self.dynamic_cluster, dynamic_servers=self.dynamic_servers)
