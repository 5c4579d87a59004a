"""A share group in the place of a consumer group."""

from __future__ import annotations

import json
from pathlib import Path

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
