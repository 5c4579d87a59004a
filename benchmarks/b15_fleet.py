"""B15: 10,000 checkpoints of 20 partitions and 100 batches, read with `ow.fleet` on Spark; the Fleet page of as many.

Reads a tenth of them, half and all, each with all batches, then all where they restart alone. The checkpoints are hard
links of one: 4 million names that take some hundred MB, whose files are in memory as they are shared. The driver is
this process and Spark's JVM, which is the executor too, with a heap of 512 MB.

Peers, on a tenth and multiplied: those of B2, Spark's own glob over the offset files.

The page is run whole, as when it is opened; after a row was selected; and with another filter, which no run had before.

    python -m benchmarks.b15_fleet [--checkpoints 10000] [--runs 100] [--dir FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession
from streamlit.testing.v1 import AppTest

import offsetwise as ow
from benchmarks.b2_fleet import json_read, text_read, timed
from benchmarks.b6_console import clicked
from benchmarks.checkpoints import write_checkpoint
from benchmarks.scripts import script_times
from offsetwise.config import SparkSettings
from offsetwise.console import answers
from offsetwise.console.answers import Answers
from offsetwise.fleets import FleetRow
from offsetwise.pipeline.session import close_session, open_session
from tests.console import fleets
from tests.console.conftest import APP

PARTITIONS, BATCHES, TENTHS, WARM = 20, 100, 10, 8
SPARK: Final = SparkSettings(conf={"spark.driver.memory": "512m"})
ALL_S, DRIVER_MIB, PAGE_MS = 60, 1_024, 100
PAGE = "pages/operate/fleet.py"
Result = TypeVar("Result")


def main(count: int, runs: int, folder: Path | None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        begun = time.perf_counter()
        fleet = write_fleet(Path(directory), count)
        print(f"{count:,} checkpoints linked in {time.perf_counter() - begun:.0f} s; load {os.getloadavg()[0]:.1f}")
        took = with_spark(ours, fleet, count)
        with_spark(peers, fleet, took)
    print(f"B15 targets: all batches {ALL_S} s, linear, driver {DRIVER_MIB:,} MiB", flush=True)
    page(count, runs)


def write_fleet(folder: Path, count: int) -> Path:
    """Write one checkpoint, and hard links to its files in each of ten folders; return the folder of these."""
    original = folder / "original"
    write_checkpoint(original, topics={"orders": PARTITIONS}, batches=BATCHES)
    for number in range(count):
        tenth, at = divmod(number, count // TENTHS)
        shutil.copytree(original, folder / "fleet" / f"{tenth:02}" / f"{at:05}", copy_function=os.link)
    return folder / "fleet"


def with_spark(work: Callable[..., Result], *given: Any) -> Result:
    """Do something in a session of its own: Spark ends workers that are idle for a minute, and their time with them."""
    spark = open_session(SPARK, kafka=False)
    try:
        return work(spark, *given)
    finally:
        close_session()


def ours(spark: SparkSession, fleet: Path, count: int) -> tuple[float, float]:
    """Read a tenth, half and all, and print what the driver took at most; return what all with all batches took."""
    read(f"{fleet}/00/0000[0-{WARM - 1}]", BATCHES)
    took = {}
    for pattern, part in (("00", count // TENTHS), (f"0[0-{TENTHS // 2 - 1}]", count // 2), ("*", count)):
        took[part] = timed(f"B15 {part:,} checkpoints, all batches", read, f"{fleet}/{pattern}/*", BATCHES)
    timed(f"B15 {count:,} checkpoints, restart", read, f"{fleet}/*/*", 0)
    for part in list(took)[:-1]:
        wall, cpu = (long / short * part / count for long, short in zip(took[count], took[part], strict=True))
        print(f"B15 a checkpoint of {count:,} takes {wall:.2f} times one of {part:,}, CPU {cpu:.2f} (1.00 is linear)")
    jvm: Any = spark._jvm  # PySpark's own door to Spark's JVM
    java = jvm.java.lang.ProcessHandle.current().pid()
    python_mib, java_mib = peak_mib(os.getpid()), peak_mib(java)
    print(f"B15 driver: Python at most {python_mib} MiB, JVM {java_mib} MiB; load {os.getloadavg()[0]:.1f}")
    return took[count]


def peers(spark: SparkSession, fleet: Path, took: tuple[float, float]) -> None:
    """Read a tenth as B2's peers do, and print what all of them would take."""
    for peer in (text_read, json_read):
        peer(spark, f"{fleet}/00/0000[0-{WARM - 1}]/offsets")
    for what, peer in (("lines", text_read), ("parsed", json_read)):
        tenth = timed(f"B15 a tenth, Spark's glob, {what}", peer, spark, f"{fleet}/00/*/offsets")
        whole = [TENTHS * each for each in tenth]
        factors = [long / short for long, short in zip(whole, took, strict=True)]
        print(f"B15 {what}, multiplied: {whole[0]:.0f} s, {factors[0]:.1f}x; CPU {whole[1]:.0f} s, {factors[1]:.1f}x")


def read(pattern: str, batches: int) -> int:
    """Read checkpoints, and give the number of offsets in their batches."""
    offsets = 0

    def heard(row: FleetRow) -> None:
        nonlocal offsets
        assert row.checkpoint is not None
        kept = (source for batch in row.checkpoint.details.batches for source in batch.sources)
        offsets += sum(len(of.offsets) for source in kept for of in source.offsets)

    summary = ow.fleet([pattern], spark=SPARK, batches=batches, heard=heard)
    assert not batches or offsets == summary.checkpoints * batches * PARTITIONS
    return offsets


def peak_mib(process: int) -> int:
    """Return the most memory that a process has had resident."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


def page(count: int, runs: int) -> None:
    """Run the Fleet page over so many checkpoints, and print what its script takes."""
    reader = fleets.FleetReader(fleets.a_thousand(count))
    answers.use(reader)
    answers._current[:] = [Answers(reader)]
    works: dict[str, Callable[[], list[float]]] = {
        "a row selected": lambda: clicked(opened(), runs),
        "opened": lambda: each_run(runs, lambda _: opened()),
        "another filter": lambda: each_filter(runs),
    }
    for what, work in works.items():
        took = work()
        median, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
        print(f"B15 Fleet page, {what:14}: median {median:6.1f} ms, p95 {p95:6.1f} ms; {len(took)} runs")
    print(f"B15 target: p95 <= {PAGE_MS} ms of script CPU; load {os.getloadavg()[0]:.1f}")


def each_filter(runs: int) -> list[float]:
    """Filter by a text after the other."""
    shown = opened()
    return each_run(runs, lambda number: shown.text_input(key="text").set_value(f"job-{number:02}").run())


def each_run(runs: int, run: Callable[[int], AppTest]) -> list[float]:
    """Return the milliseconds of the script's processor time for each of some runs."""
    with script_times() as took:
        for number in range(runs):
            assert not run(number).exception
    return took


def opened() -> AppTest:
    """Open the page as one more visitor."""
    return AppTest.from_file(str(APP), default_timeout=120).switch_page(PAGE).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoints", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--dir", type=Path, help="where the files are written; the folder for temporary ones otherwise")
    arguments = parser.parse_args()
    main(arguments.checkpoints, arguments.runs, arguments.dir)
