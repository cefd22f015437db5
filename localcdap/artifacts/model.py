"""The types of artifacts and plugins.

The JSON names are those of CDAP 6 where CDAP has the same type (``ArtifactHttpHandler``: ``PluginSummary``,
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
"""The scope of the artifacts that come with localcdap; every namespace sees them."""
USER: Final = "USER"
"""The scope of the artifacts in plugin directories. Only their namespace sees them; those of the sub-folder
``system`` are seen by all namespaces."""
SYSTEM_NAMESPACE: Final = "system"
DEFAULT_NAMESPACE: Final = "default"


class PluginClass(msgspec.Struct, rename="camel"):
    """The description of a plugin that inspection found in an artifact."""

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
    """The methods that front ends can call, by name."""


class DatasetTypeClass(msgspec.Struct, frozen=True, rename="camel"):
    """The description of a dataset type that inspection found in an artifact."""

    name: str
    description: str
    class_name: str
    """``package.module.Class``, as the artifact's own code names it."""
    reconfigurable: bool = False
    """Whether it has a method ``reconfigure`` of its own."""
    properties: dict[str, str] = {}
    """A sentence for each property that the author describes."""
    uses: list[str] = []
    """The types that it embeds by their names, which other modules may have."""


class Inspection(msgspec.Struct):
    """The result of inspecting an artifact, which can be used when there are no errors."""

    plugins: list[PluginClass]
    errors: list[str]
    """The errors that make the artifact unusable, with file, line and class where they are known."""
    raised: bool = False
    """Whether an error is an exception of the artifact's code; other code in the process may be the cause."""
    applications: list[ApplicationClass] = []
    trace: list[str] = []
    """The frames in the artifact's code of exceptions among the errors, innermost last, and the
    exceptions.
    """
    dataset_types: list[DatasetTypeClass] = []
    warnings: list[str] = []
    """The old paths of localcdap that its code uses, which the next version does not have any more."""


class ArtifactDetail(msgspec.Struct):
    """An artifact in a plugin directory."""

    name: str
    version: str
    """The version; empty when the artifact has none that can be read, which is an error."""
    scope: str
    namespace: str
    """``system`` for the SYSTEM scope and for the plugin folder ``system``."""
    path: str
    """The absolute path at which the user placed it."""
    digest: str
    """The digest of the content in use; empty when no content ever worked."""
    error: str | None
    """The problems of the current content, one per line; None when there are none."""
    plugins: list[PluginClass]
    """The plugins in use: those of the last good content when there is an error. Plugins that lack a
    capability that the instance requires are left out."""
    parents: list[str] = []
    """The applications that its plugins are made for, such as ``cdap-data-pipeline[6.0.0,7.0.0)``; empty for
    all."""
    applications: list[ApplicationClass] = []
    """The system applications in use: those of the last good content when there is an error."""
    warnings: list[str] = []
    """Warnings, which do not prevent the use of the artifact."""
    dataset_types: list[DatasetTypeClass] = []
    """The dataset types in use: those of the last good content when there is an error."""

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
    """A plugin that cannot be used, because it lacks a capability that the instance requires."""

    lacking: list[str]
    """The required capabilities that it lacks, and the required expressions that it does not meet; at least
    one."""


class PluginInfo(PluginSummary, rename="camel"):
    """A plugin with all of its details."""

    properties: dict[str, PluginProperty]
    """By property name, in declaration order."""
    grain: str = "none"
    methods: list[PluginMethod] = []


class ArtifactSelector(msgspec.Struct, frozen=True):
    """The artifacts that a stage accepts; None or an empty text accepts any."""

    scope: str | None = None
    """``SYSTEM`` or ``USER``, in any case."""
    name: str | None = None
    version: str | None = None
    """A version or a range such as ``[1.0.0,2.0.0)``."""


class PluginRef(msgspec.Struct, frozen=True):
    """A reference to a plugin of one exact artifact content, with all that a process needs to load it."""

    artifact: ArtifactId
    path: str
    """The path of the content, which never changes while the digest is the same."""
    digest: str
    type: str
    name: str
    class_name: str
    uses: tuple[PluginRef, ...] = ()
    """The other plugins that the stage's properties name, and that its code may load."""


class DatasetTypeRef(msgspec.Struct, frozen=True):
    """A reference to a dataset type of one exact artifact content."""

    plugin: PluginRef
    """What a process needs to load it, with the types that it embeds by name."""
    description: str
    path: str
    """The path at which the user placed the artifact."""


class DatasetModule(msgspec.Struct, frozen=True):
    """An artifact with dataset types, by the name of which they are added and deleted."""

    name: str
    version: str
    scope: str
    namespace: str
    path: str
    """The path at which the user placed the artifact."""
    types: list[DatasetTypeClass]
    uses_modules: list[str] = []
    """The modules with types that its types embed by name."""
    used_by_modules: list[str] = []


class ApplicationRef(msgspec.Struct, frozen=True):
    """A reference to a system application of one exact artifact content."""

    artifact: ArtifactId
    path: str
    """The path of the content, which never changes while the digest is the same."""
    digest: str
    application: ApplicationClass


class PluginLookup(msgspec.Struct):
    """The answer to a search for a plugin by type, name and selector."""

    plugin: PluginRef | None
    """The chosen plugin: the one of the highest artifact that the selector accepts."""
    suggested: PluginRef | None = None
    """The highest known version of a plugin of that type and name, when no plugin was chosen."""
    nearest: list[str] = []
    """Similar names of plugins of that type, the most similar first, when no plugin has the name."""


class CapabilityCount(msgspec.Struct):
    """A capability and the number of plugins that have it."""

    capability: str
    plugins: int
    system: bool
    """Whether it is a system capability; a plugin that declares no capabilities has all of these."""
    known: bool = True
    """Whether the instance knows it: always, unless ``plugin.capabilities.known`` lists others."""


class SyncReport(msgspec.Struct):
    """The changes of a synchronization."""

    changes: list[ArtifactChange]

    def of(self, change: str) -> list[ArtifactId]:
        """Return the artifacts with this kind of change, such as ``added``."""
        return [ArtifactId(c.name, c.version, c.scope) for c in self.changes if c.change == change]
