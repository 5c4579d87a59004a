"""A stream that only the tests know, whose positions are no integers: from its shelf to positions that are verified."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import offsetwise as ow
from offsetwise import files
from offsetwise.config import load_migration
from offsetwise.errors import FileError, PlanError
from offsetwise.lag.subject import LagSubject
from offsetwise.model import Exactness, RawVerdict, Turnout
from offsetwise.plan import options
from offsetwise.plan.reading import read_plan
from offsetwise.registry import ENGINES, STREAMS
from offsetwise.store.store import open_store
from offsetwise.watch.reading import take_samples
from tests import subjects
from tests.commands import Ran, call
from tests.toys.engine.engine import FILE, TOY
from tests.toys.registering import register_stream, register_target
from tests.toys.stream.spec import NAME, RELABELLED, Label
from tests.toys.test_engine import CSV
from tests.with_cases import with_cases

AT = (("orders", 0, "s-1050"), ("orders", 1, "s-0990"))


def shelved(folder: Path) -> Path:
    """Write two shelves, a toy that reads the first, and the migration file that says so."""
    for name, lower in (("a", 0), ("b", 100)):
        sides = [[f"s-{first - lower:04}", f"s-{end - lower:04}"] for first, end in ((100, 1200), (100, 1090))]
        body = {"id": f"shelf-{name}", "tapes": {"orders": sides}, RELABELLED: lower}
        (folder / f"{name}.json").write_text(json.dumps(body))
    made = folder / "toys" / "train"
    made.mkdir(parents=True)
    (made / FILE).write_text(json.dumps({"job": "train", "colour": "red", "of": NAME, "at": AT}))
    (folder / "migration.yaml").write_text(
        "name: tapes\n"
        f"source: {{stream: tape, properties: {{shelf: {folder / 'a.json'}}}}}\n"
        f"target: {{stream: tape, properties: {{shelf: {folder / 'b.json'}}}}}\n"
        "checkpoints: [{name: train, uri: ./toys/train, belongs_to: old}]\n"
        "checkpoint_roots: [./toys]\n"
        "write_roots: [./out]\n"
    )
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(ENGINES, TOY.name, lambda: TOY)
    register_target(monkeypatch)
    register_stream(monkeypatch)
    return shelved(tmp_path)


def job(folder: Path) -> ow.Job:
    return ow.Migration.load(folder / "migration.yaml").checkpoint("train")


def test_it_is_inspected(folder: Path) -> None:
    shown = call("inspect", folder / "toys" / "train").out
    told = json.loads(call("inspect", folder / "toys" / "train", "--json").out)

    assert "s-1050" in shown
    assert [each["offset"] for each in told["sources"][0]["positions"]] == ["s-1050", "s-0990"]


def test_it_is_compared_by_its_own_translation(folder: Path) -> None:
    made = job(folder).compare()

    first, second = made
    assert (first.source_offset, first.target_offset) == (Label("s-1050"), Label("s-0950"))
    assert (second.source_offset, second.target_offset) == (Label("s-0990"), Label("s-0890"))
    assert {row.exactness for row in made} == {Exactness.EXACT}
    assert (first.lag_old, first.lag_new) == (None, None)
    assert {row.raw.verdict for row in made} == {RawVerdict.LOSS}
    assert files.load(files.dump(made), "comparison", subject="it") == made
    told = call("compare", "--migration", folder / "migration.yaml", "--checkpoint", "train")
    for word in ("s-1050", "s-0950", "exact"):
        assert word in told.out


def test_it_is_drafted_applied_and_verified(folder: Path) -> None:
    plan = job(folder).draft(CSV, author="ada")
    plan.save(folder / "plan.json")
    rita = ow.keygen(subject="rita")
    public = ow.write_keys(folder / "rita", rita)
    ow.write_approval(folder / "plan.approval.json", plan.sign(rita))

    assert read_plan(plan.content, subject="the plan") == plan.document
    shown = plan.apply(output=folder / "out" / "csv")
    receipt = plan.apply(
        output=folder / "out" / "csv",
        approvals=[folder / "plan.approval.json"],
        trust=[public],
        execute=True,
    )

    assert shown.failed == ()
    assert (folder / "out" / "csv" / "positions.csv").read_text() == "orders,0,s-0950\norders,1,s-0890\n"
    seen = receipt.verify()
    assert {(each.planned, each.found, each.turnout) for each in seen.positions} == {
        (Label("s-0950"), Label("s-0950"), Turnout.CONFIRMED),
        (Label("s-0890"), Label("s-0890"), Turnout.CONFIRMED),
    }
    assert files.load(files.dump(seen), "verification", subject="it") == seen


def test_a_person_decides_in_its_words_and_in_no_other_ones(folder: Path) -> None:
    def drafted(position: str) -> Ran:
        to = folder / f"{position}.json"
        given = ("--checkpoint", "train", "--target", "toy-csv", "--author", "ada", "--out", to)
        decided = ("--override", f"orders:0={position}", "--reason", "seen on the tape")
        return call("draft", "--migration", folder / "migration.yaml", *given, *decided, "--json")

    def refused(ran: Ran) -> str:
        return str(ran.refused()["problem"])

    made = drafted("s-0940")
    (first, _) = made.answered()["positions"]
    assert (first["new_offset"], first["replay"], first["skip"]) == ("s-0940", None, None)
    assert (
        "expected a position as its stream has them, such as s-0950, found 940" in drafted("940").refused()["problem"]
    )
    assert "expected topic:partition=offset" in refused(drafted("940s"))


@with_cases("target", ["consumer-group:etl", "spark-checkpoint", "starting-offsets"])
def test_targets_of_kafkas_offsets_refuse_it(target: str, folder: Path) -> None:
    with pytest.raises(PlanError, match=r"It holds Kafka offsets, and the job is at .* such as s-1050"):
        job(folder).draft(options.target(target), author="ada")


def test_a_plan_that_mixes_streams_is_refused(folder: Path) -> None:
    plan = job(folder).draft(CSV, author="ada").document
    mixed = replace(plan, positions=(replace(plan.positions[0], new_offset=950), *plan.positions[1:]))

    with pytest.raises(PlanError, match="orders-0 has positions of several streams"):
        read_plan(files.dump(mixed).encode(), subject="the plan")


def test_without_its_line_its_texts_are_no_positions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = job(folder).draft(CSV, author="ada").content
    monkeypatch.delitem(STREAMS, NAME)

    with pytest.raises(FileError, match=r"positions\.0\..* is wrong: expected an integer as a decimal string"):
        read_plan(plan, subject="the plan")


def test_its_lag_is_sampled_and_kept(folder: Path) -> None:
    migration = load_migration(folder / "migration.yaml")
    who = LagSubject.in_migration(migration.name, subjects.checkpoint("train"))
    (sample,) = take_samples(migration, [who], sampled_by="the test")

    with open_store(f"sqlite:///{folder / 'store.sqlite'}", wait_s=60) as store:
        store.add(sample)
        newest, (kept,) = store.newest(who), store.history(who, [("shelf", "orders", 1)], 0, most=10)
        (point,) = store.window(who, 0, most=10)

    assert newest is not None
    assert newest.sample == sample
    assert [row.new_position for row in sample.partitions] == [Label("s-0950"), Label("s-0890")]
    assert kept.sample.partitions == sample.partitions[1:]
    assert (point.head.partitions, point.totals.old.unknown) == ((), 2)
