"""Event logs as Spark compresses, rolls and compacts them: read whole, cut, damaged and hostile."""

from __future__ import annotations

import random
import re
import struct
import time
import tracemalloc
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.errors import StorageError
from offsetwise.plugins.spark.engine import event_log
from offsetwise.plugins.spark.engine.event_log import read_event_log, read_log_files
from offsetwise.plugins.spark.engine.event_log.blocks import (
    CODECS,
    BrokenOffError,
    DamagedStreamError,
    decompressed,
    xxhash32,
)
from offsetwise.plugins.spark.engine.event_log.files import files_in_zip
from offsetwise.plugins.spark.engine.query_runs import SparkApplication
from tests.jobs import QUERY, RECORDED, events
from tests.plugins.spark.log_streams import (
    LZ4_END,
    SNAPPY_HEADER,
    lz4_block,
    lz4_stream,
    snappy_block,
    snappy_stream,
    zstd_stream,
)
from tests.with_cases import with_cases

STREAMS: Final[dict[str, Callable[[Sequence[bytes]], bytes]]] = {
    "lz4": lz4_stream,
    "snappy": snappy_stream,
    "zstd": zstd_stream,
}
LONGEST_S: Final = 1.0
"""Of processor time."""
STARTS: Final = [{"trades": {"0": 100}}]
TEXT: Final = events(QUERY, first=2, starts=STARTS)
LINES: Final = TEXT.splitlines(keepends=True)


def plain(data: bytes, codec: str) -> bytes:
    return b"".join(decompressed(data, codec, pyarrow))


def blocks_of(text: bytes, size: int = 32_768) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def read(folder: Path, **files: bytes) -> SparkApplication:
    """Read the log of a folder whose files are named so, with two underscores for a dot."""
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name.replace("__", ".")).write_bytes(data)
    return read_event_log(str(folder))


@with_cases("codec", ["lz4", "snappy"])
def test_what_sparks_own_codec_wrote_is_read(codec: str) -> None:
    (run,) = read_event_log(str(RECORDED / "event_logs" / f"local-1795800830054.{codec}")).runs

    assert (run.query_id, run.first_batch, run.newest_batch, run.is_whole) == (QUERY, 2, 3, True)
    assert run.starts == tuple(STARTS)


@given(st.sampled_from(sorted(STREAMS)), st.lists(st.binary(min_size=1, max_size=2_000), min_size=1, max_size=5))
def test_every_stream_is_read_as_it_was_written(codec: str, blocks: list[bytes]) -> None:
    stream = STREAMS[codec](blocks)

    assert plain(stream, codec) == b"".join(blocks)
    assert plain(stream * 2, codec) == b"".join(blocks) * 2, "as when a stream is appended to another one"


@with_cases(
    ("seed", "data", "made"),
    [
        (0, b"", 0x02CC5D05),
        (0, b"a", 0x550D7456),
        (0, b"abc", 0x32D153FF),
        (0, b"Nobody inspects the spammish repetition", 0xE2293B2F),
    ],
    ids=["nothing", "a byte", "three bytes", "stripes"],
)
def test_the_checksum_is_xxhash(seed: int, data: bytes, made: int) -> None:
    assert xxhash32(data, seed) == made


@with_cases("codec", sorted(STREAMS))
def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path, codec: str) -> None:
    stream = STREAMS[codec](blocks_of(TEXT, 1_000))
    whole = read(tmp_path / "whole", **{f"app-1__{codec}": stream})
    assert [run.starts for run in whole.runs] == [tuple(STARTS)]

    for end in random.Random(7).sample(range(1, len(stream)), 60):
        cut = read(tmp_path / "cut", **{f"app-1__{codec}": stream[:end]})
        assert all(run.starts in (None, tuple(STARTS)) for run in cut.runs)


@with_cases("codec", sorted(STREAMS))
def test_only_the_last_file_of_a_log_may_break_off(tmp_path: Path, codec: str) -> None:
    half = len(LINES) // 2
    first, last = (STREAMS[codec](blocks_of(b"".join(part))) for part in (LINES[:half], LINES[half:]))
    read(tmp_path / "last", **{f"events_1_a__{codec}": first, f"events_2_a__{codec}": last[:-20]})

    with pytest.raises(StorageError, match="breaks off, and others follow it"):
        read(tmp_path / "first", **{f"events_1_a__{codec}": first[:-20], f"events_2_a__{codec}": last})


BLOCK: Final = bytes(random.Random(3).choices(b"abcd", k=500))
LZ4: Final = lz4_block(BLOCK)
SNAPPY: Final = SNAPPY_HEADER + snappy_block(BLOCK)


def _with(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


DAMAGED: Final = {
    "lz4: magic": ("lz4", _with(LZ4, 3, b"X"), "does not begin with LZ4Block"),
    "lz4: method": ("lz4", _with(LZ4, 8, b"\x35"), "unknown method 0x30"),
    "lz4: level, so that the block is too large": ("lz4", lz4_block(bytes(9_000)).replace(b"%", b" ", 1), "claims"),
    "lz4: compressed length 0": ("lz4", _with(LZ4, 9, bytes(4)), "a block of 0 bytes that claims 500"),
    "lz4: compressed length below 0": ("lz4", _with(LZ4, 9, b"\xff" * 4), "a block of -1 bytes"),
    "lz4: compressed length beyond the plain one": ("lz4", _with(LZ4, 9, b"\xff\xff\xff\x7f"), "2,147,483,647 bytes"),
    "lz4: length below 0": ("lz4", _with(LZ4, 13, b"\xff" * 4), "that claims -1"),
    "lz4: length of gigabytes": ("lz4", _with(LZ4, 13, b"\xff\xff\xff\x7f"), "that claims 2,147,483,647"),
    "lz4: length one too small": ("lz4", _with(LZ4, 13, struct.pack("<i", 499)), "cannot be decoded"),
    "lz4: length one too large": ("lz4", _with(LZ4, 13, struct.pack("<i", 501)), "its checksum"),
    "lz4: checksum": ("lz4", _with(LZ4, 17, b"\0\0\0\0"), "its checksum"),
    "lz4: a literal": ("lz4", _with(LZ4, 26, b"\0"), "its checksum"),
    "lz4: a kept block": ("lz4", _with(lz4_block(BLOCK, kept=True), 30, b"\0"), "its checksum"),
    "lz4: a kept block of another length": (
        "lz4",
        _with(lz4_block(BLOCK, kept=True), 13, struct.pack("<i", 400)),
        "a block of 500 bytes that claims 400",
    ),
    "lz4: an end with a checksum": ("lz4", LZ4 + LZ4_END[:-1] + b"\1", "its checksum"),
    "lz4: something after the end": ("lz4", LZ4 + LZ4_END + b"more", "begin no block"),
    "lz4: a file of another kind": ("lz4", b'{"Event":"SparkListenerLogStart"}\n', "does not begin with LZ4Block"),
    "snappy: magic": ("snappy", _with(SNAPPY, 2, b"X"), "does not begin with the mark"),
    "snappy: version": ("snappy", _with(SNAPPY, 8, bytes(4)), "Snappy's version 0"),
    "snappy: least version": ("snappy", _with(SNAPPY, 15, b"\2"), "to be read by 2"),
    "snappy: a block of 0 bytes": ("snappy", _with(SNAPPY, 16, bytes(4)), "a block of 0 bytes"),
    "snappy: a block below 0": ("snappy", _with(SNAPPY, 16, b"\xff" * 4), "a block of -1 bytes"),
    "snappy: a block beyond what it claims": ("snappy", _with(SNAPPY, 16, b"\x7f"), "that claims 500"),
    "snappy: a claim of gigabytes": ("snappy", _with(SNAPPY, 20, b"\xff\xff\xff\xff\x0f"), "4,294,967,295 bytes"),
    "snappy: a claim without an end": ("snappy", _with(SNAPPY, 20, b"\xff" * 5), "without its length"),
    "snappy: a claim that is not kept": ("snappy", _with(SNAPPY, 20, struct.pack("<H", 0x04F4)), "cannot be decoded"),
    "snappy: a copy from before the block": ("snappy", SNAPPY_HEADER + b"\0\0\0\4\x04\x01\x09\x00", "decoded"),
    "zstd: magic": ("zstd", b"X" + zstd_stream([BLOCK])[1:], "zstd that cannot be decoded"),
    "zstd: something after the end": ("zstd", zstd_stream([BLOCK]) + b"more bytes", "zstd that cannot be decoded"),
}


@with_cases(("codec", "data", "told"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_block_is_a_sentence(tmp_path: Path, codec: str, data: bytes, told: str) -> None:
    with pytest.raises(StorageError) as error:
        read(tmp_path / "log", **{f"app-1__{codec}": data})

    assert f"expected {codec} as Spark writes it, found" in error.value.problem
    assert told in error.value.problem
    assert error.value.problem.endswith("the file is damaged. Where the job began is not known.")


@with_cases("codec", ["lz4", "snappy"])
@given(data=st.data())
def test_a_changed_byte_is_refused_or_changes_what_its_block_says_alone(codec: str, data: st.DataObject) -> None:
    blocks = [bytes(random.Random(seed).choices(b"ab", k=300)) for seed in range(3)]
    stream = STREAMS[codec](blocks)
    at = data.draw(st.integers(0, len(stream) - 1))
    changed = _with(stream, at, bytes([data.draw(st.integers(0, 255).filter(lambda byte: byte != stream[at]))]))
    try:
        made = plain(changed, codec)
    except (DamagedStreamError, BrokenOffError):
        return
    # A token's level alone says nothing of the text; snappy has no checksum, so a literal may be another one.
    assert made == b"".join(blocks) if codec == "lz4" else len(made) <= sum(map(len, blocks))


@given(st.sampled_from(sorted(CODECS)), st.binary(max_size=400))
def test_any_bytes_are_text_or_refused(codec: str, data: bytes) -> None:
    begun = {"lz4": b"LZ4Block", "snappy": SNAPPY_HEADER, "zstd": b"\x28\xb5\x2f\xfd"}[codec]
    for each in (data, begun + data):
        try:
            plain(each, codec)
        except (DamagedStreamError, BrokenOffError):
            continue


@with_cases(
    ("codec", "data"),
    [
        ("lz4", b"LZ4Block\x2f" + struct.pack("<iiI", 30_000_000, 32 * 1024 * 1024, 0) + bytes(40)),
        ("snappy", SNAPPY_HEADER + struct.pack(">i", 38_000_000) + b"\xff\xff\xff\x0f" + bytes(40)),
    ],
    ids=["lz4", "snappy"],
)
def test_nothing_is_made_for_a_block_that_is_not_there(codec: str, data: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(BrokenOffError):
        plain(data, codec)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_long_line_is_refused_and_not_collected(tmp_path: Path) -> None:
    begun = time.process_time()
    with pytest.raises(StorageError, match="lines of at most 16,777,216 bytes, found a longer one"):
        read(tmp_path / "log", app__zstd=zstd_stream([b"x" * (17 * 1024 * 1024)]))
    assert time.process_time() - begun < LONGEST_S


def test_a_log_of_more_text_than_is_read_is_refused_where_it_passes_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "MAX_TEXT_BYTES", 1_000_000)
    line = b"x" * 999 + b"\n"

    read(tmp_path / "log", app__zstd=zstd_stream([line * 1_000]))
    with pytest.raises(StorageError, match="an event log of at most 1,000,000 bytes, decompressed; found more"):
        read(tmp_path / "larger", app__zstd=zstd_stream([line * 1_000, b"y\n"]))


def test_a_compacted_file_stands_for_those_before_it(tmp_path: Path) -> None:
    third = len(LINES) // 3
    first, second, last = (
        lz4_stream(blocks_of(b"".join(part))) for part in (LINES[:third], LINES[third:-third], LINES[-third:])
    )
    old = [line.replace(b'"batchId":2', b'"batchId":1') for line in LINES]
    files = {
        "events_1_a__lz4": lz4_stream(blocks_of(b"".join(old))),
        "events_2_a__lz4": lz4_stream(blocks_of(b"".join(old))),
        "events_2_a__lz4__compact": first,
        "events_3_a__lz4": second,
        "events_4_a__lz4": last,
        "events_3_a__lz4__compact__inprogress": first,
        "appstatus_a__inprogress": b"",
    }

    (run,) = read(tmp_path / "log", **files).runs

    assert (run.first_batch, run.newest_batch, run.starts) == (2, 3, tuple(STARTS))
    assert not run.is_whole, "progress from before is gone"


def test_a_query_that_started_after_the_compacted_file_is_known_whole(tmp_path: Path) -> None:
    (run,) = read(tmp_path / "log", events_1_a__compact=b"".join(LINES[:6]), events_2_a=b"".join(LINES[6:])).runs

    assert (run.first_batch, run.is_whole) == (2, True)


@with_cases("codec", ["plain", *STREAMS])
def test_a_compacted_file_may_have_another_codec_than_its_name_says(tmp_path: Path, codec: str) -> None:
    """As a history server of Spark 4.2.0 does: it takes the name of a file of lz4, and writes zstd, its own default."""
    data = STREAMS[codec](blocks_of(TEXT)) if codec in STREAMS else TEXT

    assert [run.newest_batch for run in read(tmp_path / "log", events_1_a__lz4__compact=data).runs] == [3]


@with_cases(
    ("names", "told"),
    [
        (("events_1_a", "events_3_a"), "events_1 to events_3, found none of number 2"),
        (("events_1_a__compact", "events_9_a__compact", "events_11_a"), "events_9 to events_11, found none of number"),
        (("events_1_a", "events_1_b"), "found two of one number"),
        (("events_1_a", "events_999999999_a"), "found none of number 2"),
    ],
    ids=["a gap", "after the newest compacted one", "of two applications", "far apart"],
)
def test_a_log_that_lacks_a_file_is_a_sentence(tmp_path: Path, names: Sequence[str], told: str) -> None:
    with pytest.raises(StorageError, match=re.escape(told)):
        read(tmp_path / "log", **dict.fromkeys(names, TEXT))


def zipped(files: dict[str, bytes]) -> bytes:
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


@with_cases(
    "files",
    [
        {"local-1.lz4": lz4_stream(blocks_of(TEXT))},
        {"eventlog_v2_a/": b"", "eventlog_v2_a/appstatus_a": b"", "eventlog_v2_a/events_1_a": TEXT},
        {
            "eventlog_v2_a/events_2_a.snappy": snappy_stream([b"".join(LINES[20:])]),
            "eventlog_v2_a/events_1_a.snappy": snappy_stream([b"".join(LINES[:20])]),
        },
    ],
    ids=["one file", "a folder", "several files"],
)
def test_a_log_is_read_in_a_zip(files: dict[str, bytes]) -> None:
    (run,) = read_log_files(files_in_zip("http://h/logs", zipped(files))).runs

    assert (run.first_batch, run.newest_batch, run.starts) == (2, 3, tuple(STARTS))


@with_cases(
    ("data", "told"),
    [
        (b"<html>", "the event log in a ZIP, found none"),
        (zipped({}), "event log of one application, found 0"),
        (zipped({"app-1": b"", "app-2": b""}), "found 2: app-1, app-2"),
        (zipped({"a/events_1_a": b"", "b/events_1_a": b""}), "found 2: a, b"),
        (zipped({"app-1": TEXT})[:-30], "found none"),
        (_with(zipped({"app-1": TEXT}), 200, b"\xff" * 40), "found it damaged"),
        (zipped({"app-1": bytes(257 * 1024 * 1024)}), "files of at most 268,435,456 bytes, found a larger one"),
    ],
    ids=["a page", "empty", "two logs", "two folders", "cut", "damaged", "a bomb"],
)
def test_a_zip_that_is_none_is_a_sentence(data: bytes, told: str) -> None:
    with pytest.raises(StorageError, match=re.escape(told)):
        read_log_files(files_in_zip("http://h/logs", data))
