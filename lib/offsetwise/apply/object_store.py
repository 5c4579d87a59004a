"""Copies of a checkpoint or savepoint on an object store: a guard, server-side copies, and a final marker.

Object stores have no rename. A guard, written with put-if-absent, keeps other appliers out and Spark from starting (it
is the newest offset file, and an invalid one); Flink cannot start without `_metadata`, which is written after all other
files. When every object exists, the guard is removed, and a marker is written last; a copy without its marker counts as
absent.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from offsetwise.apply import written
from offsetwise.apply.copies import preview_copy, step_of_copy
from offsetwise.apply.edits import Decide, Edits
from offsetwise.apply.fitting import requirement
from offsetwise.apply.publish import absent, journal_of, not_free, went_on
from offsetwise.apply.write_locations import place_to_write
from offsetwise.apply.writing import Context, Preview, SeenPlace
from offsetwise.engines.registry import engines
from offsetwise.errors import OffsetwiseError, OutputError, RunningQueryError
from offsetwise.model import Plan, ReceiptStep, Target
from offsetwise.storage.folders import Tree, open_tree

_GUARD: Final = "offsetwise is making this checkpoint: apply the plan again, or roll it back\n"
COPY_MARKER: Final = ".offsetwise-copy.json"
"""Written last into a copy, because nothing can be renamed there; without it the copy is incomplete."""
_AGAIN: Final = "Then run the same command again: it continues from here."
_REFUSED: Final = (
    "If the store was out of reach, run the same command again: it continues from here. Some buckets refuse "
    "conditional writes, and some that enforce them refuse server-side copies: then roll back, and apply with "
    "another --receipt and an --output in a bucket that allows both; or copy the checkpoint to a local folder, compare "
    "that and draft a new plan."
)
_Objects: TypeAlias = Mapping[str, tuple[int, str, str]]
"""Size, version and time of each object by its path."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """How to recognize that a copy, whose listed files are unchanged, is not the plan's own any more."""

    ran: Callable[[written.Names], str | None]
    """Returns evidence that a job has run on it since; None if there is none."""
    foreign: Callable[[Iterable[str]], str | None]
    """Returns why names at its top level, or the files below them, are not the plan's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bucket:
    tree: Tree
    context: Context

    @property
    def uri(self) -> str:
        return self.tree.location.path

    def names(self) -> dict[str, tuple[int, str, str]]:
        """Return size, version and time of every object by its path, freshly listed."""
        base = self.tree.base.rstrip("/") + "/"

        def listed() -> dict[str, Any]:
            self.tree.fs.invalidate_cache()
            try:
                return dict(self.tree.fs.find(self.tree.base, detail=True))
            except FileNotFoundError:
                return {}

        results = self._ask("list", "", listed, writing=False)
        return {
            str(name).removeprefix(base): (
                int(info.get("size") or 0),
                str(info.get("ETag") or info.get("etag") or ""),
                str(info.get("LastModified") or info.get("last_modified") or ""),
            )
            for name, info in results.items()
            if str(name).startswith(base)
        }

    def read(self, path: str) -> bytes | None:
        """Return an object's bytes; None if it is missing."""

        def request() -> bytes | None:
            try:
                return bytes(self.tree.fs.cat_file(self._at(path)))
            except FileNotFoundError:
                return None

        return self._ask("get", path, request, writing=False)

    def put(self, path: str, data: bytes) -> None:
        self._ask("put", path, lambda: self.tree.fs.pipe_file(self._at(path), data))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Write an object unless one exists; return False if another one does. A lost reply is resolved by reading."""
        try:
            self._ask("put-if-absent", path, lambda: self.tree.fs.pipe_file(self._at(path), data, mode="create"))
        except OutputError:
            stored = self.read(path)
            if stored is None:
                raise
            return stored == data
        return True

    def copy(self, source: _Bucket, paths: list[str]) -> None:
        here, there = [source._at(path) for path in paths], [self._at(path) for path in paths]
        if paths:
            self._ask("copy", paths[0], lambda: self.tree.fs.copy(here, there, on_error="raise"))

    def remove(self, paths: list[str]) -> None:
        if paths:
            self._ask("delete", paths[0], lambda: self.tree.fs.rm([self._at(path) for path in paths]))
            self.tree.fs.invalidate_cache()

    def _at(self, path: str) -> str:
        return f"{self.tree.base.rstrip('/')}/{path}"

    def _ask(self, name: str, path: str, action: Callable[[], _T], *, writing: bool = True) -> _T:
        try:
            return self.context.disk.call(name, f"{self.uri}/{path}", action) if writing else action()
        except OffsetwiseError:
            raise
        except Exception as error:
            said = str(error).strip().splitlines()
            reason = f"{type(error).__name__}: {said[0][:200]}" if said else type(error).__name__
            raise OutputError(
                f"{self.uri}/{path}: expected the store to {name} it, found {reason}. Without {COPY_MARKER} what "
                f"is at {self.uri} counts as absent.",
                fix=_REFUSED if _is_refusal(name, error) else f"{_obstacle(name, error)} {_AGAIN}",
            ) from error


def prepare(plan: Plan, target: Target, context: Context, decide: Decide) -> Preview:
    """Return the numbers that would change in the copy, without writing anything.

    Raises:
        OffsetwiseError: The copy cannot be written now; the message says why.
    """
    _, output, edits = _opened(plan, context, decide)
    if output.names():
        raise not_free(output.uri)
    return preview_copy(plan, target, output.uri, edits)


def write(plan: Plan, target: Target, context: Context, decide: Decide) -> ReceiptStep:
    """Write the copy, under the journal.

    Raises:
        OffsetwiseError: What is at the output counts as absent then.
    """
    journal = journal_of(context)
    record = journal.record(context.step)
    if record.undone is None and record.done is not None:
        return record.done
    # Listed before the edits are decided: they and the copied objects are then of one state of the source.
    before = _Bucket(tree=open_tree(requirement(plan).uri, roots=context.read_roots), context=context).names()
    source, output, edits = _opened(plan, context, decide)
    if record.undone is None and record.intended is not None:
        intended, token = record.intended, record.notes["token"]
    else:
        if output.names():
            raise not_free(output.uri)
        token = uuid.uuid4().hex
        intended = step_of_copy(plan, target, output.uri, edits)
        journal.begin(context.step, intended, token=token)
    if "copied" not in journal.record(context.step).notes:
        _fill(source, before, output, edits, token, context)
        journal.note(context.step, copied="yes")
    if output.read(edits.guard) == _guard(token):
        output.remove([edits.guard])
    marker = {"format": "offsetwise/copy", "format_version": "1.0", "plan": context.digest, "token": token}
    if not output.put_if_absent(COPY_MARKER, json.dumps(marker, sort_keys=True).encode() + b"\n"):
        raise not_free(output.uri)
    return journal.done(context.step, intended)


def undo(step: ReceiptStep, context: Context, other: Other, *, guard: written.Guard) -> ReceiptStep:
    """Remove the copy if it is as it was written.

    Args:
        step: What was written.
        context: Journal, step and disk.
        other: How to recognize that it is not the plan's own.
        guard: The file that is removed last.

    Raises:
        ApplyError: A query has run on it, so going back is a failback; or the store returns an error.
    """
    journal = journal_of(context)
    record = journal.record(context.step)
    if record.undone is not None:
        return record.undone
    output = _output(step.place, context)
    names = output.names()
    token = record.notes.get("token", "")
    guards = [
        path
        for path in names
        if (token or record.undoing) and guard.matches(path) and output.read(path) == _guard(token)
    ]
    ours = COPY_MARKER in names or bool(guards) or "copied" in record.notes or record.undoing
    if names and ours:
        begun = bool(guards) or (record.undoing and COPY_MARKER not in names)
        changed = None if begun else _wrong(step, output, names, other)
        if changed is not None:
            raise went_on(output.uri, f"{changed} Nothing was removed.")
        journal.undoing(context.step)
        # Spark would take a partial remainder for a query's checkpoint, so the guard comes first and is removed last.
        # It is the file of the next batch: where a query has planned one since the look, it is there and stays.
        guards = guards or [guard.path(step)]
        if not output.put_if_absent(guards[0], _guard(token)):
            raise went_on(output.uri, f"a query has run on it since: {guards[0]} is there. Nothing was removed.")
        output.remove([path for path in (COPY_MARKER, *_last()) if path in names])
        output.remove([path for path in names if path not in (COPY_MARKER, *_last(), *guards)])
        output.remove(guards)
    return journal.taken_back(context.step, step, f"{output.uri} is gone; nothing of it is left.")


def state_of(step: ReceiptStep, context: Context, other: Other) -> SeenPlace:
    """Return whether the copy exists as it was written; without its marker it counts as absent."""
    output = _output(step.place, context)
    names = output.names()
    if COPY_MARKER not in names:
        return absent(step)
    return written.state_of(step, _wrong(step, output, names, other))


def _wrong(step: ReceiptStep, output: _Bucket, names: Collection[str], other: Other) -> str | None:
    top = {path.partition("/")[0] for path in names} - {COPY_MARKER}

    def inside(folder: str) -> list[str]:
        return [path.partition("/")[2] for path in sorted(names) if path.startswith(f"{folder}/")]

    return other.ran(inside) or written.changed(step, names, output.read) or other.foreign(top)


def _opened(plan: Plan, context: Context, decide: Decide) -> tuple[_Bucket, _Bucket, Edits]:
    uri = requirement(plan).uri
    source = open_tree(uri, roots=context.read_roots)
    place_to_write(context.output, context.write_roots, apart_from=uri)
    edits = decide(plan, context)
    return _Bucket(tree=source, context=context), _output(context.output, context), edits


def _output(uri: str | None, context: Context) -> _Bucket:
    location = place_to_write(uri, context.write_roots)
    return _Bucket(tree=open_tree(location.path), context=context)


def _fill(  # noqa: PLR0917 - both buckets, and what is known of them
    source: _Bucket, before: _Objects, output: _Bucket, edits: Edits, token: str, context: Context
) -> None:
    if not output.put_if_absent(edits.guard, _guard(token)):
        raise not_free(output.uri)
    record = journal_of(context).record(context.step)
    if "seized" not in record.notes:
        # Somebody else may have written and removed a copy between the first check and the guard.
        if set(output.names()) != {edits.guard}:
            output.remove([edits.guard])
            raise not_free(output.uri)
        journal_of(context).note(context.step, seized="yes")
    edited = {edit.path: edit.after for edit in edits.edits}
    # A copy that a job continued from has its own marker, which must not be copied into this one.
    copied = [path for path in before if path not in edited and path not in edits.dropped and path != COPY_MARKER]
    output.copy(source, copied)
    for path in sorted(edited, key=_last().__contains__):
        output.put(path, edited[path])
    if source.names() != before:
        raise RunningQueryError(
            f"{source.uri}: expected nobody to write to it while it was copied, found that it changed. "
            f"Without {COPY_MARKER} what is at {output.uri} counts as absent.",
            fix="Stop the job, roll this back, compare again and draft a new plan.",
        )
    sizes = {path: facts[0] for path, facts in output.names().items() if path != edits.guard}
    expected = {path: before[path][0] for path in copied} | {path: len(data) for path, data in edited.items()}
    if sizes != expected:
        lost = min({*sizes.items()} ^ {*expected.items()})[0]
        raise OutputError(
            f"{output.uri}/{lost}: expected it as in the source, found another size or nothing. Without {COPY_MARKER} "
            f"what is at {output.uri} counts as absent.",
            fix="Roll back, then apply again with another --receipt.",
        )


def _last() -> tuple[str, ...]:
    """Return the names of the files without which an engine cannot start from a copy."""
    return tuple(engine.file for engine in engines() if engine.file is not None)


def _guard(token: str) -> bytes:
    return f"{_GUARD}{token}\n".encode()


def _is_refusal(name: str, error: Exception) -> bool:
    """Return whether the store may reject such a request from any client; network errors are indistinguishable."""
    refused = isinstance(error, NotImplementedError | OSError | TypeError) and not isinstance(error, PermissionError)
    return refused and name in ("put-if-absent", "copy")


def _obstacle(name: str, error: Exception) -> str:
    if isinstance(error, PermissionError):
        return f"Give these credentials the right to {name} there; copies need reading the source as well."
    return "Check the store and the network."
