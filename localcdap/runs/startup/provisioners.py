"""Provisioners: each provides an engine for runs, and declares the capabilities that it requires."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.server import EngineServer
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.warm_up import start_warm_up
from localcdap.processes.leases import hold_lease
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
