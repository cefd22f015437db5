"""Methods of plugins (design "Plugin Endpoints"): called by name, in the plugin worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.macros.evaluation import MacroContext, evaluate
from localcdap.pipeline.macros.functions import macro_functions
from localcdap.pipeline.service import SecretsOf, StudioService
from localcdap.pipeline.validation.plugins import Artifacts, IndexedPlugins
from localcdap.sandbox.plugin_methods import MethodAnswer, MethodRequest, call_method


class Worker(Protocol):
    """What is asked of :class:`localcdap.sandbox.pool.PluginWorkers`."""

    def do(
        self,
        job: Callable[[MethodRequest], MethodAnswer],
        request: MethodRequest,
        plugin: PluginRef,
        who: str,
    ) -> MethodAnswer: ...


class MethodPlugin(msgspec.Struct):
    """The plugin that has the method."""

    type: str
    name: str
    artifact: ArtifactSelector = ArtifactSelector()
    properties: dict[str, str] = {}
    """Those that are filled in so far; macros are expanded where they have a value."""


class MethodCall(msgspec.Struct):
    """A method to be called."""

    plugin: MethodPlugin
    method: str
    request: Any = None
    """JSON, of the form that the method asks for; None for a method that takes nothing."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros, above those of the preferences."""


class MethodResult(msgspec.Struct):
    """What the method answered."""

    answer: Any
    """JSON."""
    artifact: ArtifactId
    """The one whose plugin was asked."""


class MethodService:
    """Calls methods of plugins. Threads may share it.

    :param check_namespace: raises NotFoundError for a namespace that does not exist.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        studio: StudioService,
        worker: Worker,
        secrets: SecretsOf,
        check_namespace: Callable[[str], object],
    ) -> None:
        self._artifacts = artifacts
        self._studio = studio
        self._worker = worker
        self._secrets = secrets
        self._check_namespace = check_namespace

    def call(self, call: MethodCall) -> MethodResult:
        """Call a method of a plugin.

        :raises NotFoundError: when there is no such namespace, plugin or method; the message lists the
            methods that there are.
        :raises BadRequestError: when the request or a property does not fit; names the field.
        :raises PluginError: when the method raised, hung, crashed or took too much memory.
        """
        self._check_namespace(call.namespace)
        use = call.plugin
        plugins = IndexedPlugins(self._artifacts, call.namespace)
        stage = StageUse(use.name, PluginUse(use.type, use.name, use.properties, use.artifact))
        found = plugins.find(use.name, stage.plugin)
        if found.plugin is None:
            # Says what there is instead.
            self._artifacts.get_plugin(call.namespace, use.type, use.name, use.artifact)
            raise NotFoundError(f"There is no {use.type} plugin '{use.name}'.")
        arguments = self._studio.arguments(call.namespace, None, call.arguments)
        secrets = self._secrets(call.namespace)
        functions = macro_functions(secure=secrets.source, conn=secrets.connections)
        macros = MacroContext(arguments, functions)
        evaluated = evaluate(stage, plugins.properties(found.plugin), macros)
        request = MethodRequest(
            found.plugin, evaluated.properties, evaluated.macros, call.method, call.request
        )
        who = f"Method '{call.method}' of plugin '{use.name}'"
        done = self._worker.do(call_method, request, found.plugin, who)
        return MethodResult(done.answer, found.plugin.artifact)
