"""Write a migration file from two addresses and checkpoint roots: `offsetwise init`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from offsetwise import files, new_files, regular_files
from offsetwise.client_properties import GivenCluster, given_cluster
from offsetwise.client_properties.connectors import ConnectorAddress
from offsetwise.config import ClusterConfig, JobTraits, Migration, load_migration, schema_text
from offsetwise.errors import ConfigError, FileError, OffsetwiseError, UsageError
from offsetwise.progress import Progress, no_progress
from offsetwise.strict_yaml import MAX_BYTES
from offsetwise.survey.connectors import parse_connect
from offsetwise.survey.reading import survey
from offsetwise.survey.results import Survey, Trouble
from offsetwise.survey.text import migration_text
from offsetwise.survey.update import additions, differences, updated
from offsetwise.wording import many

_STREAM: Final = ClusterConfig.model_fields["stream"].default


def init(
    path: str | Path,
    *,
    old: str | None = None,
    new: str | None = None,
    checkpoints: Sequence[str] = (),
    connect: Sequence[str] = (),
    update: bool = False,
    confirm: Callable[[str], bool] = lambda _: True,
    progress: Progress = no_progress,
) -> Survey:
    """Discover the content of a migration file, and write it. Clusters and checkpoints are only read.

    Args:
        path: The file to write. It must not exist; with `update` it must.
        old: The old cluster: HOST:PORT, or a file of client properties, of the Java client or of librdkafka.
        new: The new cluster.
        checkpoints: The folders to search for checkpoints: paths or URIs.
        connect: Workers of Kafka Connect to ask for connectors, `http://HOST:PORT`, with credentials after `?`.
        update: Keep every line of the file, and add what it lacks. Arguments that are not given are taken from it.
        confirm: Called with the difference before a file is changed; False leaves it as it is.
        progress: Called with each step.

    Returns:
        What was found, what is missing, and what could not be read. The file has everything else.

    Raises:
        FileError: The file exists, or with `update` does not, or cannot be written.
        ConfigError: Properties that no client could use, one address twice, or a file that cannot be updated.
        UsageError: A cluster or the checkpoints are not given.
    """
    path = Path(path).absolute()
    before, said = _to_update(path) if update else (None, None)
    if not update:
        _require_absent(path)
    source, target = (None, None) if said is None else (said.source, said.target)
    sides = (_given(old, source, prefix="OLD", option="--old"), _given(new, target, prefix="NEW", option="--new"))
    workers = _workers(connect, said)
    read = replace(survey(*sides, _roots(checkpoints, said, not workers), progress, connect=workers), file=str(path))
    return _new(path, read) if before is None or said is None else _updated(path, before, said, read, confirm)


def _to_update(path: Path) -> tuple[bytes, Migration]:
    content = files.read_bytes(path, "the migration file to update", fix="Omit --update to write a new file.")
    migration = load_migration(path)
    if migration.source.stream != _STREAM:
        raise ConfigError(
            f"{path}: expected a migration of a cluster of Kafka, found {migration.source.name!r} with the stream "
            f"{migration.source.stream!r}: init surveys clusters of Kafka, and adds nothing here. Nothing was read or "
            "written.",
            fix="Add by hand what is missing: each of `checkpoints` is {name: NAME, uri: URI, job: {stream: STREAM}}, "
            "and `offsetwise inspect URI` says what one holds.",
        )
    return content, migration


def _require_absent(path: Path) -> None:
    if os.path.lexists(path):
        raise FileError(
            f"{path}: expected no file there yet, found something of that name. Nothing was read or written.",
            fix="Add --update to keep what it says and add what it lacks, or name another file.",
        )
    new_files.require_new(path)


def _given(given: str | None, said: ClusterConfig | None, *, prefix: str, option: str) -> GivenCluster:
    if given is not None:
        return given_cluster(given, prefix=prefix, option=option)
    if said is None:
        raise _not_given(option, "HOST:PORT of a cluster, or a file of client properties")
    return GivenCluster(properties=said.properties, folder=said.folder)


def _roots(checkpoints: Sequence[str], said: Migration | None, needed: bool) -> tuple[str, ...]:
    if checkpoints:
        return tuple(checkpoints)
    if said is None:
        if needed:
            raise _not_given("--checkpoints", "the folders that hold checkpoints, or --connect")
        return ()
    own = {entry.checkpoint.uri if entry.root is None else entry.root for entry in said.entries if entry.checkpoint}
    return tuple(root for root in said.checkpoint_roots if root not in own)


def _workers(connect: Sequence[str], said: Migration | None) -> tuple[ConnectorAddress, ...]:
    given = [parse_connect(text) for text in connect]
    if not given and said is not None:
        given = [replace(entry.address, connector="") for entry in said.entries if entry.address is not None]
    return tuple({address.root: address for address in given}.values())


def _not_given(option: str, what: str) -> UsageError:
    return UsageError(f"init: expected {option}, {what}, found none. Nothing was read.", fix=f"Add {option}.")


def _new(path: Path, survey: Survey) -> Survey:
    name = path.parent.name if path.stem == "migration" and path.parent.name else path.stem
    schema, of_schema = path.with_name(f"{path.stem}.schema.json"), schema_text()
    there = os.path.lexists(schema)
    usable = not there or _holds(schema, of_schema)
    text, missing = migration_text(survey, path.parent, name, schema=schema.name if usable else None)
    if missing:
        trouble = Trouble(
            problem=f"{path.name}: {many(missing, 'checkpoint or group', 'checkpoints and groups')} of those found "
            f"do not fit into a migration file, which has at most {MAX_BYTES:,} bytes, and are not in it.",
            fix="Give narrower roots, and write a migration file for each. The Fleet screen shows all below the roots.",
        )
        survey = replace(survey, problems=(*survey.problems, trouble))
    if not there:
        new_files.write_new(schema, of_schema)
    try:
        new_files.publish(path, text, load_migration)
    except BaseException:
        if not there:
            schema.unlink(missing_ok=True)
        raise
    return replace(survey, written=True, schema_file=str(schema) if usable else None)


def _holds(path: Path, text: str) -> bool:
    try:
        return regular_files.read_named(path, len(text.encode()) + 1) == text.encode()
    except OSError:
        return False


def _updated(path: Path, before: bytes, said: Migration, survey: Survey, confirm: Callable[[str], bool]) -> Survey:
    text = before.decode("utf-8")
    added = additions(text, said, survey, path.parent)
    after = updated(text, added)
    stated = said.model_fields_set | {
        f"checkpoints[].job.{key}"
        for key in JobTraits.model_fields
        if all(getattr(checkpoint.job, key) is not None for checkpoint in said.checkpoints)
    }
    survey = replace(
        survey,
        differences=tuple(differences(said, survey, path.parent)),
        missing=tuple(field for field in survey.missing if field.key not in stated),
    )
    if not added:
        return survey
    names = (str(path), f"{path} updated")
    diff = "".join(difflib.unified_diff(text.splitlines(keepends=True), after.splitlines(keepends=True), *names))

    def check(draft: Path) -> None:
        try:
            whole = load_migration(draft)
        except OffsetwiseError as error:
            raise _not_placed(path, error.problem) from None
        if not _keeps(said, whole):
            raise _not_placed(path, "something that it says would change.")

    survey = replace(survey, diff=diff)
    if not confirm(diff):
        return survey
    new_files.publish(path, after, check, instead_of=before)
    return replace(survey, written=True)


def _keeps(before: Migration, after: Migration) -> bool:
    """Return whether a file keeps all its values, except for lists that have only grown at their ends."""
    grown = {"checkpoints", "checkpoint_roots", "connect", "groups", "topics"}
    connectors = [[entry for entry in side.entries if entry.address is not None] for side in (before, after)]
    return (
        before.model_dump(exclude=grown) == after.model_dump(exclude=grown)
        and before.topics.model_dump(exclude={"map"}) == after.topics.model_dump(exclude={"map"})
        and before.topics.map.items() <= after.topics.map.items()
        and [config for config in after.checkpoints if config in before.checkpoints] == [*before.checkpoints]
        and connectors[1][: len(connectors[0])] == connectors[0]
        and after.groups[: len(before.groups)] == before.groups
        and set(before.checkpoint_roots) <= set(after.checkpoint_roots)
    )


def _not_placed(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"{path}: what was found could not be added between its lines: {why} Nothing was written.",
        fix="Write lists and maps in block style, one element a line, and run the command again; or add by hand what "
        "the difference shows.",
    )
