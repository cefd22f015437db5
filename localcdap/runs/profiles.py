"""Compute profiles: where runs take place, and which one a run gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from localcdap.api.capability import Capabilities
from localcdap.api.errors import NotFoundError
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.engine.endpoint import hide_parameters

NATIVE: Final = "native"
"""The profile of the local Spark server."""
NATIVE_REQUIRES: Final = CapabilityRequirement.parse(Capabilities.Mode.NATIVE)
"""Not ``spark_4`` too: a plugin that declares ``mode_native`` and no version of Spark must run natively
(design "CDAP Capabilities", tables of filtering and section Preview)."""
PROFILE_ARGUMENT: Final = "system.profile.name"
"""The runtime argument that names a profile (CDAP 6 ``SystemArguments``)."""
_SCOPES: Final = ("SYSTEM", "USER")

NamespaceProfile = Callable[[str], str | None]
"""The profile that the settings give a namespace, None for none. A scope may stand in front."""


class RemoteProfile(msgspec.Struct, frozen=True):
    """A Spark cluster that is there already."""

    url: str
    """``sc://host:port[/;key=value…]``, secrets included."""
    required_capabilities: list[str]
    locations: dict[str, str] = {}
    """Where foreign paths live on the cluster."""
    packages: list[str] = []
    """Python packages that are sent there, besides localcdap's own code and that of artifacts."""


class ProfileSummary(msgspec.Struct, rename="camel"):
    """A profile in a list."""

    name: str
    kind: str
    """``native`` or ``spark-connect``."""
    required_capabilities: list[str]
    """The capabilities and expressions that it requires of every plugin, in alphabetical order."""
    is_default: bool = msgspec.field(name="default")
    """Whether runs of the namespace get it when nothing else is said."""
    address: str | None = None
    """Of a cluster: ``sc://host:port``, without its secrets."""


class Profiles:
    """The profiles of an instance. Threads may share it.

    :param remotes: by name; ``native`` is there besides.
    :param default: the profile of the instance.
    :param of_namespace: called for each run.
    """

    def __init__(
        self,
        remotes: Mapping[str, RemoteProfile] | None = None,
        default: str = NATIVE,
        of_namespace: NamespaceProfile = lambda _: None,
    ) -> None:
        self._remotes = dict(remotes or {})
        self._default = default
        self._of_namespace = of_namespace

    def choose_profile(
        self,
        namespace: str,
        *,
        arguments: Mapping[str, str] | None = None,
        asked: str | None = None,
        preferences: Mapping[str, str] | None = None,
    ) -> str:
        """The name of the profile of a run.

        In this order: the runtime argument ``system.profile.name``, what the caller asks for, the
        preference of that name, what the settings say for the namespace, the default of the instance.

        :param arguments: of the run itself.
        :param preferences: that hold for the run.
        :raises NotFoundError: when there is no such profile; says who named it, and which there are.
        """
        named = (
            (f"the runtime argument '{PROFILE_ARGUMENT}'", (arguments or {}).get(PROFILE_ARGUMENT)),
            ("the request", asked),
            (f"the preference '{PROFILE_ARGUMENT}'", (preferences or {}).get(PROFILE_ARGUMENT)),
            (f"namespace '{namespace}'", self._of_namespace(namespace)),
        )
        for by, text in named:
            if text is not None and text.strip():
                return self._require_profile(text, by)
        return self._default

    def remote(self, name: str) -> RemoteProfile | None:
        """The cluster of a profile that is there; None for the local Spark server."""
        return self._remotes.get(name)

    def summaries(
        self, namespace: str, preferences: Mapping[str, str] | None = None
    ) -> list[ProfileSummary]:
        """All profiles, ``native`` first, with the default of a namespace marked.

        :param preferences: that hold for the namespace.
        :raises NotFoundError: when the namespace prefers one that is not there.
        """
        default = self.choose_profile(namespace, preferences=preferences)
        native = ProfileSummary(NATIVE, NATIVE, sorted(NATIVE_REQUIRES.texts), default == NATIVE)
        return [native, *(self._summary(name, default) for name in sorted(self._remotes))]

    def _summary(self, name: str, default: str) -> ProfileSummary:
        remote = self._remotes[name]
        required = sorted(CapabilityRequirement.parse(remote.required_capabilities).texts)
        address = hide_parameters(remote.url)
        return ProfileSummary(name, "spark-connect", required, name == default, address)

    def _require_profile(self, text: str, by: str) -> str:
        """The name, without the scope that may stand in front of it: ``SYSTEM:native``."""
        scope, colon, rest = text.strip().partition(":")
        name = rest if colon and scope.upper() in _SCOPES else text.strip()
        if name.lower() == NATIVE:
            return NATIVE
        if name not in self._remotes:
            known = ", ".join((NATIVE, *sorted(self._remotes)))
            raise NotFoundError(
                f"There is no profile '{text.strip()}', which {by} names; there are: {known}.",
                "Add it to localcdap.toml under [profiles.NAME], or name one of these.",
            )
        return name
