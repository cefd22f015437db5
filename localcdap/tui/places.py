"""Where one part of the studio can send its user in another: what :meth:`StudioApp.go` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PipelineFile:
    """A pipeline file, opened in the studio.

    :param takes_fixes: whether what its failures suggest is done at once, as an edit that can be undone.
    """

    path: Path
    stage: str | None = None
    takes_fixes: bool = False


@dataclass(frozen=True)
class Draft:
    """A draft of the present namespace, opened in the studio."""

    id: str
    stage: str | None = None


@dataclass(frozen=True)
class Deployed:
    """A deployed pipeline of the present namespace, opened in the studio.

    :param version: None for the newest.
    """

    name: str
    version: str | None = None
    stage: str | None = None


@dataclass(frozen=True)
class Document:
    """A pipeline document that is nowhere yet, opened in the studio.

    :param text: the JSON of the pipeline.
    """

    name: str
    text: str
    stage: str | None = None


@dataclass(frozen=True)
class NewPipeline:
    """An empty pipeline, opened in the studio."""

    name: str = "pipeline"


@dataclass(frozen=True)
class RunPlace:
    """A run, shown in the runs area."""

    run_id: str
    stage: str | None = None


@dataclass(frozen=True)
class RunsOf:
    """The history of one pipeline, shown in the runs area."""

    pipeline: str


@dataclass(frozen=True)
class PluginPlace:
    """A plugin, shown in the plugins area."""

    type: str
    name: str


Place = PipelineFile | Draft | Deployed | Document | NewPipeline | RunPlace | RunsOf | PluginPlace


def area_of(place: Place) -> str:
    """The area that shows a place."""
    match place:
        case RunPlace() | RunsOf():
            return "runs"
        case PluginPlace():
            return "plugins"
        case _:
            return "studio"
