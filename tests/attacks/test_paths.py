"""Rows B1 to B6, B15, B19 and E6: names that lead elsewhere, and files exchanged while they are read or written."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from offsetwise import approval, files
from offsetwise.apply.disk import Disk
from offsetwise.apply.run import apply
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import OffsetwiseError, OutsideRootsError, PlanError, StorageError
from offsetwise.model import Plan, Target
from offsetwise.plan.reading import read_plan
from offsetwise.regular_files import Folders, below
from offsetwise.storage.folders import open_tree
from tests.apply.faults import UnsyncedDisk
from tests.apply.plans import COPY, IN_PLACE, SEEDED, STARTING, WRITERS, context, drafted, journal, recorded, tree_hash
from tests.apply.worlds import Stage, stage
from tests.approval.signed import forged
from tests.attacks.rows import Verdict, attack
from tests.commands import call
from tests.plugins.flink.files import Op, absolute, blob, metadata, operator_handle, reader_element, relative, subtask
from tests.plugins.spark.folders import checkpoint, orders, write
from tests.test_cli_plans import Desk
from tests.with_cases import with_cases

_T = TypeVar("_T")
LIB: Final = Path(__file__).parents[2] / "lib" / "offsetwise"
SAMPLE: Final = "spark-3.5.1-planned"
UP: Final = "../../../../x"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def named(plan: Plan, source: str) -> Plan:
    """Return a plan with another name of its sources."""
    return replace(plan, positions=tuple(replace(each, source=source) for each in plan.positions))


# ------------------------------------------------------------------------------------------------- names that lead out


@attack(
    "B1",
    "an approved plan whose `source` is a path (`../../x`, `/etc`, empty, `a/b`, NUL), target `seeded-checkpoint`, "
    "through `apply --execute`; a file of its checkpoint that leads out",
    before=Verdict.BROKEN,
    without="`plan.reading._paths`; and `regular_files.below` in the writer",
)
class TestNoFieldOfAPlanIsAPath:
    def test_apply_refuses_an_approved_plan_whose_source_leads_out(self, desk: Desk) -> None:
        made = named(replace(desk.staged.plan, targets=(SEEDED,)), UP)
        data = files.dump(made).encode()
        desk.plan.write_bytes(data)
        key = approval.keygen(subject="rita")
        approval.write_keys(desk.folder / "rita", key)
        signed = forged(key, lambda body: body.update(plan_digest=sha256(data).hexdigest()), at=datetime.now(UTC))
        (desk.folder / "rita.approval.json").write_bytes(signed.content)
        before = desk.world()

        ran = desk.apply(
            *("--approval", desk.folder / "rita.approval.json", "--trust", desk.folder / "rita.pub", "--execute"),
            approved=False,
        )

        assert ran.code == 1, ran.err
        assert f"its source '{UP}' is no name that spark gives" in ran.err
        assert desk.world() == before

    def test_the_writer_refuses_it_as_well(self, tmp_path: Path) -> None:
        plan = named(drafted(str(recorded(SAMPLE, tmp_path))), UP)
        before = tree_hash(tmp_path)
        with journal(tmp_path) as kept, pytest.raises(OutsideRootsError, match="could lead out"):
            WRITERS[SEEDED.kind].write(plan, SEEDED, replace(context(tmp_path), journal=kept))
        shutil.rmtree(tmp_path / "out")
        (tmp_path / "receipt.json.journal").unlink()
        assert tree_hash(tmp_path) == before

    @with_cases("source", [UP, "..", ".", "", "/etc", "a/b", "a\\b", "a\0", "a\n", "a.b", "é", "a" * 256], ids=ascii)
    def test_a_name_that_spark_does_not_give_is_refused(self, source: str, tmp_path: Path) -> None:
        plan = named(drafted(str(recorded(SAMPLE, tmp_path))), source)
        with pytest.raises(PlanError, match="is no name that spark gives"):
            read_plan(files.dump(plan).encode(), subject="plan.json")

    @with_cases("source", [UP, "..", ".", "", "/etc", "a/b", "a\\b", "a\0", "a\x85", "a" * 256], ids=ascii)
    def test_a_name_that_flink_does_not_give_is_refused(self, source: str, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match="is no name that flink gives"):
            read_plan(files.dump(self._of_flink(source, tmp_path)).encode(), subject="plan.json")

    @with_cases("source", ["0a448493b4782967b150582570326227", "Source: orders v1.2", "bestellungen-ä"])
    def test_an_operators_id_or_uid_is_taken(self, source: str, tmp_path: Path) -> None:
        plan = self._of_flink(source, tmp_path)
        assert read_plan(files.dump(plan).encode(), subject="plan.json") == plan

    @staticmethod
    def _of_flink(source: str, folder: Path) -> Plan:
        plan = named(drafted(str(recorded(SAMPLE, folder))), source)
        required = plan.requirements.checkpoint
        assert required is not None
        return replace(plan, requirements=replace(plan.requirements, checkpoint=replace(required, engine="flink")))

    @with_cases("path", ["../x", "/etc/passwd", "offsets//7", "offsets/../../x", "", "a\0"], ids=ascii)
    def test_a_file_of_the_checkpoint_that_leads_out_is_refused(self, path: str, tmp_path: Path) -> None:
        plan = drafted(str(recorded(SAMPLE, tmp_path)))
        required = plan.requirements.checkpoint
        assert required is not None
        moved = replace(required, files=((path, "0" * 64),))
        made = replace(plan, requirements=replace(plan.requirements, checkpoint=moved))
        with pytest.raises(PlanError, match="is no path inside the checkpoint"):
            read_plan(files.dump(made).encode(), subject="plan.json")

    @with_cases("path", ["..", "../x", "a/../../x", "/x", "a//b", "", "a/", "./a", "a\0b"], ids=ascii)
    def test_nothing_below_a_root_is_reached_by_such_a_name(self, path: str, tmp_path: Path) -> None:
        with pytest.raises(OutsideRootsError):
            below(str(tmp_path), path)
        if path:
            with pytest.raises(OutsideRootsError):
                open_tree(str(tmp_path)).entries(path)
        assert isinstance(open_tree(str(tmp_path)).read_many({path: None})[path], StorageError)


@attack(
    "B2",
    "the same `source` with the targets `spark-checkpoint` and `spark-checkpoint-in-place`, the reading of the plan "
    "left out",
    before=Verdict.HELD,
    without="`regular_files.below` in `Tree` (another sentence: the reader's own comparison then refuses it)",
)
@with_cases("target", [COPY, IN_PLACE], ids=str)
def test_a_copy_holds_the_sources_of_a_plan_against_the_reader(target: Target, tmp_path: Path) -> None:
    plan = named(drafted(str(recorded(SAMPLE, tmp_path))), UP)
    before = tree_hash(tmp_path)

    with journal(tmp_path) as kept, pytest.raises(OutsideRootsError, match="could lead out"):
        WRITERS[target.kind].write(plan, target, replace(context(tmp_path), journal=kept))

    (tmp_path / "receipt.json.journal").unlink()
    assert tree_hash(tmp_path) == before


@attack(
    "B3",
    "links in a checkpoint (its folder, `offsets`, one file to `/etc/passwd`, to themselves), a pipe, `/dev/zero`; "
    "roots by prefix, `..`, `file://host`, chains, `http:`, credentials in `s3:`",
    before=Verdict.HELD,
    without="the comparison with the roots in `Tree._path`, and `O_NOFOLLOW`",
)
class TestLinksInACheckpoint:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        write(checkpoint({0: orders(7), 1: orders(8)}, (0, 1)), tmp_path / "root" / "a")
        write(checkpoint({0: orders(666), 1: orders(666)}, (0, 1)), tmp_path / "outside")
        return tmp_path / "root"

    @with_cases("name", ["", "offsets", "commits", "sources", "sources/0"])
    def test_no_folder_is_read_through_a_link_that_leads_out(self, name: str, root: Path) -> None:
        inside, outside = root / "a" / name, root.parent / "outside" / name
        shutil.rmtree(inside)
        inside.symlink_to(outside)
        with suppress(OutsideRootsError):
            read = read_checkpoint(str(root / "a"), roots=[str(root)])
            assert 666 not in {at.offset for source in read.sources for at in source.positions}

    @with_cases("to", ["/etc/passwd", "/dev/zero", "../../../outside/offsets/1", "1", "pipe"])
    def test_no_file_is_read_that_is_no_file_of_the_checkpoint(self, to: str, root: Path) -> None:
        one = root / "a" / "offsets" / "1"
        one.unlink()
        if to == "pipe":
            os.mkfifo(one)
        else:
            one.symlink_to(to)

        read = read_checkpoint(str(root / "a"), roots=[str(root)])

        assert read.problems
        assert {at.offset for source in read.sources for at in source.positions} <= {7, 20}

    @with_cases(
        "uri",
        [
            "{root}-evil/a", "{root}/../outside", "file://host{root}/a", "simplecache::file://{root}/a",
            "http://127.0.0.1/a", "s3://key:secret@bucket/a", "{root}/a/%2e%2e/%2e%2e", "{root}/./../outside", "a\0",
        ],
    )  # fmt: skip
    def test_no_spelling_leads_out_of_the_roots(self, uri: str, root: Path) -> None:
        shutil.copytree(root, f"{root}-evil")
        with pytest.raises(OutsideRootsError):
            read_checkpoint(uri.format(root=root), roots=[str(root)])


@attack(
    "B6",
    "a savepoint's `_metadata` that names `../x`, `/etc/passwd`, `file:`, `s3:`, `http:`, `hdfs:` paths",
    before=Verdict.HELD,
    without="`flink_opened._is_plain`, and the roots that `elsewhere` opens with",
)
class TestPlacesThatASavepointNames:
    DATA, PLACES = blob({"SourceReaderState": [reader_element("orders", 0, 666)]})

    def _read(self, handle: bytes, folder: Path) -> list[str]:
        managed = operator_handle(self.PLACES, handle)
        write({"_metadata": metadata(Op(subtasks=[subtask(0, managed)]))}, folder)
        read = read_checkpoint(str(folder))
        assert not [at for source in read.sources for at in source.positions], "nothing of it was believed"
        return [problem.message for problem in read.problems]

    @with_cases("name", ["../state", "/etc/passwd", "a/b", "", "..", ".", "a\0b"], ids=ascii)
    def test_a_relative_name_is_one_in_its_folder(self, name: str, tmp_path: Path) -> None:
        write({"state": self.DATA, "savepoint-1/a/b": self.DATA}, tmp_path)
        assert (
            "is no name of a file in its folder"
            in self._read(relative(name, len(self.DATA)), tmp_path / "savepoint-1")[0]
        )

    @with_cases(
        "place", ["{outside}", "file:{outside}", "file://{outside}", "file:///etc/passwd", "http://127.0.0.1:1/x",
                  "hdfs://127.0.0.1:1/x", "s3://bucket/x", "file:{above}/../../outside/state", "{above}/link/state"],
    )  # fmt: skip
    def test_an_absolute_place_is_read_below_the_folder_above_only(self, place: str, tmp_path: Path) -> None:
        write({"outside/state": self.DATA}, tmp_path)
        above = tmp_path / "job" / "savepoints"
        above.mkdir(parents=True)
        (above / "link").symlink_to(tmp_path / "outside")
        path = place.format(outside=tmp_path / "outside" / "state", above=above)
        told = self._read(absolute(path, len(self.DATA)), above / "savepoint-1")
        assert "outside of them" in told[0] or "Nothing was read" in told[0] or "out of them" in told[0]


# --------------------------------------------------------------------------------------------- exchanged while reading


class Exchange:
    """Exchanges something for a link right before the system opens it by that name, once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path, to: Path) -> None:
        self._open, self._path, self._to = os.open, path, to
        self.done = False
        monkeypatch.setattr(os, "open", self.opened)

    def opened(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not self.done and os.path.basename(os.fspath(path)) == self._path.name:
            self.done = True
            self._path.rename(self._path.with_name(f"{self._path.name}.aside"))
            self._path.symlink_to(self._to)
        return self._open(path, flags, mode, dir_fd=dir_fd)


@attack(
    "B4",
    "a file, `offsets`, or the checkpoint's folder exchanged for a link between the look at it and the opening",
    before=Verdict.WEAK,
    without="`O_NOFOLLOW` in `regular_files`",
    left="Spark's own state reader opens files by name: `compare` with state, roots writable for others",
)
@with_cases("name", ["offsets/1", "offsets", ""])
def test_what_is_exchanged_between_look_and_opening_is_not_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    write(checkpoint({0: orders(7), 1: orders(8)}, (0, 1)), root / "a")
    write(checkpoint({0: orders(666), 1: orders(666)}, (0, 1)), tmp_path / "outside")
    tree = open_tree(str(root / "a"), roots=[str(root)])
    exchange = Exchange(monkeypatch, root / "a" / name, tmp_path / "outside" / name)

    found = tree.read_many({"offsets/1": None})["offsets/1"]

    assert exchange.done
    assert isinstance(found, StorageError), "nothing outside of the roots is read"
    with suppress(StorageError):
        assert [entry.name for entry in tree.entries("offsets")] in (["0", "1"], ["0", "1", "1.aside"])


# --------------------------------------------------------------------------------------------- exchanged while writing


class Moving(UnsyncedDisk):
    """Exchanges a folder for a link to a twin of it right before one call, and remembers what the twin held then."""

    def __init__(self, folder: Path, outside: Path, at: int) -> None:
        self.calls = 0
        self.then: str | None = None
        self._folder, self._outside, self._at = folder, outside, at

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
        self.calls += 1
        if self.then is None and self.calls >= self._at > 0 and self._folder.is_dir():
            shutil.copytree(self._folder, self._outside)
            self._folder.rename(self._folder.with_name("aside"))
            self._folder.symlink_to(self._outside)
            self.then = tree_hash(self._outside)
        return super().call(name, path, action)


def at_work(folder: Path, target: Target) -> tuple[Stage, Path]:
    """Return a plan, and the folder that somebody exchanges while it is applied."""
    staged = stage(folder / "roots", target, sample=SAMPLE)
    if target.kind is IN_PLACE.kind:
        return staged, staged.source / "offsets"
    out = staged.folder / "out"
    out.mkdir()
    return staged, out


@attack(
    "B5",
    "the folder that is written to exchanged for a link to a twin of it, right before each single call to the disk "
    "of `apply` (copy, in place, seeded, starting offsets)",
    before=Verdict.WEAK,
    without="the walk without links in `Disk._do`",
)
@with_cases("target", [COPY, IN_PLACE, SEEDED, STARTING], ids=str)
def test_no_call_of_apply_writes_through_a_folder_that_was_exchanged(target: Target, tmp_path: Path) -> None:
    (tmp_path / "count" / "roots").mkdir(parents=True)
    staged, _ = at_work(tmp_path / "count", target)
    counting = Moving(tmp_path / "none", tmp_path / "none", 0)
    apply(staged.order(), staged.receipt, staged.tools(counting))

    refused = 0
    for at in range(1, counting.calls + 1):
        home = tmp_path / str(at)
        (home / "roots").mkdir(parents=True)
        staged, folder = at_work(home, target)
        disk = Moving(folder, home / "outside", at)
        try:
            apply(staged.order(), staged.receipt, staged.tools(disk))
        except OffsetwiseError:
            refused += 1
        assert disk.then is not None
        assert tree_hash(home / "outside") == disk.then, f"before call {at}: written outside of the roots"
        shutil.rmtree(home)
    assert refused > 3


def test_what_is_linked_into_a_copy_is_a_file(tmp_path: Path) -> None:
    """Exchanged for a link after the folder was listed, it would be one in the copy as well."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "1.delta").symlink_to(tmp_path / "secret")
    for act in (Disk().link, Disk().copy):
        with pytest.raises(OSError, match=r"link|else than a regular file"):
            act(str(tmp_path / "1.delta"), str(tmp_path / "copy"))
        assert not os.path.lexists(tmp_path / "copy")


def test_many_folders_are_open_for_a_while_only(tmp_path: Path) -> None:
    for number in range(200):
        write({"a": b"a"}, tmp_path / str(number))
    folders, before = Folders(), len(os.listdir("/dev/fd"))
    for number in range(200):
        os.close(folders.open_file(str(tmp_path / str(number) / "a")))
    assert len(os.listdir("/dev/fd")) <= before + 64
    folders.forget()
    assert len(os.listdir("/dev/fd")) == before


# -------------------------------------------------------------------------------------------------- pipes and devices


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    """Yield a pipe. Whoever waits for it is let go after some seconds with nothing, so that the test fails."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    ended = threading.Event()

    def let_go() -> None:
        while not ended.wait(5):
            with suppress(OSError):
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))

    thread = threading.Thread(target=let_go)
    thread.start()
    yield path
    ended.set()
    thread.join()


@attack(
    "B15",
    "a pipe, `/dev/zero` or a folder as plan, approval, key, receipt, journal, snapshot, comparison, bundle, "
    "migration file, secret",
    before=Verdict.WEAK,
    without="`O_NONBLOCK` and the look at what was opened in `regular_files.open_named`",
)
class TestPipes:
    @with_cases("to", ["pipe", "/dev/zero"])
    @with_cases("what", ["plan", "approval", "trust", "migration", "receipt", "journal", "planted"])
    def test_no_file_of_a_command_is_waited_for(self, what: str, to: str, desk: Desk, pipe: Path) -> None:
        path = pipe if to == "pipe" else Path(to)
        before = desk.world()
        match what:
            case "plan":
                ran = call("apply", path, "--migration", desk.migration, width=400)
            case "approval" | "trust":
                ran = desk.apply(f"--{what}", path, "--execute")
            case "migration":
                ran = call("apply", desk.plan, "--migration", path, width=400)
            case "receipt":
                ran = call("verify", path, "--migration", desk.migration, width=400)
            case "journal":
                link = desk.folder / "x.journal"
                link.symlink_to(path)
                ran = call("rollback", link, "--plan", desk.plan, "--migration", desk.migration, width=400)
                link.unlink()
            case _:
                planted = desk.folder / "plan.receipt.json.journal"
                planted.symlink_to(path) if to != "pipe" else path.rename(planted)
                ran = desk.apply("--execute")
                planted.unlink() if to != "pipe" else planted.rename(path)

        assert ran.code in (1, 4), ran.err
        assert "not a regular file" in " ".join(ran.err.split()) or "link" in ran.err
        assert "next" in ran.err
        assert desk.world() == before

    def test_no_snapshot_and_no_comparison_is_waited_for(self, pipe: Path, desk: Desk) -> None:
        ran = call("compare", "--migration", desk.migration, "--snapshots", pipe, pipe, "--checkpoint", "x", width=400)
        assert ran.code in (1, 2), ran.err
        assert "not a regular file" in " ".join(ran.err.split())

    def test_no_bundle_and_no_secret_is_waited_for(self, pipe: Path) -> None:
        from offsetwise.client_properties.references import read_text  # noqa: PLC0415 - next to what it tests
        from offsetwise.console import bundles  # noqa: PLC0415 - Streamlit takes a second

        for act in (lambda: bundles.load([pipe]), lambda: read_text(pipe, "sasl.password")):
            with pytest.raises(OffsetwiseError, match="not a regular file"):
                act()


# ------------------------------------------------------------------------------------------------- never written over


@attack(
    "B19",
    "a file, a link to one, or a link to nothing where an approval, keys, a receipt or a copy is to be written",
    before=Verdict.HELD,
    without="`O_EXCL` in `approval.key_files` (a receipt and a copy are refused twice)",
)
@with_cases(
    ("what", "kind"),
    [(what, kind) for what in ("approval", "key", "public", "receipt") for kind in ("file", "link", "dangling")]
    + [("copy", "file"), ("copy", "link")],
)
def test_nothing_is_written_over_or_through_a_link(what: str, kind: str, desk: Desk, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    if kind != "dangling":
        victim.write_text("mine")
    place = desk.folder / {"approval": "x.json", "key": "k", "public": "k.pub", "receipt": "r.json", "copy": "c"}[what]
    if kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(victim)
    match what:
        case "approval":
            ran = call("sign", desk.plan, "--key", desk.folder / "rea", "--as", "rea", "--out", place)
        case "key" | "public":
            ran = call("keygen", desk.folder / "k", "--name", "kim")
        case "receipt":
            ran = desk.apply("--execute", "--receipt", place)
        case _:
            ran = desk.apply("--execute", "--output", place)

    assert ran.code != 0
    assert victim.read_text() == "mine" if kind != "dangling" else not victim.exists()
    assert place.is_symlink() if kind != "file" else place.read_text() == "mine"


# -------------------------------------------------------------------------------------------------------------- modes


def modes(folder: Path) -> dict[str, int]:
    """Return the permissions of everything below a folder, and of the folder."""
    found = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    return found | {"": stat.S_IMODE(folder.stat().st_mode)}


@attack(
    "E6",
    "a checkpoint with folders 0700 (0750, 2770) and files 0600 (0640) copied with umask 000; what is new and no copy",
    before=Verdict.BROKEN,
    without="`like` of `Disk.make_folder` and `Disk.write_new`",
)
@with_cases("links", [True, False], ids=["links", "copies"])
@with_cases(("of_folders", "of_files"), [(0o700, 0o600), (0o750, 0o640), (0o2770, 0o660)], ids=oct)
def test_a_copy_is_for_nobody_whom_the_original_is_not_for(
    of_folders: int, of_files: int, links: bool, tmp_path: Path
) -> None:
    staged = stage(tmp_path, COPY, sample="spark-4.0.0-agg-rocksdb")
    for path in (staged.source, *staged.source.rglob("*")):
        path.chmod(of_folders if path.is_dir() else of_files)
    before = os.umask(0)
    try:
        apply(staged.order(), staged.receipt, staged.tools(UnsyncedDisk() if links else WithoutLinks()))
    finally:
        os.umask(before)

    copy = Path(str(staged.output))
    assert {name: mode for name, mode in modes(copy).items() if modes(staged.source).get(name) != mode} == {}
    assert stat.S_IMODE(copy.parent.stat().st_mode) == of_folders, "made on the way, and for the same people"
    assert stat.S_IMODE(Path(staged.receipt).stat().st_mode) == 0o600


class WithoutLinks(UnsyncedDisk):
    """A file system without links."""

    def link(self, source: str, path: str) -> bool:  # noqa: ARG002 - as Disk declares it
        return False


@with_cases("target", [SEEDED, STARTING], ids=str)
def test_what_is_new_is_its_owners_alone(target: Target, tmp_path: Path) -> None:
    staged = stage(tmp_path, target, sample=SAMPLE)
    before = os.umask(0)
    try:
        apply(staged.order(), staged.receipt, staged.tools(UnsyncedDisk()))
    finally:
        os.umask(before)

    out = tmp_path / "out"
    for path in (out, *out.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_rights_of_a_group_that_this_user_is_not_in_go_to_no_other_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    original = tmp_path / "original"
    original.write_text("x")
    facts = list(original.stat())
    facts[stat.ST_MODE], facts[stat.ST_GID] = stat.S_IFREG | 0o2674, facts[stat.ST_GID] + 1
    monkeypatch.setattr(Disk, "_facts", lambda *_: os.stat_result(facts))
    monkeypatch.setattr(os, "fchown", refused)

    Disk().write_new(str(tmp_path / "copy"), b"x", like=str(original))

    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o644


# ------------------------------------------------------------------------------------------------ one place that opens

OPENS: Final = {
    "approval/demo.py": "a sample of our own package",
    "approval/key_files.py": "makes new files, O_EXCL",
    "apply/disk.py": "writes, relative to folders that `regular_files` opened",
    "apply/journal_file.py": "no link, no wait; owner, mode and kind of what was opened are looked at before reading",
    "cli/compare.py": "standard input, into a folder of its own that nobody else can write to",
    "clusters/reading.py": "a sample of our own package",
    "console/server/headers.py": "a page of Streamlit's own package",
    "console/help.py": "a document of our own package",
    "console/server/launch.py": "settings of our own package",
    "new_files.py": "makes new files, O_EXCL",
    "streams/client_process.py": "its own entry in /proc",
    "jars.py": "the lock of our own package; jars in this user's cache, compared with it",
    "lookalikes.py": "a table of our own package",
    "pipeline/class_archive.py": "a lock in the user's cache, O_NOFOLLOW; what a JVM maps is this user's alone",
    "pipeline/launching.py": "makes a new file in a temporary folder of ours, O_EXCL",
    "pipeline/shipping.py": "our own sources, and a temporary folder of ours",
    "regular_files.py": "the one place",
    "plugins/spark/engine/state.py": "a member of an archive in memory",
    "plugins/spark/engine/event_log/files.py": "a member of an archive in memory",
    "store/database.py": "makes the store's file; SQLite opens it",
    "watch/recording.py": "a sample of our own package",
    "console/reader.py": "opens a session of Spark, and no file",
    "client_properties/kafka_python.py": "hands a certificate to the standard library, in a folder of its owner's",
}
"""Modules that open files themselves, and why they may."""
LAB: Final = "lab/"
"""A lab's files stand in its own folder on a developer's machine, and no customer's are read."""
CALLS: Final = frozenset({"open", "read_bytes", "read_text", "write_bytes", "write_text"})
OURS: Final = frozenset({"Journal", "JournalFile", "SetJournal", "files"})
"""Whose functions of such a name are ours, and go through the one place."""


def opening(path: Path) -> Iterator[str]:
    """Name the calls in a module that open a file by a path."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id="open"):
                    yield "open"
                case ast.Attribute(attr=name, value=value) if name in CALLS:
                    if not (isinstance(value, ast.Name) and value.id in OURS):
                        yield name


def test_every_file_is_opened_in_the_one_place() -> None:
    found = {str(path.relative_to(LIB)) for path in LIB.rglob("*.py") if list(opening(path))}
    found = {name for name in found if not name.startswith(LAB)}
    known = set(OPENS)
    assert found - known == set(), "opened elsewhere: use regular_files, or say here why it may"
    assert known - found == set(), "they open nothing any more"
