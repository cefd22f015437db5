"""The environment that a namespace provides for pipelines: macros, secrets, plugins, plugin templates,
tables and recordings.

A service creates one :class:`NamespaceEnvironment` for each call and hands it on, so that the namespace is
checked once, every plugin is looked up once, and all parts of the call see the same values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from localcdap.api.errors import LocalcdapError, MacroError, NotFoundError
from localcdap.api.failures import ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from localcdap.artifacts.model import ArtifactSelector
from localcdap.pipeline.document.model import PipelineDocument, PluginUse, StageUse
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.macros.evaluation import MacroContext, Secrets
from localcdap.pipeline.macros.parser import (
    LOGICAL_START_TIME,
    create_macro_functions,
    resolve_logical_start,
)
from localcdap.pipeline.recordings.model import RecordingRule, RecordingRules, list_given_rules
from localcdap.pipeline.recordings.sources import RecordingInputs
from localcdap.pipeline.recordings.stand_ins import (
    Replacements,
    StageReplacer,
    replace_idle,
    write_stand_ins,
)
from localcdap.pipeline.validation.plugins import (
    Artifacts,
    IndexedPlugins,
    PluginTemplate,
    TemplateUse,
    expand_template,
    expand_templates,
    index_templates,
    write_out_templates,
)
from localcdap.pipeline.validation.stage_configuration import Configurer, StageConfiguration

if TYPE_CHECKING:
    import pyarrow as pa

SecretsOf = Callable[[str], Secrets]
"""Returns new, empty :class:`Secrets` with the secure keys and connections of a namespace."""
Templates = Callable[[str], Sequence[PluginTemplate]]
"""Returns the plugin templates of a namespace."""
Preferences = Callable[[str, str | None], Mapping[str, str]]
"""Returns macro values by namespace and pipeline name; None: only those of the namespace."""
Tables = Callable[[str], Mapping[str, TableShape]]
"""Returns the columns of the tables of a namespace, by name."""
Rules = Callable[[str], Sequence[RecordingRule]]
"""Returns the recordings that a namespace always has."""
ReadRows = Callable[[str, str, int], "pa.Table"]
"""Returns the first rows of a table or dataset, by namespace, name and the most rows."""


class RecordedDocument(NamedTuple):
    """A document for one run, with recordings and placeholders in place of plugins."""

    document: PipelineDocument
    replacements: Replacements


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
        rules: Rules,
        read_rows: ReadRows,
        configurer: Configurer,
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
        self._rules = rules
        self._read_rows = read_rows
        self._configurer = configurer

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
        runtime: bool = False,
    ) -> MacroContext:
        """Return a macro context with the secure keys and connections of the namespace.

        :param arguments: all values of macros, see :meth:`merge_arguments`.
        :param runtime: whether every macro must have a value. Only then, or with the argument
            ``logical.start.time``, the function ``logicalStartTime`` is evaluated.
        :raises BadRequestError: when ``logical.start.time`` is not a time.
        """
        start_ms = None
        if runtime or LOGICAL_START_TIME in arguments:
            # A run has its own logical start time; before it, only the format of the time matters.
            arguments, start_ms = resolve_logical_start(arguments, time.time_ns() // 1_000_000)
        functions = create_macro_functions(
            start_ms,
            secure=self.secrets.source,
            oauth=self.secrets.credentials,
            conn=self.secrets.connections,
        )
        return MacroContext(arguments, functions, runtime=runtime)

    def create_replacer(
        self,
        pipeline: str | None,
        given: Mapping[str, str],
        folder: Path | None = None,
        *,
        arguments: Mapping[str, str] = MappingProxyType({}),
    ) -> StageReplacer:
        """Return what replaces stages by the recordings of the namespace and of one call.

        :param pipeline: its name.
        :param given: the recordings of the call, by stage or another key; see :class:`RecordingRule`.
        :param folder: gets converted records; None: recordings are only checked.
        :param arguments: the values of macros in the schemas of sources.
        """
        rules = RecordingRules([*list_given_rules(given), *self._rules(self.namespace)])
        inputs = RecordingInputs(
            self.locations,
            lambda: self.tables,
            lambda name, most: self._read_rows(self.namespace, name, most),
            partial(self._find_schema, arguments),
            partial(self._expand, arguments),
        )
        return StageReplacer(rules, inputs, pipeline, folder)

    def _find_schema(self, arguments: Mapping[str, str], stage: StageUse) -> Schema | None:
        macros = self.create_macros(arguments)
        configure = StageConfiguration(self.plugins, self._configurer, macros)
        return configure(stage, {}).result.output_schema

    def _expand(self, arguments: Mapping[str, str], text: str) -> str:
        try:
            return self.create_macros(arguments).get_parser(False).expand(text).text
        except MacroError:
            return ""

    def record_document(
        self,
        document: PipelineDocument,
        pipeline: str | None,
        given: Mapping[str, str],
        folder: Path | None = None,
        *,
        arguments: Mapping[str, str] = MappingProxyType({}),
        idle: Collection[str] = (),
        requires_use: bool = True,
    ) -> RecordedDocument:
        """Return a document with its recordings and placeholders, as :meth:`create_replacer` finds them.

        :param idle: stages that do not run, and keep their plugins; something stands in for missing ones.
        :param requires_use: whether a recording of the call that applies to no stage is a failure.
        """
        replacer = self.create_replacer(pipeline, given, folder, arguments=arguments)
        expanded = self.expand_templates(document)
        found = replacer.replace(expanded, idle, requires_use=requires_use)
        for stage in expanded.stages:
            use = stage.plugin
            if stage.name in idle and not self._has_plugin(use):
                plugin = replace_idle(stage)
                found.plugins |= {} if plugin is None else {stage.name: plugin}
        return RecordedDocument(write_stand_ins(document, found), found)

    def _has_plugin(self, use: PluginUse) -> bool:
        try:
            self.plugins.require(use.type, use.name, use.artifact or ArtifactSelector())
        except LocalcdapError:
            return False
        return True

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


def _read_nothing(_namespace: str, name: str, _most: int) -> Any:
    raise NotFoundError(f"There is no table or dataset '{name}' here.")


class EnvironmentFactory:
    """Creates the environments of namespaces. Threads may share it.

    :param artifacts: the index of plugins.
    :param locations: maps the paths of documents to files; None disables connected checks.
    :param check_namespace: raises NotFoundError for a namespace that does not exist.
    :param preferences: the values of macros that arguments do not define.
    :param secrets: by default there are no secure keys.
    :param templates: the plugin templates of a namespace.
    :param tables: the tables that connected checks see.
    :param rules: the recordings that a namespace always has.
    :param read_rows: reads a table or dataset that is a recording.
    :param configurer: finds the schema of a source that has a recording.
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
        rules: Rules = lambda _: (),
        read_rows: ReadRows = _read_nothing,
        configurer: Configurer = lambda _: None,
    ) -> None:
        self._artifacts = artifacts
        self._locations = locations
        self._check_namespace = check_namespace
        self._preferences = preferences
        self._secrets = secrets
        self._templates = templates
        self._tables = tables
        self._rules = rules
        self._read_rows = read_rows
        self._configurer = configurer

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
            self._rules,
            self._read_rows,
            self._configurer,
        )
