"""Provisioners: each states what it requires of plugins, and gives runs an engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.leases import hold_lease
from localcdap.engine.local.server import EngineServer
from localcdap.engine.messages.orders import WorkOrder
from localcdap.runs.profiles import NATIVE_REQUIRES, Profiles, RemoteProfile


class ProvisionedEngine(msgspec.Struct):
    """The engine of one run."""

    endpoint: Endpoint
    locations: dict[str, str]
    """Where foreign paths live there."""
    packages: list[str] = []
    """Python packages that are to be sent there."""
    leases: Path | None = None
    """Folder of the leases of a local engine; None for one that stays by itself."""

    @property
    def is_remote(self) -> bool:
        return self.leases is None

    def write_into(self, order: WorkOrder) -> None:
        """Say in a run's order which engine it has."""
        order.engine_url, order.engine_token = self.endpoint.url, self.endpoint.token
        order.engine_leases = str(self.leases) if self.leases is not None else None
        order.locations = self.locations
        order.packages = self.packages
        order.remote = self.is_remote


class Provisioner(Protocol):
    """Where runs take place."""

    @property
    def required_capabilities(self) -> CapabilityRequirement:
        """What every plugin of a pipeline must be capable of (design ``getRequiredCapabilities``)."""

    def provision(self) -> AbstractContextManager[ProvisionedEngine]:
        """The engine, which is there at least for the time of the block.

        :raises EngineError: when it cannot be had.
        """


class NativeProvisioner:
    """The local Spark server, started when it does not run.

    :param locations: where foreign paths live on this machine.
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
    """A Spark cluster that is there already; whether it answers shows when the run connects."""

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
    :param locations: where foreign paths live on this machine.
    """

    def __init__(
        self, profiles: Profiles, engine: EngineServer, locations: Mapping[str, str]
    ) -> None:
        self.profiles: Final = profiles
        self._native = NativeProvisioner(engine, locations)

    def of(self, profile: str) -> Provisioner:
        """The provisioner of a profile that is there."""
        remote = self.profiles.remote(profile)
        return self._native if remote is None else ConnectProvisioner(remote)
