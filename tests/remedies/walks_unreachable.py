"""Remedies of folders that cannot be reached, and of the store where nobody knows what it did."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from offsetwise.lab.brokers import free_ports
from offsetwise.storage.folders import open_tree
from offsetwise.storage.patterns import expand
from offsetwise.store.review_rows import Who
from offsetwise.store.store import open_store
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_storage import FOLDERS
from tests.review import people
from tests.review.people import RITA
from tests.store.postgres import PASSWORD_VARIABLE, Server
from tests.store.test_reviews import ADA, decide, submitted
from tests.store.test_reviews import RITA as REVIEWER
from tests.store.test_settling import Wire
from tests.stores import S3

NOBODY = 65534
"""The user id of a user who owns nothing."""


def bucket(scene: Scene) -> S3:
    """Return a bucket with one checkpoint in it, to which the environment leads."""
    made: S3 = scene.request.getfixturevalue("s3")
    made.put("orders", {"metadata": b"{}"})
    return made


def unreachable(scene: Scene) -> Callable[[], None]:
    """Let the environment lead to a port that nobody serves, and return what corrects it."""
    address, (port,) = os.environ["AWS_ENDPOINT_URL"], free_ports(1)
    scene.patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    scene.patch.setenv("AWS_MAX_ATTEMPTS", "1")
    return lambda: scene.patch.setenv("AWS_ENDPOINT_URL", address)


@walk(FOLDERS + "Tree.entries", "Check the path.")
def object_in_the_place_of_a_folder(scene: Scene) -> Steps:
    root = bucket(scene).root
    return Steps(open_tree(f"{root}/orders/metadata").entries, lambda: None, open_tree(f"{root}/orders").entries)


@walk(FOLDERS + "Tree._refused", "Check the path, the network and the credentials")
def store_that_does_not_answer(scene: Scene) -> Steps:
    root = bucket(scene).root
    follow = unreachable(scene)
    return Steps(lambda: open_tree(f"{root}/orders").entries(), follow)


@walk("storage/patterns.py::_glob_folders", "Check the pattern, the network and the credentials")
def pattern_in_a_store_that_does_not_answer(scene: Scene) -> Steps:
    root = bucket(scene).root
    follow = unreachable(scene)
    return Steps(lambda: expand([f"{root}/ord*"]), follow)


@contextmanager
def as_a_user_who_is_not_root() -> Iterator[None]:
    """Let the system ask for permissions, which it does not for root."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@walk(FOLDERS + "Tree._refused", "Give this user read access")
def folder_that_this_user_may_not_read(scene: Scene) -> Steps:
    root = Path(tempfile.mkdtemp())  # nobody else reaches what is below pytest's folder
    scene.request.addfinalizer(lambda: shutil.rmtree(root))
    root.chmod(0o755)
    folder = root / "orders"
    folder.mkdir(mode=0o000)

    def listed() -> object:
        with as_a_user_who_is_not_root():
            return open_tree(str(folder)).entries()

    return Steps(listed, lambda: folder.chmod(0o755))


@walk(FOLDERS + "_filesystem", "Install it: pip install")
def library_that_is_not_installed(scene: Scene) -> Steps:
    root = bucket(scene).root
    known = sys.modules["fsspec.registry"]._registry
    absent = {name: sys.modules.get(name) for name in ("s3fs", "s3fs.core")}
    protocols = {name: known[name] for name in ("s3", "s3a") if name in known}
    for name in protocols:
        scene.patch.delitem(known, name)
    for name in absent:
        scene.patch.setitem(sys.modules, name, None)

    def installed() -> None:
        for name, module in absent.items():
            if module is None:
                scene.patch.delitem(sys.modules, name)
            else:
                scene.patch.setitem(sys.modules, name, module)

    return Steps(lambda: open_tree(f"{root}/orders").entries(), installed)


@walk(FOLDERS + "_filesystem", "Check the credentials and settings")
def settings_that_the_library_cannot_use(scene: Scene) -> Steps:
    address = "abfss://lake@own.dfs.core.windows.net/orders"
    scene.patch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    for name, value in {"CLIENT_ID": "us", "CLIENT_SECRET": "of-the-test", "TENANT_ID": "no tenant!"}.items():
        scene.patch.setenv(f"AZURE_STORAGE_{name}", value)
    return Steps(
        lambda: open_tree(address) and None,
        lambda: scene.patch.setenv("AZURE_STORAGE_TENANT_ID", "00000000-0000-0000-0000-000000000000"),
    )


# The store.
@walk("store/database.py::Database._took_place", "When the store answers again, look at the plan")
def decision_whose_reply_was_lost(scene: Scene) -> Steps:
    server: Server = scene.request.getfixturevalue("server")
    scene.patch.setenv(PASSWORD_VARIABLE, server.password)
    wire, url = Wire(server.port), server.new_database()
    scene.request.addfinalizer(wire.close)
    store = open_store(url.replace(f":{server.port}/", f":{wire.port}/"), wait_s=60)
    scene.request.addfinalizer(store.close)
    board = people.Scene(store.reviews, people.access_with_key(scene.folder))
    saved = board.submitted()

    def lost() -> object:
        wire.cut, wire.closed = "after", True
        return board.approve(RITA, saved)

    def answers_again() -> None:
        wire.closed = False

    def looked() -> object:
        sheet = board.board.sheet(RITA, saved.plan)
        assert sheet is not None
        return [] if sheet.decisions else board.approve(RITA, saved)

    return Steps(lost, answers_again, looked)


@walk("store/troubles.py::_explained", "Let somebody who did not write or edit the plan")
def decision_of_the_author_past_the_review(scene: Scene) -> Steps:
    url = f"sqlite:///{scene.folder / 'store.sqlite'}"
    with closing(open_store(url)) as store:
        plan = submitted(store.reviews)

    def decided(by: Who) -> Callable[[], None]:
        def command() -> None:
            with closing(open_store(url)) as store, store.reviews.changing("Deciding") as change:
                decide(change, plan, by)

        return command

    return Steps(decided(ADA), lambda: None, decided(REVIEWER))
