"""No spelling of a place to write to leaves the write roots, and no receipt or journal leads out of its places."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from offsetwise.apply.run import apply, dry_run
from offsetwise.apply.write_locations import place_to_write
from offsetwise.apply.writing import Context
from offsetwise.config import load_migration
from offsetwise.errors import OffsetwiseError, OutputError, OutsideRootsError, StorageError
from offsetwise.model import Plan
from offsetwise.storage.location import locate_local
from tests.apply.plans import (
    COPY,
    DIGEST,
    IN_PLACE,
    SEEDED,
    STARTING,
    drafted,
    in_place,
    journal,
    recorded,
    seeded,
    spark_checkpoint,
    starting_offsets,
    tree_hash,
)
from tests.apply.worlds import Stage, stage
from tests.commands import call
from tests.gates import FULL, PART
from tests.storage.test_paths import PAYLOADS as READ_PAYLOADS
from tests.storage.test_paths import S3_PAYLOADS, S3_ROOT
from tests.with_cases import with_cases

LONG = "n" * 300
OWN = (
    "{root}",
    "{root}/",
    "{root}/.",
    "{root}/a/../../secret/new",
    "{root}/link/new",
    "{root}/link",
    "{root}/chain/new",
    "{root}/up/new",
    "{root}/up/up/new",
    "{root}/dangling",
    "file:{root}/link/new",
    "file://{root}/chain/new",
    "{root}\u202e/../secret",
    "\u202e{root}/new",
    "\u2066{root}/new",
    "\u200b{root}/new",
    "{root}／..／secret",
    "C:\\{root}",
    "C:/new",
    "c:new",
    "\\\\?\\C:\\new",
    "\\\\.\\PhysicalDrive0",
    "{root}\\..\\secret",
    "{root}/..\\secret",
    "{root}:stream",
    "{root}/new:stream/../../x",
    "NUL",
    "COM1",
    "/dev/null",
    "/dev/full",
    "/proc/self/fd/1",
    "/proc/self/cwd/new",
    "{root}/\0",
    "{root}\0/new",
    f"/{LONG}",
    f"{{root}}-{LONG}",
    f"{{root}}/../{LONG}",
    "/" + "a/" * 3000,
    "../" * 40 + "etc/new",
    "a" * 5000,
)
OUTSIDE = sorted({*READ_PAYLOADS, *OWN})
INSIDE = (
    "{root}/new",
    "{root}/a/b/new",
    "file:{root}/new",
    "{root}/inner/new",
    "{root}/\u202egnp.new",
    "{root}/-rf",
    f"{{root}}/{LONG}",
    "{root}/" + "d/" * 3000 + "new",
)
WRITERS = {
    "copy": (spark_checkpoint, COPY),
    "startingOffsets": (starting_offsets, STARTING),
    "seeded": (seeded, SEEDED),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A write root with links in it, beside what must stay as it is; nothing of it is ever changed."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("data/ckpt/a", "data/ckpt-evil/a", "secret", "cwd"):
        (folder / name).mkdir(parents=True)
        (folder / name / "mine").write_text("mine")
    root = folder / "data" / "ckpt"
    lead_out(root, folder / "secret")
    (root / "inner").symlink_to(root / "a")
    return folder


def lead_out(root: Path, elsewhere: Path) -> None:
    """Put links into a write root that lead out of it."""
    (root / "link").symlink_to(elsewhere)
    (root / "chain").symlink_to(root / "link")
    (root / "up").symlink_to("..")
    (root / "dangling").symlink_to(elsewhere / "not-there")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return drafted(str(recorded("spark-3.5.1-planned", tmp_path_factory.mktemp("from"))))


def root_of(site: Path) -> Path:
    return site / "data" / "ckpt"


def context(site: Path, output: str, kept: Any = None) -> Context:
    return Context(digest=DIGEST, output=output, write_roots=(str(root_of(site)),), read_roots=None, journal=kept)


def refused_in_words(error: OffsetwiseError) -> None:
    assert "expected" in error.problem
    assert "Nothing was written" in error.problem
    assert "Nothing was read" not in error.problem
    assert error.fix
    assert "checkpoint_roots" not in error.fix
    assert len(error.problem) < 2_000, "however long the name"


def test_there_are_enough_payloads(figure: Callable[[str], None]) -> None:
    tried = (len(OUTSIDE) + len(S3_PAYLOADS)) * len(WRITERS)
    figure(f"{len(OUTSIDE) + len(S3_PAYLOADS)} spellings of a path to write to, {tried} tries, 0 outside the roots")
    assert len(OUTSIDE) >= 200


@with_cases("writer", WRITERS)
def test_no_output_outside_the_write_roots_is_written_however_it_is_spelled(
    writer: str, site: Path, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site / "cwd")
    module, target = WRITERS[writer]
    before = tree_hash(site)
    for payload in OUTSIDE:
        spelled = payload.replace("{root}", str(root_of(site))).replace("{{", "{").replace("}}", "}")
        for act in (module.prepare, module.write):
            with journal(tmp_path) as kept, pytest.raises((OutsideRootsError, OutputError)) as caught:
                act(plan, target, context(site, spelled, kept))
            refused_in_words(caught.value)
            assert kept.steps == (), f"{spelled!r} was begun"
    assert tree_hash(site) == before


@with_cases("payload", S3_PAYLOADS, ids=ascii)
def test_no_bucket_outside_the_write_roots_is_a_place(payload: str) -> None:
    with pytest.raises(OutsideRootsError) as caught:
        place_to_write(payload, (S3_ROOT,))
    refused_in_words(caught.value)


@with_cases("payload", INSIDE, ids=lambda text: ascii(text)[:40])
def test_a_place_inside_is_written_there_or_refused_in_words(payload: str, plan: Plan, tmp_path: Path) -> None:
    root = tmp_path / "data" / "ckpt"
    (root / "a").mkdir(parents=True)
    (root / "inner").symlink_to(root / "a")
    place = payload.replace("{root}", str(root))
    beside = tmp_path / "beside"
    beside.mkdir()
    asked = Context(digest=DIGEST, output=place, write_roots=(str(root),), read_roots=None)

    with journal(tmp_path) as kept:
        try:
            step = starting_offsets.write(plan, STARTING, replace(asked, journal=kept))
        except OutputError as error:
            assert "File name too long" in error.problem  # noqa: PT017 - one of two outcomes
        else:
            assert locate_local(step.place).inside(locate_local(str(root)))
            assert Path(step.place).is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"data", "beside", "receipt.json.journal"}
    assert list(beside.iterdir()) == []


def applied(staged: Stage) -> object:
    return apply(staged.order(), staged.receipt, staged.tools())


def tried(staged: Stage) -> object:
    return dry_run(staged.order(), staged.tools(), staged.receipt)


@with_cases("execute", [False, True], ids=["dry run", "execute"])
def test_the_whole_of_apply_refuses_them_before_any_target_begins(
    *, execute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = stage(tmp_path)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    root = tmp_path / "out"
    root.mkdir()
    lead_out(root, tmp_path / "cwd")
    there = sorted(root.iterdir())
    staged.migration = staged.migration.model_copy(update={"write_roots": (str(root),)})
    standing, group = tree_hash(staged.source), staged.groups.at()
    for payload in OUTSIDE[::PART]:
        staged.output = payload.replace("{root}", str(root))
        with pytest.raises((StorageError, OutputError)):
            (applied if execute else tried)(staged)
    assert (tree_hash(staged.source), staged.groups.at()) == (standing, group)
    assert not staged.groups.commits
    assert sorted(root.iterdir()) == there
    assert {path.name for path in tmp_path.iterdir()} <= {"source", "cwd", "out", "receipt.json.journal"}
    assert list((tmp_path / "cwd").iterdir()) == []


def test_the_checkpoint_of_a_plan_is_edited_inside_the_write_roots_only(
    site: Path, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site / "cwd")
    before = tree_hash(site)
    required = plan.requirements.checkpoint
    assert required is not None
    for payload in OUTSIDE:
        uri = payload.replace("{root}", str(root_of(site)))
        moved = replace(plan, requirements=replace(plan.requirements, checkpoint=replace(required, uri=uri)))
        with journal(tmp_path) as kept, pytest.raises(OffsetwiseError) as caught:
            in_place.write(moved, IN_PLACE, context(site, "", kept))
        assert caught.value.fix
        assert kept.steps == ()
    assert tree_hash(site) == before


@with_cases("payload", [*OUTSIDE[:: 1 if FULL else 10], *S3_PAYLOADS[::5]], ids=lambda t: ascii(t)[:60])
def test_a_write_root_of_any_spelling_lets_nothing_out_that_it_does_not_hold(payload: str, tmp_path: Path) -> None:
    root = tmp_path / "data" / "ckpt"
    (root / "a").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    spelled = payload.replace("{root}", str(root))
    body = {
        "name": "m",
        "source": {"properties": {"bootstrap.servers": "old.invalid:1"}},
        "target": {"properties": {"bootstrap.servers": "new.invalid:1"}},
        "write_roots": [spelled],
    }
    path = tmp_path / "m.yaml"
    path.write_text(yaml.safe_dump(body, allow_unicode=True))
    place = tmp_path / "elsewhere" / "new"
    try:
        roots = load_migration(path).write_roots
        found = place_to_write(str(place), roots)
    except OffsetwiseError as error:
        assert error.fix  # noqa: PT017 - most of them
    else:
        assert any(locate_local(str(place)).inside(locate_local(one.removeprefix("file:"))) for one in roots)
        assert found.path == str(place)


@with_cases(
    "spelling",
    [
        "{source}/r",
        "{source}/../source/r",
        "{link}/r",
        "{out}/r",
        "{out}/../copy/r",
        "{out}/a/b/r",
        "{gone}/r",
        "{long}",
    ],
)
def test_a_receipt_stands_outside_of_what_is_read_and_written_however_it_is_spelled(
    spelling: str, tmp_path: Path
) -> None:
    staged = stage(tmp_path)
    (tmp_path / "link").symlink_to(staged.source)
    out = Path(str(staged.output))
    receipt = spelling.format(
        source=staged.source, link=tmp_path / "link", out=out, gone=tmp_path / "gone", long=tmp_path / LONG
    )
    before = tree_hash(tmp_path)

    with pytest.raises(OffsetwiseError) as caught:
        apply(staged.order(), receipt, staged.tools())
    assert caught.value.fix
    assert tree_hash(tmp_path) == before
    assert staged.groups.commits == []


@with_cases("name", ["receipt.json", "receipt.json.journal"])
def test_a_link_in_the_place_of_a_receipt_or_journal_is_not_written_through(name: str, tmp_path: Path) -> None:
    staged = stage(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    (tmp_path / name).symlink_to(victim)

    with pytest.raises(OffsetwiseError) as caught:
        apply(staged.order(), staged.receipt, staged.tools())
    assert caught.value.fix
    assert victim.read_text() == "mine\n"
    assert staged.groups.commits == []


def test_a_journal_that_leads_to_no_file_yet_makes_none_there(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    (tmp_path / "receipt.json.journal").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OffsetwiseError) as caught:
        apply(staged.order(), staged.receipt, staged.tools())
    assert caught.value.fix
    assert not (tmp_path / "elsewhere").exists()


@with_cases(
    "name", [LONG, "gone/x", "\u202ex\x1b[31m/y", "file/x"], ids=["too long", "no folder", "escapes", "below a file"]
)
@with_cases("command", ["keygen", "sign", "draft"])
def test_an_output_that_cannot_be_written_is_told_and_leaves_nothing(command: str, name: str, tmp_path: Path) -> None:
    from tests.approval.signed import FILE  # noqa: PLC0415 - keys are made when it is imported
    from tests.plan.test_commands import RECORDED  # noqa: PLC0415 - as above

    (tmp_path / "file").write_text("mine")
    (tmp_path / "plan.json").write_bytes(FILE)
    assert call("keygen", "--out", tmp_path / "rita", "--as", "rita").code == 0
    before = tree_hash(tmp_path)
    out = ("--out", tmp_path / name, "--json")
    given: dict[str, tuple[str | Path, ...]] = {
        "keygen": ("keygen", "--as", "rita", *out),
        "sign": ("sign", tmp_path / "plan.json", "--key", tmp_path / "rita", "--as", "rita", *out),
        "draft": ("draft", *RECORDED, "--target", "spark-checkpoint", "--author", "ada", *out),
    }

    ran = call(*given[command])

    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    error = json.loads(ran.out)
    assert error["error"] == "FileError"
    assert "expected to write a new file" in error["problem"]
    assert tree_hash(tmp_path) == before
