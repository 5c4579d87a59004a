"""Object stores on loopback: S3, Azure, Google; and what is said when a library or an answer is missing."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from offsetwise import files as formats
from offsetwise.engines.checkpoint import read_batch_files, read_with_times
from offsetwise.engines.checkpoint import read_checkpoint as read_any
from offsetwise.errors import LibraryMissingError, MissingError, NotACheckpointError, StorageError
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.folder import newer_than
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.storage.folders import open_tree
from offsetwise.storage.patterns import expand
from tests.gates import of_all
from tests.plugins.flink.files import (
    Op,
    absolute,
    blob,
    enumerator_v2,
    metadata,
    operator_handle,
    positions,
    reader_element,
    subtask,
)
from tests.plugins.spark.folders import NAMES, checkpoint, orders, sample_files
from tests.stores import BUCKET, S3, Store
from tests.with_cases import with_cases


@with_cases("name", of_all(NAMES, NAMES[::3]))
def test_a_checkpoint_on_a_store_reads_as_on_disk(name: str, store: Store) -> None:
    files = sample_files(name)
    uri = store.put(name, files)
    body = formats.dump(read_checkpoint(uri)).replace(uri, "X")

    local = f"tests/data/checkpoints/{name}"
    assert body == formats.dump(read_checkpoint(local)).replace(local, "X")


def test_the_raw_files_and_the_times_of_a_checkpoint_on_a_store_are_those_on_disk(store: Store) -> None:
    files = sample_files("spark-4.0.0-multi")
    uri = store.put("multi", files)

    read = read_with_times(uri, roots=(f"{store.root}/",))
    raw = read_batch_files(uri, 6, roots=(f"{store.root}/",))

    assert read.newest is not None
    assert 0 <= read.read_at_ms - read.newest.modified_ms + 1000 < 120_000
    assert [source.id for source in read.initial] == ["0", "1"]
    assert raw.offsets.data == files["offsets/6"]
    assert raw.commit.problem == "commits/6 is not there."


@with_cases("scheme", ["s3", "s3a", "s3n", "S3A"])
def test_sparks_own_spellings_of_the_scheme_are_read(scheme: str, s3: S3) -> None:
    uri = s3.put("orders", checkpoint({0: orders(7)}, (0,)))

    read = read_checkpoint(uri.replace("s3://", f"{scheme}://"), roots=(f"s3://{BUCKET}/",))

    assert read.sources[0].positions[0].offset == 7
    assert read.uri.startswith(f"{scheme}://")


def test_listings_are_never_cached(store: Store) -> None:
    uri = store.put("orders", checkpoint({0: orders(7)}, (0,)))
    tree = open_tree(uri)
    assert read_checkpoint(uri).details.progress.planned == 0
    assert [entry.name for entry in tree.entries("offsets")] == ["0"]

    store.put("orders", checkpoint({1: orders(9)}, (1,)))

    assert read_checkpoint(uri).details.progress.planned == 1
    assert [entry.name for entry in tree.entries("offsets")] == ["0", "1"]


def test_where_it_restarts_costs_few_requests(s3: S3, caplog: pytest.LogCaptureFixture) -> None:
    uri = s3.put("orders", checkpoint({batch: orders(batch) for batch in range(30)}, tuple(range(30))))
    caplog.set_level("INFO", "werkzeug")
    caplog.clear()

    read_checkpoint(uri, batches=0)

    asked = [record.getMessage() for record in caplog.records if record.name == "werkzeug"]
    listings = [line for line in asked if "list-type=2" in line]
    assert len(listings) == 6  # the folder, both logs before and after, the sources
    assert len([line for line in asked if "GET" in line]) - len(listings) == 5  # two plans, commit, id, initial offsets
    assert len([line for line in asked if "HEAD" in line]) <= 1  # the size of the initial offsets


def test_a_missing_folder_or_bucket_is_said(store: Store) -> None:
    for uri in (f"{store.root}/nowhere", f"{store.root.replace(BUCKET, 'no-such-bucket')}/x"):
        with pytest.raises(MissingError, match="found nothing"):
            read_checkpoint(uri)


def test_an_object_is_no_folder(store: Store) -> None:
    uri = store.put("orders", checkpoint({0: orders(7)}, (0,)))

    with pytest.raises(NotACheckpointError, match="found a file"):
        read_checkpoint(f"{uri}/metadata")
    with pytest.raises(NotACheckpointError, match="files named by batch"):
        read_checkpoint(f"{uri}/offsets")


def test_a_folder_marker_is_no_file_of_the_folder(store: Store) -> None:
    uri = store.put("orders", checkpoint({0: orders(7)}, (0,)))
    for folder in ("orders", "orders/offsets", "orders/commits"):
        store.mark_folder(folder)

    assert read_checkpoint(uri).problems == ()


def test_an_object_above_the_limit_is_not_fetched(store: Store) -> None:
    uri = store.put("orders", {"offsets/0": b"x" * 2000})
    tree = open_tree(uri)
    small = type(tree)(**{f: getattr(tree, f) for f in ("uri", "location", "roots", "base", "fs")}, max_file_bytes=1000)

    with pytest.raises(StorageError, match="expected at most 1000 bytes"):
        small.read("offsets/0")
    with pytest.raises(StorageError, match="expected at most 1000 bytes"):
        small.read("offsets/0", size_bytes=2000)


def test_an_endpoint_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    with pytest.raises(StorageError, match="expected to reach its file system"):
        read_checkpoint("s3://bucket/orders")


def test_a_glob_of_folders_is_expanded(store: Store) -> None:
    for name in ("orders-1", "orders-2", "payments"):
        store.put(f"team/{name}", checkpoint({0: orders(7)}, (0,)))

    assert expand([f"{store.root}/team/orders-*"]) == (
        f"{store.root}/team/orders-1",
        f"{store.root}/team/orders-2",
    )
    with pytest.raises(StorageError, match="matches folders, found none"):
        expand([f"{store.root}/team/x*"])


@with_cases("name", ["orders[1]", "orders-*", "orders-?"])
def test_a_folder_whose_name_looks_like_a_glob_is_read_under_its_name(name: str, store: Store) -> None:
    for offset, folder in enumerate(("orders-1", "orders1", name)):
        store.put(f"team/{folder}", checkpoint({0: orders(offset)}, (0,)))

    if name.endswith("?") and store.root.startswith("abfs:"):  # its library takes what follows for a query
        with pytest.raises(StorageError, match="found none"):
            expand([f"{store.root}/team/{name}"])
        return
    (only,) = expand([f"{store.root}/team/{name}"])

    assert only == f"{store.root}/team/{name}"
    assert read_checkpoint(only).sources[0].positions[0].offset == 2


@with_cases(
    ("uri", "module", "extra"),
    [
        ("s3://bucket/x", "s3fs", "offsetwise[s3]"),
        ("gs://bucket/x", "gcsfs", "offsetwise[gcs]"),
        ("abfs://container@account.dfs.core.windows.net/x", "adlfs", "offsetwise[azure]"),
        ("hdfs://namenode/x", "pyarrow", "pyarrow"),
    ],
)
def test_a_missing_library_is_named_with_what_to_install(
    uri: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = sys.modules["fsspec.registry"]._registry
    for protocol in set(known) - {"file"}:
        monkeypatch.delitem(known, protocol)
    for name in (module, f"{module}.fs"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(LibraryMissingError) as caught:
        read_checkpoint(uri)
    assert caught.value.fix == f"Install it: pip install '{extra}'."


def test_credentials_in_a_uri_are_refused() -> None:
    for uri in ("s3://key:secret@bucket/x", "hdfs://user:password@namenode/x"):
        with pytest.raises(StorageError, match="without credentials") as caught:
            read_checkpoint(uri)
        assert isinstance(caught.value, StorageError)


def test_an_answer_that_fails_is_an_error_of_ours() -> None:
    """The one fake here: a file system that answers what no server on this machine would."""

    def broken(*_: object, **__: object) -> list[object]:
        raise RuntimeError("the token has expired\nwith details")

    tree = open_tree(".")
    location = type(tree.location)(scheme="s3", path="s3://b/x", parts=("b", "x"))
    fs = SimpleNamespace(ls=broken, find=broken, cat_ranges=broken, info=broken, invalidate_cache=lambda: None)
    remote = type(tree)(uri="s3://b/x", location=location, roots=None, base="b/x", fs=fs)

    for failing in (
        remote.entries,
        lambda: list(remote.walk("state")),
        lambda: remote.read("a", size_bytes=3),
    ):
        with pytest.raises(StorageError, match="RuntimeError: the token has expired"):
            failing()


def test_a_flink_checkpoint_on_a_store_is_read_with_its_shared_state_and_the_others_of_its_job(store: Store) -> None:
    data, places = blob({"SourceReaderState": [reader_element("orders", 0, 5)]})
    shared = f"{store.root}/flink/job/shared/5e2c"
    managed = operator_handle(places, absolute(shared, len(data)))
    flink = metadata(Op(subtasks=[subtask(0, managed)], coordinator=enumerator_v2([("orders", 0, 0)])))
    job = store.put("flink/job", {"chk-8/_metadata": flink, "chk-9/_metadata": flink, "shared/5e2c": data})

    for uri in (f"{job}/chk-9", f"{job}/chk-9/_metadata"):
        read = read_any(uri)
        assert positions(read) == {("orders", 0): 5}
        assert flink_details(read).saved.written_ms is not None
        assert [one.uri for one in flink_details(read).saved.retained] == [f"{job}/chk-8"]
    assert newer_than(f"{job}/chk-8", 8, ()) == (9, False), "no folder of a job by its name"
    named = store.put(f"flink/{'a' * 32}", {"chk-9/_metadata": flink})
    above = named.rpartition("/")[0]
    assert newer_than(f"{above}/savepoint-aaaaaa-1/_metadata", 8, ()) == (9, True)
    assert newer_than("s3://none/savepoint-aaaaaa-1", 9, (above,)) == (None, True)
    outside = read_any(f"{job}/chk-9", roots=[f"{job}/chk-9"])
    assert positions(outside) == {}
    assert "outside" in outside.problems[0].message
