from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from offsetwise.apply.writing import Writer
from offsetwise.config import Migration
from offsetwise.errors import OutputError
from offsetwise.model import Plan, ReceiptStep, Target
from offsetwise.plan.target import Where, target_type
from offsetwise.registry import WRITERS

if TYPE_CHECKING:
    from offsetwise.apply.readers import Readers
    from offsetwise.apply.verification.seen import Seen


class WriterModule(Protocol):
    def writer(self, migration: Migration) -> Writer:
        """Return the writer for this kind of target."""

    def verify(self, plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
        """Compare the state of a target with the plan.

        Args:
            plan: The approved plan.
            step: What was written.
            readers: Read the current state.
            checkpoint: The checkpoint of the new job, for a target that does not show where it began.

        Returns:
            One for each position of the plan, in its order; for a target that ends transactions, one for each of them.

        Raises:
            OffsetwiseError: It cannot be read.
        """


class TargetWriters(dict[str, Writer]):
    def __init__(self, migration: Migration) -> None:
        super().__init__()
        self._migration = migration

    def __missing__(self, name: str) -> Writer:
        return self.setdefault(name, writer_module(name).writer(self._migration))


def writer_module(name: str) -> WriterModule:
    module: WriterModule = WRITERS.load(name)
    return module


def output_of(targets: tuple[Target, ...], step: int, output: str | None) -> str | None:
    """Return the path of one target: the output itself, or a name inside it if several targets need one.

    Raises:
        OutputError: The plan has a target twice, so one would overwrite the other.

    >>> copy, file = Target(kind="spark-checkpoint"), Target(kind="starting-offsets")
    >>> output_of((copy,), 0, "/out"), output_of((copy, file), 1, "/out")
    ('/out', '/out/starting-offsets')
    """
    if len(set(targets)) != len(targets):
        raise OutputError(
            "The plan: expected every target once, found one twice. Nothing was written.", fix="Draft the plan again."
        )
    target = targets[step]
    if output is None or target_type(target.kind).where is not Where.OUTPUT:
        return None
    needing = [required for required in targets if target_type(required.kind).where is Where.OUTPUT]
    return output if len(needing) == 1 else f"{output.rstrip('/')}/{target.kind}"
