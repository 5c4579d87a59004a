"""A whole topic counted while its log is cut back, or its broker falls silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise import workflow
from offsetwise.config import ClusterConfig, load_migration
from offsetwise.errors import ClusterError
from offsetwise.lab import Lab
from offsetwise.model import TopicPartition
from offsetwise.plugins.kafka.stream import reader as kafka
from offsetwise.ports.log_observations import SeenLog
from tests.integration.topics import copies, create, produce

TOPIC = "counted"


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (7, 20, "retention moved the log start from 0 to 7 while the records were read"),
        (None, 20, "expected its log start and end once more after the records were read, but the broker did not say"),
        (0, 19, "two looks differ: the end of the new log was 20, then 19"),
    ],
    ids=["cut back", "silent", "shorter"],
)
def test_counts_that_retention_may_have_passed_are_not_given(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int | None, end: int, said: str
) -> None:
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, f"{TOPIC}-{start}-{end}")
        produce(bootstrap, {f"{TOPIC}-{start}-{end}": copies(0, 20)})
    (tmp_path / "m.yaml").write_text(
        "name: counting\n"
        f'source: {{name: a, properties: {{bootstrap.servers: "{lab.old_bootstrap}"}}}}\n'
        f'target: {{name: b, properties: {{bootstrap.servers: "{lab.new_bootstrap}"}}}}\n'
        'spark: {master: "local[2]"}\n'
    )
    migration = load_migration(tmp_path / "m.yaml")
    at = TopicPartition(f"{TOPIC}-{start}-{end}", 0)

    def ranges(config: ClusterConfig, _wanted: object) -> dict[TopicPartition, SeenLog]:
        return {
            at: SeenLog(
                log_start=0 if config is migration.source else start,
                hw=20 if config is migration.source else end,
            )
        }

    monkeypatch.setattr(kafka, "log_ranges", ranges)

    with pytest.raises(ClusterError, match=said):
        workflow.reconcile(migration, at.topic)
