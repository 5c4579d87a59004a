"""Journals and receipts that somebody laid beside an approved plan, on real brokers (A1, A3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from offsetwise import files
from offsetwise.lab import Lab
from tests.integration.groups import Job, commit, committed
from tests.integration.topics import copies, create, produce

CLICKS = "planted-clicks"
READ, PLANNED, FORGED = 250, 150, 1
VICTIM = "planted-victim"


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    create(lab.old_bootstrap, CLICKS)
    create(lab.new_bootstrap, CLICKS)
    produce(lab.old_bootstrap, {CLICKS: copies(0, 300)})
    produce(lab.new_bootstrap, {CLICKS: copies(100, 300)})
    return CLICKS


@pytest.fixture
def job(lab: Lab, topic: str, tmp_path: Path) -> Callable[[str], Job]:
    def make(group: str) -> Job:
        made = Job(lab, group, tmp_path)
        made.write_migration()
        commit(lab.old_bootstrap, group, {topic: READ})
        made.drafted()
        return made

    return make


def step(job: Job, group: str, offset: int) -> dict[str, Any]:
    """Return a step as a journal and a receipt have it."""
    written = {"topic": CLICKS, "partition": 0, "offset": str(offset), "before": None}
    more = {"before_metadata": "", "before_leader_epoch": None, "error": None}
    target = {"kind": "consumer-group", "group": group}
    return {
        "target": target,
        "place": group,
        "state": "done",
        "told": f"1 offset of group '{job.group}' are committed on the new cluster as planned.",
        "files": [],
        "offsets": [written | more],
    }


def test_a_planted_journal_commits_nothing_that_the_plan_does_not_say(job: Callable[[str], Job]) -> None:
    """Every word but the offset is as an honest run would leave it."""
    moved = job("planted-begun")
    digest = sha256((moved.folder / "plan.json").read_bytes()).hexdigest()
    header = {"format": "offsetwise/journal", "format_version": "1.0", "plan": digest}
    lines = [
        header | {"begun_at": "2026-11-22T00:00:00.000Z"},
        {"event": "begun", "step": 0, "notes": {}, "result": step(moved, moved.group, FORGED)},
    ]
    planted = moved.folder / "receipt.json.journal"
    planted.write_text("".join(json.dumps(line) + "\n" for line in lines))
    planted.chmod(0o600)

    ran = moved.apply("--execute")

    assert ran.code == 1
    assert f"{CLICKS}-0 at {FORGED}, and the plan says {PLANNED}" in json.loads(ran.out)["problem"]
    assert moved.now() == {}
    planted.unlink()
    assert moved.apply("--execute").code == 0
    assert moved.now() == {CLICKS: (PLANNED, "")}


def test_a_changed_receipt_neither_resets_nor_deletes_a_group_that_the_plan_never_named(
    job: Callable[[str], Job], lab: Lab
) -> None:
    moved = job("planted-applied")
    assert moved.apply("--execute").code == 0
    commit(lab.new_bootstrap, VICTIM, {CLICKS: FORGED}, "theirs")
    path = moved.folder / "receipt.json"
    honest = json.loads(path.read_text())
    journal = moved.folder / "receipt.json.journal"
    kept = journal.read_bytes()
    own = json.loads(path.read_text())
    own["plan"]["targets"] = [{"kind": "consumer-group", "group": VICTIM}]
    own["plan"]["requirements"]["groups"] = [{"group": VICTIM, "state": "Empty", "offsets": []}]
    plan = files.load(
        json.dumps(own["plan"] | {"format": "offsetwise/plan", "format_version": "1.0"}), "plan", subject="x"
    )
    forged = {
        "the steps": honest | {"steps": [step(moved, VICTIM, FORGED)]},
        "a plan of their own, its digest, and an approval of the other plan": own
        | {
            "steps": [step(moved, VICTIM, PLANNED)],
            "plan_digest": sha256(files.dump(plan).encode()).hexdigest(),
        },
    }

    for what, body in forged.items():
        journal.unlink(missing_ok=True)
        path.write_text(json.dumps(body))
        ran = moved.receipt("rollback", "--execute")
        assert ran.code == (1 if what == "the steps" else 4), (what, ran.out)
        assert "Nothing was written" in json.loads(ran.out)["problem"]
        assert committed(lab.new_bootstrap, VICTIM) == {CLICKS: (FORGED, "theirs")}, what
        assert moved.now() == {CLICKS: (PLANNED, "")}

    path.write_text(json.dumps(honest))
    journal.write_bytes(kept)
    journal.chmod(0o600)
    assert moved.receipt("rollback", "--execute").code == 0
    assert moved.now() == {}
