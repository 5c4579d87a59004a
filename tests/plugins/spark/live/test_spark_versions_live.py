"""Every release of Spark that the product runs on compares, counts state, moves a job, and goes on with the copy.

The one of this environment runs all other tests; the others are installed beside it (`spark_versions.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from offsetwise.lab import Lab
from tests.integration.moving import GONE
from tests.plugins.spark.live.spark_versions import INSTALLED, OTHER_SPARKS, ROOT, SPARKS


def moved_by(version: str, lab: Lab, folder: Path) -> dict[str, Any]:
    """Move a job in a process whose PySpark is of a release."""
    packages = [str(spark.require()) for spark in OTHER_SPARKS if spark.version == version]
    path = os.pathsep.join([*packages, str(ROOT / "lib"), str(ROOT)])
    topic = f"on-spark-{version.replace('.', '-')}"
    command = [sys.executable, "-m", "tests.plugins.spark.live.on_spark", lab.old_bootstrap, lab.new_bootstrap, topic]
    ran = subprocess.run(
        [*command, str(folder)],
        env=os.environ | {"PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    body: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return body


@pytest.mark.gates
@pytest.mark.parametrize(
    "version",
    [pytest.param(version, marks=[] if version == INSTALLED else [pytest.mark.gates]) for version in SPARKS],
)
def test_a_job_is_moved_by_every_release(version: str, lab: Lab, tmp_path: Path) -> None:
    moved = moved_by(version, lab, tmp_path)

    assert moved["spark"] == version
    assert set(moved["skipped"].values()) == {min(GONE.values())}
    assert moved["rows"] == [len(moved["truth"])]
    assert moved["counts"] == moved["truth"], "every record once"
    named = {"version": 2, "sources": ["orders_in"]} if version == INSTALLED else {"version": 1, "sources": ["0"]}
    assert (moved["log"], moved["copied"]) == (named, named["sources"])
    assert ("INVALID_LOG_VERSION" in moved["refused_log"]) == (version != INSTALLED)
    for name, (code, origin, told) in moved["asked"].items():
        assert (code, origin) == (0, "RESTORED_FROM_PLAN"), f"{name}: {told}"
        assert ("began at exactly the planned offsets" in told) == (name != "pages"), f"{name}: {told}"
        assert "was not used" not in told
