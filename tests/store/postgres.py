"""A real PostgreSQL server on the loopback interface, in a folder of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

USER = "offsetwise"
PASSWORD_VARIABLE = "OFFSETWISE_TEST_DATABASE_PASSWORD"


class Server:
    """Runs as the user `postgres` when the tests run as root, which PostgreSQL refuses to be."""

    def __init__(self) -> None:
        self.password = secrets.token_hex(16)
        self._bin = _programs()
        self._folder = Path(tempfile.mkdtemp(prefix="offsetwise-postgres-"))
        self._data = self._folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        word = self._folder / "password"
        word.write_text(self.password, encoding="utf-8")
        if os.geteuid() == 0:
            for path in (self._folder, word):
                shutil.chown(path, "postgres", "postgres")
        self._run(
            "initdb",
            f"--username={USER}",
            f"--pwfile={word}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self._run("pg_ctl", "--wait", f"--log={self._folder / 'log'}", f"--options={options}", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "--wait", "--mode=immediate", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def new_database(self, *, read_only: bool = False) -> str:
        """Make a database, and give its URL, the password by reference."""
        name = f"store_{secrets.token_hex(6)}"
        self.run_sql(f"CREATE DATABASE {name}")
        if read_only:
            self.make_read_only(name)
        return f"postgresql+psycopg://{USER}:${{{PASSWORD_VARIABLE}}}@127.0.0.1:{self.port}/{name}"

    def make_read_only(self, database: str) -> None:
        self.run_sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")

    def run_sql(self, statement: str, *, database: str = "postgres") -> None:
        with self.connect(database) as connection:
            connection.execute(statement.encode())

    def connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=self.password,
            dbname=database,
            autocommit=True,
        )

    def _run(self, program: str, *arguments: str) -> None:
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*user, str(self._bin / program), f"--pgdata={self._data}", *arguments]
        # The server inherits what it is given: a pipe would never end.
        with (self._folder / f"{program}.out").open("a") as said:
            done = subprocess.run(command, stdout=said, stderr=said, cwd=self._folder, check=False)
        if done.returncode:
            pytest.fail(f"{program}: {(self._folder / f'{program}.out').read_text()}")


def _programs() -> Path:
    there = shutil.which("initdb")
    if there is not None:
        return Path(there).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not installed:
        pytest.fail("The store's tests need PostgreSQL's initdb. Install it: sudo apt-get install postgresql")
    return installed[-1].parent
