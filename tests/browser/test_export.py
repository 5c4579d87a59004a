"""What is approved in the demonstration is taken out in a real browser, judged by the command line, and audited."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import zipfile
from importlib.resources import files as package_files
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from offsetwise.approval import write_keys
from offsetwise.approval.demo import demo_key
from tests.browser.conftest import CLI, console, keep, settle
from tests.browser.oidc import provider
from tests.browser.signing import sign_in, write_secrets
from tests.browser.test_confirmations import fill_in
from tests.browser.test_review import SERVE, playing
from tests.commands import Ran, run

pytestmark = pytest.mark.timeout(600)


def approve(page: Page) -> None:
    fill_in(page)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Approved: version")).to_be_visible()
    page.get_by_role("button", name=re.compile("Export$")).click()
    expect(page.get_by_text("Approved: version 2, 1 approval of 1 asked for.")).to_be_visible()
    settle(page)


def take(page: Page, name: str, into: Path) -> Path:
    """Download the file with this name, and hold its bytes against the digest that is shown beside it."""
    row = page.get_by_test_id("stLayoutWrapper").filter(has=page.get_by_text(name, exact=True)).last
    row.get_by_role("button", name="SHA-256").click()
    shown = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").first.inner_text().strip()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    with page.expect_download() as download:
        row.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == name
    path = into / name
    download.value.save_as(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == shown
    return path


def commands(page: Page) -> list[str]:
    """The commands shown that apply and verify."""
    return [text for text in page.get_by_test_id("stCode").all_inner_texts() if text.startswith("offsetwise ")]


def ran(folder: Path, line: str, *more: str) -> Ran:
    """Run a command exactly as it is shown, where the files were downloaded to."""
    command, *arguments = shlex.split(line)
    assert command == "offsetwise"
    return run(*arguments, *more, cwd=folder)


@pytest.mark.gates
def test_what_was_approved_is_downloaded_and_the_command_line_judges_exactly_that(
    browser: Browser, tmp_path: Path
) -> None:
    with console(*SERVE, log=tmp_path / "log") as address:
        page = playing(browser, address, "Rita")
        approve(page)
        keep(page, "export-approved")
        page.get_by_text("Other tools, and the files one by one").click()
        settle(page)
        name = re.search(r"plan-[0-9a-f]{8}", page.get_by_test_id("stMain").inner_text())
        assert name is not None
        plan = take(page, f"{name[0]}.json", tmp_path)
        envelope = take(page, f"{name[0]}.approval-1.json", tmp_path)
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Download {name[0]}.zip").click()
        download.value.save_as(tmp_path / "kit.zip")
        with zipfile.ZipFile(tmp_path / "kit.zip") as kit:
            assert kit.read(plan.name) == plan.read_bytes()
            assert kit.read(envelope.name) == envelope.read_bytes()
            readme = kit.read("README.md").decode()
        assert hashlib.sha256(plan.read_bytes()).hexdigest().startswith(name[0].removeprefix("plan-"))
        dry, execute, verify = commands(page)
        page.goto(f"{address}/audit")
        page.get_by_role("button", name="Play Rita").click()
        expect(page.get_by_text("The audit log is intact: 5 rows")).to_be_visible()
        settle(page)
        keep(page, "audit")
        page.context.close()

    assert shlex.split(execute) == [*shlex.split(dry), "--approval", envelope.name, "--execute"]
    assert all(f"```sh\n{line}\n```" in readme for line in (dry, execute, verify))
    assert verify.startswith("offsetwise verify ")
    shutil.copy(str(package_files("offsetwise") / "sample" / "migration.yaml"), tmp_path)
    write_keys(tmp_path / "demo.key", demo_key())
    packed = ("--as", "zip", "--approval", envelope.name, "--trust", "demo.key.pub", "--out", "own.zip")
    assert ran(tmp_path, f"offsetwise export {plan.name} --migration migration.yaml", *packed).code == 0
    with zipfile.ZipFile(tmp_path / "own.zip") as own, zipfile.ZipFile(tmp_path / "kit.zip") as kit:
        assert own.namelist() == kit.namelist()
        assert own.read(plan.name) == kit.read(plan.name)
        # Only the folder of the copy is another one: the console does not know where this sample lies.
        assert own.read("README.md").decode().replace(f"{tmp_path}/applied", "applied") == readme
    nobody = ran(tmp_path, execute)
    assert nobody.code == 4, nobody.err
    assert "expected a key that the applier trusts" in " ".join(nobody.err.split())
    # Whoever trusts the demo key gets past the judge with the plan of the sample, to clusters that exist no more.
    trusted = ran(tmp_path, execute, "--trust", "demo.key.pub")
    assert trusted.code == 1, trusted.err
    assert "expected a Kafka broker, found none" in " ".join(trusted.err.split())
    assert ran(tmp_path, dry).code == 1
    plan.write_bytes(plan.read_bytes().replace(b'"orders-to-new"', b'"orders-to-old"'))
    changed = ran(tmp_path, execute, "--trust", "demo.key.pub")
    assert changed.code == 4, changed.err


@pytest.mark.gates
def test_a_plan_goes_in_a_bundle_to_a_console_that_reaches_no_cluster(browser: Browser, tmp_path: Path) -> None:
    with console(*SERVE, log=tmp_path / "log") as address:
        page = playing(browser, address, "Ada")
        page.goto(f"{address}/export")
        page.get_by_role("button", name="Play Ada").click()
        expect(page.get_by_text("DRAFT: nobody may apply this.")).to_be_visible()
        settle(page)
        keep(page, "export-draft")
        (starting,) = [line for line in commands(page) if "--bundle" in line]
        bundle = shlex.split(starting)[shlex.split(starting).index("--bundle") + 1]
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the bundle").click()
        assert download.value.suggested_filename == bundle
        download.value.save_as(tmp_path / bundle)
        page.context.close()

    signed_in = ("--access", "access.yaml", "--store", "sqlite:///plans.sqlite")
    command = ("-c", CLI, "console", "--bundle", bundle, *signed_in, "--port", "{port}")
    with provider({"rita": {"name": "Rita"}}) as running:
        write_secrets(tmp_path, running.issuer)
        rules = {"sign_in": "required", "roles": {"reviewer": [{"issuer": running.issuer, "subject": "rita"}]}}
        (tmp_path / "access.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
        with console(*command, log=tmp_path / "away.log", cwd=tmp_path) as address:
            take_in(browser, address)


def take_in(browser: Browser, address: str) -> None:
    """Sign in as a reviewer, and take in the bundle that the console was started with."""
    with browser.new_context(viewport={"width": 1400, "height": 1000}) as context:
        page = context.new_page()
        page.goto(f"{address}/export")
        settle(page)
        sign_in(page, "rita")
        page.get_by_role("button", name="Take it in for review").click()
        expect(page.get_by_text("is taken in as plan 1")).to_be_visible()
        settle(page)
        keep(page, "export-bundle")
        page.get_by_role("link", name="Comparison").click()
        expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
        expect(page.get_by_text("Evidence of")).to_be_visible()
