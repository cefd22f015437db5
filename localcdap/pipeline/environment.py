"""The environment that a namespace provides for pipelines: macros, secrets, plugins, plugin templates
and tables.

A service creates one :class:`NamespaceEnvironment` for each call and hands it on, so that the namespace is
checked once, every plugin is looked up once, and all parts of the call see the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from localcdap.api.failures import ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.tables import TableShape
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.functions import create_macro_functions
from localcdap.pipeline.macros.secrets import Secrets
from localcdap.pipeline.validation.plugin_templates import (
    PluginTemplate,
    TemplateUse,
    expand_template,
    expand_templates,
    index_templates,
    write_out_templates,
)
from localcdap.pipeline.validation.plugins import Artifacts, IndexedPlugins

SecretsOf = Callable[[str], Secrets]
"""Returns new, empty :class:`Secrets` with the secure keys and connections of a namespace."""
Templates = Callable[[str], Sequence[PluginTemplate]]
"""Returns the plugin templates of a namespace."""
Preferences = Callable[[str, str | None], Mapping[str, str]]
"""Returns macro values by namespace and pipeline name; None: only those of the namespace."""
Tables = Callable[[str], Mapping[str, TableShape]]
"""Returns the columns of the tables of a namespace, by name."""


class NamespaceEnvironment:
    """The environment of a namespace for the pipelines of one call. Threads must not share it.

    Create it with :class:`EnvironmentFactory`.
    """

    def __init__(
        self,
        namespace: str,
        plugins: IndexedPlugins,
        secrets: Secrets,
        locations: Locations | None,
        preferences: Preferences,
        templates: Templates,
        tables: Tables,
    ) -> None:
        self.namespace = namespace
        self.plugins = plugins
        self.secrets = secrets
        """The secrets that macros of this call have read; they are removed from every answer."""
        self.locations = locations
        """Maps the paths of documents to files; None: connected checks are not available."""
        self._preferences = preferences
        self._templates = templates
        self._tables = tables

    @cached_property
    def templates(self) -> Sequence[PluginTemplate]:
        """The plugin templates of the namespace."""
        return self._templates(self.namespace)

    @cached_property
    def tables(self) -> dict[str, TableShape]:
        """The columns of the tables of the namespace, by name."""
        return dict(self._tables(self.namespace))

    def merge_arguments(self, pipeline: str | None, given: Mapping[str, str]) -> dict[str, str]:
        """Return the values of macros: the preferences, overridden by the given arguments.

        :param pipeline: its name; None for the preferences of the namespace alone.
        """
        return {**self._preferences(self.namespace, pipeline), **given}

    def create_macros(
        self,
        arguments: Mapping[str, str],
        *,
        logical_start_ms: int | None = None,
        runtime: bool = False,
    ) -> MacroContext:
        """Return a macro context with the secure keys and connections of the namespace.

        :param arguments: all values of macros, see :meth:`merge_arguments`.
        :param logical_start_ms: None: ``logicalStartTime`` is not evaluated.
        :param runtime: whether every macro must have a value.
        """
        functions = create_macro_functions(
            logical_start_ms, secure=self.secrets.source, conn=self.secrets.connections
        )
        return MacroContext(arguments, functions, runtime=runtime)

    def expand_templates(self, document: PipelineDocument) -> PipelineDocument:
        """Return the document with plugin templates replaced by their plugins; its source is unchanged."""
        return expand_templates(document, self.templates)

    def expand_template(self, stage: StageUse, failures: list[ValidationFailure]) -> StageUse:
        """Return the stage with its plugin template replaced by the plugin.

        :param failures: receives a failure for each locked property that the stage sets differently.
        """
        return expand_template(stage, index_templates(self.templates), failures)

    def write_out_templates(self, document: PipelineDocument) -> tuple[str, list[TemplateUse]]:
        """Return the document's JSON text without plugin templates, and the stages that used one.

        A reader of that text, such as a run process, needs no templates.
        """
        if not self.templates:
            return document.to_json(), []
        source, uses = write_out_templates(document, self.templates)
        return (encode_json(source) if uses else document.to_json()), uses


class EnvironmentFactory:
    """Creates the environments of namespaces. Threads may share it.

    :param artifacts: the index of plugins.
    :param locations: maps the paths of documents to files; None disables connected checks.
    :param check_namespace: raises NotFoundError for a namespace that does not exist.
    :param preferences: the values of macros that arguments do not define.
    :param secrets: by default there are no secure keys.
    :param templates: the plugin templates of a namespace.
    :param tables: the tables that connected checks see.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        *,
        locations: Locations | None = None,
        check_namespace: Callable[[str], object] = lambda _: None,
        preferences: Preferences = lambda _, __: {},
        secrets: SecretsOf = lambda _: Secrets(None),
        templates: Templates = lambda _: (),
        tables: Tables = lambda _: {},
    ) -> None:
        self._artifacts = artifacts
        self._locations = locations
        self._check_namespace = check_namespace
        self._preferences = preferences
        self._secrets = secrets
        self._templates = templates
        self._tables = tables

    def create(self, namespace: str) -> NamespaceEnvironment:
        """Return the environment of a namespace as it is now.

        :raises NotFoundError: when there is no such namespace.
        """
        self._check_namespace(namespace)
        return NamespaceEnvironment(
            namespace,
            IndexedPlugins(self._artifacts, namespace),
            self._secrets(namespace),
            self._locations,
            self._preferences,
            self._templates,
            self._tables,
        )
