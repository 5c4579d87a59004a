"""`python -m offsetwise.lab.prefetch`: fetches every jar, so that tests and the lab need no network afterwards."""

from __future__ import annotations

import sys

from offsetwise.config import SparkSettings
from offsetwise.errors import OffsetwiseError
from offsetwise.lab.jars import kafka_jars
from offsetwise.pipeline.session import close_session, open_session


def main() -> None:
    try:
        kafka_jars()
        open_session(SparkSettings(master="local[1]"), kafka=True)
    except OffsetwiseError as error:
        sys.exit(str(error))
    close_session()


if __name__ == "__main__":
    main()
