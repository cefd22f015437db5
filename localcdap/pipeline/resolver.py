"""Resolves typed documents in the environment of a namespace, for every service that validates or runs them.

``configure`` of a plugin is a pure function, so its results are remembered. Results of connected checks
(``configure_connected``, which looks at files, databases or a network) are kept with the time of the look:
validation may show them with that time, a run never uses them and looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.environment import EnvironmentFactory, NamespaceEnvironment
from localcdap.pipeline.validation.resolution import ResolvedPipeline, resolve_pipeline
from localcdap.pipeline.validation.stage_configuration import Configurer
from localcdap.sandbox.configure_cache import ConnectedCheckResult
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult

FindConnected = Callable[[ConfigureRequest], ConnectedCheckResult | None]
"""Finds the last result of connected checks; see :meth:`localcdap.sandbox.pool.PluginWorkers.detected`."""


class PipelineResolver:
    """Resolves documents. Threads may share it.

    :param environments: creates the environment of a namespace.
    :param configurer: such as ``PluginWorkers.configure``, which remembers results: after an edit only
        the edited stage and the stages whose input schemas change are configured again.
    :param find_connected: such as ``PluginWorkers.detected``.
    """

    def __init__(
        self,
        environments: EnvironmentFactory,
        configurer: Configurer,
        find_connected: FindConnected = lambda _: None,
    ) -> None:
        self.environments = environments
        self._configurer = configurer
        self._find_connected = find_connected

    def resolve(
        self,
        document: PipelineDocument,
        environment: NamespaceEnvironment,
        arguments: Mapping[str, str],
        *,
        runtime: bool = False,
        unevaluated: Collection[str] = (),
        use_suggested: bool = False,
        connected: bool = False,
        use_detected: bool = False,
    ) -> ResolvedPipeline:
        """Return everything about a pipeline, evaluated properties included: never show ``requests``.

        :param document: as it was read, its plugin templates not replaced.
        :param arguments: all values of macros, see :meth:`NamespaceEnvironment.merge_arguments`.
        :param runtime: whether every macro must have a value.
        :param unevaluated: stages whose macros may lack a value even so.
        :param use_suggested: take the suggested artifact where the requested one is missing.
        :param connected: also make the checks that need files, databases or a network.
        :param use_detected: use results of earlier connected checks.
        """
        configurer = self.create_configurer(environment, use_detected=use_detected)
        resolved = resolve_pipeline(
            environment.expand_templates(document),
            environment.plugins,
            configurer,
            environment.create_macros(arguments, runtime=runtime),
            use_suggested=use_suggested,
            locations=environment.locations if connected else None,
            path_locations=environment.locations,
            unevaluated=unevaluated,
            warn=True,
        )
        secrets = environment.secrets
        resolved.detected = configurer.times
        resolved.errors = secrets.clean(resolved.errors)
        resolved.stages = {k: secrets.clean_stage(v) for k, v in resolved.stages.items()}
        if resolved.spec is not None:
            resolved.spec = secrets.clean_pipeline(resolved.spec)
        return resolved

    def resolve_for_run(
        self,
        document: PipelineDocument,
        environment: NamespaceEnvironment,
        arguments: Mapping[str, str],
        *,
        runtime: bool = True,
        unevaluated: Collection[str] = (),
        use_suggested: bool = False,
    ) -> ResolvedPipeline:
        """Return everything about a pipeline that is to run, as :meth:`resolve` does.

        A run makes the connected checks, which find schemas that the properties do not say. A pipeline with
        failures that has such schemas is therefore resolved with these checks, and what remains of its
        failures are those of the run too.
        """

        def resolve(*, connected: bool) -> ResolvedPipeline:
            return self.resolve(
                document,
                environment,
                arguments,
                runtime=runtime,
                unevaluated=unevaluated,
                use_suggested=use_suggested,
                connected=connected,
            )

        resolved = resolve(connected=False)
        schemas = [s for each in resolved.requests.values() for s in each.input_schemas.values()]
        if resolved.errors and None in schemas:
            return resolve(connected=True)
        return resolved

    def create_configurer(
        self, environment: NamespaceEnvironment, *, use_detected: bool = False
    ) -> DetectingConfigurer:
        """Return a configurer of stages that notes when connected checks were made."""
        return DetectingConfigurer(
            self._configurer, self._find_connected, environment, use_detected=use_detected
        )


class DetectingConfigurer:
    """Configures stages, and notes the time of the connected checks that a result stems from.

    :param use_detected: whether to use results of earlier connected checks.
    """

    def __init__(
        self,
        configurer: Configurer,
        find_connected: FindConnected,
        environment: NamespaceEnvironment,
        *,
        use_detected: bool,
    ) -> None:
        self._configurer = configurer
        self._find_connected = find_connected
        self._environment = environment
        self._use_detected = use_detected
        self.times: dict[str, int] = {}
        """By stage, when connected checks were made, in milliseconds since 1970."""

    def __call__(self, request: ConfigureRequest) -> ConfigureResult | None:
        if request.locations is not None:
            connected = msgspec.structs.replace(request, tables=self._environment.tables)
            result = self._configurer(connected)
            self._find(request)
            return result
        found = self._find(request) if self._use_detected else None
        return found.result if found is not None else self._configurer(request)

    def _find(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        """Return the last result of connected checks, and note its time."""
        found = self._find_connected(request)
        if found is not None:
            self.times[request.stage] = found.at_ms
        return found
