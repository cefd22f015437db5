"""Compute profiles: where runs take place, and the choice of the profile of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from localcdap.api.capability import Capabilities
from localcdap.api.errors import NotFoundError
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.engine.endpoint import hide_parameters
from localcdap.text import format_available

NATIVE: Final = "native"
"""The profile of the local Spark server."""
NATIVE_REQUIRES: Final = CapabilityRequirement.parse(Capabilities.Mode.NATIVE)
"""Not ``spark_4`` too: a plugin that declares ``mode_native`` and no version of Spark must run natively
(design "CDAP Capabilities", tables of filtering and section Preview)."""
PROFILE_ARGUMENT: Final = "system.profile.name"
"""The runtime argument that names a profile (CDAP 6 ``SystemArguments``)."""
_SCOPES: Final = ("SYSTEM", "USER")

NamespaceProfile = Callable[[str], str | None]
"""Returns the profile of a namespace in the settings, maybe with a scope; None when there is none."""


class RemoteProfile(msgspec.Struct, frozen=True):
    """An existing Spark cluster."""

    url: str
    """``sc://host:port[/;key=value…]``, secrets included."""
    required_capabilities: list[str]
    locations: dict[str, str] = {}
    """The folders on the cluster that replace paths of pipelines, by prefix."""
    packages: list[str] = []
    """Python packages to send to the cluster, besides the code of localcdap and of artifacts."""


class ProfileSummary(msgspec.Struct, rename="camel"):
    """A profile in a list."""

    name: str
    kind: str
    """``native`` or ``spark-connect``."""
    required_capabilities: list[str]
    """The capabilities and expressions that the profile requires of every plugin, in alphabetical order."""
    is_default: bool = msgspec.field(name="default")
    """Whether it is the default profile of the namespace."""
    address: str | None = None
    """The address of a cluster, ``sc://host:port``, without its secrets."""


class Profiles:
    """The profiles of an instance. Threads may share it.

    :param remotes: the clusters by name; the profile ``native`` always exists.
    :param default: the profile of the instance.
    :param of_namespace: returns the profile of a namespace; called for each run.
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
        """Return the name of the profile of a run.

        The first of these wins: the runtime argument ``system.profile.name``, the profile that the
        caller asks for, the preference of that name, the profile of the namespace in the settings, the
        default of the instance.

        :param arguments: the runtime arguments.
        :param preferences: the preferences that apply to the run.
        :raises NotFoundError: when there is no such profile; the message lists the profiles.
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

    def get_remote(self, name: str) -> RemoteProfile | None:
        """Return the cluster of an existing profile; None for the local Spark server."""
        return self._remotes.get(name)

    def list_summaries(
        self, namespace: str, preferences: Mapping[str, str] | None = None
    ) -> list[ProfileSummary]:
        """Return all profiles, ``native`` first, with the default of a namespace marked.

        :param preferences: the preferences of the namespace.
        :raises NotFoundError: when a preference names a profile that does not exist.
        """
        default = self.choose_profile(namespace, preferences=preferences)
        native = ProfileSummary(NATIVE, NATIVE, sorted(NATIVE_REQUIRES.texts), default == NATIVE)
        return [native, *(self._create_summary(name, default) for name in sorted(self._remotes))]

    def _create_summary(self, name: str, default: str) -> ProfileSummary:
        remote = self._remotes[name]
        required = sorted(CapabilityRequirement.parse(remote.required_capabilities).texts)
        address = hide_parameters(remote.url)
        return ProfileSummary(name, "spark-connect", required, name == default, address)

    def _require_profile(self, text: str, by: str) -> str:
        """Return the name without its optional scope, as in ``SYSTEM:native``."""
        scope, colon, rest = text.strip().partition(":")
        name = rest if colon and scope.upper() in _SCOPES else text.strip()
        if name.lower() == NATIVE:
            return NATIVE
        if name not in self._remotes:
            known = format_available(name, [NATIVE, *sorted(self._remotes)])
            raise NotFoundError(
                f"There is no profile '{text.strip()}', which {by} names; available: {known}.",
                "Add it to localcdap.toml under [profiles.NAME], or name one of these.",
            )
        return name
