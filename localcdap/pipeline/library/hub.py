"""Packages of CDAP's hub that create pipelines: a ``spec.json`` and the files next to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, DocumentError
from localcdap.artifacts.version import APP_VERSION, VersionRange
from localcdap.pipeline.document.values import as_text

SPEC: Final = "spec.json"
_DEPLOYS: Final = "create_pipeline"
_DRAFTS: Final = "create_pipeline_draft"


class PackagedPipeline(msgspec.Struct):
    """A pipeline of a package."""

    name: str
    artifact: Any
    """The application artifact, as the package states it."""
    file: str
    """Name of the file with its configuration, in the folder of the specification."""
    is_draft: bool
    """Whether it is saved as a draft and not deployed."""


class HubPackage(msgspec.Struct):
    """The actions of a package."""

    label: str
    pipelines: list[PackagedPipeline]
    notes: list[str]
    """Actions that localcdap skips, and doubts about the package; one sentence each."""


def is_package(source: Any) -> bool:
    """Return whether decoded JSON is the specification of a package."""
    return isinstance(source, Mapping) and "specVersion" in source and "actions" in source


def read_package(source: Mapping[str, Any], file: str) -> HubPackage:
    """Return the actions of a specification.

    :param file: where it came from, named in errors.
    :raises DocumentError: when an action cannot be read, or none creates a pipeline.
    """
    actions = source["actions"] if isinstance(source["actions"], list) else []
    kinds = [as_text(each.get("type")) if isinstance(each, Mapping) else None for each in actions]
    pipelines = [
        _read_pipeline(action, kind == _DRAFTS, file)
        for action, kind in zip(actions, kinds, strict=True)
        if kind in (_DEPLOYS, _DRAFTS)
    ]
    if not pipelines:
        found = ", ".join(kind or "?" for kind in kinds) or "none"
        raise DocumentError(
            f"The package {file} makes no pipeline; its actions: {found}.",
            "Artifacts are dropped into the instance's folder plugins/ instead.",
            file=file,
        )
    label = as_text(source.get("label")) or file
    return HubPackage(label, pipelines, list(_list_notes(source, kinds)))


def create_packaged_document(pipeline: PackagedPipeline, config: Any) -> Any:
    """Return the document of a packaged pipeline: its configuration in the envelope of an export."""
    if isinstance(config, Mapping) and "config" in config:
        return {**config, "name": pipeline.name}
    return {"name": pipeline.name, "artifact": pipeline.artifact, "config": config}


def _read_pipeline(action: Mapping[str, Any], is_draft: bool, file: str) -> PackagedPipeline:
    listed = action.get("arguments")
    arguments = {
        as_text(each.get("name")): each.get("value")
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, Mapping)
    }
    name, config = as_text(arguments.get("name")), as_text(arguments.get("config"))
    if not name or not config:
        lacking = "config" if name else "name"
        raise DocumentError(
            f"An action of {file} makes a pipeline without the argument '{lacking}'.", file=file
        )
    if config in (".", "..") or "/" in config or "\\" in config:
        raise DocumentError(
            f"The package {file} names the file '{config}', which is not in its folder.", file=file
        )
    return PackagedPipeline(name, arguments.get("artifact"), config, is_draft)


def _list_notes(source: Mapping[str, Any], kinds: list[str | None]) -> Iterator[str]:
    for kind in dict.fromkeys(kinds):
        if kind not in (_DEPLOYS, _DRAFTS):
            yield f"The package's action '{kind}' is not done here."
    asked = as_text(source.get("cdapVersion"))
    if asked is None:
        return
    try:
        fits = APP_VERSION in VersionRange.parse(asked)
    except BadRequestError as error:
        yield f"What versions the package is for cannot be read: {error.message}"
        return
    if not fits:
        yield f"The package is for CDAP {asked}; localcdap stands for {APP_VERSION.text}."
