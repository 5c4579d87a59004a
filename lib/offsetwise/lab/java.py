from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Final

from offsetwise.errors import JavaError

LEAST_MAJOR: Final = 17
INSTALL: Final = (
    f"Install Java {LEAST_MAJOR} (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) "
    "or point JAVA_HOME at one."
)


def find_java() -> str:
    """Return the path of the `java` command that Spark would use: JAVA_HOME first, then the PATH.

    Raises:
        JavaError: There is none, it does not run, or it is older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH, and JAVA_HOME is not set"
        raise JavaError(
            f"The lab needs Java {LEAST_MAJOR} or newer, found none {where}. Nothing was started.", fix=INSTALL
        )
    said = _version_text(java)
    major = major_version(said)
    if major is None or major < LEAST_MAJOR:
        result = f"Java {major}" if major else f"a java that says {said.strip()[:80]!r}"
        raise JavaError(
            f"The lab needs Java {LEAST_MAJOR} or newer, found {result} at {java}. Nothing was started.", fix=INSTALL
        )
    return java


def major_version(text: str) -> int | None:
    """Parse the major version in the output of `java -version`; None if there is none.

    >>> major_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> major_version('java version "1.8.0_392"')
    8
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def _version_text(java: str) -> str:
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603 - the person's own Java
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(f"The Java at {java} does not run: {error}. Nothing was started.", fix=INSTALL) from error
    return ran.stderr + ran.stdout
