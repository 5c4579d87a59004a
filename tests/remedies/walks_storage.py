"""Remedies about files, folders, tables and the store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sqlalchemy import create_engine, text

from offsetwise import files
from offsetwise.lab.java import find_java
from offsetwise.model import Problem
from offsetwise.new_files import publish, require_new, write_over
from offsetwise.regular_files import below, opening
from offsetwise.storage.dynamodb import tables_at
from offsetwise.storage.folders import open_tree
from offsetwise.storage.patterns import expand
from offsetwise.store.address import address
from offsetwise.store.database import VERSION_TABLE
from offsetwise.store.store import open_store
from offsetwise.workflow.stored import read_file
from tests.approval.signed import FILE, PLAN
from tests.lag_samples import sample
from tests.plan.scene import SAMPLE
from tests.remedies.walk import Scene, Steps, corrected, walk

FOLDERS = "storage/folders.py::"


@walk(FOLDERS + "Tree.entries", "Check the path and, on an object store")
def no_such_folder(scene: Scene) -> Steps:
    tree = open_tree(str(scene.folder / "orders"))
    return Steps(tree.entries, lambda: scene.write("orders/metadata", "{}"))


@walk(FOLDERS + "Tree._read_local", "Check that the path names a checkpoint")
def folder_in_the_place_of_a_file(scene: Scene) -> Steps:
    (scene.folder / "metadata").mkdir()
    scene.write("orders/metadata", "{}")
    return Steps(
        lambda: open_tree(str(scene.folder)).read("metadata"),
        lambda: None,
        lambda: open_tree(str(scene.folder / "orders")).read("metadata"),
    )


@walk(FOLDERS + "Tree._path", "Name the folder the link points to")
def link_out_of_the_roots(scene: Scene) -> Steps:
    target = scene.write("elsewhere/metadata", "{}").parent
    root = scene.folder / "root"
    root.mkdir()
    (root / "orders").symlink_to(target)
    roots = [str(root)]
    return Steps(lambda: open_tree(str(root), roots=roots).entries("orders"), lambda: roots.append(str(target)))


@walk(FOLDERS + "Tree._too_large", "Check that the path names a checkpoint: its log")
def large_file(scene: Scene) -> Steps:
    scene.write("logs/large", "x" * 100)
    scene.write("orders/metadata", "{}")
    return Steps(
        lambda: replace(open_tree(str(scene.folder / "logs")), max_file_bytes=10).read("large"),
        lambda: None,
        lambda: replace(open_tree(str(scene.folder / "orders")), max_file_bytes=10).read("metadata"),
    )


@walk(FOLDERS + "Tree._refused", "Check the path and, on an object store")
def no_such_file(scene: Scene) -> Steps:
    return Steps(lambda: open_tree(str(scene.folder)).read("metadata"), lambda: scene.write("metadata", "{}"))


@walk(FOLDERS + "open_tree", "Add its folder to checkpoint_roots")
def path_outside_the_roots(scene: Scene) -> Steps:
    path = scene.write("orders/metadata", "{}").parent
    roots = [str(scene.folder / "others")]
    return Steps(lambda: open_tree(str(path), roots=roots).entries(), lambda: roots.append(str(path)))


@walk("storage/location.py::_unusable", "Give the plain path of a folder inside")
def path_with_dots(scene: Scene) -> Steps:
    scene.write("orders/metadata", "{}")
    roots = [str(scene.folder)]
    return Steps(
        lambda: open_tree(f"{scene.folder}/a/../orders", roots=roots).entries(),
        lambda: None,
        lambda: open_tree(f"{scene.folder}/orders", roots=roots).entries(),
    )


@walk("storage/location.py::_unusable", "Give a local path, or a URI such as")
def unknown_scheme(scene: Scene) -> Steps:
    scene.write("orders/metadata", "{}")
    return Steps(
        lambda: open_tree("ftp://host/orders").entries(),
        lambda: None,
        lambda: open_tree(str(scene.folder / "orders")).entries(),
    )


@walk("storage/patterns.py::expand", "Check the pattern, and quote it")
def pattern_without_a_match(scene: Scene) -> Steps:
    scene.write("orders/metadata", "{}")
    return Steps(
        lambda: expand([f"{scene.folder}/payments*"]), lambda: None, lambda: expand([f"{scene.folder}/orders*"])
    )


@walk("regular_files.py::below", "Find out where this name comes from")
def name_that_leaves_its_folder(scene: Scene) -> Steps:
    return Steps(lambda: below(str(scene.folder), "../a"), lambda: None, lambda: below(str(scene.folder), "a"))


TABLE = "storage/dynamodb.py::"
corrected(
    TABLE + "_address",
    "Name the table, and nothing but its region and endpoint",
    "credentials_in_the_address",
    lambda: tables_at("dynamodb://leases?aws_secret_access_key=x"),
    lambda: open_tree("/"),
)


# Files of ours.
FILES = "files/__init__.py::"
corrected(
    FILES + "check_header",
    "Give a file that says",
    "another_kind_of_file",
    lambda: files.load(FILE, "snapshot", subject="a.json"),
    lambda: files.load(FILE, "plan", subject="a.json"),
)
LATER = FILE.replace(b'"format_version": "1.', b'"format_version": "2.')
corrected(
    FILES + "check_header",
    "Use the release of Offsetwise that wrote it",
    "later_release",
    lambda: files.load(LATER, "plan", subject="a.json"),
    lambda: files.load(files.dump(PLAN).encode(), "plan", subject="a.json"),
)
corrected(
    FILES + "_not_ours",
    "Give the file as Offsetwise wrote it",
    "no_json",
    lambda: files.load(FILE + b"}", "plan", subject="a.json"),
    lambda: files.load(FILE, "plan", subject="a.json"),
)
corrected(
    FILES + "load",
    "Write the file again with this version",
    "field_that_is_wrong",
    lambda: files.load(FILE.replace(b'"author": "alice"', b'"author": 5'), "plan", subject="a.json"),
    lambda: files.load(FILE, "plan", subject="a.json"),
)


@walk("workflow/stored.py::read_file", "Check the path.")
def snapshot_missing(scene: Scene) -> Steps:
    path = scene.folder / "old.json"
    taken = (SAMPLE / "old.json").read_bytes()
    return Steps(lambda: read_file(path, "snapshot"), lambda: scene.write("old.json", taken))


NEW = "new_files.py::"


@walk(NEW + "_not_new", "Name a file that does not exist yet")
def file_exists(scene: Scene) -> Steps:
    path = scene.write("plan.json", "mine")
    return Steps(lambda: require_new(path), lambda: None, lambda: require_new(scene.folder / "other.json"))


@walk(NEW + "publish", "Run the same command again")
def changed_meanwhile(scene: Scene) -> Steps:
    path = scene.write("migration.yaml", "theirs")
    read = [b"mine!!"]
    return Steps(
        lambda: publish(path, "new", bool, instead_of=read[0]),
        lambda: read.__setitem__(0, path.read_bytes()),  # the command reads it again
    )


@walk(NEW + "write_over", "or name another folder")
def folder_gone(scene: Scene) -> Steps:
    return Steps(
        lambda: write_over(scene.folder / "gone" / "a.json", "{}"),
        lambda: None,
        lambda: write_over(scene.folder / "a.json", "{}"),
    )


# The store.
STORE = "store/address.py::"
corrected(
    STORE + "_postgresql",
    "in the password's place",
    "password_written_out",
    lambda: address("postgresql://ada:secret@host/db"),
    lambda: address("postgresql://ada@host/db"),
)


@walk(STORE + "_postgresql", "Set ", name="password_not_set")
def _(scene: Scene) -> Steps:
    scene.patch.delenv("PGPASS", raising=False)
    return Steps(
        lambda: address("postgresql://ada:${PGPASS}@host/db"), lambda: scene.patch.setenv("PGPASS", "not-a-secret")
    )


@walk(STORE + "_unusable", "Correct --store or $OFFSETWISE_STORE")
def unknown_database(scene: Scene) -> Steps:
    return Steps(
        lambda: address("mysql://host/db"), lambda: None, lambda: address(f"sqlite:///{scene.folder}/store.sqlite")
    )


def opened(path: Path) -> Callable[[], None]:
    return lambda: open_store(f"sqlite:///{path}").close()


def with_table(path: Path, *statements: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()
    path.chmod(0o600)


DATABASE = "store/database.py::"


@walk(DATABASE + "Database._revision", "Name another file or database")
def database_of_something_else(scene: Scene) -> Steps:
    path = scene.folder / "theirs.sqlite"
    with_table(path, "CREATE TABLE theirs (id INTEGER)")
    return Steps(opened(path), lambda: None, opened(scene.folder / "ours.sqlite"))


@walk(DATABASE + "Database._revision", "or name another store")
def store_of_a_later_release(scene: Scene) -> Steps:
    path = scene.folder / "store.sqlite"
    opened(path)()
    with_table(path, f"UPDATE {VERSION_TABLE} SET version_num = 'later'")
    return Steps(opened(path), lambda: None, opened(scene.folder / "other.sqlite"))


@walk(DATABASE + "_make_file", "look at its audit log first, or begin a new store")
def store_that_others_may_read(scene: Scene) -> Steps:
    path = scene.folder / "store.sqlite"
    opened(path)()
    path.chmod(0o644)
    return Steps(opened(path), lambda: path.chmod(0o600))


@walk("regular_files.py::opening", "Run `chmod 600")
def file_that_others_may_read(scene: Scene) -> Steps:
    path = scene.write("secrets.toml", "")
    path.chmod(0o644)
    return Steps(lambda: _refused(path), lambda: path.chmod(0o600))


@walk("regular_files.py::opening", "Run `chmod go-w")
def folder_that_others_may_write(scene: Scene) -> Steps:
    path = scene.write("open/secrets.toml", "")
    path.chmod(0o600)
    path.parent.chmod(0o777)
    return Steps(lambda: _refused(path), lambda: path.parent.chmod(0o755))


def _refused(path: Path) -> tuple[Problem, ...]:
    found = opening(path, shared_folder=False)
    return () if found is None else (Problem(code="regular_files.py::opening", message=found.problem, fix=found.fix),)


JAVA = "lab/java.py::"


def fake_java(scene: Scene, script: str) -> Path:
    path = scene.write("home/bin/java", script)
    path.chmod(0o755)
    scene.patch.setenv("JAVA_HOME", str(scene.folder / "home"))
    return path


def point_at_a_java(scene: Scene) -> Callable[[], None]:
    before = os.environ.get("JAVA_HOME")
    return lambda: scene.patch.setenv("JAVA_HOME", before) if before else scene.patch.delenv("JAVA_HOME")


@walk(JAVA + "find_java", "or point JAVA_HOME at one", name="java_too_old")
def _(scene: Scene) -> Steps:
    follow = point_at_a_java(scene)
    fake_java(scene, "#!/bin/sh\necho 'openjdk version \"11.0.1\"' >&2\n")
    return Steps(find_java, follow)


@walk(JAVA + "_version_text", "or point JAVA_HOME at one", name="java_that_does_not_run")
def _(scene: Scene) -> Steps:
    follow = point_at_a_java(scene)
    fake_java(scene, "#!/no/such/interpreter\n")
    return Steps(find_java, follow)


TROUBLES = "store/troubles.py::"


@walk(TROUBLES + "sqlite_trouble", "Let the other process finish")
def store_that_another_process_writes(scene: Scene) -> Steps:
    path = scene.folder / "store.sqlite"
    opened(path)()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def add() -> None:
        with open_store(f"sqlite:///{path}", wait_s=0.1) as store:
            store.add(sample())

    return Steps(add, other.close)


@walk(TROUBLES + "sqlite_trouble", "Make the file and its folder writable")
def store_that_is_opened_to_be_read(scene: Scene) -> Steps:
    path = scene.folder / "store.sqlite"
    opened(path)()

    def add(url: str) -> Callable[[], None]:
        def command() -> None:
            with open_store(url) as store:
                store.add(sample())

        return command

    return Steps(
        add(f"sqlite:///file:{path}?mode=ro&uri=true"), lambda: None, add(f"sqlite:///{scene.folder}/other.sqlite")
    )


@walk(TROUBLES + "sqlite_trouble", "if it was the store, move it away")
def store_that_is_damaged(scene: Scene) -> Steps:
    path = scene.write("store.sqlite", "no database " * 100)
    path.chmod(0o600)
    return Steps(opened(path), lambda: path.rename(scene.folder / "damaged"))


@walk(TROUBLES + "sqlite_trouble", "Check that its folder exists")
def folder_in_the_place_of_the_store(scene: Scene) -> Steps:
    folder = scene.folder / "store.sqlite"
    folder.mkdir()
    return Steps(opened(folder), lambda: None, opened(folder / "store.sqlite"))


@walk(DATABASE + "_make_file", "Make the folder writable, or name another store")
def file_in_the_place_of_the_folder(scene: Scene) -> Steps:
    scene.write("file", "")
    return Steps(opened(scene.folder / "file" / "store.sqlite"), lambda: None, opened(scene.folder / "store.sqlite"))


@walk("storage/object_stores.py::_refuse_foreign_cloud", "if the host is meant")
def account_of_another_cloud(scene: Scene) -> Steps:
    string = "AccountName=own;AccountKey=a2V5;BlobEndpoint=https://own.blob.stack.example"
    return Steps(
        lambda: open_tree("abfss://lake@own.dfs.stack.example/x"),
        lambda: scene.patch.setenv("AZURE_STORAGE_CONNECTION_STRING", string),
    )
