from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from offsetwise.engines.batch_files import BatchFiles, RawFile
from offsetwise.errors import MissingError, StorageError
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_commit, parse_offsets
from offsetwise.storage.folders import FolderReader

_Parsed = TypeVar("_Parsed")


def files_from(folder: FolderReader, batch: int) -> BatchFiles:
    plan, commit = f"offsets/{batch}", f"commits/{batch}"
    read = folder.read_many({plan: None, commit: None})
    return BatchFiles(
        batch=batch,
        offsets=_file(plan, read[plan], parse_offsets),
        commit=_file(commit, read[commit], parse_commit),
    )


def _file(path: str, content: bytes | StorageError, parse: Callable[[bytes], _Parsed]) -> RawFile[_Parsed]:
    if isinstance(content, MissingError):
        return RawFile(path=path, data=None, problem=f"{path} is not there.")
    if isinstance(content, StorageError):
        return RawFile(path=path, data=None, problem=content.problem)
    try:
        return RawFile(path=path, data=content, parsed=parse(content))
    except GarbledError as error:
        return RawFile(path=path, data=content, problem=f"{path} is garbled: {error}.")
