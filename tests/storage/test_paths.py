"""No spelling of a path leaves the roots."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.errors import OutsideRootsError, StorageError
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.engine.details import spark_details
from offsetwise.storage.folders import open_tree
from offsetwise.storage.location import READING, locate
from tests.plugins.spark.folders import checkpoint, orders, write
from tests.with_cases import with_cases

SECRETS = ("etc/passwd", "secret", "data/other", "root/.ssh")
CLIMBS = ("..", "../..", "../../../../../../..", "./..", "a/..", "a/../..", "a/b/../../..", "../data/ckpt/../..")
ESCAPED_DOTS = ("%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae", "..%00", "%00")
SLASHES = ("%2f", "%2F", "%5c", "%5C", "\\", "%255c")
FILE_PREFIXES = ("", "file:", "file://", "file:///", "FILE:", "File://", "file:////", "file:/./")
FOREIGN = (
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "ftp://127.0.0.1/",
    "sftp://127.0.0.1/",
    "ssh://127.0.0.1/",
    "smb://127.0.0.1/",
    "github://org:repo@main/",
    "zip://a.zip/",
    "tar://a.tar/",
    "memory://",
    "data:text/plain,",
    "jar:file:/",
    "simplecache::file://",
    "filecache::s3://bucket/",
    "blockcache::file:///",
    "zip://*::file://",
    "dir::file://",
    "reference://",
    "local://",
    "dbfs:/",
    "root://",
    "webhdfs://127.0.0.1/",
    "viewfs://x/",
    "javascript:",
    "C:\\",
    "C:/",
    "\\\\host\\share\\",
    "//host/share/",
    "file://host/",
    "file://localhost/",
    "file://127.0.0.1/",
    "file://user:pw@host/",
    "s3://bucket/",
    "s3a://bucket/",
    "gs://bucket/",
    "abfs://container@account.dfs.core.windows.net/",
    "hdfs://namenode:8020/",
)
S3_ROOT = "s3://bucket/ckpt"
S3_PAYLOADS = (
    "s3://bucket",
    "s3://bucket/",
    "s3://bucket/ck",
    "s3://bucket/ckpt-evil",
    "s3://bucket/ckpt-evil/a",
    "s3://bucket/ckptevil",
    "s3://bucket/CKPT/a",
    "s3://bucket-evil/ckpt/a",
    "s3://bucketevil/ckpt/a",
    "s3://bucket.evil/ckpt",
    "s3://Bucket/ckpt/a",
    "s3://evil/bucket/ckpt/a",
    "s3://bucket//ckpt/a",
    "s3://bucket/ckpt//a",
    "s3://bucket/./ckpt/a",
    "s3://bucket/ckpt/./a",
    "s3://bucket/ckpt/../other",
    "s3://bucket/ckpt/..",
    "s3://bucket/ckpt/a/../../other",
    "s3://bucket/other/../ckpt",
    "s3://bucket/ckpt%2f..%2fother",
    "s3://bucket/ckpt/%2e%2e/other",
    "s3://bucket/ckpt/a?versionId=1",
    "s3://bucket/ckpt/a#b",
    "s3://bucket/ckpt/*",
    "s3://bucket/ckpt/[a]",
    "s3://bucket/ckpt/{a,b}",
    "s3://bucket\\ckpt",
    "s3://bucket/ckpt\\..\\other",
    "s3://bucket/ckpt/a\0",
    "s3://bucket/ckpt/a\n",
    "s3://key:secret@bucket/ckpt/a",
    "s3://bucket@evil/ckpt/a",
    "s3://bucket:443/ckpt/a",
    "s3:///bucket/ckpt/a",
    "s3://",
    "s3:bucket/ckpt/a",
    "s3:/bucket/ckpt/a",
    " s3://bucket/ckpt/a",
    "s3://bucket/ckpt/a ",
    "s3 ://bucket/ckpt",
    "gs://bucket/ckpt/a",
    "hdfs://bucket/ckpt/a",
    "file:///bucket/ckpt/a",
    "/bucket/ckpt/a",
    "bucket/ckpt/a",
    "simplecache::s3://bucket/ckpt/a",
    "s3://bucket/ckpt/a::s3://bucket/ckpt/b",
)


def _local_payloads() -> list[str]:
    made = [f"{{root}}/{climb}/{secret}" for climb in CLIMBS for secret in SECRETS]
    made += [f"{prefix}{{root}}/../{secret}" for prefix in FILE_PREFIXES for secret in SECRETS[:2]]
    made += [f"{{root}}/{dots}{slash}secret" for dots in ESCAPED_DOTS for slash in ("/", *SLASHES)]
    made += [f"{{root}}{slash}..{slash}secret" for slash in SLASHES]
    made += [f"{prefix}/{secret}" for prefix in FILE_PREFIXES for secret in SECRETS]
    made += [f"{{root}}{suffix}" for suffix in ("-evil", "evil", "-evil/a", ".evil", "~", " ", "\0", "\0/a", "/a\0b")]
    made += [
        f"{{root}}/{name}" for name in ("a\nb", "a\tb", "\x7f", "a?b", "a#b", "a*", "[a]", "{{a}}", "a::b", "link")
    ]
    made += [f"{scheme}{{root}}/a" for scheme in FOREIGN]
    made += ["", " ", ".", "..", "/", "//", "~", "~root", "$HOME", "a", "./a", "../a", "file:", "file:.", "file:a", "-"]
    made += [
        "/proc/self/cwd",
        "/proc/self/root/etc",
        "/dev/stdin",
        "/dev/fd/0",
        "CON",
        "\ufeff/etc",
        "．．/etc",
        "‥/etc",
    ]
    return sorted(set(made))


PAYLOADS = _local_payloads()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "data" / "ckpt"
    write(checkpoint({0: orders(7)}, (0,)), root / "a")
    write(checkpoint({0: orders(7)}, (0,)), tmp_path / "data" / "ckpt-evil" / "a")
    write(checkpoint({0: orders(7)}, (0,)), tmp_path / "secret")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "inner").symlink_to(root / "a")
    return root


def test_there_are_enough_payloads() -> None:
    assert len(PAYLOADS) + len(S3_PAYLOADS) >= 200


@with_cases("payload", PAYLOADS, ids=ascii)
def test_a_local_path_outside_the_roots_is_refused_however_it_is_spelled(payload: str, root: Path) -> None:
    with pytest.raises(OutsideRootsError, match=r"expected .*found|expected .*Nothing was read"):
        read_checkpoint(payload.format(root=root), roots=(str(root),))


@with_cases("payload", S3_PAYLOADS, ids=ascii)
def test_an_object_store_path_outside_the_roots_is_refused_however_it_is_spelled(payload: str) -> None:
    with pytest.raises(OutsideRootsError):
        open_tree(payload, roots=(S3_ROOT,))


@with_cases("spelling", ["{root}/a", "{root}/a/", "{root}//a", "file:{root}/a", "file://{root}/a", "{root}/inner"])
def test_a_path_inside_the_roots_is_read(spelling: str, root: Path) -> None:
    assert read_checkpoint(spelling.format(root=root), roots=("/nowhere", str(root))).details.progress.committed == 0


def test_the_root_itself_is_inside(root: Path) -> None:
    assert read_checkpoint(str(root / "a"), roots=(str(root / "a"),)).details.progress.committed == 0


@with_cases("uri", ["s3://bucket/ckpt", "s3://bucket/ckpt/", "s3a://bucket/ckpt/a", "S3N://bucket/ckpt/a/b"])
def test_a_key_below_the_root_is_inside(uri: str) -> None:
    assert locate(uri, bound=READING).inside(locate(S3_ROOT))


def test_no_root_at_all_allows_nothing(root: Path) -> None:
    with pytest.raises(OutsideRootsError):
        read_checkpoint(str(root / "a"), roots=())


def test_a_link_inside_a_checkpoint_does_not_lead_out(root: Path, tmp_path: Path) -> None:
    (root / "b").mkdir()
    for name in ("offsets", "commits", "sources"):
        (root / "b" / name).symlink_to(tmp_path / "secret" / name)
    (root / "b" / "metadata").write_bytes(b'{"id":"x"}')
    with pytest.raises(OutsideRootsError, match="a link that leads out"):
        read_checkpoint(str(root / "b"), roots=(str(root),))

    write(checkpoint({0: orders(1), 1: orders(2)}, (0, 1)), root / "c")
    (root / "c" / "offsets" / "1").unlink()
    (root / "c" / "offsets" / "1").symlink_to(tmp_path / "secret" / "offsets" / "0")
    read = read_checkpoint(str(root / "c"), roots=(str(root),))
    assert read.sources[0].positions == ()
    assert any("a link that leads out" in problem.message for problem in read.problems)


def test_a_link_to_a_folder_of_state_is_not_followed(root: Path, tmp_path: Path) -> None:
    write({"0/1.delta": b"x" * 100}, tmp_path / "secret" / "state")
    (root / "a" / "state").mkdir()
    (root / "a" / "state" / "0").symlink_to(tmp_path / "secret" / "state" / "0")
    (root / "a" / "state" / "1").symlink_to(root / "a" / "state")

    assert spark_details(read_checkpoint(str(root / "a"), roots=(str(root),))).state == ()


@with_cases("uri", ["", "  ", "a\0b", "http://host/a", "x::s3://b/a", "s3://", "file://host/a", "C:\\a"])
def test_on_the_command_line_what_cannot_be_a_path_is_an_error_too(uri: str) -> None:
    with pytest.raises(StorageError) as caught:
        read_checkpoint(uri)

    assert not isinstance(caught.value, OutsideRootsError)
    assert caught.value.fix


def test_on_the_command_line_any_path_may_be_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)

    assert read_checkpoint("../ckpt-evil/a").details.progress.committed == 0
    assert read_checkpoint(f"{root}/link").details.progress.committed == 0
