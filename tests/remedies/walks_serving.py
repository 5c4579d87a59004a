"""Remedies of a console that does not start, as it is started: by its command, in a folder, with its files."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import offsetwise
from offsetwise.lab.brokers import free_ports
from offsetwise.model import Problem
from tests.browser.conftest import CLI
from tests.docs_pages import ROOT
from tests.remedies.walk import Scene, Steps, walk

ACCESS, IDENTITY = "console/server/access.py::check_address", "console/server/identity.py::providers"


def starting(scene: Scene, scope: str, *options: str, **variables: str) -> Callable[[], tuple[Problem, ...]]:
    """Return what starts a console in the scene's folder; it ends as soon as it is served, or says why it is not."""

    def command() -> tuple[Problem, ...]:
        (port,) = free_ports(1)
        given = [sys.executable, "-c", CLI, "console", "--port", str(port), *options]
        env = {**os.environ, "STREAMLIT_SERVER_HEADLESS": "true", "HOME": str(scene.folder / "home"), **variables}
        with subprocess.Popen(given, cwd=scene.folder, env=env, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            said = []
            for line in running.stderr:
                if line.startswith("Console: "):
                    running.send_signal(signal.SIGINT)
                    running.communicate(timeout=120)
                    return ()
                said.append(line)
        (fix,) = (line.removeprefix("next").strip() for line in said if line.startswith("next"))
        return (Problem(code=scope, message="".join(said), fix=fix),)

    return command


def documented(scene: Scene) -> None:
    """Write the secrets as docs/sign-in.md shows them."""
    page = (ROOT / "docs" / "sign-in.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```toml\n(\[auth\]\n.+?)```", page, re.DOTALL)
    path = scene.write(".streamlit/secrets.toml", shown.replace("…", secrets.token_hex(32)))
    path.chmod(0o600)


def access_file(scene: Scene) -> None:
    """Write an access file that asks everybody to sign in."""
    scene.write("access.yaml", "sign_in: required\n")


@walk("cli/services.py::console", "Leave --folder out")
def folder_of_no_migration(scene: Scene) -> Steps:
    scope = "cli/services.py::console"
    return Steps(starting(scene, scope, "--folder", "out"), lambda: None, starting(scene, scope))


@walk(ACCESS, "Add [auth] to .streamlit/secrets.toml", proof=True)
def sign_in_without_a_provider(scene: Scene) -> Steps:
    access_file(scene)
    return Steps(starting(scene, ACCESS, "--access", "access.yaml"), lambda: documented(scene))


@walk(ACCESS, "Give --access a file that says", proof=True)
def console_that_is_open_to_everybody(scene: Scene) -> Steps:
    documented(scene)
    everywhere = ("--address", "0.0.0.0")
    return Steps(
        starting(scene, ACCESS, *everywhere),
        lambda: access_file(scene),
        starting(scene, ACCESS, *everywhere, "--access", "access.yaml"),
    )


@walk(IDENTITY, "Complete [auth]", proof=True)
def provider_that_is_half_there(scene: Scene) -> Steps:
    scene.write(".streamlit/secrets.toml", f'[auth]\ncookie_secret = "{"x" * 32}"\n').chmod(0o600)
    return Steps(starting(scene, IDENTITY), lambda: documented(scene))


@walk(IDENTITY, "Use what `python -c", proof=True)
def cookie_secret_that_can_be_guessed(scene: Scene) -> Steps:
    documented(scene)
    path = scene.folder / ".streamlit" / "secrets.toml"
    path.write_text(re.sub('(cookie_secret = )".+?"', r'\1"short"', path.read_text()), encoding="utf-8")
    start = starting(scene, IDENTITY)

    def generated() -> None:
        (problem,) = start()
        (command,) = re.findall("`python (.+)`", problem.fix)
        printed = subprocess.run([sys.executable, *shlex.split(command)], capture_output=True, text=True, check=True)
        path.write_text(path.read_text().replace('"short"', f'"{printed.stdout.strip()}"'), encoding="utf-8")

    return Steps(start, generated)


SECRETS = "console/server/secrets_files.py::check"


@walk(SECRETS, "If others may have read it", proof=True)
def secrets_that_others_may_read(scene: Scene) -> Steps:
    documented(scene)
    (scene.folder / ".streamlit" / "secrets.toml").chmod(0o644)
    start = starting(scene, SECRETS)

    def closed_and_replaced() -> None:
        (problem,) = start()
        (command,) = re.findall("Run `(.+?)`", problem.fix)
        subprocess.run(shlex.split(command), check=True)
        documented(scene)

    return Steps(start, closed_and_replaced)


@walk("bundled.py::damaged", "Install Offsetwise again", name="pages_that_are_not_there", proof=True)
def _(scene: Scene) -> Steps:
    package = Path(offsetwise.__file__).parent
    site = Path(shutil.copytree(package, scene.folder / "site" / "offsetwise", ignore=shutil.ignore_patterns("*.pyc")))

    def installed() -> None:
        for name in ("app.py", "pages", ".streamlit"):
            source, target = ROOT / name, site.parent.parent / name
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)

    return Steps(starting(scene, "bundled.py::damaged", PYTHONPATH=str(site.parent)), installed)
