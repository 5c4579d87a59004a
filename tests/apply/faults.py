"""A disk that fails, is cut short, fills up, or takes the whole process with it, at the k-th call."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from offsetwise.apply.disk import Disk

_T = TypeVar("_T")


class Fault(StrEnum):
    """What goes wrong."""

    EIO = "EIO"
    ENOSPC = "ENOSPC"
    EACCES = "EACCES"
    SHORT_WRITE = "short write"


class UnsyncedDisk(Disk):
    """Leaves syncs out: what a killed process wrote is with the kernel, so a kill loses none of it.

    One call after the other, so that the k-th call is always the same one.
    """

    syncers = 1

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
        if name == "fsync":
            action = _nothing  # type: ignore[assignment]
        return super().call(name, path, action)


class FaultyDisk(UnsyncedDisk):
    """Counts calls, and fails at one of them, or from one on."""

    def __init__(self, *, at: int = 0, fault: Fault = Fault.EIO, sticky: bool = False) -> None:
        self.calls = 0
        self._at = at
        self._fault = fault
        self._sticky = sticky

    def _now(self) -> bool:
        return self.calls == self._at or (self._sticky and 0 < self._at <= self.calls)

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
        self.calls += 1
        if self._now() and self._fault is not Fault.SHORT_WRITE:
            code = getattr(errno, self._fault)
            raise OSError(code, os.strerror(code), path)
        return super().call(name, path, action)

    def _write(self, fd: int, data: bytes | memoryview, path: str) -> int:
        if (
            self._fault is Fault.SHORT_WRITE
            and self.calls + 1 >= self._at > 0
            and (self._sticky or self.calls + 1 == self._at)
        ):
            return super()._write(fd, memoryview(data)[: max(1, len(data) // 2)], path)
        return super()._write(fd, data, path)


class FullDisk(UnsyncedDisk):
    """A file system with so many bytes left; what is removed does not come back."""

    def __init__(self, left_bytes: int) -> None:
        self._left_bytes = left_bytes

    def _write(self, fd: int, data: bytes | memoryview, path: str) -> int:
        fits = min(len(data), self._left_bytes)
        if fits == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        self._left_bytes -= fits
        return super()._write(fd, memoryview(data)[:fits], path)


class DeadlyDisk(UnsyncedDisk):
    """Kills its process with SIGKILL at one call, a write after half of its bytes."""

    def __init__(self, at: int) -> None:
        self.calls = 0
        self._at = at

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
        self.calls += 1
        if self.calls == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().call(name, path, action)

    def _write(self, fd: int, data: bytes | memoryview, path: str) -> int:
        if self.calls + 1 == self._at:
            os.write(fd, memoryview(data)[: len(data) // 2])
        return super()._write(fd, data, path)


def _nothing() -> None:
    return None
