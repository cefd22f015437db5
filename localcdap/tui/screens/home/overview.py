"""The contents of a namespace that the home screen shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcdap.host.cdap import Cdap
from localcdap.runs.model import Run
from localcdap.tui.routes import DeployedTarget, DraftTarget, NavigationTarget, PipelineFileTarget

RUNS = 12
"""The most runs that are shown."""


@dataclass(frozen=True)
class RecentPipeline:
    """A pipeline to continue with.

    :param kind: deployed, draft or file, with its version.
    :param changed: the time of the last change, in milliseconds since 1970.
    :param target: opens the pipeline.
    """

    name: str
    kind: str
    changed: int
    target: NavigationTarget


@dataclass(frozen=True)
class Overview:
    """The contents of a namespace.

    :param plugins: the number of plugins that a pipeline can use.
    :param broken: the number of artifacts that could not be loaded.
    """

    pipelines: list[RecentPipeline]
    runs: list[Run]
    plugins: int
    broken: int
    namespaces: int


def read_overview(cdap: Cdap, namespace: str, files: Sequence[str]) -> Overview:
    """Read the overview through the services.

    :param files: the recent pipeline files, newest first.
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
    entries += [_describe_file(Path(each)) for each in files if Path(each).is_file()]
    entries.sort(key=lambda entry: -entry.changed)
    return Overview(
        entries,
        cdap.runs.list_runs(namespace, limit=RUNS),
        len(cdap.artifacts.list_plugins(namespace)),
        len(cdap.artifacts.list_artifacts(namespace, errors=True)),
        len(cdap.namespaces.list_namespaces()),
    )


def _describe_file(path: Path) -> RecentPipeline:
    return RecentPipeline(
        path.stem if path.stem != "pipeline" else f"{path.parent.name}/{path.name}",
        "file",
        int(path.stat().st_mtime * 1000),
        PipelineFileTarget(path),
    )
