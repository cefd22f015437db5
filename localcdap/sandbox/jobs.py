"""Jobs: functions of localcdap that call user code, and therefore run in a plugin worker.

A job is a function at the top level of a module that takes one Struct and returns one. It is all that a
worker can be asked for: inspecting an artifact and configuring a stage are jobs too. Layers above this one
define jobs of their own; the worker finds a job by its module and name.
"""

from __future__ import annotations

import contextlib
import importlib
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.artifacts.model import Inspection

_PACKAGE: Final = "localcdap."
_NOTHING: Final = pack(None)


class InspectRequest(msgspec.Struct):
    """An artifact content to be inspected."""

    path: str
    """A ``.py`` file or a folder."""
    digest: str


def inspect(request: InspectRequest) -> Inspection:
    """Find the plugins and applications of an artifact in this process."""
    return inspect_artifact(request.path, request.digest)


def get_job_name(job: Callable[..., Any]) -> str:
    """Return the name by which a worker finds a job."""
    return f"{job.__module__}:{job.__qualname__}"


def run_job(name: str, request: msgspec.Raw) -> msgspec.Raw:
    """Run a job in this process.

    :raises BadRequestError: when there is no such job.
    :raises LocalcdapError: what the job raises.
    """
    job = _find_job(name)
    return msgspec.Raw(pack(job(unpack(request, _read_types(job)[0]))))


def prepare_job(job: Callable[..., Any]) -> None:
    """Do ahead, without calling the job, what its first call in a process would have to do."""
    found = _find_job(get_job_name(job))
    for kind in _read_types(found):
        with contextlib.suppress(msgspec.ValidationError):
            unpack(_NOTHING, kind)  # msgspec reads a type when it decodes it for the first time


def get_answer_type(job: Callable[..., Any]) -> Any:
    """Return the type of a job's result."""
    return _read_types(job)[1]


@lru_cache(maxsize=64)
def _read_types(job: Callable[..., Any]) -> tuple[Any, Any]:
    """Return the types of a job's request and result; reading them takes longer than a small job."""
    hints = typing.get_type_hints(job)
    return next(iter(hints.values())), hints["return"]


@lru_cache(maxsize=64)
def _find_job(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    if not module.startswith(_PACKAGE):
        raise BadRequestError(f"'{name}' is not a job of localcdap.")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
