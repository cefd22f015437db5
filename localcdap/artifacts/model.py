"""What is known about artifacts and their plugins.

A JSON name is CDAP 6's where CDAP has the thing (``ArtifactHttpHandler``: ``PluginSummary``,
``PluginInfo``).
"""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.app.application import ApplicationClass
from localcdap.api.app.events import ArtifactChange
from localcdap.api.config import PluginProperty
from localcdap.api.failures import ArtifactId
from localcdap.api.methods import PluginMethod

SYSTEM: Final = "SYSTEM"
"""Scope of the artifacts that come with localcdap; every namespace sees them."""
USER: Final = "USER"
"""Scope of the artifacts in the plugin folders; only their namespace sees them."""
SYSTEM_NAMESPACE: Final = "system"
DEFAULT_NAMESPACE: Final = "default"


class PluginClass(msgspec.Struct, rename="camel"):
    """A plugin, as inspection finds it in the code of an artifact."""

    type: str
    name: str
    description: str
    class_name: str
    """``package.module.Class``, as the artifact's own code names it."""
    capabilities: list[str]
    """In alphabetical order, canonical spelling."""
    properties: list[PluginProperty]
    """In declaration order."""
    grain: str = "none"
    """``record``, ``batch``, ``dataframe``, or ``none`` for a plugin that handles no data."""
    methods: list[PluginMethod] = []
    """What can be asked of the plugin, by name."""


class Inspection(msgspec.Struct):
    """What the code of an artifact contains. It is good when there are no errors."""

    plugins: list[PluginClass]
    errors: list[str]
    """What keeps the artifact from being used; each says file, line and class where they are known."""
    raised: bool = False
    """Whether an error is an exception of its code, which other code in the process may have caused."""
    applications: list[ApplicationClass] = []
    trace: list[str] = []
    """Of the exceptions among the errors: the frames in the artifact's code, innermost last, and what was
    raised."""


class ArtifactDetail(msgspec.Struct):
    """An artifact in a plugin directory."""

    name: str
    version: str
    """Empty when the artifact does not say one that can be read; there is an error then."""
    scope: str
    namespace: str
    """``system`` for the SYSTEM scope."""
    path: str
    """Where its user put it, absolute."""
    digest: str
    """Of the content in use; empty when nothing of it ever worked."""
    error: str | None
    """What is wrong with the content found now, one problem a line; None when it is good."""
    plugins: list[PluginClass]
    """The plugins in use: those of the last good content when there is an error. One that lacks a
    capability the instance requires is not among them."""
    parents: list[str] = []
    """The applications that its plugins are made for, such as ``cdap-data-pipeline[6.0.0,7.0.0)``; empty:
    all."""
    applications: list[ApplicationClass] = []
    """The system applications in use, likewise."""

    @property
    def id(self) -> ArtifactId:
        return ArtifactId(self.name, self.version, self.scope)


class PluginSummary(msgspec.Struct, rename="camel"):
    """A plugin in a list."""

    name: str
    type: str
    description: str
    class_name: str
    artifact: ArtifactId
    capabilities: list[str]


class HiddenPlugin(PluginSummary, rename="camel"):
    """A plugin that does not exist for anybody, because of what the instance requires."""

    lacking: list[str]
    """The required capabilities that it has not, at least one."""


class PluginInfo(PluginSummary, rename="camel"):
    """A plugin with all of its details."""

    properties: dict[str, PluginProperty]
    """By property name, in declaration order."""
    grain: str = "none"
    methods: list[PluginMethod] = []


class ArtifactSelector(msgspec.Struct, frozen=True):
    """Which artifacts a stage accepts; None or an empty text accepts any."""

    scope: str | None = None
    """``SYSTEM`` or ``USER``, without regard to case."""
    name: str | None = None
    version: str | None = None
    """A version or a range such as ``[1.0.0,2.0.0)``."""


class PluginRef(msgspec.Struct, frozen=True):
    """One plugin of one exact artifact content: all that a process needs to load it."""

    artifact: ArtifactId
    path: str
    """Where the content lies; it never changes there while the digest is the same."""
    digest: str
    type: str
    name: str
    class_name: str
    uses: tuple[PluginRef, ...] = ()
    """Other plugins that a stage with this one names, and that its code may load."""


class ApplicationRef(msgspec.Struct, frozen=True):
    """A system application of one exact artifact content."""

    artifact: ArtifactId
    path: str
    """Where the content lies; it never changes there while the digest is the same."""
    digest: str
    application: ApplicationClass


class PluginLookup(msgspec.Struct):
    """The answer to a search for a plugin by type, name and selector."""

    plugin: PluginRef | None
    """The one chosen: the highest artifact that the selector accepts."""
    suggested: PluginRef | None = None
    """When none was chosen: the highest version known of a plugin of that type and name."""
    nearest: list[str] = []
    """When there is no such plugin at all: similar names of that type, the most similar first."""


class CapabilityCount(msgspec.Struct):
    """A capability, and how many plugins have it."""

    capability: str
    plugins: int
    system: bool
    """Whether the system defines it; a plugin that declares none has all of these."""


class SyncReport(msgspec.Struct):
    """What bringing the index up to date changed."""

    changes: list[ArtifactChange]

    def of(self, change: str) -> list[ArtifactId]:
        """Return the artifacts that this became of."""
        return [ArtifactId(c.name, c.version, c.scope) for c in self.changes if c.change == change]
