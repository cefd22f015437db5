"""Jobs: functions of localcdap that call a plugin's code, and so are done in a worker.

A job is a function at the top level of a module, from one Struct to another. Rooms above this one have jobs
too; the worker finds them by name, as it would find the target of a process.
"""

from __future__ import annotations

import importlib
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.serialization.structs import pack, unpack

_PACKAGE: Final = "localcdap."


def job_name(job: Callable[..., Any]) -> str:
    """The name by which a worker finds a job."""
    return f"{job.__module__}:{job.__qualname__}"


def run_job(name: str, request: msgspec.Raw) -> msgspec.Raw:
    """Do a job in this process.

    :raises BadRequestError: when there is no such job.
    :raises LocalcdapError: what the job raises.
    """
    job = _job(name)
    return msgspec.Raw(pack(job(unpack(request, _request_type(job)))))


def answer_type(job: Callable[..., Any]) -> Any:
    """What a job answers."""
    return typing.get_type_hints(job)["return"]


def _request_type(job: Callable[..., Any]) -> Any:
    return next(iter(typing.get_type_hints(job).values()))


@lru_cache(maxsize=64)
def _job(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    if not module.startswith(_PACKAGE):
        raise BadRequestError(f"'{name}' is no job of localcdap.")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
