"""The proof of positions on another stream, on a server: made by the comparison, made again by `apply`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import offsetwise as ow
from offsetwise import files
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.recheck import RecheckResult, recheck
from offsetwise.config import load_migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import CopiedRecord, Exactness, Outcome, Plan, PlannedPosition
from offsetwise.plan import options
from offsetwise.plan.draft import totals_of
from offsetwise.plan.reading import read_plan
from offsetwise.plan.refusals import without_proofs
from offsetwise.plugins.kinesis.stream.records import identified
from offsetwise.plugins.kinesis.stream.spec import ShardPlace, after, at
from offsetwise.progress import no_progress
from tests.commands import Ran, call
from tests.plugins.kinesis.streams import stream
from tests.plugins.kinesis.test_another_stream import NEW, OLD, TRAITS, Copy, copy, read_first

__all__ = ["copy", "stream"]


class Planned:
    """A plan for the other stream, as it was drafted, and what may be made of it."""

    def __init__(self, copy: Copy, shards: int = 2) -> None:
        copy.make(shards, read_first(copy.records), before=13)
        self.copy, self.folder = copy, copy.folder
        self.path = copy.migration(job=TRAITS)
        made = ow.Migration.load(self.path).checkpoint("app")
        self.compared = made.compare()
        self.draft = made.draft(options.target("starting-position"), author="ada")
        self.plan: Plan = self.draft.document

    def again(self, plan: Plan | None = None) -> tuple[RecheckResult, ...]:
        world = LiveReaders(migration=load_migration(self.path), progress=no_progress)
        return recheck(self.plan if plan is None else plan, world)

    def failed(self, plan: Plan | None = None) -> list[str]:
        return [each.told for each in self.again(plan) if each.outcome is not Outcome.PASSED]

    def moved(self, number: int, **changes: Any) -> Plan:
        """Change one position, and what follows from it."""
        positions = list(self.plan.positions)
        one = positions[number]
        if "new_offset" in changes:
            changes["restart"] = (replace(one.restart[0], new=changes["new_offset"]),)
        positions[number] = replace(one, **changes)
        return replace(self.plan, positions=tuple(positions), totals=totals_of(positions))

    def command(self, plan: Plan, *more: str | Path) -> Ran:
        """Write a plan, and have it signed and applied by the commands."""
        at = self.folder / "changed.json"
        at.write_text(files.dump(plan))
        key = self.folder / "rita"
        if not key.exists():
            assert call("keygen", "--out", key, "--as", "rita").code == 0
        approval = self.folder / "changed.approval.json"
        approval.unlink(missing_ok=True)
        signed = call("sign", at, "--key", key, "--as", "rita", "--out", approval, *more)
        if signed.code:
            return signed
        output = ("--output", self.folder / "out" / "start.json", "--receipt", self.folder / "receipt.json")
        trusted = ("--approval", approval, "--trust", f"{key}.pub", "--migration", self.path)
        return call("apply", at, *trusted, *output, "--execute")


def test_a_comparison_and_a_plan_carry_the_records_that_prove_every_shard(copy: Copy) -> None:
    made = Planned(copy)

    held = {number: copy.held(NEW, number) for number in (0, 1)}
    for row, one in zip(made.compared, made.plan.positions, strict=True):
        assert row.exactness in (Exactness.EXACT, Exactness.POSITION_EXACT)
        assert one.proof is not None
        assert len(bytes.fromhex(one.proof.salt)) == 16
        assert [each.partition for each in one.proof.parts] == [row.partition]  # both streams have two halves
        (part,) = one.proof.parts
        assert part.before is not None
        assert part.after is not None
        keys = {number: key for key, _, number in held[row.partition]}
        olds = {number: key for key, _, number in copy.held(OLD, row.partition)}
        for record in (part.before, part.after):
            assert isinstance(record.old, ShardPlace)
            assert isinstance(record.new, ShardPlace)
            assert olds[record.old.sequence or 0] == keys[record.new.sequence or 0]
        assert part.before.new < one.new_offset < part.after.new
    assert without_proofs(made.plan) == []
    text = files.dump(made.plan)
    assert json.loads(text)["format_version"] == "1.1"
    assert read_plan(text.encode(), subject="plan") == made.plan
    assert made.failed() == []
    assert sum("is the one that was reviewed" in each.told for each in made.again()) == 8


@pytest.mark.parametrize("shards", [1, 3])
def test_a_proof_is_made_again_where_shards_are_split_and_merged(shards: int, copy: Copy) -> None:
    made = Planned(copy, shards)
    copy.stream.client.put_record(StreamName=OLD, PartitionKey="later", Data=b"z")
    copy.stream.client.put_record(StreamName=NEW, PartitionKey="later", Data=b"z")

    assert without_proofs(made.plan) == []
    assert made.failed() == []


def neighbours(one: PlannedPosition) -> list[tuple[str, Any]]:
    assert one.proof is not None
    (part,) = one.proof.parts
    return [("before", part.before), ("after", part.after)]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "another identity": lambda one: replace(one, identity="ab" * 16),
    "another record of the old stream": lambda one: replace(one, old=other(one.old)),
    "another record of the new stream": lambda one: replace(one, new=other(one.new)),
    "a record that is not there": lambda one: replace(one, old=replace(one.old, sequence=999)),
    "a copy that is not there": lambda one: replace(one, new=replace(one.new, sequence=999)),
    "both the other way round": lambda one: replace(one, old=one.new, new=one.old),
}


def other(place: ShardPlace) -> ShardPlace:
    assert place.sequence is not None
    return replace(place, sequence=place.sequence + 1)


def test_no_field_of_a_proof_can_be_changed(copy: Copy) -> None:
    made = Planned(copy)
    confirmed = []
    for number, one in enumerate(made.plan.positions):
        assert one.proof is not None
        for name, record in neighbours(one):
            for what, change in CHANGES.items():
                part = replace(one.proof.parts[0], **{name: change(record)})
                plan = made.moved(number, proof=replace(one.proof, parts=(part,)))
                if not without_proofs(plan) and not made.failed(plan):
                    confirmed.append((number, name, what))
        salted = made.moved(number, proof=replace(one.proof, salt="00" * 16))
        assert any("is another one than was reviewed" in each for each in made.failed(salted))
        wrong = replace(one.proof.parts[0], partition=1 - number)
        plan = made.moved(number, proof=replace(one.proof, parts=(wrong,)))
        assert without_proofs(plan)
    assert confirmed == []


@pytest.mark.parametrize("far", [1, 2, 100])
def test_a_forged_place_between_two_genuine_pairs_of_records_is_refused_and_nothing_is_written(
    far: int, copy: Copy
) -> None:
    for number in range(far * 2):  # about half of them are in each shard
        copy.stream.client.put_record(StreamName=OLD, PartitionKey=f"far{number}", Data=b"%d" % number)
    made = Planned(copy)
    (one, *_) = made.plan.positions
    assert one.proof is not None
    *_, below, (key, data, number) = copy.held(NEW, 0)
    old = next(sequence for name, content, sequence in copy.held(OLD, 0) if (name, content) == (key, data))
    salt = bytes.fromhex(one.proof.salt)
    above = CopiedRecord(old=at(old), new=at(number), identity=identified(salt, key.encode(), data)[0])
    proof = replace(one.proof, parts=(replace(one.proof.parts[0], after=above),))
    right, forged = made.moved(0, proof=proof), made.moved(0, proof=proof, new_offset=after(below[2]))

    assert without_proofs(forged) == []
    assert made.failed(right) == []
    refused = made.command(forged)
    assert refused.code == 3, refused.err
    assert "that the job has not read lie" in " ".join(refused.err.split())
    assert not (copy.folder / "out").exists()


def test_any_place_beyond_the_records_of_its_proof_is_not_signed(copy: Copy) -> None:
    made = Planned(copy)
    for number, one in enumerate(made.plan.positions):
        places = [after(each[2]) for each in copy.held(NEW, number)]
        assert one.new_offset in places
        for place in places:
            assert bool(without_proofs(made.moved(number, new_offset=place))) == (place != one.new_offset)


@pytest.mark.parametrize("how", ["no proof", "no part", "no record"])
def test_a_plan_without_its_records_is_not_signed(how: str, copy: Copy) -> None:
    made = Planned(copy)
    (one, *_) = made.plan.positions
    assert one.proof is not None
    none = [replace(each, before=None, after=None) for each in one.proof.parts]
    proof = {
        "no proof": None,
        "no part": replace(one.proof, parts=()),
        "no record": replace(one.proof, parts=tuple(none)),
    }[how]
    refused = made.command(made.moved(0, proof=proof))

    assert refused.code == 1
    assert "PROOF_NOT_REPEATED" in refused.err
    assert f"{NEW}-0: the plan has no records that prove" in refused.err


def test_files_of_a_comparison_without_records_give_no_plan(copy: Copy) -> None:
    made = Planned(copy)
    rows = tuple(replace(each, evidence=replace(each.evidence, parts=(), salt="")) for each in made.compared.partitions)
    stripped = replace(made.compared, partitions=rows)
    given: list[Path] = []
    for name, value in (("c", stripped), ("old", made.compared.snapshots[0]), ("new", made.compared.snapshots[1])):
        (copy.folder / f"{name}.json").write_text(files.dump(value))
        given.append(copy.folder / f"{name}.json")
    compared: tuple[str | Path, ...] = ("--comparison", given[0], "--snapshots", *given[1:], "--migration", made.path)
    target = ("--target", "starting-position", "--author", "ann", "--out", copy.folder / "of-files.json")
    refused = call("draft", *compared, *target)

    assert refused.code == 1
    assert "PROOF_NOT_REPEATED" in refused.err
    given[0].write_text(files.dump(made.compared))
    drafted = call("draft", *compared, *target)
    assert drafted.code == 0, drafted.err
    plan = read_plan((copy.folder / "of-files.json").read_bytes(), subject="it")
    assert plan.from_files
    assert plan.positions[0].proof is not None


def test_swapped_streams_are_refused(copy: Copy) -> None:
    made = Planned(copy)
    (one, *_) = made.plan.positions
    kept = made.moved(0, old_offset=one.new_offset, restart=(replace(one.restart[0], old=one.new_offset),), proof=None)
    assert any("the job is at" in each for each in without_proofs(kept))
    for change in ({"topic": NEW, "new_topic": OLD}, {"new_topic": OLD}):
        plan = made.moved(0, **change)
        try:
            assert made.failed(plan)
        except OffsetwiseError as error:
            assert error.problem  # noqa: PT017 - either is a refusal
