"""The Spark session: one per process, local by default, or any master, or Spark Connect.

Everything before the first job can fail for reasons that a person must fix (no Java, no connector, no server), so each
has an error that says what was tried.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from threading import Event, RLock
from traceback import walk_tb
from types import FrameType
from typing import IO, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from offsetwise.client_properties import ClientProperties, redaction, resolve_spark
from offsetwise.client_properties.user_settings import SPARK_CONF
from offsetwise.config import SparkSettings
from offsetwise.errors import ConnectorError, SparkError
from offsetwise.pipeline.class_archive import archive_options
from offsetwise.pipeline.launching import CONNECTOR, SAFE_PATH, absolute_paths, connector_jars, new_folder, starting
from offsetwise.pipeline.spark_errors import first_line, hide, tellable
from offsetwise.pipeline.start import SESSION_OPEN

TASKS_PER_CORE: Final = 2
SERVER_TIMEOUT_S: Final = 15
SESSION_CONF: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
QUIET_CONF: Final = {
    "spark.app.name": "offsetwise",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
# PySpark 4.2 warns at every Arrow table that it does not fully support pandas 3. No table here becomes a DataFrame of
# pandas.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunningSession:
    settings: SparkSettings
    session: SparkSession
    kafka: bool
    ours: bool


_lock = RLock()
_running: _RunningSession | None = None
_folder: tempfile.TemporaryDirectory[str] | None = None
"""The working folder of the JVM behind PySpark, if it was started here."""


def open_session(settings: SparkSettings, *, kafka: bool, given_up: Event | None = None) -> SparkSession:
    """Return a session that fits `settings`: the running one, or else a new one.

    Spark allows one classic session per process. A running one that does not fit is closed first, with its jobs, if it
    was opened here; one that somebody else opened is used as it is.

    Args:
        settings: Master or Spark Connect address, and Spark's own configuration.
        kafka: Whether records will be read, which needs Spark's Kafka connector.
        given_up: Set when nobody waits for the session any more; no JVM is started then.

    Raises:
        ConnectorError: The connector cannot be resolved, or the session or server has none.
        SecretError: A reference in the settings cannot be resolved.
        SparkError: No Java, an unusable master, or no Spark Connect server at the address.
    """
    global _running  # noqa: PLW0603 - a Spark session is a global of the process
    with _lock:
        if _running and _same(_running.settings, settings) and (_running.kafka or not kafka) and _alive(_running):
            return _running.session
        close_session()
        remote, conf = resolve_spark(settings.remote, settings.conf, settings.folder)
        hide(conf.masked)
        if remote:
            session, ours = _connect(remote, conf), True
        elif SparkContext._active_spark_context is not None:
            session, ours = _adopt(), False
        else:
            session, ours = _launch(settings.master or "local[*]", conf, kafka=kafka, given_up=given_up), True
        _running = _RunningSession(settings=settings, session=session, kafka=kafka, ours=ours)
        SESSION_OPEN.set()
        if kafka and (remote or not ours or _brings_connector(conf)):
            try:
                _check_connector(session, settings)
            except ConnectorError:
                close_session()
                raise
        return session


def _same(running: SparkSettings, requested: SparkSettings) -> bool:
    refers = any(
        "${" in value or value.startswith("file:") for value in (requested.remote or "", *requested.conf.values())
    )
    return running.model_dump() == requested.model_dump() and (not refers or running.folder == requested.folder)


def close_session() -> None:
    global _running
    with _lock:
        running, _running = _running, None
        SESSION_OPEN.clear()
        if running is None or not running.ours:
            return
        if running.settings.remote:
            _disconnect(running.session, answers=_alive(running))
        else:
            _stop(running.session)
            _end_jvm()


def _stop(session: SparkSession) -> None:
    """Stop a session; if its JVM is gone, PySpark fails half-way and must be reset, or it would keep the session."""
    try:
        session.stop()
    except (Py4JError, OSError):
        session.sparkContext.stop()
        SparkSession._instantiatedSession = SparkSession._activeSession = None


def _configuration(master: str, conf: ClientProperties, *, kafka: bool) -> dict[str, str]:
    configuration = SESSION_CONF | QUIET_CONF | {"spark.master": master, f"spark.executorEnv.{SAFE_PATH}": "1"}
    if master.startswith("local"):
        configuration |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.pyspark.python": sys.executable,
            "spark.sql.shuffle.partitions": str(TASKS_PER_CORE * _cores(master)),
        }
    configuration |= conf
    if kafka and not _brings_connector(conf):
        jars = [configuration["spark.jars"]] if configuration.get("spark.jars") else []
        configuration["spark.jars"] = ",".join([*jars, *connector_jars(_java)])
    return absolute_paths(configuration | redaction(conf))


def _launch(master: str, conf: ClientProperties, *, kafka: bool, given_up: Event | None) -> SparkSession:
    local = master.startswith("local")
    if local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python", sys.executable)
    configuration = _configuration(master, conf, kafka=kafka)

    global _folder  # noqa: PLW0603 - a global like the JVM
    java = _java()
    options = archive_options(java) if local else []
    _end_jvm()
    _folder = new_folder()
    logging.getLogger().addFilter(_not_of_gateway)
    # Ivy and the JVM write to both streams, and stdout is for results only. The file has no name and ends with the JVM.
    with tempfile.TemporaryFile() as log:
        try:
            with starting(configuration, Path(_folder.name), options):
                if given_up is not None and given_up.is_set():
                    raise SparkError(
                        "Spark: expected somebody to wait for its start, found that it was given up. No JVM was "
                        "started.",
                        fix="Try again.",
                    )
                gateway = launch_gateway(popen_kwargs={"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
            SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(configuration.items())), gateway=gateway)
            return SparkSession.builder.getOrCreate()
        except (PySparkException, Py4JError, OSError) as error:
            _end_jvm()
            end_starting_jvm(frame for frame, _ in walk_tb(error.__traceback__))
            said, results = conf.masked(str(error)), {name: conf.masked(value) for name, value in configuration.items()}
            raise _launch_error(said, conf.masked(_read_all(log)), results) from tellable(error)
        except KeyboardInterrupt as interrupt:
            _end_jvm()
            end_starting_jvm(frame for frame, _ in walk_tb(interrupt.__traceback__))
            raise


def _brings_connector(conf: Mapping[str, str]) -> bool:
    """Return whether the settings name a connector, which can be checked only by loading it; ours is in the lock."""
    return "spark-sql-kafka" in conf.get("spark.jars.packages", "") + conf.get("spark.jars", "")


def _not_of_gateway(record: logging.LogRecord) -> bool:
    """Filter what PySpark's gateway logs to the root logger with a traceback: it also raises it."""
    return "py4j" not in Path(record.pathname).parts


def _connect(remote: str, conf: ClientProperties) -> SparkSession:
    import grpc  # noqa: PLC0415 - only Spark Connect needs it, and its import takes a second
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 - as above

    try:
        builder = DefaultChannelBuilder(remote)
        _knock(builder.endpoint)
        with builder.toChannel() as channel:
            grpc.channel_ready_future(channel).result(timeout=SERVER_TIMEOUT_S)
        session = SparkSession.builder.remote(remote).getOrCreate()
        # When the process ends, PySpark 4.2 calls the server once more, for ten minutes if it is gone by then.
        with suppress(AttributeError):
            atexit.unregister(session.client._on_exit)
    except (PySparkException, grpc.RpcError, grpc.FutureTimeoutError, ConnectionRefusedError) as error:
        result = conf.masked(str(error)) or f"no answer within {SERVER_TIMEOUT_S} s"
        raise SparkError(
            f"{_without_token(remote)}: expected a Spark Connect server, found: {first_line(result)}. "
            "No record was read.",
            fix="Start the server (sbin/start-connect-server.sh), or correct spark.remote in the migration file.",
        ) from error
    for name, value in (SESSION_CONF | conf).items():
        try:
            session.conf.set(name, value)
        except PySparkException as error:
            _disconnect(session, answers=True)
            raise SparkError(
                f"{_without_token(remote)}: the server does not let a session set {name}. No record was read.",
                fix=f"Set {name} where the server is started, and take it out of spark.conf in the migration file, or "
                f"out of the file that {SPARK_CONF} names.",
            ) from tellable(error)
    return session


def _disconnect(session: SparkSession, *, answers: bool) -> None:
    """Stop a Connect session without a call to a server that is gone, which PySpark would retry for minutes."""
    if not answers:
        vars(session)["release_session_on_close"] = False
    session.stop()
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


def _knock(endpoint: str) -> None:
    """Raise at once if nothing listens; gRPC would retry until its timeout."""
    host, port = endpoint.rsplit(":", maxsplit=1)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SERVER_TIMEOUT_S).close()
    except ConnectionRefusedError:
        raise
    except OSError:
        return  # behind a proxy only gRPC finds the server


def _adopt() -> SparkSession:
    session = SparkSession.builder.getOrCreate().newSession()
    for name, value in SESSION_CONF.items():
        session.conf.set(name, value)
    return session


def _alive(running: _RunningSession) -> bool:
    """Return whether a session answers a request that needs no job, so that a busy session is not waited for."""
    if running.settings.remote:
        return _server_answers(running.settings.remote, running.session)
    if SparkContext._active_spark_context is None:
        return False
    try:
        return bool(running.session.range(1).schema)
    except (PySparkException, Py4JError, OSError):
        return False


def _server_answers(remote: str, session: SparkSession) -> bool:
    import grpc  # noqa: PLC0415 - as above
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 - as above

    try:
        _knock(DefaultChannelBuilder(remote).endpoint)
        return bool(session.range(1).schema)
    except (PySparkException, grpc.RpcError, OSError):
        return False


def _check_connector(session: SparkSession, settings: SparkSettings) -> None:
    probe = session.read.format("kafka").options(
        **{"kafka.bootstrap.servers": "127.0.0.1:1", "assign": '{"probe":[0]}'}
    )
    try:
        _ = probe.load().schema
    except (PySparkException, Py4JError) as error:
        where = _without_token(settings.remote) if settings.remote else f"the session on {settings.master}"
        raise ConnectorError(
            f"{where}: expected Spark's Kafka connector ({CONNECTOR}:{session.version}), found none that loads. "
            "No record was read.",
            fix=(
                f"Start the server with --packages {CONNECTOR}:{session.version}; a client cannot add it."
                if settings.remote
                else f"Add {CONNECTOR}:{session.version} and what it needs to spark.jars or spark.jars.packages "
                f"in the file that {SPARK_CONF} names."
            ),
        ) from error


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        looked = f"JAVA_HOME ({home})" if home else "PATH"
        raise SparkError(
            f"Spark needs Java 17 or newer, and {looked} has none. No record was read.",
            fix="Install a Java runtime (for example OpenJDK 17), or point JAVA_HOME to one.",
        )
    return str(java)


def _launch_error(error: str, log: str, configuration: Mapping[str, str]) -> SparkError:
    if re.search(r"unresolved dependency|UNRESOLVED DEPENDENCIES", log):
        silent = sorted(set(re.findall(r"Host (\S+) not found|Server access error at url \w+://([^/\s]+)", log)))
        hosts = ", ".join(host or url for host, url in silent)
        result = f"it nowhere, and no answer from {hosts}" if hosts else "it nowhere"
        return ConnectorError(
            f"Spark's Kafka connector: looked for {configuration['spark.jars.packages']} in the local caches, Maven "
            f"Central and spark.jars.repositories, found {result}. No record was read.",
            fix="Connect once so that it is cached, name a mirror in spark.jars.repositories, or, offline, put the "
            f"connector's jars into spark.jars in the file that {SPARK_CONF} names.",
        )
    if "UnsupportedClassVersionError" in log:
        return SparkError(
            "Spark needs Java 17 or newer, and the Java found is older. No record was read.",
            fix="Install a newer Java runtime, or point JAVA_HOME to one.",
        )
    said = next((line for line in log.splitlines() if re.search(r"Exception|Error", line)), None)
    result = first_line(said.removeprefix('Exception in thread "main" ') if said else error)
    return SparkError(
        f"Spark on {configuration['spark.master']}: expected a session, found: {result}. No record was read.",
        fix="Correct spark.master and spark.conf in the migration file, and the properties of the file that "
        f"{SPARK_CONF} names.",
    )


def _end_jvm() -> None:
    """End the JVM behind PySpark: jars are resolved only when a JVM starts."""
    global _folder  # noqa: PLW0603 - a global like the JVM
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    process = getattr(gateway, "proc", None)
    if gateway is not None:
        gateway.shutdown()
    if process is not None:
        process.stdin.close()
        process.wait(timeout=30)
    if _folder is not None:
        _folder.cleanup()
        _folder = None


def end_starting_jvm(frames: Iterable[FrameType]) -> bool:
    """End the JVM that PySpark is, or was, waiting for.

    It would never end by itself: the folder in which it reports its port is gone, it fails to write there, and its
    gateway thread keeps running. PySpark does not expose the process before it has the port.

    Args:
        frames: The frames of the thread that starts it.

    Returns:
        Whether the thread is launching a JVM, so that only killing that ends the wait. It may have no process yet.
    """
    launching = [frame for frame in frames if frame.f_code.co_name == "launch_gateway"]
    for frame in launching:
        process = frame.f_locals.get("proc")
        if isinstance(process, Popen):
            process.kill()
            process.communicate()
    return bool(launching)


def _cores(master: str) -> int:
    count = re.fullmatch(r"local(?:-cluster)?\[([^\],]+).*", master)
    if count is None:
        return 1
    return int(count[1]) if count[1].isdigit() else os.cpu_count() or 1


def _without_token(remote: str) -> str:
    """Return a Connect address without its parameters, which may hold a token after the first `;`."""
    return remote.split("/;", maxsplit=1)[0]


def _read_all(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")
