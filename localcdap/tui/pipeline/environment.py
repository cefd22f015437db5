"""What an instance has for a pipeline: profiles for its runs, and the connections of its stages."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.host.cdap import Cdap
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.macros.evaluation import connections_used
from localcdap.runs.startup.profiles import NATIVE, PROFILE_ARGUMENT, ProfileSummary
from localcdap.tui.document.editor import Editor


class PipelineEnvironment(msgspec.Struct):
    """The profiles and connections of a pipeline."""

    profiles: list[ProfileSummary]
    profile: str
    """The profile that the pipeline's preference names; empty without one."""
    connections: dict[str, str | None]
    """The types of the connections that stages use, by name; None for one that does not exist."""


def list_connection_names(editor: Editor) -> list[str]:
    """Return the names of the connections that stages use."""
    document = editor.document
    stages = (*document.stages, *document.post_actions)
    found = (name for stage in stages for name in connections_used(stage.plugin.properties))
    return list(dict.fromkeys(found))


def read_environment(
    cdap: Cdap, namespace: str, pipeline: str, connections: Iterable[str]
) -> PipelineEnvironment:
    """Read the profiles of a namespace, the profile of a pipeline, and connections."""
    preference = cdap.preferences.get(PreferenceLevel(namespace, pipeline)).get(PROFILE_ARGUMENT)
    name = (preference or "").strip().rpartition(":")[2]
    return PipelineEnvironment(
        cdap.runs.list_profiles(namespace),
        NATIVE if name.lower() == NATIVE else name,
        {each: _find_type(cdap, namespace, each) for each in connections},
    )


def set_profile(cdap: Cdap, namespace: str, pipeline: str, profile: str) -> None:
    """Set the profile of a pipeline.

    :param profile: empty for the default of the namespace.
    """
    level = PreferenceLevel(namespace, pipeline)
    if profile:
        cdap.preferences.update(level, {PROFILE_ARGUMENT: profile})
    else:
        cdap.preferences.update(level, removed=[PROFILE_ARGUMENT])


def _find_type(cdap: Cdap, namespace: str, name: str) -> str | None:
    try:
        return cdap.connections.get(namespace, name).connection_type
    except NotFoundError:
        pass
    try:
        cdap.connections.get_properties(namespace, name)
    except NotFoundError:
        return None
    return "predefined"
