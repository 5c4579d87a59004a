from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from offsetwise.model import MAX_PARALLELISM, NewSavepoint
from offsetwise.plan.settings import Recorded, Settings, texts


class StreamSettings(Settings):
    options = {"--stream-arn": "stream_arn"}  # noqa: RUF012 - a class variable, as `Settings` declares it

    stream_arn: str | None = Field(default=None, exclude=True, description="the ARN of the stream that the job reads")

    def plan_fields(self) -> Mapping[str, Any]:
        return {} if self.stream_arn is None else {"savepoint": NewSavepoint(stream_arn=self.stream_arn)}

    @property
    def job_keys(self) -> Mapping[str, str]:
        return {} if self.stream_arn is None else {"stream": self.stream_arn}


class SavepointSettings(Settings):
    options = {  # noqa: RUF012 - as above
        "--uid": "uid",
        "--stream-arn": "stream_arn",
        "--parallelism": "parallelism",
        "--max-parallelism": "max_parallelism",
    }

    uid: str = Field(exclude=True, description="the uid of the source, as in the job's code")
    stream_arn: str = Field(exclude=True, description="the ARN of the stream that it reads")
    parallelism: int = Field(exclude=True, ge=1, description="the job's parallelism")
    max_parallelism: int = Field(exclude=True, ge=1, le=MAX_PARALLELISM, description="the job's maximum parallelism")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (impossible := self._request().impossible) is not None:
            raise ValueError(impossible)
        return self

    def plan_fields(self) -> Mapping[str, Any]:
        return {"savepoint": self._request()}

    @property
    def job_keys(self) -> Mapping[str, str]:
        return {"stream": self.stream_arn}

    def _request(self) -> NewSavepoint:
        return NewSavepoint(
            uid=self.uid,
            stream_arn=self.stream_arn,
            parallelism=self.parallelism,
            max_parallelism=self.max_parallelism,
        )


def stated(request: NewSavepoint | None) -> Recorded:
    if request is None:
        return ()
    values = {
        "uid": request.uid,
        "stream_arn": request.stream_arn,
        "parallelism": request.parallelism,
        "max_parallelism": request.max_parallelism,
    }
    return texts({key: value for key, value in values.items() if value is not None})
