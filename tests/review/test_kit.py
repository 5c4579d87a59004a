"""The archive of an approved plan: the same bytes each time, and a README whose commands are run as they stand."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
import yaml

import offsetwise
from offsetwise import files, workflow
from offsetwise.api import live
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.run import Tools
from offsetwise.approval import Verdict, write_keys
from offsetwise.approval.demo import demo_key
from offsetwise.bundled import Bundled
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import PlanError
from offsetwise.model import Cluster, CutoverRequirement, Override, Plan, Target
from offsetwise.plan.request import DraftRequest
from offsetwise.position import offset_of
from offsetwise.review.access import Role
from offsetwise.review.answers import Approved, SavedVersion, Submitted
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.review.exports import Destination, Export, destination_of, groups_command
from offsetwise.review.people import recorded
from offsetwise.store.store import open_store
from tests.apply.plans import tree_hash
from tests.apply.worlds import Groups, World, writers_of
from tests.approval.signed import PLAN
from tests.commands import call
from tests.console.boards import now
from tests.plugins.flink.files import positions
from tests.review.people import ADA, ISSUER, RITA, Scene
from tests.subjects import checkpoint
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample_flink"
JOB = "order-counts"
HERE = Destination(write_root="applied", servers="new.example:9092")
SAVEPOINT = destination_of(workflow.sample(Bundled.FLINK), recorded=True)


def unpacked(kit: Export) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(kit.content)) as found:
        return {name: found.read(name) for name in found.namelist()}


def commands(readme: str) -> list[str]:
    """Return the commands of a README, in their order."""
    return [found.strip() for found in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)]


def decided_sample(author: str) -> Plan:
    """Draft a plan of the sample whose positions a person decided, so that no record has to be read to apply it."""
    seen = workflow.with_sample_snapshots(workflow.sample_comparison(JOB, Bundled.FLINK), Bundled.FLINK)
    reason = "Counted by hand."
    made = workflow.draft(
        workflow.sample(Bundled.FLINK),
        checkpoint(JOB),
        DraftRequest(
            targets=(Target(kind="flink-savepoint"),),
            author=author,
            overrides=tuple(
                (row.topic_partition, Override(offset=offset_of(row.new_offset or 0), reason=reason, by=author))
                for row in seen.partitions
            ),
        ),
        drafted_at="2026-03-01T09:00:00Z",
        comparison=seen,
    )
    return replace(made, positions=tuple(replace(one, proof=None, end_proof=None) for one in made.positions))


def approved_sample(folder: Path, where: Destination = SAVEPOINT) -> Export:
    """Let the people of the demonstration submit and approve such a plan; return its archive."""
    with open_store(f"sqlite:///{folder / 'demo.sqlite'}") as store:
        board, people = demo_board(store.reviews), demo_people(now())
        author, reviewer = people[Role.AUTHOR], people[Role.REVIEWER]
        saved = board.save_draft(author, files.dump(decided_sample(recorded(author))).encode())
        assert isinstance(saved, SavedVersion), saved
        assert isinstance(board.submit(author, saved.plan, saved.digest), Submitted)
        sheet = board.sheet(reviewer, saved.plan)
        assert sheet is not None
        answer = board.decide(
            reviewer,
            saved.plan,
            saved.digest,
            Verdict.APPROVED,
            typed=sheet.facts.confirm,
            in_spite_of=dict.fromkeys(sheet.facts.unmet or (), "It was stopped a minute later."),
        )
        assert isinstance(answer, Approved), answer
        return board.kit(author, saved.plan, where)


def test_every_command_of_the_readme_is_run_as_it_stands_on_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = unpacked(approved_sample(tmp_path))
    desk = tmp_path / "desk"
    shutil.copytree(SAMPLE / "checkpoints", desk / "checkpoints")
    (desk / "applied").mkdir()
    for name, content in parts.items():
        (desk / name).write_bytes(content)
    # What the README says is the reader's own: the migration file, with the keys that it believes.
    write_keys(tmp_path / "demo.key", demo_key())
    body = yaml.safe_load((SAMPLE / "migration.yaml").read_text())
    key = demo_key().public
    body["approval"] = {"trusted_keys": [{"file": "../demo.key.pub", "issuer": key.issuer, "subject": key.subject}]}
    (desk / "migration.yaml").write_text(yaml.safe_dump(body))
    monkeypatch.chdir(desk)
    snapshots = workflow.load_snapshots(SAMPLE / "old.json", SAMPLE / "new.json")
    world = World(
        live=LiveReaders(migration=load_migration(Path("migration.yaml")), progress=lambda *_: None),
        clusters=dict(zip((Cluster.OLD, Cluster.NEW), snapshots, strict=True)),
        groups=Groups(),
    )
    monkeypatch.setattr(live, "tools_for", lambda *_: Tools(readers=world, writers=writers_of(Groups())))
    before = tree_hash(desk / "checkpoints")

    check, *told = commands(parts["README.md"].decode())
    checked = subprocess.run(["sh", "-c", check], cwd=desk, check=True, capture_output=True, text=True)
    assert checked.stdout.count(": OK") == len(parts) - 1

    def run(line: str) -> str:
        command, *arguments = shlex.split(line)
        assert command == "offsetwise"
        ran = call(*arguments, width=200)
        assert ran.code == 0, f"{line}\n{ran.err}"
        return ran.out

    dry, execute, verify, rollback = told
    assert "950" in run(dry)
    assert not (desk / "applied" / JOB).exists(), "a dry run writes nothing"
    run(execute)
    assert positions(read_checkpoint(str(desk / "applied" / JOB)))["orders", 0] == 950
    run(verify)
    run(rollback)
    assert not (desk / "applied" / JOB).exists()
    assert tree_hash(desk / "checkpoints") == before


def test_the_command_line_packs_the_bytes_that_the_console_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SAMPLE / "migration.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    kit = approved_sample(tmp_path, destination_of(load_migration(Path("migration.yaml")), recorded=False))
    for name, content in unpacked(kit).items():
        Path(name).write_bytes(content)
    write_keys(Path("demo.key"), demo_key())
    plan = f"plan-{kit.digest[:8]}"
    approval = ("--approval", f"{plan}.approval-1.json")
    asked = ("export", f"{plan}.json", "--as", "zip", "--migration", "migration.yaml", "--out", "kit.zip")

    for options in (approval, ("--trust", "demo.key.pub")):
        assert call(*asked, *options).code == 4, "nobody whom the migration file or the options trust approved it"
        assert not Path("kit.zip").exists()
    packed = call(*asked, *approval, "--trust", "demo.key.pub")
    assert packed.code == 0, packed.err
    assert Path("kit.zip").read_bytes() == kit.content
    assert call(*asked, *approval, "--trust", "demo.key.pub").code == 1, "it is not written over"


@with_cases(
    "options",
    [
        ("--as", "zip"),
        ("--as", "starting-offsets", "--out", "x.zip"),
        ("--as", "consumer-groups-csv", "--trust", "a.pub"),
    ],
    ids=" ".join,
)
def test_options_of_the_archive_and_of_other_forms_are_not_mixed(tmp_path: Path, options: tuple[str, ...]) -> None:
    refused = call("export", tmp_path / "plan.json", *options, "--json").refused()
    assert refused["problem"].startswith("export: expected --out with --as zip")


def test_the_archive_is_the_same_bytes_whenever_it_is_made(scene: Scene) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    kits = {scene.board.kit(somebody, saved.plan, HERE).content for somebody in (ADA, RITA, ADA)}
    (content,) = kits
    with zipfile.ZipFile(BytesIO(content)) as found:
        assert {(each.date_time, each.compress_type) for each in found.infolist()} == {((1980, 1, 1, 0, 0, 0), 0)}
        assert found.namelist() == [
            "README.md",
            f"plan-{saved.digest[:8]}.json",
            f"plan-{saved.digest[:8]}.approval-1.json",
        ]


def test_the_readme_says_who_approved_what_is_written_and_where(scene: Scene) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    kit = scene.board.kit(ADA, saved.plan, HERE)
    text = unpacked(kit)["README.md"].decode()
    assert text.startswith(f"# Plan {saved.digest[:8]} · orders\n")
    assert saved.digest in text
    assert f"- rita ({ISSUER}), " in text
    assert "| orders-0 | 1,050 | 950 | -100 |" in text
    assert all("--output applied/orders" in line for line in commands(text)[1:3])


def test_where_the_console_does_not_know_the_write_root_a_word_stands_for_it(scene: Scene) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    kit = scene.board.kit(ADA, saved.plan, Destination())
    text = unpacked(kit)["README.md"].decode()
    assert "--output DIR " in text
    assert "`DIR` is a folder that does not exist yet" in text


def test_what_nobody_approved_is_not_packed(scene: Scene) -> None:
    saved = scene.submitted()
    with pytest.raises(PlanError, match="expected an approved one, found one that is marked DRAFT"):
        scene.board.kit(ADA, saved.plan, HERE)


def test_commands_of_kafkas_tool_have_host_and_group_filled_in() -> None:
    lines = groups_command(("orders etl",), "plan.groups.csv", HERE).splitlines()
    assert lines[0] == (
        "kafka-consumer-groups --bootstrap-server new.example:9092 --group 'orders etl' --reset-offsets "
        "--from-file plan.groups.csv --dry-run"
    )


def test_the_readme_says_what_the_plan_requires_of_the_old_logs_and_how_to_watch_them(scene: Scene) -> None:
    required = CutoverRequirement(states=("frozen", "copied"), still_for_ms=60_000)
    saved = scene.submitted(requirements=replace(PLAN.requirements, cutover=required))
    scene.approve(RITA, saved)
    text = unpacked(scene.board.kit(ADA, saved.plan, HERE))["README.md"].decode()
    assert (
        "The plan requires that the logs of its topics on the old cluster have stood still for 1 min, and every record "
        "of them is on the new cluster. `apply` watches them for that time, and refuses else."
    ) in text
    name = f"plan-{saved.digest[:8]}.json"
    assert commands(text)[-1] == f"offsetwise cutover --migration migration.yaml --plan {name} --watch"
