"""What a plan can require of the cutover: drafted, read again, and refused where nobody could look at it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

import offsetwise as ow
from offsetwise import files, workflow
from offsetwise.bundled import Bundled
from offsetwise.errors import OffsetwiseError, PlanError, UsageError, VersionError
from offsetwise.model import CutoverRequirement, Plan, Subject, SubjectKind, Target
from offsetwise.plan import options
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import DraftRequest, check_request
from offsetwise.ports.stream import specs
from offsetwise.registry import READERS, STREAMS
from offsetwise.streams.abilities import LooksAtLogs
from tests.commands import call
from tests.plan.scene import COPY, ETL, drafted, grouped, rows
from tests.with_cases import with_cases

REQUIRED: Final = CutoverRequirement(states=("frozen", "copied"), still_for_ms=90_000)
SAMPLE: Final = Path(ow.__file__).parent / "sample"
KINESIS: Final = Path(ow.__file__).parent / "sample_kinesis"


def edited(change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return a plan's file with other requirements."""
    body = json.loads(files.dump(drafted(cutover=REQUIRED)))
    change(body["requirements"])
    return json.dumps(body).encode()


def test_a_plan_holds_what_it_requires_and_is_read_back() -> None:
    plan = drafted(cutover=REQUIRED)

    text = files.dump(plan)
    body = json.loads(text)
    assert body["requirements"]["cutover"] == {"states": ["frozen", "copied"], "still_for_ms": 90_000}
    assert body["format_version"] == "1.2"
    assert read_plan(text.encode(), subject="plan.json") == plan


def test_a_plan_that_requires_nothing_keeps_its_bytes_and_version() -> None:
    plan = drafted()

    text = files.dump(plan)
    assert '"format_version": "1.0"' in text
    assert "still_for_ms" not in text
    assert '"format_version": "1.1"' in files.dump(replace(plan, from_files=True))
    for path in (SAMPLE, KINESIS):
        assert '"1.2"' not in "".join(each.read_text() for each in path.glob("*.json"))


@with_cases(
    ("change", "told"),
    [
        (lambda needs: needs.update(silence={"for_ms": 1}), "found the requirement 'silence'"),
        (lambda needs: needs["cutover"].update(states=["frozen", "drained"]), "frozen or copied, found 'drained'"),
        (lambda needs: needs["cutover"].update(states=[]), "where the old logs required to be frozen or copied is exp"),
        (lambda needs: needs["cutover"].update(states=["copied", "frozen"]), "it has 'copied, frozen'"),
        (lambda needs: needs["cutover"].update(states=["frozen", "frozen"]), "it has 'frozen, frozen'"),
        (lambda needs: needs["cutover"].update(still_for_ms=999), "it has 999 ms"),
        (lambda needs: needs["cutover"].update(still_for_ms=86_400_001), "it has 86,400,001 ms"),
        (lambda needs: needs["cutover"].update(still_for_ms="60000"), "requirements.cutover.still_for_ms is wrong"),
        (lambda needs: needs.update(cutover={"states": ["frozen"]}), "requirements.cutover.still_for_ms is wrong"),
    ],
)
def test_a_requirement_that_nobody_would_look_at_is_refused(
    change: Callable[[dict[str, Any]], None], told: str
) -> None:
    with pytest.raises(OffsetwiseError) as refused:
        read_plan(edited(change), subject="plan.json")

    assert told in refused.value.problem
    assert "Nothing was used from it." in refused.value.problem


def test_a_requirement_of_a_later_release_names_the_release_that_knows_it() -> None:
    with pytest.raises(VersionError) as refused:
        read_plan(edited(lambda needs: needs.update(silence=None)), subject="plan.json")

    assert "Use the release of Offsetwise that wrote it" in refused.value.fix


def test_a_plan_without_a_position_on_the_old_cluster_requires_nothing_there() -> None:
    new_only = rows({"old_offset": None, "restart": ()})
    plan = drafted(cutover=REQUIRED)
    nothing = replace(plan, positions=tuple(replace(one, old_offset=None, restart=()) for one in plan.positions))

    with pytest.raises(PlanError, match="has no position there"):
        read_plan(files.dump(nothing).encode(), subject="plan.json")
    with pytest.raises(PlanError, match="a position on the old cluster"):
        drafted(grouped(*new_only), ETL, cutover=REQUIRED)


@with_cases(
    ("text", "still_for_s", "states", "still_for_ms"),
    [
        ("frozen", None, ("frozen",), 60_000),
        ("copied", 5.0, ("copied",), 5_000),
        ("frozen,copied", None, ("frozen", "copied"), 60_000),
        ("copied,frozen", 90.0, ("frozen", "copied"), 90_000),
    ],
)
def test_both_conditions_are_read_in_any_order(
    text: str, still_for_s: float | None, states: tuple[str, ...], still_for_ms: int
) -> None:
    assert options.cutover(text, still_for_s) == CutoverRequirement(states=states, still_for_ms=still_for_ms)


def test_nothing_is_required_where_nobody_asks() -> None:
    assert options.cutover(None) is None


@with_cases(("text", "found"), [("drained", "'drained'"), ("", "''"), ("frozen, copied", "' copied'"), (None, "none")])
def test_another_word_is_refused_in_one_sentence(text: str | None, found: str) -> None:
    with pytest.raises(UsageError) as refused:
        options.cutover(text, 60)

    assert refused.value.problem == (
        f"--require: expected frozen or copied, or both as in --require frozen,copied; found {found}. Nothing was "
        "drafted."
    )


@with_cases(
    ("target", "required", "told"),
    [
        ("spark-checkpoint", CutoverRequirement(states=(), still_for_ms=60_000), "frozen or copied, found ''"),
        ("spark-checkpoint", CutoverRequirement(states=("x",), still_for_ms=60_000), "found 'x'"),
        ("spark-checkpoint", CutoverRequirement(states=("frozen",), still_for_ms=0), "from 1 s to 24 h"),
        ("sink-transactions", REQUIRED, "a target that writes positions"),
    ],
)
def test_a_request_that_nobody_can_look_at_is_refused(target: str, required: CutoverRequirement, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        check_request(DraftRequest(targets=(Target(kind=target),), author="ada", cutover=required))


def test_a_stream_whose_ends_nobody_can_watch_is_refused_before_anything_is_read() -> None:
    migration = workflow.sample(Bundled.KINESIS)
    subject = Subject(kind=SubjectKind.CHECKPOINT, name=migration.checkpoints[0].name)

    with pytest.raises(PlanError) as refused:
        workflow.draft(
            migration,
            subject,
            DraftRequest(targets=(COPY,), author="ada", cutover=REQUIRED),
            drafted_at="2026-11-27T12:00:00Z",
        )

    assert "to require that they are frozen and copied; found one of Kinesis. Nothing was drafted." in str(
        refused.value
    )
    assert "Leave --require out." in refused.value.fix


def test_a_stream_says_whether_its_reader_looks_where_logs_end() -> None:
    assert {spec.name: spec.ends_watched for spec in specs()} == {
        name: isinstance(READERS.load(name), LooksAtLogs) for name in STREAMS
    }


def test_the_command_line_drafts_it_and_says_it_to_whoever_reads_the_plan(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    read = ("--comparison", SAMPLE / "comparison-orders.json", "--snapshots", SAMPLE / "old.json", SAMPLE / "new.json")
    asked = ("draft", "-m", SAMPLE / "migration.yaml", *read, "--target", "spark-checkpoint", "--author", "ada")

    other = call(*asked, "--out", out, "--require", "drained", "--json")
    alone = call(*asked, "--out", out, "--still-for", "90s", "--json")
    made = call(*asked, "--out", out, "--require", "copied,frozen", "--still-for", "90s", width=300)

    for refused in (other, alone):
        assert refused.code == 1
        assert refused.refused()["problem"].count(". ") == 1
    assert made.code == 0, made.err
    assert (
        "required before it is applied: the logs of its topics on the old cluster have stood still for 1 min 30 s, and "
        "every record of them is on the new cluster"
    ) in made.err
    plan: Plan = read_plan(out.read_bytes(), subject="plan.json")
    assert plan.requirements.cutover == REQUIRED
