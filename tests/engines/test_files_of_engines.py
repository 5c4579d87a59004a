"""Engines whose checkpoints are files of any name: each recognises its own, and a file of none is explained."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from offsetwise.engines.checkpoint import parts_of, read_checkpoint
from offsetwise.engines.engine import CheckpointEngine, ReadRequest
from offsetwise.errors import NotACheckpointError
from offsetwise.model import Checkpoint, CheckpointSource
from offsetwise.registry import ENGINES
from offsetwise.workflow.scenes import digests
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.toys.engine.engine import TOY

LEASES: Final = DATA / "kcl" / "2.7.2-two-shards.json"


def _read(request: ReadRequest) -> Checkpoint:
    return Checkpoint(
        uri=request.uri,
        engine="ledger",
        job_id=None,
        restart="It goes on.",
        sources=(CheckpointSource(index=0, id="ledger", kind="kafka"),),
        pins=(("ledger", "0"),),
    )


def _takes(part: str, data: bytes) -> bool:
    return data.startswith(b"ledger") and part in ("", "ledger")


LEDGER: Final = replace(
    TOY,
    name="ledger",
    label="Ledger",
    what="a ledger",
    source_name=re.compile("ledger"),
    recognises=lambda entries: not entries,
    reader=_read,
    reads_files=True,
    recognises_file=_takes,
)
"""An engine of files that only these tests know."""
JOURNAL: Final = replace(
    LEDGER, name="journal", what="a journal", recognises_file=lambda part, data: b"journal" in data and part != "ledger"
)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in (LEDGER, JOURNAL):
        add(engine, monkeypatch)


def add(engine: CheckpointEngine, patch: pytest.MonkeyPatch) -> None:
    """Register an engine for one test."""
    patch.setitem(ENGINES, engine.name, lambda: engine)


def written(folder: Path, content: str) -> str:
    (folder / "positions").write_text(content)
    return str(folder / "positions")


@pytest.mark.parametrize("bound", [False, True])
def test_a_file_is_read_by_the_engine_that_recognises_it(tmp_path: Path, bound: bool) -> None:
    uri = written(tmp_path, "ledger 1")
    roots = [str(tmp_path)] if bound else None

    for named in (uri, f"{uri}#ledger"):
        assert read_checkpoint(named, roots=roots).engine == "ledger"
        assert parts_of(named, roots=roots) == (named,)
    assert read_checkpoint(str(LEASES), roots=[str(DATA)] if bound else None).engine == "kcl"


def test_a_file_that_is_a_root_itself_is_read_with_its_part(tmp_path: Path) -> None:
    uri = written(tmp_path, "ledger 1")

    assert read_checkpoint(f"{uri}#ledger", roots=[f"{uri}#ledger"]).engine == "ledger"
    assert read_checkpoint(uri, roots=[uri]).engine == "ledger"


def test_a_file_that_no_engine_recognises_is_explained_by_the_first_that_reads_files(tmp_path: Path) -> None:
    uri = written(tmp_path, "something else")

    with pytest.raises(NotACheckpointError, match="or the dump of a table of DynamoDB; found a file"):
        read_checkpoint(uri)


def test_a_file_that_two_engines_recognise_is_refused_with_both_names_until_a_part_tells(tmp_path: Path) -> None:
    uri = written(tmp_path, "ledger or journal")

    with pytest.raises(NotACheckpointError, match="found what is a ledger and a journal at once") as caught:
        read_checkpoint(uri)
    assert f"{uri}#PART" in caught.value.fix
    assert parts_of(uri) == (uri,)
    assert read_checkpoint(f"{uri}#ledger").engine == "ledger"


def test_what_is_pinned_of_a_file_is_read_again_through_its_engine(tmp_path: Path) -> None:
    from offsetwise.config import load_migration  # noqa: PLC0415 - of this test alone

    uri = written(tmp_path, "ledger 1")
    servers = "{properties: {bootstrap.servers: a.invalid:9092}}"
    (tmp_path / "m.yaml").write_text(
        f"name: m\nsource: {servers}\ntarget: {servers.replace('a.', 'b.')}\ncheckpoints: [{{name: a, uri: {uri}}}]\n"
    )

    assert digests(load_migration(tmp_path / "m.yaml"), read_checkpoint(uri), ["ledger"]) == {"ledger": "0"}
