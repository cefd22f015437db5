"""The service ``templates``: the plugin templates of each namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.security import Permission
from localcdap.artifacts.model import ArtifactSelector
from localcdap.decoders import decode_json
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.values import require_text
from localcdap.pipeline.validation.plugins import Artifacts, PluginTemplate, index_templates
from localcdap.security.access import of_namespace, requires
from localcdap.store.store import Store, Transaction
from localcdap.text import nearest_names

_SELECT: Final = (
    "SELECT type, name, plugin, artifact, properties, locked, description "
    "FROM plugin_templates WHERE namespace = ? ORDER BY type, name"
)
_DELETE: Final = "DELETE FROM plugin_templates WHERE namespace = ? AND type = ? AND name = ?"


class TemplateService:
    """Plugin templates. Threads may share it."""

    def __init__(self, store: Store, namespaces: NamespaceService, artifacts: Artifacts) -> None:
        self._store = store
        self._namespaces = namespaces
        self._artifacts = artifacts
        namespaces.register_resource(NamespaceResource("plugin templates", remove=_remove_all))

    @requires(of_namespace(), Permission.ADMIN)
    def save(
        self, namespace: str, template: PluginTemplate, replace: bool = False
    ) -> PluginTemplate:
        """Store a template.

        :param replace: whether to replace one of the same type and name.
        :raises NotFoundError: when there is no such namespace or plugin.
        :raises BadRequestError: when it has no name, the plugin has no such property, or a locked property is
            not set.
        :raises ConflictError: when a plugin, or another template, has that name.
        """
        self._check(namespace, template)
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            key = (namespace, template.plugin_type, template.name)
            if _read_index(tx, namespace).get(key[1:]) is not None:
                if not replace:
                    raise ConflictError(
                        f"There is a template '{template.name}' of type '{template.plugin_type}' already.",
                        "Replace it, or choose another name.",
                    )
                tx.execute(_DELETE, key)
            tx.execute(
                "INSERT INTO plugin_templates VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *key,
                    template.plugin_name,
                    _encode(template.artifact),
                    _encode(template.properties),
                    _encode(template.locked),
                    template.description,
                ),
            )
        return template

    @requires(of_namespace())
    def list_templates(self, namespace: str) -> list[PluginTemplate]:
        """Return the templates of a namespace, by type and name."""
        self._namespaces.require(namespace)
        return read_templates(self._store, namespace)

    @requires(of_namespace())
    def get(self, namespace: str, name: str, type: str | None = None) -> PluginTemplate:
        """Return a template by its name, and its type where several have that name.

        :raises NotFoundError: when there is none; the message lists the templates.
        :raises ConflictError: when several types have a template of that name.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return _find(tx, namespace, name, type)

    @requires(of_namespace(), Permission.ADMIN)
    def delete(self, namespace: str, name: str, type: str | None = None) -> PluginTemplate:
        """Delete a template. Deployed pipelines that used it stay as they are.

        :raises NotFoundError: when there is none; the message lists the templates.
        :raises ConflictError: when several types have a template of that name.
        """
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            found = _find(tx, namespace, name, type)
            key = (namespace, found.plugin_type, found.name)
            tx.execute(_DELETE, key)
        return found

    def _check(self, namespace: str, template: PluginTemplate) -> None:
        type, name = template.plugin_type, template.name
        if not name.strip():
            raise BadRequestError("The template has no name.")
        require_text(name, template.description, *template.properties.values())
        if self._artifacts.find_plugin(namespace, type, name).plugin is not None:
            raise ConflictError(
                f"There is a plugin '{name}' of type '{type}' already.", "Choose another name."
            )
        plugin = self._artifacts.get_plugin(
            namespace, type, template.plugin_name, template.artifact
        )
        for unknown in template.properties.keys() - plugin.properties.keys():
            near = nearest_names(unknown, plugin.properties, limit=5) or list(plugin.properties)
            raise BadRequestError(
                f"Plugin '{plugin.name}' has no property '{unknown}'.",
                f"It has: {', '.join(near)}.",
            )
        loose = [each for each in template.locked if each not in template.properties]
        if loose:
            raise BadRequestError(
                f"Property '{loose[0]}' of template '{name}' is locked but not set.",
                "Give it a value.",
            )


def read_templates(store: Store, namespace: str) -> list[PluginTemplate]:
    """Return the templates of a namespace by type and name; none when there is no such namespace."""
    return [_read_template(row) for row in store.read(_SELECT, (namespace,))]


def _read_index(tx: Transaction, namespace: str) -> dict[tuple[str, str], PluginTemplate]:
    return dict(index_templates([_read_template(row) for row in tx.execute(_SELECT, (namespace,))]))


def _find(tx: Transaction, namespace: str, name: str, type: str | None) -> PluginTemplate:
    known = _read_index(tx, namespace)
    found = [t for (of, called), t in known.items() if called == name and type in (None, of)]
    if len(found) > 1:
        types = ", ".join(each.plugin_type for each in found)
        raise ConflictError(
            f"Several templates are called '{name}'.", f"Say the type, one of: {types}."
        )
    if not found:
        names = ", ".join(f"{of} {called}" for of, called in known) or "none"
        of_type = f" of type '{type}'" if type else ""
        raise NotFoundError(f"There is no template '{name}'{of_type}.", f"Available: {names}.")
    return found[0]


def _remove_all(tx: Transaction, namespace: str) -> None:
    tx.execute("DELETE FROM plugin_templates WHERE namespace = ?", (namespace,))


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _read_template(row: Sequence[Any]) -> PluginTemplate:
    type, name, plugin, artifact, properties, locked, description = row
    return PluginTemplate(
        name=name,
        plugin_type=type,
        plugin_name=plugin,
        properties=decode_json(properties, type=dict[str, str]),
        locked=decode_json(locked, type=list[str]),
        artifact=decode_json(artifact, type=ArtifactSelector),
        description=description,
    )
