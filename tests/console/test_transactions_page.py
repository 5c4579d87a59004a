"""The transactions of a Flink job's sink on the Checkpoint page: held ones at once, their cluster's word when asked."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import yaml

from offsetwise.console.reader import Reader
from offsetwise.errors import ClusterUnreachableError
from offsetwise.progress import Progress
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.report import LogEnds, SinkTransactions
from tests.console.conftest import OpenPage, settle, words
from tests.console.test_checkpoint_page import FolderReader, count
from tests.plugins.spark.folders import SAMPLES
from tests.transactions.test_upgrade import broker, facts, judged
from tests.with_cases import with_cases

CHECKPOINT = "pages/explore/checkpoint.py"
PENDING = SAMPLES / "flink-2.3-pending-transaction"
ASK = "sink-transactions-now"
HELD = SinkTransaction(
    transactional_id="flinktx-0-2",
    producer_id=7,
    epoch=0,
    held=True,
    held_state="received",
    broker_state="Ongoing",
    left_ms=7_199_000,
    decision=Decision.COMMIT,
    reason="The checkpoint holds it.",
)
OVER = replace(HELD, transactional_id="flinktx-0-1", held=False, left_ms=None, decision=Decision.NOTHING)
ENDS = LogEnds(topic="out", partition=0, last_stable_offset=10, log_end_offset=18)
OPEN = SinkTransactions(
    taken_at="2026-11-21T12:00:00.000Z", cluster_id="abc", complete=True, transactions=(OVER, HELD), partitions=(ENDS,)
)


class SinkReader(FolderReader):
    """Offers one Flink checkpoint, whose sink's cluster gives one answer."""

    def __init__(self, answer: SinkTransactions | Exception) -> None:
        super().__init__({"s": PENDING})
        self._answer = answer

    def sink_transactions(
        self, migration: str, name: str, topics: tuple[str, ...], progress: Progress
    ) -> SinkTransactions:
        assert (migration, name, topics) == ("m", "s", ())
        self.calls["sink_transactions"] += 1
        progress("look twice at cluster sink", 0, 2)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def test_nobody_is_asked_before_a_click_and_then_the_open_ones_come_first_with_their_clock(open_page: OpenPage) -> None:
    reader = SinkReader(OPEN)
    page = open_page(reader, CHECKPOINT, of="checkpoint s")
    settle(page)
    assert reader.calls["sink_transactions"] == 0

    count(page, ASK)

    assert not page.exception
    assert reader.calls["sink_transactions"] == 1
    decided = next(one.value for one in page.dataframe if "decision" in one.value)
    assert decided["transactional id"].tolist() == ["flinktx-0-2", "flinktx-0-1"]
    assert ["commit" in each for each in decided["decision"]] == [True, False]
    said = words(page)
    assert "**1 transaction to be ended or looked into** on cluster id abc" in said
    assert re.search(r"The first time-out is at \*\*[0-9-]+ [0-9:]+ UTC\*\*: 1 h 59 min left", said)
    assert r"- **flinktx\-0\-2**: The checkpoint holds it" in said
    assert "held back in 1 partition of the sink" in said


@with_cases(
    ("answer", "told"),
    [
        (replace(OPEN, transactions=(OVER,), partitions=()), "**Nothing is open.**"),
        (
            replace(OPEN, transactions=(OVER,), complete=False, problems=("A broker did not list them.",)),
            "did not list",
        ),
        (ClusterUnreachableError("Cluster 'sink': expected an answer, none came.", fix="Start it."), "Start it"),
    ],
    ids=["nothing open", "not complete", "no answer"],
)
def test_what_the_cluster_answers_is_told(open_page: OpenPage, answer: SinkTransactions | Exception, told: str) -> None:
    page = open_page(SinkReader(answer), CHECKPOINT, of="checkpoint s")
    settle(page)
    count(page, ASK)
    assert not page.exception
    assert told in words(page)
    assert ("Nothing is open" in words(page)) is (answer is not None and told == "**Nothing is open.**")


def test_32_the_steps_to_two_phase_commit_are_shown_with_their_evidence_and_what_protects_the_job_until_then(
    open_page: OpenPage,
) -> None:
    upgrade = judged(facts(broker(version=5)), timeout_ms=3_600_000)
    page = open_page(SinkReader(replace(OPEN, upgrade=upgrade)), CHECKPOINT, of="checkpoint s")
    settle(page)
    assert upgrade.steps[0].name not in words(page)
    count(page, ASK)
    assert not page.exception

    (shown,) = (each for each in page.expander if "FLIP-319" in each.label)
    said = "\n".join(str(each.value) for each in shown.markdown).replace("\\", "")
    assert [step.name for step in upgrade.steps if f"**{step.name}**: {step.told}" in said] == [
        "1. brokers with KIP-939",
        "2. the right to two-phase commit",
        "3. savepoint, job stopped",
        "4. connector with FLIP-319",
        "5. start while no broker is being upgraded",
    ]
    assert "broker 1 takes InitProducerId up to version 5" in said
    assert all(told in said for told in (*upgrade.until_then, upgrade.false_alarm))
    assert upgrade.until_then, "what to do until then is never nothing"


def test_a_migration_that_does_not_say_where_the_sink_writes_is_told_what_to_write(
    open_page: OpenPage, tmp_path: Path
) -> None:
    body = {
        "name": "m",
        "source": {"name": "a", "properties": {"bootstrap.servers": "old.invalid:9092"}},
        "target": {"name": "b", "properties": {"bootstrap.servers": "new.invalid:9092"}},
        "checkpoints": [{"name": "s", "uri": str(PENDING)}],
    }
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    page = open_page(Reader((tmp_path / "m.yaml",)), CHECKPOINT, migration="m", of="checkpoint s")
    settle(page)
    count(page, ASK)
    assert not page.exception
    assert "State `sink_cluster: old`, `new`, or the name of a cluster under `sinks`" in words(page).replace("\\", "")
