"""The wheel alone, in a folder outside the checkout: the console opens, and a job is moved."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import settle
from tests.docs_pages import ROOT
from tests.wheels import build_product, call, install, served

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources."""
    return build_product(tmp_path_factory.mktemp("sources") / "product")


@pytest.fixture(scope="module")
def offsetwise(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of an environment with the wheel alone."""
    return install(tmp_path_factory.mktemp("installed"), wheel)


def test_it_holds_what_a_checkout_holds(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())

    beside = {f"offsetwise/beside/{path.relative_to(ROOT)}" for path in (ROOT / "pages").rglob("*.py")}
    beside |= {f"offsetwise/beside/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*.md")}
    ours = [path for path in (ROOT / "lib" / "offsetwise").rglob("*") if path.is_file()]
    inside = {str(path.relative_to(ROOT / "lib")) for path in ours if "__pycache__" not in path.parts}
    assert beside | inside | {"offsetwise/beside/app.py", "offsetwise/beside/.streamlit/config.toml"} <= names


def test_the_console_opens_in_an_empty_folder_on_the_sample(offsetwise: Path, tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "empty").mkdir()
    with served(offsetwise, tmp_path / "state", folder=tmp_path / "empty") as address:
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
