"""The wheel alone, in a folder outside the checkout: the console opens, and a job is moved."""

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
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, expect

from offsetwise.lab.brokers import free_ports
from tests.browser.conftest import settle
from tests.docs_pages import ROOT

pytestmark = pytest.mark.proof

SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "app.py", "lib", "pages", "docs", ".streamlit")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources."""
    copied = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copied / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, copied)
    alone = ("--no-deps", "--no-build-isolation", "--no-index")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", *alone, "--wheel-dir", "dist", "."], cwd=copied, check=True
    )
    (made,) = (copied / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def offsetwise(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the command of an environment with the wheel and the libraries of this one, without this checkout."""
    made = tmp_path_factory.mktemp("installed")
    venv.create(made, with_pip=False, symlinks=True)
    (site,) = made.glob("lib/python*/site-packages")
    # A path in a .pth file is searched, but no .pth file in it is read: this checkout's editable install is one.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    target = ("--no-deps", "--no-index", "--ignore-installed", "--prefix", str(made))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *target, str(wheel)], check=True)
    command = made / "bin" / "offsetwise"
    first, _, rest = command.read_text().partition("\n")
    assert first.startswith("#!")
    command.write_text(f"#!{made / 'bin' / 'python'}\n{rest}")
    return command


def call(command: Path, *arguments: str) -> str:
    """Run a command that must succeed; give what it prints."""
    ran = subprocess.run([command, *arguments], env=clean(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@contextmanager
def served(command: Path, folder: Path) -> Iterator[str]:
    """Run `offsetwise console` in an empty folder; give its address."""
    (port,) = free_ports(1)
    environment = clean() | {"STREAMLIT_SERVER_HEADLESS": "true", "OFFSETWISE_STATE": str(folder / "state")}
    (folder / "empty").mkdir()
    running = subprocess.Popen([command, "console", "--port", str(port)], cwd=folder / "empty", env=environment)
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


def test_it_holds_what_a_checkout_holds(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())

    beside = {f"offsetwise/beside/{path.relative_to(ROOT)}" for path in (ROOT / "pages").rglob("*.py")}
    beside |= {f"offsetwise/beside/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*.md")}
    ours = [path for path in (ROOT / "lib" / "offsetwise").rglob("*") if path.is_file()]
    inside = {str(path.relative_to(ROOT / "lib")) for path in ours if "__pycache__" not in path.parts}
    assert beside | inside | {"offsetwise/beside/app.py", "offsetwise/beside/.streamlit/config.toml"} <= names


def test_the_console_opens_in_an_empty_folder_on_the_sample(offsetwise: Path, tmp_path: Path, browser: Browser) -> None:
    with served(offsetwise, tmp_path) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(address)
        settle(page)
        expect(page.get_by_text("The same record sits at")).to_contain_text("1,050")
        page.get_by_role("button", name="Open the sample").click()
        expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()
        page.goto(f"{address}/help?page=LOSS_INSIDE_LOG")
        settle(page)
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        page.close()

    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.usefixtures("desk")
def test_a_job_is_drafted_signed_applied_and_verified(offsetwise: Path) -> None:
    migration = ("--migration", "migration.yaml")
    chosen = (*migration, "--checkpoint", "trades", "--target", "spark-checkpoint", "--author", "ada")
    call(offsetwise, "draft", *chosen, "--out", "plan.json")
    call(offsetwise, "keygen", "--out", "reviewer", "--as", "bob")
    call(offsetwise, "sign", "plan.json", "--key", "reviewer", "--as", "bob", "--out", "plan.approval.json")
    given = ("--approval", "plan.approval.json", "--trust", "reviewer.pub", "--output", "applied/trades")
    call(offsetwise, "apply", "plan.json", *migration, *given, "--execute")

    verified = call(offsetwise, "verify", "plan.receipt.json", *migration)

    assert "1 CONFIRMED" in verified
