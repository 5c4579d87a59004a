"""What another checkpoint in reach holds is never aborted, whatever its job; a name in use again is unknown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.commands import call
from tests.with_cases import with_cases

CASES = Path(__file__).parents[1] / "data" / "cases" / "transactions"
RESUBMITTED = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"


def decisions(folder: Path, name: str) -> dict[tuple[str, int, int], str]:
    ran = call(
        "transactions", "orders", "-m", folder / f"{name}.yaml", "--snapshot", folder / f"{name}.sink.json", "--json"
    )
    assert ran.code in (0, 2), ran.err
    return {
        (row["transactional_id"], int(row["producer_id"]), row["epoch"]): row["decision"]
        for row in json.loads(ran.out)["transactions"]
    }


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return shutil.copytree(CASES, tmp_path / "cases")


def test_a_held_transaction_whose_pooled_name_is_in_use_again_is_not_settled(cases: Path) -> None:
    found = decisions(cases, "f1")

    assert found["tx-c50-pool-0-0", 12, 2] == "UNKNOWN"
    assert found["tx-c50-pool-1-0", 13, 2] == "COMMIT"


def test_a_newer_checkpoint_under_another_job_id_is_found(cases: Path) -> None:
    found = decisions(cases, "f3")

    assert {key: value for key, value in found.items() if key[1] >= 45} == {
        (f"st-c50-{subtask}-{number}", producer, 0): "NOT_NEWEST"
        for subtask, number, producer in ((0, 3, 45), (0, 4, 47), (1, 3, 46), (1, 4, 48))
    }


@with_cases("how", ["below a root", "named in the file", "in a folder of any name"])
def test_it_is_found_wherever_it_is_in_reach(cases: Path, how: str) -> None:
    path, other = cases / "f3.yaml", cases / "f3" / RESUBMITTED / "chk-3"
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    if how == "named in the file":
        shutil.move(cases / "f3" / RESUBMITTED, cases / "elsewhere")
        body["checkpoints"].append({"name": "other", "uri": "./elsewhere/chk-3", "job": {"sink_cluster": "old"}})
        body["checkpoint_roots"].append("./elsewhere")
    elif how == "in a folder of any name":
        shutil.move(cases / "f3" / RESUBMITTED, cases / "f3" / "kept")
    else:
        assert other.is_dir()
    path.write_text(yaml.safe_dump(body), encoding="utf-8")

    assert "ABORT" not in decisions(cases, "f3").values()


def test_without_any_other_checkpoint_the_open_ones_are_aborted(cases: Path) -> None:
    shutil.rmtree(cases / "f3" / RESUBMITTED)

    found = decisions(cases, "f3")

    assert sorted(found.values()) == ["ABORT"] * 4 + ["SETTLED"] * 2
