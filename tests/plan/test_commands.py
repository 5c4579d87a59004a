"""`draft`, `export` and `drift` as automation calls them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest

from offsetwise import files, workflow
from offsetwise.errors import UsageError
from offsetwise.model import Cluster, LogRange, Plan
from offsetwise.model.digest import digest
from offsetwise.plan import options
from offsetwise.plan.drift import Drift, DriftKind
from offsetwise.plan.drift import drift as drift_of
from tests.commands import COMMAND, Ran, call
from tests.plan.scene import ETL, SAMPLE, checkpoint, drafted, rows, snapshot
from tests.with_cases import with_cases

RECORDED = (
    *("--migration", SAMPLE / "migration.yaml", "--checkpoint", "payments"),
    *("--comparison", SAMPLE / "comparison-payments.json"),
    *("--snapshots", SAMPLE / "old.json", SAMPLE / "new.json"),
)


def draft(out: Path, *more: str | Path, target: str = "spark-checkpoint") -> Ran:
    return call("draft", *RECORDED, "--target", target, "--author", "ada", "--out", out, *more)


def test_draft_writes_one_file_and_says_its_digest(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"

    ran = draft(out, "--json")

    body = ran.answered()
    assert out.read_text(encoding="utf-8") == ran.out
    assert digest(out.read_bytes()) in ran.err.replace("\n", "")
    assert body["author"] == "ada"
    assert [each["new_offset"] for each in body["positions"]] == ["600", "600"]


def test_draft_takes_decisions_with_their_reasons(tmp_path: Path) -> None:
    ran = draft(
        tmp_path / "plan.json",
        *("--override", "payments:0=590", "--override", "payments:1=580", "--reason", "one", "--reason", "two"),
        *("--target", "consumer-group:orders-etl", "--editor", "bob", "--cutover", "2027-01-01T00:00:00Z", "--json"),
    )

    body = ran.answered()
    assert [each["override"]["reason"] for each in body["positions"]] == ["one", "two"]
    assert [each["override"]["by"] for each in body["positions"]] == ["ada", "ada"]
    assert body["editors"] == ["bob"]
    assert [each["kind"] for each in body["targets"]] == ["spark-checkpoint", "consumer-group"]


def test_draft_takes_starts(tmp_path: Path) -> None:
    body = draft(tmp_path / "p", "--start", "payments=earliest", "--reason", "All anew.", "--json").answered()

    assert {each["start"] for each in body["positions"]} == {"earliest"}
    assert body["totals"]["replay"] == "1200"


def test_draft_never_overwrites_a_file(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    out.write_text("mine")

    assert draft(out, "--json").refused()["error"] == "FileError"
    assert out.read_text() == "mine"


def test_a_refused_draft_leaves_no_file(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"

    refused = draft(out, "--json", target="starting-offsets").refused()

    assert refused["error"] == "PlanError"
    assert "SINK_BATCH_IDS" in refused["problem"]
    assert not out.exists()


@with_cases(
    "wrong",
    [
        ("--override", "payments:0"),
        ("--override", "payments:0=-1", "--reason", "x"),
        ("--override", "payments:0=1"),
        ("--override", "payments:0=99999999999999999999", "--reason", "x"),
        ("--start", "payments=someday", "--reason", "x"),
        ("--start", "payments=timestamp:noon", "--reason", "x"),
        ("--reason", "for nothing"),
        ("--cutover", "soon"),
        ("--target", "checkpoint"),
        ("--target", "consumer-group"),
        ("--target", "spark-checkpoint:x"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_understood_is_refused_and_nothing_is_written(tmp_path: Path, wrong: tuple[str, ...]) -> None:
    out = tmp_path / "plan.json"

    assert draft(out, *wrong, "--json").refused()["error"] == "UsageError"
    assert not out.exists()


@with_cases("time", ["2026-11-21T12:58:00Z", "1999-01-01", "0001-01-01T00:00:00Z"])
def test_a_cutover_that_has_passed_is_refused_because_retention_takes_nothing_before_it(
    tmp_path: Path, time: str
) -> None:
    out = tmp_path / "plan.json"

    refused = draft(out, "--cutover", time, "--json").refused()

    assert refused["error"] == "PlanError"
    assert "expected a cutover after the clusters were read, 2026-11-21T12:59:14Z" in refused["problem"]
    assert not out.exists()


@with_cases("name", ["ada\n", "ada\0", "\x1b[0mada", "ada\x7f", "ada\ue000", "ada\u2028"], ids=ascii)
@with_cases("option", ["--author", "--editor"])
def test_a_name_with_a_character_that_nobody_sees_is_refused(tmp_path: Path, option: str, name: str) -> None:
    out = tmp_path / "plan.json"

    refused = draft(out, option, name, "--json").refused()

    assert "expected names whose characters can all be seen" in refused["problem"]
    assert not out.exists()


def test_each_target_that_a_refusal_names_is_one() -> None:
    with pytest.raises(UsageError) as refused:
        options.target("no-target")
    forms = str(refused.value).partition("expected one of ")[2].partition(", found")[0].split(", ")
    assert [str(options.target(form)) for form in forms] == forms
    for form in forms:
        kind, _, name = form.partition(":")
        with pytest.raises(UsageError, match=f"expected {form}, found"):
            options.target(kind if name else f"{kind}:etl")


def test_a_comparison_needs_its_snapshots(tmp_path: Path) -> None:
    ran = call(
        "draft", *RECORDED[:6], "--target", "spark-checkpoint", "--author", "a", "--out", tmp_path / "p", "--json"
    )

    assert ran.refused()["error"] == "UsageError"


def test_export_prints_what_the_tools_take(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    assert draft(out).code == 0

    spark, kafka = (call("export", out, "--as", form) for form in ("starting-offsets", "consumer-groups-csv"))

    assert json.loads(spark.out) == {"payments": {"0": 600, "1": 600}}
    assert kafka.out == "payments,0,600\npayments,1,600\n"


@with_cases("form", ["yaml", "starting_offsets"])
def test_export_knows_two_forms(tmp_path: Path, form: str) -> None:
    out = tmp_path / "plan.json"
    assert draft(out).code == 0

    assert call("export", out, "--as", form, "--json").refused()["error"] == "UsageError"


@with_cases("command", [("export", "--as", "starting-offsets"), ("drift", "-m", str(SAMPLE / "migration.yaml"))])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *more = command
    other = tmp_path / "plan.json"
    other.write_text("{}")

    assert call(name, other, *more, "--json").refused()["error"] == "VersionError"
    assert call(name, tmp_path / "gone.json", *more, "--json").refused()["error"] == "FileError"


def test_the_schema_of_a_plan_is_published() -> None:
    body = json.loads(call("schema", "plan").out)

    assert body["title"] == "offsetwise/plan"
    assert {"positions", "requirements", "gate", "targets"} <= set(body["required"])


def test_the_script_in_the_documents_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "automation.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    path = os.pathsep.join([str(Path(COMMAND).parent), os.environ["PATH"]])

    ran = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(SAMPLE.parents[1]), "SAMPLE": str(SAMPLE), "AUTHOR": "ada"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[0] == digest((tmp_path / "plan.json").read_bytes())
    assert json.loads((tmp_path / "starting-offsets.json").read_text()) == {"payments": {"0": 600, "1": 600}}
    assert (tmp_path / "offsets.csv").read_text() == "payments,0,600\npayments,1,600\n"


def test_the_page_names_every_key_of_a_plan_and_every_kind_of_drift() -> None:
    page = (Path(__file__).parents[2] / "docs" / "plans.md").read_text(encoding="utf-8")
    told = {"migration", "drafted_at", "compared_at", "isolation_level"}

    assert {field.name for field in fields(Plan)} - set(re.findall(r"`(\w+)`", page)) == told
    assert [kind for kind in DriftKind if kind not in page] == []


@with_cases("start", [0, 1_050], ids=["as reviewed", "changed"])
def test_drift_prints_what_keeps_to_the_schema_that_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    def found(plan: Plan, *_: object, **__: object) -> tuple[Drift, ...]:
        new = snapshot(Cluster.NEW, rows({"new": LogRange(log_start=start, lso=1100, hw=1100)}))
        return drift_of(plan, snapshot(Cluster.OLD), new, checkpoint())

    monkeypatch.setattr(workflow, "drift", found)
    path = tmp_path / "plan.json"
    path.write_text(files.dump(drafted(None, ETL)), encoding="utf-8")

    ran = call("drift", path, "-m", SAMPLE / "migration.yaml", "--json")

    body = json.loads(ran.out)
    jsonschema.validate(body, json.loads(call("schema", "drift").out))
    assert body["format"] == "offsetwise/drift"
    assert ran.code == (3 if start else 0)
    assert {each["kind"] for each in body["drift"]} == ({"LOG_START_PASSED"} if start else set())
