"""The Spark properties that a migration file may set: those whose value can name neither code nor a file.

Names and meanings: Spark's configuration page, and those of Hadoop's S3A and ABFS. All others are rejected, because
many run code: programs of workers, plugins, listeners, jars, options of a JVM, classes of any kind.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Final

from offsetwise.client_properties import user_settings
from offsetwise.errors import ConfigError, ForbiddenPropertyError

_SIZE: Final = r"-?[0-9]{1,18}([bkmgtp]b?)?"
_NUMBER: Final = r"[0-9]{1,18}(\.[0-9]{1,18})?"
_TIME: Final = r"[0-9]{1,18}(us|ms|s|m|min|h|d)?"
_BOOLEAN: Final = r"true|false"
_NAME: Final = r"[A-Za-z0-9 ._-]{1,200}"
_VARIABLE: Final = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"
_SECRET: Final = rf"{_VARIABLE}|file:.+"

_VALUES: Final = {
    _SIZE: (
        *("spark.driver.memory", "spark.driver.memoryOverhead", "spark.driver.maxResultSize", "spark.executor.memory"),
        *("spark.executor.memoryOverhead", "spark.executor.pyspark.memory", "spark.kryoserializer.buffer.max"),
        *("spark.memory.offHeap.size", "spark.python.worker.memory", "spark.reducer.maxSizeInFlight"),
        *("spark.rpc.message.maxSize", "spark.sql.adaptive.advisoryPartitionSizeInBytes"),
        *("spark.sql.autoBroadcastJoinThreshold", "spark.sql.files.maxPartitionBytes"),
    ),
    _NUMBER: (
        *("spark.cores.max", "spark.default.parallelism", "spark.driver.cores", "spark.driver.memoryOverheadFactor"),
        *("spark.dynamicAllocation.initialExecutors", "spark.dynamicAllocation.maxExecutors"),
        *("spark.dynamicAllocation.minExecutors", "spark.executor.cores", "spark.executor.instances"),
        *("spark.executor.memoryOverheadFactor", "spark.memory.fraction", "spark.memory.storageFraction"),
        *("spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.shuffle.partitions", "spark.task.cpus"),
        "spark.task.maxFailures",
    ),
    _TIME: (
        *("spark.dynamicAllocation.executorIdleTimeout", "spark.executor.heartbeatInterval", "spark.locality.wait"),
        *("spark.network.timeout", "spark.rpc.askTimeout", "spark.sql.broadcastTimeout"),
    ),
    _BOOLEAN: (
        *("spark.dynamicAllocation.enabled", "spark.memory.offHeap.enabled", "spark.shuffle.compress"),
        *("spark.shuffle.spill.compress", "spark.speculation", "spark.sql.adaptive.coalescePartitions.enabled"),
        *("spark.sql.adaptive.enabled", "spark.ui.enabled", "spark.ui.showConsoleProgress"),
    ),
    _NAME: ("spark.app.name",),
}
_S3A: Final = {
    "access.key": rf"{_NAME}|{_VARIABLE}",
    "secret.key": _SECRET,
    "session.token": _SECRET,
    "encryption.algorithm": r"AES256|D?SSE-[A-Z0-9]+",
    "encryption.key": _SECRET,
    "endpoint": r"(https?://)?[A-Za-z0-9.-]+(:[0-9]{1,5})?/?",
    "endpoint.region": _NAME,
    "path.style.access": _BOOLEAN,
    "connection.ssl.enabled": _BOOLEAN,
    "connection.maximum": _NUMBER,
    "requester.pays.enabled": _BOOLEAN,
}
_ABFS: Final = {"account.key": _SECRET, "account.auth.type": r"SharedKey|SAS", "sas.fixed.token": _SECRET}
_ACCOUNT: Final = r"(\.[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+)?"
_STORES: Final = {
    **{rf"spark\.hadoop\.fs\.s3a\.(bucket\.[A-Za-z0-9.-]+\.)?{re.escape(name)}": value for name, value in _S3A.items()},
    **{rf"spark\.hadoop\.fs\.azure\.{re.escape(name)}{_ACCOUNT}": value for name, value in _ABFS.items()},
}
"""By a pattern of the name: S3A has each property also for one bucket, ABFS for one account."""

ALLOWED_OF_SPARK: Final = {name: value for value, names in _VALUES.items() for name in names}
"""The pattern of the value, by name."""
LOCAL_MASTER: Final = re.compile(r"local(\[(\*|[0-9]{1,4})(,[0-9]{1,4})?\])?")


def spark_names() -> str:
    return f"^({'|'.join([*map(re.escape, sorted(ALLOWED_OF_SPARK)), *_STORES])})$"


def check_allowed(conf: Mapping[str, str]) -> None:
    """Raise for properties that a migration file may not set.

    Raises:
        ForbiddenPropertyError: A property that is not on the list.
        ConfigError: A value that the property does not take. It is not shown.
    """
    for name, value in conf.items():
        pattern = ALLOWED_OF_SPARK.get(name) or next(
            (values for names, values in _STORES.items() if re.fullmatch(names, name)), None
        )
        if pattern is None:
            near = difflib.get_close_matches(name, ALLOWED_OF_SPARK, n=1, cutoff=0.9)
            hint = f"Did you mean {near[0]}? If not, set" if near else "Set"
            raise ForbiddenPropertyError(
                f"spark.conf.{name}: expected a property that can name neither code nor a file, found another: such a "
                "one could run code here, and somebody else may have written this file. No session was started.",
                fix=f"{hint} it in a file of your own, one `NAME VALUE` a line as in spark-defaults.conf, whose path "
                f"{user_settings.SPARK_CONF} has in the environment that starts Offsetwise, and take it out here.",
            )
        if not re.fullmatch(pattern, value):
            raise ConfigError(
                f"spark.conf.{name}: expected a value such as Spark's documentation names, found another text. No "
                "session was started.",
                fix=f"Correct the value; if it is meant, set it in the file that {user_settings.SPARK_CONF} names.",
            )


def check_server(key: str, address: str) -> None:
    """Raise for a Spark master or a Spark Connect server that the user has not allowed.

    Raises:
        ConfigError: It is not in this process, and the user's environment does not name it. A token is not shown.
    """
    name = user_settings.server_name(address)
    if LOCAL_MASTER.fullmatch(address) or user_settings.allows_server(name):
        return
    raise ConfigError(
        f"{key}: expected a local master, or a server that {user_settings.SPARK_SERVERS} lists, found {name!r}. Such a "
        "server gets the clusters' credentials and can run code here, and somebody else may have written this file. "
        "Nothing was contacted.",
        fix=f"If you trust the server, add {name} to {user_settings.SPARK_SERVERS} in the environment that starts "
        "Offsetwise; else write master: local[*].",
    )
