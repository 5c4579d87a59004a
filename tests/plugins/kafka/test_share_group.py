"""A share group in the place of a consumer group."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from offsetwise import files
from offsetwise.model import Application, ApplicationEvidence, GroupOffset, GroupState, Snapshot
from tests.commands import call
from tests.plan.scene import SAMPLE
from tests.with_cases import with_cases


@with_cases(("kind", "words"), [("Share", "found a share group"), ("Unknown", "a group of a type")])
def test_a_share_group_is_named_as_what_it_is(kind: str, words: str, tmp_path: Path) -> None:
    old = json.loads((SAMPLE / "old.json").read_text(encoding="utf-8"))
    old["groups"].append({"name": "sg", "state": "Stable", "type": kind, "offsets": [], "error": None})
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")

    given = ("--migration", SAMPLE / "migration.yaml", "--group", "sg", "--no-content", "--json")
    ran = call("compare", *given, "--snapshots", tmp_path / "old.json", SAMPLE / "new.json")

    assert ran.code == 1
    body = json.loads(ran.out)
    assert words in body["problem"]
    assert "its broker keeps the state of single records" in body["problem"]
    assert "share.auto.offset.reset" in body["fix"]


def _with_share_group(tmp_path: Path) -> tuple[str | Path, ...]:
    """Write the sample's snapshots with a share group that begins where the group of the sample has committed."""
    old = json.loads((SAMPLE / "old.json").read_text(encoding="utf-8"))
    (etl,) = [group for group in old["groups"] if group["name"] == "orders-etl"]
    shared: dict[str, object] = {"name": "sg", "state": "Stable", "type": "Share", "offsets": [], "error": None}
    old["groups"].append(shared | {"start_offsets": etl["offsets"]})
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    return ("--migration", SAMPLE / "migration.yaml", "--snapshots", tmp_path / "old.json", SAMPLE / "new.json")


def test_a_share_group_that_has_begun_is_compared_as_a_group_with_the_same_offsets(tmp_path: Path) -> None:
    given = (*_with_share_group(tmp_path), "--no-content", "--json")

    shared, etl = (json.loads(call("compare", "--group", name, *given).out) for name in ("sg", "orders-etl"))

    numbers = ("topic", "partition", "old_offset", "new_offset", "lag_old")
    rows, expected = ([[row[key] for key in numbers] for row in body["partitions"]] for body in (shared, etl))
    assert rows == expected
    (told,) = [each["message"] for each in shared["findings"] if each["code"] == "SHARE_GROUP_NOT_MOVED"]
    lag = sum(int(row["lag_old"]) for row in shared["partitions"] if row["lag_old"] is not None)
    assert f"is at most {lag:,} records." in told
    assert "SHARE_GROUP_NOT_MOVED" not in {each["code"] for each in etl["findings"]}


def test_a_plan_for_a_share_group_is_refused_with_what_to_do(tmp_path: Path) -> None:
    given = (*_with_share_group(tmp_path), "--json")
    compared = tmp_path / "comparison.json"
    compared.write_text(call("compare", "--group", "sg", *given, "--no-content").out, encoding="utf-8")
    target = ("--target", "consumer-group:orders-etl", "--author", "ann", "--out", tmp_path / "plan.json")

    ran = call("draft", "--comparison", compared, *given, *target)

    assert ran.code == 1
    assert "SHARE_GROUP_NOT_MOVED" in ran.out
    assert "Admin.alterShareGroupOffsets" in ran.out
    assert not (tmp_path / "plan.json").exists()


def test_a_snapshot_keeps_what_is_known_of_other_groups_and_no_key_of_it_for_a_consumer_group() -> None:
    taken: Snapshot = files.load((SAMPLE / "old.json").read_bytes(), "snapshot", subject="old.json")
    application = Application(evidence=ApplicationEvidence.ASSIGNOR, changelogs=("app-s-changelog",))
    shared = GroupState(name="sg", type="Share", start_offsets=(GroupOffset(topic="orders", partition=0, offset=7),))
    written = files.dump(replace(taken, groups=(shared, GroupState(name="app", application=application))))

    read = files.load(written, "snapshot", subject="written")

    assert read.group("sg") == shared
    assert read.group("app").application == application
    first, second = json.loads(written)["groups"]
    assert ("application" in first, "start_offsets" in second) == (False, False)
    assert files.dump(taken) == (SAMPLE / "old.json").read_text(encoding="utf-8")
