"""Schedules of pipelines as files.

The file has the keys of CDAP's ``ScheduleDetail``, without those that each instance determines for itself:
its namespace, version, status and times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.decoders import convert
from localcdap.schedules.model import (
    DAY_MS,
    Constraint,
    Schedule,
    ScheduleProgram,
    ScheduleRequest,
    Trigger,
)
from localcdap.schedules.rules import check_definition
from localcdap.schedules.service import ScheduleService
from localcdap.sync.kinds import EntityKind, HeldBackError, PlainSecret, ReadEntity
from localcdap.sync.secrets import find_in_values


class _ScheduleFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The form of a file of a schedule."""

    application: str
    name: str
    trigger: Trigger
    description: str = ""
    program: ScheduleProgram = ScheduleProgram()
    properties: dict[str, str] = {}
    constraints: list[Constraint] = []
    timeout_millis: int = DAY_MS


class ScheduleEntities(EntityKind):
    """The schedules of pipelines. Whether one is enabled is up to each instance; a new one is suspended."""

    name = "schedules"
    noun = "schedule"

    def __init__(self, schedules: ScheduleService) -> None:
        self._schedules = schedules

    def list_documents(self, namespace: str) -> dict[str, Any]:
        names = _ScheduleFile.__struct_fields__
        files = [
            _ScheduleFile(**{name: getattr(each.schedule, name) for name in names})
            for each in self._schedules.list_schedules(namespace)
        ]
        return {_to_key(file): msgspec.to_builtins(file) for file in files}

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        try:
            file = convert(document, _ScheduleFile)
        except msgspec.ValidationError as error:
            known = ", ".join(_ScheduleFile.__struct_encode_fields__)
            raise BadRequestError(f"{error}.", f"The file has the keys {known}.") from None
        if "" in (file.application.strip(), file.name.strip()):
            raise BadRequestError(
                "A schedule needs a name and an application.", "Add them to the file."
            )
        check_definition(
            Schedule(
                namespace,
                file.application,
                file.name,
                file.trigger,
                properties=file.properties,
                constraints=file.constraints,
                timeout_millis=file.timeout_millis,
            )
        )
        return ReadEntity(_to_key(file), msgspec.to_builtins(file))

    def write(self, namespace: str, key: str, document: Any) -> None:
        file = convert(document, _ScheduleFile)
        names = ScheduleRequest.__struct_fields__
        request = ScheduleRequest(**{name: getattr(file, name) for name in names})
        try:
            held = self._schedules.list_schedules(namespace, file.application)
        except NotFoundError as error:
            raise HeldBackError(error.message) from None
        known = any(each.schedule.name == file.name for each in held)
        write = self._schedules.update if known else self._schedules.add
        write(namespace, file.application, file.name, request)

    def delete(self, namespace: str, key: str) -> None:
        application, name = key.split("/", 1)
        self._schedules.delete(namespace, application, name)

    def get_path_parts(self, key: str, document: Any) -> Sequence[str]:
        return [document["application"], document["name"]]

    def find_secrets(self, namespace: str, document: Any) -> list[PlainSecret]:
        return find_in_values(document.get("properties", {}), ("properties",), "property")


def _to_key(file: _ScheduleFile) -> str:
    return f"{file.application}/{file.name}"
