"""Provisioners: each provides an engine for runs, and declares the capabilities that it requires.

Whether the plugins of a pipeline are capable of running where they are asked to is checked before anything
is started. A plugin that the instance hides (``plugin.required.capabilities``) is not found long before; it
never comes here.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.api.capability import Capabilities
from localcdap.api.errors import IncapableError, LocalcdapError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.artifacts.model import PluginRef
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.server import EngineServer
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.warm_up import start_warm_up
from localcdap.processes.single_instance import hold_lease
from localcdap.runs.startup.profiles import NATIVE_REQUIRES, Profiles, RemoteProfile

_LOG: Final = logging.getLogger(__name__)


class ProvisionedEngine(msgspec.Struct):
    """The engine of one run."""

    endpoint: Endpoint
    locations: dict[str, str]
    """The folders of the engine's machine that replace paths of pipelines, by prefix."""
    packages: list[str] = []
    """Python packages to send to the engine."""
    leases: Path | None = None
    """The folder of the leases of a local engine; None for a cluster, which needs no leases."""

    @property
    def is_remote(self) -> bool:
        return self.leases is None

    def write_into(self, order: WorkOrder) -> None:
        """Set the engine of a run in its work order."""
        order.engine_url, order.engine_token = self.endpoint.url, self.endpoint.token
        order.engine_leases = str(self.leases) if self.leases is not None else None
        order.locations = self.locations
        order.packages = self.packages
        order.remote = self.is_remote


class Provisioner(Protocol):
    """Provides the engine of a compute profile."""

    @property
    def required_capabilities(self) -> CapabilityRequirement:
        """The capabilities that every plugin of a pipeline must have (design ``getRequiredCapabilities``)."""

    def provision(self) -> AbstractContextManager[ProvisionedEngine]:
        """Provide the engine for at least the duration of the block.

        :raises EngineError: when the engine cannot be started or reached.
        """


class NativeProvisioner:
    """The local Spark server, started when it does not run.

    :param locations: the folders of this machine that replace paths of pipelines, by prefix.
    """

    def __init__(self, engine: EngineServer, locations: Mapping[str, str]) -> None:
        self._engine = engine
        self._locations = dict(locations)

    @property
    def required_capabilities(self) -> CapabilityRequirement:
        return NATIVE_REQUIRES

    @contextlib.contextmanager
    def provision(self) -> Iterator[ProvisionedEngine]:
        with hold_lease(self._engine.leases):
            yield ProvisionedEngine(
                self._engine.ensure(), self._locations, leases=self._engine.leases
            )


class ConnectProvisioner:
    """Provides an existing Spark cluster, without checking that it answers: the run does when it connects."""

    def __init__(self, profile: RemoteProfile) -> None:
        self._profile = profile

    @property
    def required_capabilities(self) -> CapabilityRequirement:
        return CapabilityRequirement.parse(self._profile.required_capabilities)

    @contextlib.contextmanager
    def provision(self) -> Iterator[ProvisionedEngine]:
        profile = self._profile
        yield ProvisionedEngine(Endpoint(profile.url, None), profile.locations, profile.packages)


class Provisioners:
    """The provisioner of each profile.

    :param engine: the local Spark server.
    :param locations: the folders of this machine that replace paths of pipelines, by prefix.
    :param warms_up: whether :meth:`warm_up` starts the server.
    """

    def __init__(
        self,
        profiles: Profiles,
        engine: EngineServer,
        locations: Mapping[str, str],
        *,
        warms_up: bool = False,
    ) -> None:
        self.profiles: Final = profiles
        self._engine: Final = engine
        self._warms_up: Final = warms_up
        self._warming: threading.Thread | None = None
        self._native = NativeProvisioner(engine, locations)

    def get(self, profile: str) -> Provisioner:
        """Return the provisioner of an existing profile."""
        remote = self.profiles.get_remote(profile)
        return self._native if remote is None else ConnectProvisioner(remote)

    def warm_up(self) -> bool:
        """Start the local Spark server in the background, unless that is switched off or it is done already.

        Then it computes small queries for some seconds, so that the first run does not wait for the JVM.

        :returns: whether it is being started.
        """
        if self._warming is not None:
            return True
        if not self._warms_up or self._engine.get_status().running:
            return False
        self._warming = threading.Thread(target=self._start_engine, name="warm-up", daemon=True)
        self._warming.start()
        return True

    def _start_engine(self) -> None:
        try:
            self._engine.ensure()
        except LocalcdapError as error:  # the run that needs it reports the same
            _LOG.warning("Spark was not started ahead: %s", error)
            return
        finally:
            self._warming = None
        # It ends with the thread that starts it.
        start_warm_up(self._engine.directory).wait()


PREVIEW_REQUIRES: Final = CapabilityRequirement.parse(Capabilities.Mode.NATIVE)
"""A preview runs on this machine, whatever the profile (design "CDAP Capabilities", section Preview)."""

CapabilitiesOf = Callable[[PluginRef], Collection[str]]
"""Returns the capabilities of a plugin."""


class IncapablePlugin(msgspec.Struct, rename="camel"):
    """A plugin that lacks what is required of it."""

    stage: str
    """Or post action."""
    plugin_type: str
    plugin_name: str
    artifact: ArtifactId
    lacking: list[str]
    """Capabilities, and expressions that it does not meet, in alphabetical order; at least one."""
    used_by: str | None = None
    """The name of the stage's own plugin, when that uses this plugin; None for the stage's own plugin."""

    def __str__(self) -> str:
        artifact = f"{self.artifact.name} {self.artifact.version}"
        use = f", which plugin '{self.used_by}' uses," if self.used_by else ""
        return (
            f"stage '{self.stage}': plugin '{self.plugin_name}' of type '{self.plugin_type}' "
            f"({artifact}){use} lacks {', '.join(self.lacking)}"
        )


def find_incapable_plugins(
    plugins: Mapping[str, PluginRef],
    get_capabilities: CapabilitiesOf,
    required: CapabilityRequirement,
) -> list[IncapablePlugin]:
    """Return every plugin that does not meet the requirement, in the order of ``plugins``.

    The plugins that a stage's plugin uses, such as the directives of a recipe, count for the stage.

    :param plugins: by stage and post action.
    """
    found = []
    for stage, plugin, used_by in _list_with_used(plugins) if required else ():
        lacking = required.find_unmet(get_capabilities(plugin))
        if lacking:
            found.append(
                IncapablePlugin(stage, plugin.type, plugin.name, plugin.artifact, lacking, used_by)
            )
    return found


def _list_with_used(
    plugins: Mapping[str, PluginRef],
) -> Iterator[tuple[str, PluginRef, str | None]]:
    for stage, plugin in plugins.items():
        yield stage, plugin, None
        for used in plugin.uses:
            yield stage, used, plugin.name


def require_capabilities(
    plugins: Mapping[str, PluginRef],
    get_capabilities: CapabilitiesOf,
    required: CapabilityRequirement,
    asked_by: str,
) -> None:
    """Refuse a pipeline with a plugin that is not capable of what is required.

    :param asked_by: who requires it, such as ``profile 'cluster'`` or ``a preview``.
    :raises IncapableError: naming every stage with its plugin and what it lacks, and who asks for it.
    """
    found = find_incapable_plugins(plugins, get_capabilities, required)
    if not found:
        return
    count = "1 plugin" if len(found) == 1 else f"{len(found)} plugins"
    first = f"The pipeline has {count} that cannot run with {asked_by}; nothing was started:"
    lines = [first, *(f"{each}, which {asked_by} requires." for each in found)]
    lacking = sorted({name for each in found for name in each.lacking} & required.names)
    options = "".join(f" --capability {name}" for name in lacking)
    raise IncapableError(
        "\n".join(lines),
        "Run it with another profile ('localcdap profiles'), or use plugins that are capable "
        f"('localcdap plugins{options}').",
    )
