"""Patches of the custom resources by which Kubernetes operators run jobs: they start a job from what a plan writes.

Pure. A target that an operator can start a job from names the patch (`TargetType.patches`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

from offsetwise.errors import UsageError

Body: TypeAlias = Mapping[str, Any]
"""The `spec` of a patch."""
SERVERS_ENV: Final = "KAFKA_BOOTSTRAP_SERVERS"
"""The default environment variable for the bootstrap servers of the new cluster."""
CHECKPOINT_ENV: Final = "CHECKPOINT_LOCATION"
"""The default environment variable for the location of the checkpoint."""
_RESOURCE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
"""A DNS subdomain name, as names of custom resources are."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_ABSOLUTE: Final = re.compile(r"/|[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    resource: str
    """The name of the custom resource."""
    location: str
    """The location that the plan writes: an absolute path, or a URI."""
    servers: str | None
    """The bootstrap servers of the new cluster; None if the stream has none, or the patch does not need them."""
    servers_env: str = SERVERS_ENV
    checkpoint_env: str = CHECKPOINT_ENV

    def __post_init__(self) -> None:
        if not _RESOURCE.fullmatch(self.resource):
            raise UsageError(
                f"export: expected the name of a resource of Kubernetes, found {self.resource[:80]!r}. "
                "Nothing was printed.",
                fix="Name it as in its metadata.name: lower-case letters, digits, - and . only.",
            )
        if not _ABSOLUTE.match(self.location):
            raise UsageError(
                f"export: expected an absolute path or a URI, found {self.location[:80]!r}: pods have another "
                "working directory. Nothing was printed.",
                fix="Name the output as the pods of the job reach it, such as s3://BUCKET/PATH or /MOUNT/PATH.",
            )
        for name in (self.servers_env, self.checkpoint_env):
            if not _VARIABLE.fullmatch(name):
                raise UsageError(
                    f"export: expected the name of an environment variable, found {name[:80]!r}. Nothing was printed.",
                    fix="Use letters, digits and _ only, the first no digit.",
                )

    @property
    def uri(self) -> str:
        """The location as a URI: Flink and Spark resolve a path without a scheme against their default file system."""
        return f"file://{self.location}" if self.location.startswith("/") else self.location


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPatch:
    name: str
    """The name of the form, as after `--as`."""
    api_version: str
    kind: str
    """The kind of the custom resource."""
    spec: Callable[[Deployment, str], Body]
    """Returns the changed part of the resource's `spec`, from the deployment and the digest of the plan, hex."""
    remarks: Callable[[Deployment], Sequence[str]]
    """Returns remarks for the person who applies the patch, a sentence each."""

    def text(self, deployment: Deployment, digest: str) -> str:
        """Return the patch as YAML, for `kubectl patch --type merge` and for Kustomize.

        Args:
            deployment: The resource to patch.
            digest: The digest of the plan, hex.
        """
        header = (
            f"{self.kind} {deployment.resource}: start from what plan {digest} writes.",
            "Apply it once `offsetwise apply --execute` has written that:",
            f"  kubectl patch {self.kind.lower()} {deployment.resource} --type merge --patch-file FILE",
            *self.remarks(deployment),
        )
        body = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"name": deployment.resource},
            "spec": self.spec(deployment, digest),
        }
        comments = "".join(f"# {line}\n" for line in header)
        return comments + yaml.safe_dump(body, sort_keys=False, allow_unicode=False, width=2_000)
