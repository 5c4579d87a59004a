"""Attacks on what is installed and run: packages and jars that are not those of the locks."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pyspark
import pytest

from offsetwise.errors import ConnectorError, JarError
from offsetwise.jars import LOCK, cache_folder, locked, locked_jars
from offsetwise.lab.jars import KAFKA_VERSION, kafka_jars
from offsetwise.lab.java import find_java
from offsetwise.pipeline.launching import CONNECTOR, connector_jars
from tests.attacks.rows import Verdict, attack
from tests.commands import call
from tests.gates import of_all
from tests.integration.flink_distribution import DISTRIBUTIONS, Distribution
from tests.plugins.spark.live.spark_versions import SPARKS

ROOT = Path(__file__).parents[2]
LOCKS = ("uv", "build", "console", "spark", "packages")
"""What `make` installs, in this order."""


def wheel(folder: Path, name: str, version: str, *, script: Path | None = None) -> str:
    """Make a wheel of one empty module, and of a command where one is given, and return its SHA-256."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": b"",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if script is not None:
        files[f"{name}-{version}.data/scripts/{script.name}"] = script.read_bytes()
    lines = [
        f"{path},sha256={urlsafe_b64encode(sha256(content).digest()).decode().rstrip('=')},{len(content)}"
        for path, content in files.items()
    ]
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with ZipFile(made, "w") as archive:
        for path, content in files.items():
            entry = ZipInfo(path)
            entry.external_attr = (stat.S_IFREG | (0o755 if "/scripts/" in path else 0o644)) << 16
            archive.writestr(entry, content)
        archive.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,"]) + "\n")
    return sha256(made.read_bytes()).hexdigest()


def other(digest: str) -> str:
    """Return a hash that differs in one digit."""
    return digest[:-1] + ("0" if digest[-1] != "0" else "1")


def offline(folder: Path) -> dict[str, str]:
    """Return the environment of a pip and a uv that know the wheels of a folder and nothing else."""
    kept = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
    of_pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}
    of_uv = {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(folder), "UV_NO_CACHE": "1", "UV_NO_CONFIG": "1"}
    return kept | of_pip | of_uv


@attack(
    "E8",
    "a package and a jar that are not those of the locks: one digit of a hash, one byte of a jar, a jar more",
    before=Verdict.WEAK,
    without="`--require-hashes` in the Makefile; `offsetwise.jars._compare`",
    left="Debian's packages are verified by apt's signatures; what a user names in `spark.jars.packages` by Spark only",
)
class TestSupplyChain:
    def test_make_installs_nothing_whose_hash_is_not_that_of_the_lock(self, tmp_path: Path) -> None:
        wheels, checkout = tmp_path / "wheels", tmp_path / "checkout"
        wheels.mkdir()
        digests = {lock: wheel(wheels, f"of_{lock}", "1.0") for lock in LOCKS if lock != "uv"}
        digests["uv"] = wheel(wheels, "of_uv", "1.0", script=Path(sys.executable).with_name("uv"))
        (checkout / "locks").mkdir(parents=True)
        for name in ("Makefile", "pyproject.toml", "tools/find-python"):
            (checkout / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)

        def write(*changed: str) -> None:
            for lock, digest in digests.items():
                text = f"of_{lock}==1.0 --hash=sha256:{other(digest) if lock in changed else digest}\n"
                (checkout / "locks" / f"{lock}.txt").write_text(text, encoding="utf-8")

        def make(lock: str) -> str:
            # The package itself is not here to be installed: what comes after it is tried without it.
            later = lock in ("spark", "packages")
            command = ["make", *(("--assume-old=.venv/.console", ".venv/.package") if later else (".venv/.console",))]
            ran = subprocess.run(
                command, cwd=checkout, env=offline(wheels), capture_output=True, text=True, timeout=500, check=False
            )
            assert later or ran.returncode != 0
            return ran.stdout + ran.stderr

        def installed() -> list[str]:
            return sorted(path.stem for path in checkout.glob(".venv/lib/python3*/site-packages/of_*.py"))

        for number, lock in enumerate(of_all(LOCKS, LOCKS[:2])):
            before = sorted(f"of_{earlier}" for earlier in LOCKS[:number])
            write(*LOCKS[number:])
            said = make(lock)
            assert "DO NOT MATCH THE HASHES" in said, lock
            assert lock == "uv" or "Hash mismatch" in said, "uv refuses it too"
            assert installed() == before
            (checkout / "locks" / f"{lock}.txt").write_text(f"of_{lock}==1.0\n", encoding="utf-8")
            assert "Hashes are required in --require-hashes mode" in make(lock), lock
            assert installed() == before
            write(*LOCKS[number + 1 :])
            make(lock)
            assert installed() == sorted(f"of_{earlier}" for earlier in LOCKS[: number + 1])
        assert not (checkout / ".venv" / ".console").exists()

    def test_flink_is_not_installed_if_its_hash_is_not_that_of_the_lock(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wheels = tmp_path / "wheels"
        wheels.mkdir()
        wheel(wheels, "apache_flink_libraries", DISTRIBUTIONS[0].version)
        for name, value in offline(wheels).items():
            monkeypatch.setenv(name, value)
        cache = tmp_path / "cache" / "offsetwise"
        cache.mkdir(parents=True)
        (cache / "jars").symlink_to(cache_folder())
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))

        with pytest.raises(subprocess.CalledProcessError):
            DISTRIBUTIONS[0].fetch()

        assert not DISTRIBUTIONS[0].home.exists()
        assert list(cache.iterdir()) == [cache / "jars"]

    def test_a_jar_with_one_byte_changed_is_never_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = cached(f"kafka-{KAFKA_VERSION}", tmp_path, monkeypatch)
        jar = folder / f"kafka-clients-{KAFKA_VERSION}.jar"
        data = bytearray(jar.resolve().read_bytes())
        data[len(data) // 2] ^= 1
        jar.unlink()
        jar.write_bytes(data)

        ran = call("lab", "up", "--dir", tmp_path / "lab", "--json")

        error = ran.refused()
        assert error["error"] == "JarError"
        assert f"{jar}: expected SHA-256 " in error["problem"]
        assert error["problem"].endswith("Nothing was run.")
        assert str(folder) in error["fix"]
        assert not [path for path in tmp_path.rglob("*.log") if path.stat().st_size], "no broker was started"

    def test_a_jar_more_or_less_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = cached(f"kafka-{KAFKA_VERSION}", tmp_path, monkeypatch)
        assert kafka_jars() == folder
        planted = folder / "aaa.jar"
        planted.write_bytes(b"")
        with pytest.raises(JarError, match=r"aaa\.jar: expected only the jars that jars\.lock names"):
            kafka_jars()
        planted.unlink()
        next(folder.glob("zstd-*.jar")).unlink()
        with pytest.raises(JarError, match=r"zstd-.*\.jar: expected a jar, found none"):
            kafka_jars()

    def test_sparks_connector_with_one_byte_changed_is_refused_before_a_jvm_starts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = cached(f"spark-kafka-{pyspark.__version__}", tmp_path, monkeypatch)
        assert len(connector_jars(find_java)) == len(list(folder.iterdir()))
        jar = next(folder.glob("spark-sql-kafka-*.jar"))
        data = jar.resolve().read_bytes()
        jar.unlink()
        jar.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

        with pytest.raises(ConnectorError, match="expected SHA-256") as caught:
            connector_jars(find_java)

        assert "spark.jars in the file that OFFSETWISE_SPARK_CONF names" in caught.value.fix


def cached(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache of one's own with a set of jars, each a link to the real one."""
    real = locked_jars(name, java=find_java)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = cache_folder() / real.name
    folder.mkdir(parents=True)
    for jar in real.iterdir():
        (folder / jar.name).symlink_to(jar)
    return folder


def test_another_pyspark_than_the_lock_knows_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.99.0")

    with pytest.raises(ConnectorError, match=r"PySpark 4\.99\.0: expected its SHA-256 in jars\.lock") as caught:
        connector_jars(find_java)

    assert f"{CONNECTOR}:4.99.0 in spark.jars.packages" in caught.value.fix
    assert "4.0.0, 4.1.1, 4.2.0" in caught.value.problem


def test_packages_are_installed_by_hash_and_by_nothing_else() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = [line.strip() for line in makefile.splitlines() if line.startswith(("\t@$(call install,", "\t@$(PIP)"))]

    assert re.search(r"^HASHED\s*:=.*--require-hashes", makefile, flags=re.MULTILINE)
    assert lines == [
        "@$(PIP) $(HASHED) -r locks/uv.txt",
        "@$(call install,$(HASHED) -r locks/build.txt)",
        "@$(call install,$(HASHED) -r locks/console.txt)",
        "@$(call install,$(ALONE) --no-index -e .)",
        "@$(call install,$(HASHED) -r locks/spark.txt)",
        "@$(call install,$(HASHED) -r locks/packages.txt)",
    ]
    assert re.findall(r"^(\w+).*pip install", makefile, flags=re.MULTILINE) == ["PIP", "UV"]
    elsewhere = [
        path
        for folder in ("lib", "tests", "tools", "benchmarks", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".sh") and '"pip", "install"' in path.read_text("utf-8")
    ]
    # The test of the wheel installs what it built, and nothing from an index.
    assert {path.name for path in elsewhere} == {
        "flink_distribution.py",
        "spark_versions.py",
        "wheels.py",
        Path(__file__).name,
    }


def test_what_builds_the_package_is_locked_as_it_is_named() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]

    assert re.findall(r"^\S+==\S+", (ROOT / "locks" / "build.txt").read_text("utf-8"), flags=re.MULTILINE) == wanted


def test_the_lock_of_jars_knows_everything_that_is_run() -> None:
    assert LOCK.read_text(encoding="utf-8") == json.dumps(locked(), indent=1, sort_keys=True) + "\n"
    assert {f"kafka-{KAFKA_VERSION}", *(f"spark-kafka-{version}" for version in SPARKS)} <= locked().keys()
    for flink in DISTRIBUTIONS:
        assert set(flink.jars) == locked()[f"flink-{flink.version}"].keys()
        assert isinstance(flink, Distribution)
        assert flink.lock.is_file()
    for jars in locked().values():
        assert all(re.fullmatch(r"[\w.-]+:[\w.-]+:[\w.-]+(:so)?", name) for name in jars)
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in jars.values())


def test_no_lock_names_a_host() -> None:
    for lock in (*(ROOT / "locks").glob("*.txt"), LOCK):
        assert not re.search(r"://|--(index|extra|find|trusted)", lock.read_text(encoding="utf-8")), lock
    packages = json.loads((ROOT / "locks/emulators/package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert all("integrity" in each and "resolved" not in each for name, each in packages.items() if name)
