from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from offsetwise.errors import LabError
from offsetwise.lab import brokers, mirrors, progress
from offsetwise.lab.mirrors import Policy
from offsetwise.lab.processes import POLL_S, Process, is_alive, start, stop
from offsetwise.lab.state import Service, StateFile

BROKERS: Final = ("old", "new")
START_LIMIT_S: Final = 120
ANSWER_LIMIT_S: Final = 5
STOP_GRACE_S: Final = 20
LOG_TAIL_LINES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    name: str
    running: bool
    pid: int
    bootstrap: str | None
    """None for a mirror."""
    topics: tuple[str, ...]
    """The topics that a mirror copies; empty for a broker."""
    log: str


@dataclass(frozen=True, slots=True)
class Lab:
    """Two single-node Kafka clusters, `old` and `new`, on loopback ports, and mirrors from old to new.

    Everything is in one folder: data, logs, configuration and `lab.json`, the state file. `Lab.at(folder)` is a handle
    on an existing lab; `Lab.up(folder)` starts what does not run.
    """

    directory: Path

    @classmethod
    def at(cls, directory: Path | str) -> Self:
        return cls(Path(directory).resolve())

    @classmethod
    def up(cls, directory: Path | str) -> Self:
        """Start both brokers in `directory`; a broker that runs already is left alone.

        Raises:
            JavaError: Java is missing or too old.
            LabError: Jars, ports or a broker fail; the message names the log and shows its end.
        """
        lab = cls.at(directory)
        services = lab._state.read()
        starting = [name for name in BROKERS if not (name in services and is_alive(services[name].process))]
        ports = {name: lab._ports(name, services.get(name)) for name in starting}
        lab._format(ports)
        for name, (port, controller_port) in ports.items():
            process = start(brokers.broker_command(lab.directory / name), log=lab.log(name))
            services[name] = Service(name=name, process=process, port=port, controller_port=controller_port)
            lab._state.write(services)
        for name in starting:
            lab._wait_until_listening(services[name])
        return lab

    @property
    def old_bootstrap(self) -> str:
        return self._bootstrap("old")

    @property
    def new_bootstrap(self) -> str:
        return self._bootstrap("new")

    def log(self, name: str) -> Path:
        return self.directory / "logs" / f"{name}.log"

    def status(self) -> tuple[ServiceStatus, ...]:
        """Return the services and whether they run, brokers first; empty if there never was a lab here."""
        services = self._state.read().values()
        return tuple(
            ServiceStatus(
                name=service.name,
                running=is_alive(service.process),
                pid=service.process.pid,
                bootstrap=f"127.0.0.1:{service.port}" if service.port else None,
                topics=service.topics,
                log=str(self.log(service.name)),
            )
            for service in sorted(
                services, key=lambda service: (service.port is None, service.name != "old", service.name)
            )
        )

    def down(self) -> None:
        """Stop everything that runs here, mirrors first. The data stays, and `up` continues with it."""
        services = self._state.read()
        for name in sorted(services, key=lambda service_name: service_name in BROKERS):
            stop(services[name].process, grace_s=STOP_GRACE_S)

    @contextmanager
    def no_longer_than_this_process(self) -> Iterator[Self]:
        """Stop the lab at the end of the block, and also if this process is killed inside it."""
        watch = "import sys; sys.stdin.read(); from offsetwise.lab import Lab; Lab.at(sys.argv[1]).down()"
        command = [sys.executable, "-P", "-c", watch, str(self.directory)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):  # noqa: S603 - our own code
            yield self
            self.down()

    def start_mirror(
        self,
        policy: Policy | str,
        *,
        topics: Sequence[str],
        name: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> str:
        """Start a mirror from old to new and return its name; a running one with this name is stopped first.

        A mirror that is started again under its name continues where it stopped. Under a new name it copies everything
        again, which creates duplicates.

        Args:
            policy: How topics are named on the new cluster.
            topics: Names or regular expressions of topics on the old cluster.
            name: The mirror's name; the policy's by default.
            settings: Properties of `mm2.properties` that take precedence over the lab's.

        Raises:
            LabError: The brokers do not run.
        """
        policy = Policy(policy)
        mirror = name or policy.value
        self.stop_mirror(mirror)
        service = f"mirror-{mirror}"
        properties = mirrors.configuration(
            name=mirror,
            policy=policy,
            topics=topics,
            old=self.old_bootstrap,
            new=self.new_bootstrap,
            settings=settings or {},
        )
        folder = self._folder(service)
        (folder / "mm2.properties").write_text(properties, encoding="utf-8")
        process = start(mirrors.mirror_command(folder), log=self.log(service))
        services = self._state.read()
        self._state.write(services | {service: Service(name=service, process=process, topics=tuple(topics))})
        return mirror

    def stop_mirror(self, name: str, *, kill: bool = False) -> None:
        """Stop a mirror. Does nothing if it does not run.

        Args:
            name: The mirror's name.
            kill: Whether to kill it, so that the last copied records are not recorded and are copied again after a
                restart; otherwise it stores its progress first, as when an operator stops it.
        """
        service = self._state.read().get(f"mirror-{name}")
        if service:
            stop(service.process, grace_s=0 if kill else STOP_GRACE_S)

    def wait_until_mirrored(self, topics: Sequence[str], *, mirror: str, timeout_s: float = 120) -> None:
        """Wait until a mirror has copied all records of these topics of the old cluster, and recorded them as copied.

        Raises:
            LabError: No such mirror was started, the time is over, or the mirror's process has ended; the message names
                the partitions that are behind.
        """
        service = self._state.read().get(f"mirror-{mirror}")
        if service is None:
            raise LabError(
                f"The mirror {mirror!r}: expected one that was started in this lab, found none of that name. Nothing "
                "was waited for.",
                fix="Start the mirror first: `start_mirror`.",
            )
        end = time.monotonic() + timeout_s
        while lagging := progress.partitions_behind(
            topics, offsets_topic=mirrors.offsets_topic(mirror), old=self.old_bootstrap, new=self.new_bootstrap
        ):
            running = is_alive(service.process)
            if not running or time.monotonic() > end:
                what = f"is still behind after {timeout_s:.0f} s" if running else "has ended while it was behind"
                raise LabError(
                    f"The mirror {mirror!r} {what} on {', '.join(sorted(lagging))}. {self._log_tail(service.name)}",
                    fix="Correct what the log names, if anything, then start the mirror again and wait again.",
                )
            time.sleep(0.25)

    def sample(self) -> Path:
        """Create the reference migration in this lab, unless it exists, and return its `migration.yaml`.

        Raises:
            LabError: The brokers do not run, or a step fails.
        """
        from offsetwise.lab.sample import make_sample  # noqa: PLC0415 - it uses this class

        return make_sample(self)

    @property
    def _state(self) -> StateFile:
        return StateFile(self.directory / "lab.json")

    def _bootstrap(self, name: str) -> str:
        service = self._state.read().get(name)
        if service is None or not is_alive(service.process):
            raise LabError(
                f"The lab in {self.directory}: its broker {name!r} does not run, so there is nothing to connect to.",
                fix=f"Start it: offsetwise lab up --dir {self.directory}",
            )
        return f"127.0.0.1:{service.port}"

    def _folder(self, name: str) -> Path:
        folder = self.directory / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log4j2.properties").write_text(brokers.LOG_CONFIGURATION, encoding="utf-8")
        return folder

    def _ports(self, name: str, known: Service | None) -> tuple[int, int]:
        if known is None or known.port is None or known.controller_port is None:
            port, controller_port = brokers.free_ports(2)
            return port, controller_port
        used = [port for port in (known.port, known.controller_port) if not brokers.is_free(port)]
        if used:
            raise LabError(
                f"The lab in {self.directory}: its broker {name!r} used port {used[0]}, and another process "
                "listens there now. No broker was started.",
                fix=f"End that process, or remove {self.directory} and start a new lab.",
            )
        return known.port, known.controller_port

    def _format(self, ports: Mapping[str, tuple[int, int]]) -> None:
        formatting: dict[str, Process] = {}
        for name, (port, controller_port) in ports.items():
            folder = self._folder(name)
            properties = brokers.configuration(folder, port=port, controller_port=controller_port)
            (folder / "server.properties").write_text(properties, encoding="utf-8")
            if not self._meta(name).is_file():
                formatting[name] = start(brokers.format_command(folder), log=self.log(name))
        for name, process in formatting.items():
            while is_alive(process):
                time.sleep(POLL_S)
            if not self._meta(name).is_file():
                raise LabError(
                    f"The lab in {self.directory}: the data folder of broker {name!r} could not be prepared, so no "
                    f"broker was started. {self._log_tail(name)}",
                    fix="Check the disk and the folder's permissions, then run "
                    f"`offsetwise lab up --dir {self.directory}` again.",
                )

    def _wait_until_listening(self, service: Service) -> None:
        """Wait for the broker's port, which opens only when the broker is ready to serve."""
        end = time.monotonic() + START_LIMIT_S
        while not self._is_listening(service):
            if is_alive(service.process) and time.monotonic() < end:
                time.sleep(POLL_S)
                continue
            self.down()
            raise LabError(
                f"The lab in {self.directory}: broker {service.name!r} did not start listening on port "
                f"{service.port}. The lab was stopped. {self._log_tail(service.name)}",
                fix=f"Correct what the log names, then run `offsetwise lab up --dir {self.directory}` again.",
            )

    def _is_listening(self, service: Service) -> bool:
        """Return whether this broker listens, and not another program that took its port while it started."""
        address = ("127.0.0.1", service.port or 0)
        try:
            socket.create_connection(address, timeout=1).close()
            admin = AdminClient({"bootstrap.servers": f"{address[0]}:{address[1]}", "log_level": 0})
            cluster_id = admin.list_topics(timeout=ANSWER_LIMIT_S).cluster_id
        except (OSError, KafkaException):
            return False
        return f"cluster.id={cluster_id}" in self._meta(service.name).read_text(encoding="utf-8").splitlines()

    def _meta(self, name: str) -> Path:
        return self.directory / name / "data" / "meta.properties"

    def _log_tail(self, name: str) -> str:
        lines = self.log(name).read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line.strip() for line in lines if not line.startswith("\tat ")][-LOG_TAIL_LINES:]
        return f"{self.log(name)} ends with: {' | '.join(said) or '(nothing)'}"
