"""Stages of an imported pipeline whose plugin is not installed in the requested version, artifact or scope,
and the repairs.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import ArtifactSelector, PluginLookup, PluginRef
from localcdap.artifacts.version import ArtifactVersion, VersionRange
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.validation.plugins import PluginFinder, describe_selector
from localcdap.pipeline.validation.repairs import Repair, create_repair


class ProblemKind(enum.StrEnum):
    """The difference between the available plugin and the requested one."""

    RANGE = "range"
    """The version is a range: the plugin depends on what is installed. No failure where a version fits."""
    VERSION = "version"
    """Another version of the artifact is installed."""
    SCOPE = "scope"
    """The artifact is installed in the other scope."""
    ARTIFACT = "artifact"
    """Another artifact has the plugin."""
    UNREADABLE = "unreadable"
    """Scope or version cannot be read."""
    MISSING = "missing"
    """There is no such plugin; the only kind without a repair."""


class ImportProblem(msgspec.Struct, rename="camel"):
    """A stage whose plugin is not available exactly as requested."""

    stage: str
    kind: ProblemKind
    plugin_type: str
    plugin_name: str
    requested: ArtifactSelector
    message: str
    repair: ArtifactId | None
    """The artifact that the stage should name instead; None when there is none."""


def find_import_problems(
    document: PipelineDocument, finder: PluginFinder
) -> list[tuple[ImportProblem, Repair | None]]:
    """Return the problems of every stage and post action in document order, with their repairs."""
    return [
        found
        for stage in (*document.stages, *document.post_actions)
        if stage.plugin.type and stage.plugin.name
        for found in _check_stage(stage, finder)
    ]


def _check_stage(
    stage: StageUse, finder: PluginFinder
) -> Iterator[tuple[ImportProblem, Repair | None]]:
    asked = stage.plugin.artifact or ArtifactSelector()
    try:
        lookup = finder.find(stage.name, stage.plugin)
        range_ = VersionRange.parse(asked.version) if asked.version else None
    except BadRequestError as error:
        found = _find(stage, finder, ArtifactSelector())
        yield _create_problem(stage, asked, ProblemKind.UNREADABLE, found.plugin, error.message)
        return
    is_range = range_ is not None and not range_.is_exact
    if lookup.plugin is not None:
        if is_range:
            yield _create_problem(
                stage, asked, ProblemKind.RANGE, lookup.plugin, "the version in use is"
            )
        return
    if lookup.suggested is None:
        similar = f"; similar names: {', '.join(lookup.nearest)}" if lookup.nearest else ""
        what = (
            f"no plugin '{stage.plugin.name}' of type '{stage.plugin.type}' is installed{similar}"
        )
        yield _create_problem(stage, asked, ProblemKind.MISSING, None, what)
        return
    other = _find_in_other_scope(stage, finder, asked)
    if other is not None:
        yield _create_problem(stage, asked, ProblemKind.SCOPE, other, "the other scope has")
    else:
        yield _create_problem(
            stage, asked, *_describe_difference(asked, lookup.suggested, is_range)
        )


def _find_in_other_scope(
    stage: StageUse, finder: PluginFinder, asked: ArtifactSelector
) -> PluginRef | None:
    if not asked.scope:
        return None
    return _find(stage, finder, msgspec.structs.replace(asked, scope=None)).plugin


def _describe_difference(
    asked: ArtifactSelector, suggested: PluginRef, is_range: bool
) -> tuple[ProblemKind, PluginRef, str]:
    """Return the kind, the repair, and the words before its name in the message."""
    found = suggested.artifact
    if asked.name and asked.name != found.name:
        return ProblemKind.ARTIFACT, suggested, "the plugin is in another artifact,"
    if is_range or not asked.version:
        return ProblemKind.RANGE, suggested, "no installed version fits; installed is"
    is_newer = ArtifactVersion(found.version) > ArtifactVersion(asked.version)
    return (
        ProblemKind.VERSION,
        suggested,
        f"installed is {'a newer' if is_newer else 'an older'} version,",
    )


def _find(stage: StageUse, finder: PluginFinder, selector: ArtifactSelector) -> PluginLookup:
    return finder.find(stage.name, msgspec.structs.replace(stage.plugin, artifact=selector))


def _create_problem(
    stage: StageUse, asked: ArtifactSelector, kind: ProblemKind, found: PluginRef | None, what: str
) -> tuple[ImportProblem, Repair | None]:
    use = stage.plugin
    repair = create_repair(stage, found) if found is not None else None
    shown = ""
    if found is not None and kind is not ProblemKind.UNREADABLE:
        artifact = found.artifact
        shown = f" {artifact.name} {artifact.version} ({artifact.scope})"
    message = f"Stage '{stage.name}' asks for {describe_selector(asked)}: {what}{shown}"
    return (
        ImportProblem(
            stage.name,
            kind,
            use.type,
            use.name,
            asked,
            message if message.endswith(".") else f"{message}.",
            found.artifact if found is not None else None,
        ),
        repair,
    )
