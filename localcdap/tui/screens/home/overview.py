"""What is in a namespace, as the home screen tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcdap.host.cdap import Cdap
from localcdap.runs.model import Run
from localcdap.tui.routes import DeployedTarget, DraftTarget, NavigationTarget, PipelineFileTarget

RUNS = 12
"""Runs that are shown."""


@dataclass(frozen=True)
class RecentPipeline:
    """A pipeline to go on with.

    :param changed: milliseconds since 1970; None where it is not known.
    """

    name: str
    what: str
    changed: int | None
    place: NavigationTarget


@dataclass(frozen=True)
class Overview:
    """:param plugins: how many a pipeline can use.
    :param broken: artifacts that could not be read.
    """

    pipelines: list[RecentPipeline]
    runs: list[Run]
    plugins: int
    broken: int
    namespaces: int
    is_host: bool


def read_overview(cdap: Cdap, namespace: str, files: Sequence[str]) -> Overview:
    """Ask the services for all of it.

    :param files: pipeline files that were opened, the last one first.
    """
    entries = [
        RecentPipeline(
            each.name,
            f"deployed, version {each.number}",
            each.change.creation_time_millis,
            DeployedTarget(each.name),
        )
        for each in cdap.applications.list_applications(namespace)
    ]
    entries += [
        RecentPipeline(
            each.name,
            f"draft, revision {each.revision}",
            each.updated_time_millis,
            DraftTarget(each.id),
        )
        for each in cdap.drafts.list_drafts(namespace)
    ]
    entries += [_file(Path(each)) for each in files if Path(each).is_file()]
    entries.sort(key=lambda entry: -(entry.changed or 0))
    return Overview(
        entries,
        cdap.runs.list_runs(namespace, limit=RUNS),
        len(cdap.artifacts.list_plugins(namespace)),
        len(cdap.artifacts.list_artifacts(namespace, errors=True)),
        len(cdap.namespaces.list_namespaces()),
        cdap.is_host,
    )


def _file(path: Path) -> RecentPipeline:
    return RecentPipeline(
        path.stem if path.stem != "pipeline" else f"{path.parent.name}/{path.name}",
        "file",
        int(path.stat().st_mtime * 1000),
        PipelineFileTarget(path),
    )
