"""A receipt or a journal that somebody changed leads a rollback nowhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offsetwise import files
from offsetwise.apply import reversal
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import apply
from offsetwise.errors import ApplyError, FileError, OffsetwiseError, OutsideRootsError
from tests.apply.plans import COPY, IN_PLACE, STARTING, tree_hash
from tests.apply.worlds import Stage, stage
from tests.with_cases import with_cases


def of_receipt(staged: Stage, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the first step of a receipt, and let only the receipt say what was done."""
    path = Path(staged.receipt)
    body = json.loads(path.read_text())
    change(body["steps"][0])
    path.write_text(json.dumps(body))
    Path(f"{staged.receipt}.journal").unlink()


def of_journal(staged: Stage, change: Callable[[dict[str, Any]], object]) -> None:
    """Change every event of the journal's first step."""
    path = Path(f"{staged.receipt}.journal")
    first, *lines = path.read_text().splitlines()
    made = []
    for line in lines:
        event = json.loads(line)
        change(event.setdefault("result", {"files": []}))
        change(event)
        made.append(json.dumps({k: v for k, v in event.items() if k in ("event", "step", "notes") or "place" in v}))
    path.write_text("\n".join([first, *made]) + "\n")


def file_at(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda step: [one.update(path=name) for one in step.get("files", ())]


def kept_at(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda step: [one.update(kept_as=name) for one in step.get("files", ()) if one["kept_as"] is not None]


def place_at(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda step: step.update(place=name) if "place" in step else None


def noted(name: str, value: str) -> Callable[[dict[str, Any]], object]:
    return lambda event: event["notes"].update({name: value}) if name in event.get("notes", {}) else None


CLIMBING = ("../victim", "../../victim", "/etc/hostname", "{victim}", "a/../../victim", "..", ".", "", "a//b", "a\0b")
TAMPERED: dict[str, tuple[Any, Callable[..., None], Callable[[dict[str, Any]], object]]] = {
    **{f"file {name!r}, receipt": (IN_PLACE, of_receipt, file_at(name)) for name in CLIMBING},
    **{f"file {name!r}, journal": (IN_PLACE, of_journal, file_at(name)) for name in CLIMBING},
    **{f"kept {name!r}, receipt": (IN_PLACE, of_receipt, kept_at(name)) for name in CLIMBING},
    **{f"kept {name!r}, journal": (IN_PLACE, of_journal, kept_at(name)) for name in CLIMBING},
    **{
        f"{note} {name!r}": (IN_PLACE, of_journal, noted(note, name)) for note in ("keep", "guard") for name in CLIMBING
    },
    **{f"copy's tmp {name!r}": (COPY, of_journal, noted("tmp", name)) for name in CLIMBING},
    **{f"file's tmp {name!r}": (STARTING, of_journal, noted("tmp", name)) for name in CLIMBING},
    **{
        f"place {name!r} of {target}": (target, tampering, place_at(name))
        for target in (COPY, IN_PLACE, STARTING)
        for tampering in (of_receipt, of_journal)
        for name in ("{victim}", "file:{victim}", "victim", "{root}/../victim", "/", "{out}/../../victim", "{link}")
    },
}


@with_cases("kind", TAMPERED)
def test_a_receipt_or_journal_that_somebody_changed_moves_and_removes_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, tampering, change = TAMPERED[kind]
    root = tmp_path / "root"
    root.mkdir()
    staged = stage(root, target)
    staged.migration = staged.migration.model_copy(update={"write_roots": (str(root),)})
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "mine").write_text("mine")
    (root / "link").symlink_to(victim)
    monkeypatch.chdir(tmp_path)
    apply(staged.order(), staged.receipt, staged.tools())
    places = {"{victim}": str(victim), "{root}": str(root), "{out}": str(staged.output), "{link}": str(root / "link")}

    def spelled(step: dict[str, Any]) -> None:
        change(step)
        text = json.dumps(step)
        for name, value in places.items():
            text = text.replace(name, value)
        step.update(json.loads(text))

    tampering(staged, spelled)
    before = tree_hash(tmp_path)
    for _ in range(2):
        with pytest.raises(OffsetwiseError) as caught:
            reversal.rollback(staged.back(journal=tampering is of_journal), staged.tools())
        assert isinstance(caught.value, FileError | OutsideRootsError | ApplyError)
        assert caught.value.fix
    for made in root.glob("*.journal"):
        if tampering is of_receipt:
            made.unlink()  # begun by the rollback itself, with nothing in it
    assert tree_hash(tmp_path) == before


def test_a_folder_that_became_a_link_since_is_not_written_through(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    staged = stage(root, IN_PLACE)
    apply(staged.order(), staged.receipt, staged.tools())
    moved = tmp_path / "moved"
    (staged.source / "offsets").rename(moved)
    (staged.source / "offsets").symlink_to(moved)
    before = tree_hash(moved)

    with pytest.raises(ApplyError, match="it is a link, which could lead elsewhere"):
        reversal.rollback(staged.back(), staged.tools())
    assert tree_hash(moved) == before


def test_what_is_read_again_of_a_receipt_stays_at_its_places(tmp_path: Path) -> None:
    staged = stage(tmp_path, IN_PLACE)
    apply(staged.order(), staged.receipt, staged.tools())
    of_receipt(staged, file_at("../../etc/passwd"))

    with pytest.raises(FileError, match="leads out of"):
        read_receipt(staged.receipt)


def test_what_is_looked_at_by_a_journal_stays_at_its_places(tmp_path: Path) -> None:
    staged = stage(tmp_path, IN_PLACE)
    apply(staged.order(), staged.receipt, staged.tools())
    of_journal(staged, file_at("../../etc/passwd"))

    with pytest.raises(FileError, match="leads out of"):
        reversal.preview(staged.back(journal=True), staged.tools())


def test_a_file_larger_than_any_receipt_is_refused_before_all_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = stage(tmp_path)
    apply(staged.order(), staged.receipt, staged.tools())
    path = Path(staged.receipt)
    monkeypatch.setattr(files, "MAX_BYTES", path.stat().st_size)
    read_receipt(staged.receipt)

    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(FileError, match="found more"):
        read_receipt(staged.receipt)
    os.truncate(path, 1 << 40)
    with pytest.raises(FileError, match="found more"):
        read_receipt(staged.receipt)
    with pytest.raises(FileError, match="not a regular file"):
        read_receipt("/dev/zero")
