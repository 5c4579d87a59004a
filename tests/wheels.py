"""Wheels that tests build, and environments that hold them without this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from offsetwise.lab.brokers import free_ports
from tests.docs_pages import ROOT

SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "app.py", "lib", "pages", "docs", ".streamlit")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info")


def build(folder: Path, *sources: Path) -> Path:
    """Build a wheel from a copy of its sources in a new folder."""
    folder.mkdir()
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, folder / source.name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, folder)
    alone = ("--no-deps", "--no-build-isolation", "--no-index")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", *alone, "--wheel-dir", "dist", "."], cwd=folder, check=True
    )
    (made,) = (folder / "dist").glob("*.whl")
    return made


def build_product(folder: Path) -> Path:
    """Build the product's wheel."""
    return build(folder, *(ROOT / name for name in SOURCES))


def install(folder: Path, *wheels: Path) -> Path:
    """Return the command of an environment with wheels and the libraries of this one, without this checkout."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth file is searched, but no .pth file in it is read: this checkout's editable install is one.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    target = ("--no-deps", "--no-index", "--ignore-installed", "--prefix", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *target, *map(str, wheels)], check=True)
    command = folder / "bin" / "offsetwise"
    first, _, rest = command.read_text().partition("\n")
    assert first.startswith("#!")
    command.write_text(f"#!{folder / 'bin' / 'python'}\n{rest}")
    return command


def clean() -> dict[str, str]:
    """Return this process's environment without its path to this checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(command: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run([command, *arguments], env=clean(), capture_output=True, text=True, check=False)


def call(command: Path, *arguments: str) -> str:
    """Run a command that must succeed; return what it prints."""
    ran = run(command, *arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@contextmanager
def served(command: Path, state: Path, *arguments: str, folder: Path) -> Iterator[str]:
    """Run `offsetwise console` in a folder; yield its address."""
    (port,) = free_ports(1)
    environment = clean() | {"STREAMLIT_SERVER_HEADLESS": "true", "OFFSETWISE_STATE": str(state)}
    running = subprocess.Popen([command, "console", "--port", str(port), *arguments], cwd=folder, env=environment)
    try:
        deadline = time.monotonic() + 120
        while True:
            assert running.poll() is None
            assert time.monotonic() < deadline
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
                    break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(timeout=30)
