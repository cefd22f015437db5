"""Finds secrets in plain text, which must not get into files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from localcdap.api.config import PluginProperty
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.artifacts.model import ArtifactSelector
from localcdap.artifacts.service import ArtifactService
from localcdap.pipeline.document.values import as_properties, as_selector, as_text
from localcdap.sync.kinds import PlainSecret

_ALWAYS: Final = re.compile(r"(?:password|passphrase|secret|private_?key)$", re.IGNORECASE)
"""Names whose values are secrets also where the plugin's author did not declare it."""
_UNDECLARED: Final = re.compile(
    r"password|passphrase|secret|private_?key|(?:token|credentials?|(?:api|access|account)_?key)$",
    re.IGNORECASE,
)
"""Names whose values are secrets where no plugin declares them; what only may be one is not refused."""
_SERVICE_ACCOUNT: Final = '"private_key"'
"""What the JSON of a service account holds, whatever the name of its property."""
_ADDRESS: Final = re.compile(r"url|uri|connection_?string|connectionArguments", re.IGNORECASE)
"""The names of properties that hold addresses, which may hold a password."""
_PASSWORD_IN_ADDRESS: Final = re.compile(
    r"://[^/\s:@]*:(?!\$\{)[^/\s@]+@|\b(?:password|pwd)\s*=\s*(?!\$\{)[^\s;&]", re.IGNORECASE
)
_FLAGS: Final = frozenset(("true", "false", "yes", "no", "none", "null"))
_MACRO: Final = "${"


class SecretFinder:
    """Decides by what plugins declare; where that is unknown, by names."""

    def __init__(self, artifacts: ArtifactService) -> None:
        self._artifacts = artifacts

    def find_in_plugin(
        self, namespace: str, plugin: Any, path: tuple[str, ...], where: str
    ) -> list[PlainSecret]:
        """Return the secrets in the properties of a plugin.

        :param plugin: the node of a plugin in a document, with ``name``, ``type`` and ``properties``.
        :param path: of the node.
        :param where: what has the plugin, such as ``stage 'db'``.
        """
        if not isinstance(plugin, Mapping):
            return []
        declared = self._get_declared(namespace, plugin)
        return [
            PlainSecret((*path, "properties", name), f"{where}, property '{name}'")
            for name, value in as_properties(plugin.get("properties")).items()
            if _is_plain_secret(name, value, declared.get(name))
        ]

    def _get_declared(
        self, namespace: str, plugin: Mapping[str, Any]
    ) -> Mapping[str, PluginProperty]:
        type, name = as_text(plugin.get("type")) or "", as_text(plugin.get("name")) or ""
        for selector in (as_selector(plugin.get("artifact")), ArtifactSelector()):
            try:
                return self._artifacts.get_plugin(namespace, type, name, selector).properties
            except (NotFoundError, BadRequestError):  # another version declares the same secrets
                continue
        return {}


def find_in_values(
    values: Mapping[str, str], path: tuple[str, ...], what: str
) -> list[PlainSecret]:
    """Return the secrets among values that nobody declares, such as preferences."""
    return [
        PlainSecret((*path, name), f"{what} '{name}'")
        for name, value in values.items()
        if _is_plain_secret(name, value, None)
    ]


def _is_plain_secret(name: str, value: str, declared: PluginProperty | None) -> bool:
    if not value.strip() or value.strip().lower() in _FLAGS:
        return False
    if _ADDRESS.search(name) and _PASSWORD_IN_ADDRESS.search(value):
        return True
    if _SERVICE_ACCOUNT in value:
        return True
    if _MACRO in value:
        return False
    if declared is not None:
        return declared.secret or (not declared.choices and _ALWAYS.search(name) is not None)
    return _UNDECLARED.search(name) is not None
