"""The Checkpoint page over positions of Kinesis: every shard, whole."""

from __future__ import annotations

from pathlib import Path

from tests.console.conftest import OpenPage, words
from tests.console.test_checkpoint_page import FolderReader
from tests.plugins.kinesis.test_checkpoints import DATA, EXPECTED
from tests.with_cases import with_cases

CHECKPOINT = "pages/explore/checkpoint.py"


@with_cases("uri", [uri for uri in EXPECTED if "#" not in uri])
def test_every_shard_is_shown_whole(uri: str, open_page: OpenPage) -> None:
    page = open_page(FolderReader({"shards": Path(DATA / uri)}), CHECKPOINT, migration="m", of="checkpoint shards")

    assert not page.exception
    held = "\n".join(one.value.to_string() for one in page.dataframe)
    assert "Kinesis" in held
    for _, shard, position, _ in EXPECTED[uri]["positions"]:
        assert shard in held
        assert position in held
    for code in EXPECTED[uri]["problems"]:
        assert code in words(page)
