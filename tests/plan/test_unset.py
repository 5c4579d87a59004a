"""A consumer group's partitions without a commit: refused until somebody decides, states the setting or leaves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import offsetwise as ow
from offsetwise import files
from offsetwise.config import JobTraits, Migration, load_migration
from offsetwise.config.sections import GroupConfig
from offsetwise.errors import ConfigError, PlanError
from offsetwise.model import (
    Cluster,
    Exactness,
    GroupOffset,
    GroupState,
    LogRange,
    OffsetReset,
    Plan,
    Start,
    Target,
    TopicPartition,
)
from offsetwise.plan.drift import DriftKind, drift
from offsetwise.plan.exports import planned_offsets
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import StartChoice, Unset
from offsetwise.plan.target import target_type
from offsetwise.translation.query import Query, QuerySource
from offsetwise.translation.resolve import Match, resolve
from tests.commands import Ran, call
from tests.plan.scene import COPY, ETL, comparison, drafted, grouped, migration, override, rows, snapshot
from tests.with_cases import with_cases

NEW = LogRange(log_start=10, lso=60, hw=60)
UNSET: dict[str, Any] = {
    "old_offset": None,
    "restart": (),
    "exactness": Exactness.UNKNOWN,
    "new_offset": None,
    "bounds": (None, None),
    "new": NEW,
}
"""A partition without a commit, as it is compared."""
SECOND = TopicPartition("orders", 1)


def stated(reset: OffsetReset | None) -> Migration:
    return migration(groups=(GroupConfig(name="etl", job=JobTraits(auto_offset_reset=reset)),))


def draft(*changes: dict[str, Any], reset: OffsetReset | None = None, **request: Any) -> Plan:
    made = grouped(*rows({}, *(changes or (UNSET,))))
    return drafted(made, ETL, with_migration=stated(reset), **request)


@with_cases("of_an_earlier_release", [False, True])
@with_cases("reset", [None, OffsetReset.NONE])
def test_nobody_guesses_where_a_client_begins(reset: OffsetReset | None, of_an_earlier_release: bool) -> None:
    """Comparisons of earlier releases said that it begins at the start of the new log."""
    row = {**UNSET, "new_offset": 10, "exactness": Exactness.CLAIMED} if of_an_earlier_release else UNSET

    with pytest.raises(PlanError, match=r"NO_COMMIT: orders-1: .*Nothing was written") as caught:
        draft(row, reset=reset)

    assert "--set unset=leave" in (caught.value.fix or "")


@with_cases(
    ("reset", "offset", "start", "skip"),
    [(OffsetReset.EARLIEST, 10, Start.EARLIEST, None), (OffsetReset.LATEST, 60, Start.LATEST, 50)],
)
def test_the_stated_setting_is_written_as_an_offset(
    reset: OffsetReset, offset: int, start: Start, skip: int | None
) -> None:
    position = draft(reset=reset).positions[1]

    assert (position.new_offset, position.start, position.replay, position.skip) == (offset, start, 0, skip)
    assert position.override is None


def test_what_is_left_unset_is_listed_and_not_written() -> None:
    plan = draft(UNSET, UNSET, unset=Unset.LEAVE)

    assert [one.partition for one in plan.positions] == [0]
    assert [str(one.topic_partition) for one in plan.left_unset] == ["orders-1", "orders-2"]
    assert planned_offsets(plan, "etl") == {TopicPartition("orders", 0): 950}
    assert any("orders-1, orders-2" in told and "auto.offset.reset" in told for told in plan.gives_up)
    text = files.dump(plan)
    assert '"format_version": "1.1"' in text
    assert read_plan(text.encode(), subject="plan").left_unset == plan.left_unset


@with_cases(("unset", "decided"), [*product((None, Unset.LEAVE), ("override", "start"))])
def test_a_decision_about_a_partition_comes_before_leaving_the_others(unset: Unset | None, decided: str) -> None:
    request: dict[str, Any] = (
        {"overrides": ((SECOND, override(42)),)}
        if decided == "override"
        else {"starts": (StartChoice(topic="orders", start=Start.EARLIEST, reason="All of it.", by="ada"),)}
    )

    plan = draft(unset=unset, **request)

    assert {one.partition: one.new_offset for one in plan.positions}[1] == (42 if decided == "override" else 10)
    assert plan.left_unset == ()


@given(
    st.lists(st.sampled_from(["committed", "none", "decided"]), max_size=7),
    st.sampled_from([None, *OffsetReset]),
    st.sampled_from([None, Unset.LEAVE]),
)
def test_of_any_group_each_partition_without_a_commit_is_decided_stated_left_or_refused(
    kinds: list[str], reset: OffsetReset | None, unset: Unset | None
) -> None:
    changes = [{} if kind == "committed" else UNSET for kind in kinds]
    open_, decided = ({at for at, each in enumerate(kinds, start=1) if each == kind} for kind in ("none", "decided"))
    overrides = tuple((TopicPartition("orders", number), override(42)) for number in decided)
    begins = {OffsetReset.EARLIEST: 10, OffsetReset.LATEST: 60}.get(reset or OffsetReset.NONE)

    def made() -> Plan:
        compared = grouped(*rows({}, *changes))
        return drafted(compared, ETL, with_migration=stated(reset), overrides=overrides, unset=unset)

    if open_ and unset is None and begins is None:
        with pytest.raises(PlanError, match=f"NO_COMMIT: orders-{min(open_)}"):
            made()
        return
    plan = made()

    written = {one.partition: one.new_offset for one in plan.positions}
    left = {one.partition for one in plan.left_unset}
    assert left == (open_ if unset is Unset.LEAVE else set())
    assert written.keys() == {0, *range(1, len(kinds) + 1)} - left
    assert all(written[number] == begins for number in open_ - left)
    assert all(written[number] == 42 for number in decided)


def test_a_job_of_another_engine_leaves_nothing_unset() -> None:
    with pytest.raises(PlanError, match="unset for a consumer group"):
        drafted(comparison(*rows({})), COPY, unset=Unset.LEAVE)


def test_a_start_that_needs_every_partition_refuses_what_is_left() -> None:
    plan = draft(unset=Unset.LEAVE)

    for name in ("starting-offsets", "seeded-checkpoint"):
        assert [problem.message for problem in target_type(name).unfit(plan)] == [
            "orders has 2 partitions, the plan has a position for 1."
        ]


@with_cases("side", [Cluster.OLD, Cluster.NEW])
def test_a_commit_in_what_was_left_unset_is_drift(side: Cluster) -> None:
    plan = draft(unset=Unset.LEAVE)
    compared = grouped(*rows({}, UNSET)).partitions
    before = {each: snapshot(each, compared) for each in Cluster}
    assert drift(plan, before[Cluster.OLD], before[Cluster.NEW], None) == ()
    (group,) = before[side].groups
    more: GroupState = replace(group, offsets=(*group.offsets, GroupOffset(topic="orders", partition=1, offset=33)))
    now = before | {side: replace(before[side], groups=(more,))}

    (found,) = drift(plan, now[Cluster.OLD], now[Cluster.NEW], None)

    assert (found.kind, found.reviewed, found.now) == (DriftKind.GROUP_MOVED, "none", "33")


@with_cases("twin", ["position", "twice", "no group"])
def test_a_file_that_contradicts_itself_about_what_is_left_is_refused(twin: str) -> None:
    plan = draft(unset=Unset.LEAVE)
    if twin == "no group":
        wrong = replace(plan, requirements=replace(plan.requirements, old_group=None))
    else:
        again = replace(plan.left_unset[0], partition=0 if twin == "position" else 1)
        wrong = replace(plan, left_unset=(*plan.left_unset, again))

    with pytest.raises(PlanError, match="unset"):
        read_plan(files.dump(wrong).encode(), subject="plan")


@with_cases("reset", [None, *OffsetReset])
@with_cases("of_group", [True, False])
def test_a_comparison_names_an_offset_only_where_it_is_known(reset: OffsetReset | None, of_group: bool) -> None:
    position = Query(
        of=QuerySource(source="etl", isolation=migration().isolation_level, of_group=of_group, auto_offset_reset=reset),
        topic="orders",
        partition=1,
        new_topic="orders",
        offset=None,
        old=LogRange(log_start=0, lso=9, hw=9),
        new=NEW,
    )

    row = resolve(Match(query=position))

    known = {OffsetReset.EARLIEST: 10, OffsetReset.LATEST: 60}.get(reset or OffsetReset.NONE) if of_group else 10
    assert row.new_offset == known
    assert row.exactness is (Exactness.UNKNOWN if known is None else Exactness.CLAIMED)
    assert ("auto.offset.reset" in row.evidence.reason) is of_group


def test_an_unedited_start_depends_on_the_setting() -> None:
    plan = draft(unset=Unset.LEAVE)

    assert plan.prediction.effect == "unknown"
    assert "auto.offset.reset" in plan.prediction.told


@with_cases("reset", [None, "earliest", "latest", "none"])
@with_cases("unset", [None, "leave"])
def test_the_command_and_python_decide_alike(unset: str | None, reset: str | None, tmp_path: Path) -> None:
    made = grouped(*rows({}, UNSET))
    written = {"comparison": made} | {side: snapshot(side, made.partitions) for side in Cluster}
    paths = {name: tmp_path / f"{name}.json" for name in written}
    for name, content in written.items():
        paths[name].write_text(files.dump(content))
    job = "" if reset is None else f", job: {{auto_offset_reset: {reset}}}"
    (tmp_path / "m.yaml").write_text(
        "name: m\nsource: {name: old, properties: {bootstrap.servers: 'a:1'}}\n"
        f"target: {{name: new, properties: {{bootstrap.servers: 'b:1'}}}}\ngroups: [{{name: etl{job}}}]\n"
    )
    compared = ow.load_comparison(*paths.values())
    group = ow.Migration.load(tmp_path / "m.yaml").group("etl")

    ran = call(
        *("draft", "--migration", tmp_path / "m.yaml", "--comparison", paths["comparison"]),
        *("--snapshots", paths[Cluster.OLD], paths[Cluster.NEW], "--target", "consumer-group:etl", "--author", "ada"),
        *(() if unset is None else ("--unset", unset)),
        *("--out", tmp_path / "plan.json", "--json"),
    )

    def of_python() -> ow.Plan:
        given = None if unset is None else Unset(unset)
        return group.draft(ow.targets.ConsumerGroup("etl"), author="ada", comparison=compared, unset=given)

    if unset is None and reset in (None, "none"):
        assert "NO_COMMIT: orders-1" in ran.refused()["problem"]
        with pytest.raises(PlanError, match="NO_COMMIT: orders-1"):
            of_python()
        return
    by_command, by_python = read_plan((tmp_path / "plan.json").read_bytes(), subject="plan"), of_python().document
    assert (by_command.positions, by_command.left_unset) == (by_python.positions, by_python.left_unset)
    begins = {} if unset else {1: 10 if reset == "earliest" else 60}
    assert {one.partition: one.new_offset for one in by_command.positions} == {0: 950} | begins


class TestTheMigrationFile:
    def load(self, tmp_path: Path, groups: str) -> Migration:
        path = tmp_path / "m.yaml"
        servers = '{properties: {bootstrap.servers: "h:%d"}}'
        path.write_text(f"name: m\nsource: {servers % 1}\ntarget: {servers % 2}\ngroups: {groups}\n")
        return load_migration(path)

    def test_an_entry_is_a_name_or_a_name_with_its_job(self, tmp_path: Path) -> None:
        made = self.load(tmp_path, "[a, {name: b, job: {auto_offset_reset: latest, tolerates_replay: true}}]")

        assert made.group_names == ("a", "b")
        assert made.group_job("a") == JobTraits()
        assert made.group_job("b").auto_offset_reset is OffsetReset.LATEST
        assert made.group_job("b").tolerates_replay is True

    @with_cases(
        "groups",
        ["[{name: a, job: {auto_offset_reset: newest}}]", "[{job: {}}]", "[{name: a, reset: latest}]", "[3]"],
    )
    def test_anything_else_is_refused(self, tmp_path: Path, groups: str) -> None:
        with pytest.raises(ConfigError, match="groups"):
            self.load(tmp_path, groups)

    def test_two_entries_for_one_group_must_agree(self, tmp_path: Path) -> None:
        assert self.load(tmp_path, "[a, a]").group_names == ("a",)
        with pytest.raises(ConfigError, match="several that differ for 'a'"):
            self.load(tmp_path, "[a, {name: a, job: {auto_offset_reset: latest}}]")


class TestAPositionsFile:
    """Its system begins by a setting of its own where the file has no position: nobody guesses that either."""

    SHAPES: Final[dict[str, Callable[[Sequence[int]], str]]] = {
        "kafka-consumer-groups-csv": lambda numbers: "".join(f"orders,{number},10\n" for number in numbers),
        "connect-offsets": lambda numbers: json.dumps(
            {
                "offsets": [
                    {
                        "partition": {"kafka_topic": "orders", "kafka_partition": number},
                        "offset": {"kafka_offset": 10},
                    }
                    for number in numbers
                ]
            }
        ),
        "hudi": lambda numbers: ",".join(["orders", *(f"{number}:10" for number in numbers)]),
        "spark-starting-offsets": lambda numbers: json.dumps({"orders": {str(number): 10 for number in numbers}}),
    }

    def draft(
        self, folder: Path, shape: str, numbers: Sequence[int], *, reset: str | None, unset: str | None, target: str
    ) -> tuple[Ran, dict[str, Any]]:
        """Draft from a file with these partitions of a topic of three, each decided, as nothing reads records here."""
        (folder / "filed").write_text(self.SHAPES[shape](numbers))
        for side in Cluster:
            taken = snapshot(side, rows(*({"partition": number, "new": NEW, "old": NEW} for number in range(3))))
            (folder / f"{side}.json").write_text(files.dump(taken))
        job = "" if reset is None else f", job: {{auto_offset_reset: {reset}}}"
        (folder / "m.yaml").write_text(
            "name: m\nsource: {name: old, properties: {bootstrap.servers: 'a:1'}}\n"
            "target: {name: new, properties: {bootstrap.servers: 'b:1'}}\n"
            f"groups: [etl]\npositions: [{{name: filed, file: ./filed, shape: {shape}, belongs_to: old{job}}}]\n"
        )
        of = ("--migration", folder / "m.yaml", "--checkpoint", "filed")
        read = ("--snapshots", folder / "old.json", folder / "new.json")
        compared = call("compare", *of, *read, "--no-content", "--json")
        (folder / "comparison.json").write_text(compared.out)
        out = folder / "plan.json"
        out.unlink(missing_ok=True)
        ran = call(
            *("draft", *of, *read, "--comparison", folder / "comparison.json", "--target", target),
            *(part for number in numbers for part in ("--override", f"orders:{number}=10")),
            *("--reason", "as it was", "--author", "ada", "--out", out, "--json"),
            *(() if unset is None else ("--set", f"unset={unset}")),
        )
        return ran, json.loads(compared.out)

    @with_cases("shape", SHAPES)
    def test_begins_nothing_that_it_lacks_unless_somebody_says_how(self, shape: str, tmp_path: Path) -> None:
        begins = {"earliest": 10, "latest": 60}
        every = [
            *product(
                ((0,), (1, 2), (0, 1, 2)),
                (None, "earliest", "latest", "none"),
                (None, "leave"),
                ("positions-file", "consumer-group:etl"),
            )
        ]
        for numbers, reset, unset, target in Random(shape).sample(every, 14):
            ran, compared = self.draft(tmp_path, shape, numbers, reset=reset, unset=unset, target=target)
            lacking = {0, 1, 2} - {*numbers}
            told = {each["partition"]: each["code"] for each in compared["findings"] if each["severity"] == "blocks"}
            assert {at for at, code in told.items() if code == "NO_COMMIT"} == (set() if reset in begins else lacking)
            assert "NEW_PARTITION" not in {each["code"] for each in compared["findings"]}
            left = lacking if unset else set()
            whole = left and shape == "spark-starting-offsets" and target == "positions-file"
            if (lacking and not unset and reset not in begins) or whole:
                problem = ran.refused()["problem"]
                assert ("a position for" if whole else f"NO_COMMIT: orders-{min(lacking)}") in problem
                continue
            plan = ran.answered()
            assert {each["partition"] for each in plan.get("left_unset", ())} == left
            assert {each["partition"]: int(each["new_offset"]) for each in plan["positions"]} == (
                dict.fromkeys(numbers, 10) | ({} if left or not lacking else dict.fromkeys(lacking, begins[str(reset)]))
            )


def test_a_group_whose_commits_were_read_in_part_is_not_compared(tmp_path: Path) -> None:
    """A commit that was not read is not one that is missing: where the group begins there nobody may decide so."""
    compared = grouped(*rows({}, UNSET)).partitions
    for side in Cluster:
        taken = snapshot(side, compared)
        (group,) = taken.groups
        failed = replace(group, error="the broker did not answer in time for 1 of its partitions")
        (tmp_path / f"{side}.json").write_text(
            files.dump(replace(taken, groups=(failed if side is Cluster.OLD else group,)))
        )
    for reset in (None, "earliest", "latest", "none"):
        job = "" if reset is None else f", job: {{auto_offset_reset: {reset}}}"
        (tmp_path / "m.yaml").write_text(
            "name: m\nsource: {name: old, properties: {bootstrap.servers: 'a:1'}}\n"
            f"target: {{name: new, properties: {{bootstrap.servers: 'b:1'}}}}\ngroups: [{{name: etl{job}}}]\n"
        )
        ran = call(
            *("compare", "--migration", tmp_path / "m.yaml", "--group", "etl", "--no-content", "--json"),
            *("--snapshots", tmp_path / "old.json", tmp_path / "new.json"),
        )

        problem = ran.refused()["problem"]
        assert "it could not be read: the broker did not answer in time for 1 of its partitions" in problem


@with_cases("target", ["etl", "another"])
@with_cases("committed", [(), (1,), (1, 2)])
def test_where_a_group_has_a_commit_on_the_new_cluster_alone_it_begins_there(
    committed: tuple[int, ...], target: str
) -> None:
    """What is left unset begins at that commit, and not where auto.offset.reset says."""
    compared = grouped(*rows({}, UNSET, UNSET))
    new = snapshot(Cluster.NEW, compared.partitions)
    offsets = tuple(GroupOffset(topic="orders", partition=number, offset=40 + number) for number in committed)
    groups = (replace(new.groups[0], name=target, offsets=offsets), *(new.groups if target != "etl" else ()))
    plan = drafted(
        compared,
        Target(kind="consumer-group", group=target),
        new=replace(new, groups=groups),
        with_migration=stated(None),
        unset=Unset.LEAVE,
    )

    told = " ".join(plan.gives_up)
    for number in (1, 2):
        begins = (
            f"orders-{number}, without a commit on the old cluster: {target} has committed {40 + number} on the new"
        )
        assert (begins in told) is (number in committed)
    by_setting = [each for each in plan.gives_up if "auto.offset.reset" in each]
    assert [f"orders-{number}" in " ".join(by_setting) for number in (1, 2)] == [
        number not in committed for number in (1, 2)
    ]
