"""One lab and one browser for the whole session, shared by every test that needs real clusters or a real browser."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, expect, sync_playwright

from offsetwise.lab import Lab
from tests import quick_libraries, quick_spark
from tests.figures import machine, write_figures
from tests.plugins.kinesis.live.servers import dynamodb_local, kinesalite, kinesis_mock
from tests.scheduling import mark, without_group
from tests.stopped_job import desk, stopped
from tests.stores import abfs, azurite, fake_gcs, gs, moto, s3, store
from tests.with_cases import pytest_addoption, pytest_pycollect_makeitem
from tools.screenshots import CHROMIUM

__all__ = [
    "abfs",
    "azurite",
    "desk",
    "dynamodb_local",
    "fake_gcs",
    "gs",
    "kinesalite",
    "kinesis_mock",
    "moto",
    "pytest_addoption",
    "pytest_pycollect_makeitem",
    "s3",
    "stopped",
    "store",
]

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
quick_spark.use()
# A shell starts a command in the background so that it ignores this, and with it every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is.
settings.register_profile("any machine", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

FIGURE = "figure"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two running clusters. Tests make topics of their own, with names of their own."""
    with Lab.up(tmp_path_factory.mktemp("lab")).no_longer_than_this_process() as running:
        yield running


@pytest.fixture(scope="session")
def sample(lab: Lab) -> Path:
    """The reference migration's `migration.yaml`, on the session's lab. Nobody writes to its topics."""
    return lab.sample()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. Tests open windows of their own."""
    with sync_playwright() as playwright:
        path, arguments = CHROMIUM
        running = playwright.chromium.launch(executable_path=path, args=arguments)
        expect.set_options(timeout=30_000)
        yield running
        running.close()


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return a function that keeps what a gate measured; it is told at the end of the run, passed or not."""
    return lambda told: record_property(FIGURE, told)


def pytest_collection(session: pytest.Session) -> None:  # noqa: ARG001
    """Collect without looking for garbage: what pytest writes of all modules stays, and there is much of it."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:  # noqa: ARG001
    """Look for garbage among what tests leave, not among what was collected, and seldom: most of it goes by itself."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()
    quick_libraries.use()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use, before `-m` chooses among them and xdist reads their groups."""
    mark(items)


class Reports:
    """What the process that the others report to makes of a test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report every test under its own id, without its group, and a failure at once, not after half an hour."""
        report.nodeid = without_group(report.nodeid)
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.ensure_newline()
            terminal.line(f"{report.nodeid} failed:")
            terminal.line(report.longreprtext)


def pytest_configure(config: pytest.Config) -> None:
    """Have one process report; xdist's workers still need the groups in the ids."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Reports(config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that gates kept, from whichever process; `OFFSETWISE_FIGURES` names the page they go to."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    figures = [told for report in reports for name, told in report.user_properties if name == FIGURE]
    if figures:
        terminalreporter.section("figures")
        for told in dict.fromkeys(figures):
            terminalreporter.write_line(told)
        if page := os.environ.get("OFFSETWISE_FIGURES"):
            write_figures(Path(page), dict.fromkeys(figures), where=machine())
