"""The service ``applications``: pipelines deployed into a namespace, with all of their versions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityUpdated
from localcdap.api.dataset.definition import DatasetChange
from localcdap.api.errors import ConflictError
from localcdap.api.failures import ValidationFailure
from localcdap.api.metadata import MetadataEntity
from localcdap.api.pipeline import PipelineSpec
from localcdap.api.security import Permission
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.model import PipelineDocument, copy_configuration, rename_pipeline
from localcdap.pipeline.document.reader import read_document, upgrade_document, upgrades
from localcdap.pipeline.document.values import (
    encode_document,
    encode_json,
    format_json,
    require_text,
)
from localcdap.pipeline.library import application_records as records
from localcdap.pipeline.library.application_model import (
    LATEST,
    Application,
    ApplicationDetail,
    ApplicationFilter,
    ApplicationPlugin,
    ChangeDetail,
    Deployment,
    DeployRequest,
    choose_application_name,
    find_import_problems,
    get_application_artifact,
    list_entities,
)
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.datasets import DatasetPlanner, NoDatasets, StageDataset
from localcdap.pipeline.validation.plugins import apply_repairs
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import Target, of_application, of_namespace, requires, shows_visible
from localcdap.security.principals import current_principal
from localcdap.store.store import Store, Transaction

_MOST: Final = 10_000
"""The most that are kept, about 10 MB; then all are forgotten."""


class KnownApplications:
    """Keeps latest versions in memory until any application changes. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Application] = {}
        self._changes = 0
        self._lock: Final = threading.Lock()

    @property
    def changes(self) -> int:
        """A number that is another one after each change."""
        return self._changes

    def find(self, namespace: str, name: str) -> Application | None:
        """Return the latest version of an application; None when it is not known here."""
        return self._known.get((namespace, name))

    def keep(self, application: Application, seen: int) -> None:
        """Keep a latest version.

        :param seen: :attr:`changes` before it was read; with a change since then it may be outdated.
        """
        with self._lock:
            if seen == self._changes:
                if len(self._known) >= _MOST:
                    self._known = {}
                self._known[application.namespace, application.name] = application

    def forget(self) -> None:
        """Forget all versions, after a change of any application."""
        with self._lock:
            self._changes += 1
            self._known = {}


RecordLineage = Callable[[Transaction, str], None]
"""Writes the field lineage of a pipeline, as that of an application, as part of a transaction."""
TraceLineage = Callable[[ResolvedPipeline, str], tuple[RecordLineage, list[ValidationFailure]]]
"""Finds the field lineage of a valid pipeline in a namespace, and what is wrong with it."""
ActiveRuns = Callable[[str, str], Sequence[str]]
"""The ids of the runs of an application that are active, by namespace and name."""


def _find_entity(_service: object, given: Mapping[str, Any]) -> Sequence[MetadataEntity]:
    request: DeployRequest = given["request"]
    name = choose_application_name(request, read_document(request.document, request.file))
    return [MetadataEntity.of_application(name, request.namespace)]


_OF_DEPLOYMENT: Final = Target("application of the request or its document", _find_entity)


class ApplicationService:
    """Deployed pipelines. Threads may share it.

    :param active_runs: an application with active runs cannot be deleted.
    :param trace_lineage: by default, lineage begins with the runs of an application.
    :param datasets: creates and updates the datasets that pipelines declare.
    """

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        resolver: PipelineResolver,
        active_runs: ActiveRuns = lambda _, __: (),
        trace_lineage: TraceLineage = lambda _, __: (lambda _, __: None, []),
        datasets: DatasetPlanner = NoDatasets(),  # noqa: B008 - it has no state
    ) -> None:
        self._store = store
        self._topics = topics
        self._namespaces = namespaces
        self._resolver = resolver
        self._active_runs = active_runs
        self._trace_lineage = trace_lineage
        self._datasets = datasets
        self._known = KnownApplications()
        namespaces.register_resource(
            NamespaceResource("applications", remove=self._remove_namespace)
        )

    @requires(_OF_DEPLOYMENT, Permission.ADMIN)
    @non_idempotent
    def deploy(self, request: DeployRequest) -> Deployment:
        """Validate a pipeline and store it as the latest version of an application.

        A pipeline with failures is not stored; the answer has them all. The stored document has plugins in
        place of plugin templates, so that it does not change with them.

        :raises DocumentError: when the document is not a pipeline.
        :raises BadRequestError: when the name of the application is invalid.
        :raises ConflictError: when ``parent_version`` is not the latest version; or when a dataset has
            changed during the call and cannot follow any more.
        :raises NotFoundError: when there is no such namespace.
        """
        return self.store_prepared(self.prepare(request))

    def prepare(self, request: DeployRequest) -> PreparedDeployment:
        """Validate a pipeline as :meth:`deploy` does, and store nothing.

        :raises DocumentError: as for :meth:`deploy`.
        :raises BadRequestError: as for :meth:`deploy`.
        :raises NotFoundError: when there is no such namespace.
        """
        require_text(request.change or "")
        environment = self._resolver.environments.create(request.namespace)
        given = document = read_document(request.document, request.file)
        name = choose_application_name(request, given)
        found = find_import_problems(environment.expand_templates(given), environment.plugins)
        repairs = [repair for _, repair in found if repair is not None] if request.fix else []
        if repairs:
            document = read_document(apply_repairs(given, repairs), request.file)
        resolved = self._resolver.resolve_for_run(
            document, environment, environment.merge_arguments(name, {}), runtime=False
        )
        text, templates = environment.write_out_templates(document)
        answer = Deployment(
            name,
            None,
            resolved.errors,
            resolved.warnings,
            [problem for problem, _ in found],
            repairs,
            templates,
            upgrades(given),
        )
        plan = self._datasets.plan(request.namespace, resolved.datasets, name)
        answer.errors = [*answer.errors, *plan.failures]
        if resolved.spec is None or answer.errors:
            return PreparedDeployment(request, answer, None)
        record_lineage, warnings = self._trace_lineage(resolved, request.namespace)
        answer.warnings = [*answer.warnings, *warnings]
        deployed = _DeployedPipeline(given, text, resolved.spec, resolved.datasets, record_lineage)
        return PreparedDeployment(request, answer, deployed)

    def store_prepared(self, prepared: PreparedDeployment) -> Deployment:
        """Store a pipeline that :meth:`prepare` has found valid; return the answer of :meth:`deploy`.

        :raises ConflictError: as for :meth:`deploy`.
        """
        answer = prepared.answer
        if prepared.pipeline is not None:
            answer.application, answer.datasets = self._store_version(
                prepared.request, answer.name, prepared.pipeline
            )
        return answer

    @requires(of_namespace())
    @shows_visible(lambda each: MetadataEntity.of_application(each.name, each.namespace))
    def list_applications(
        self,
        namespace: str,
        artifact_names: list[str] | None = None,
        artifact_version: str | None = None,
        name_filter: str | None = None,
    ) -> list[Application]:
        """Return the latest versions of the applications of a namespace, by name.

        :param name_filter: part of the name, case-insensitive.
        """
        self._namespaces.require(namespace)
        with self._store.separate_reads() as tx:
            found = records.list_latest(tx, namespace)
        return [
            each
            for each in found
            if (not artifact_names or each.artifact.name in artifact_names)
            and (not artifact_version or each.artifact.version == artifact_version)
            and (name_filter or "").lower() in each.name.lower()
        ]

    @requires(of_namespace())
    @shows_visible(lambda each: MetadataEntity.of_application(each.name, each.namespace))
    def list_page(
        self, namespace: str, filter: ApplicationFilter, after: str | None = None, limit: int = 100
    ) -> list[Application]:
        """Return the latest versions of applications that match a filter, by name.

        A page may have fewer than ``limit`` although more follow: those that the caller does not see.

        :param after: the name of the last application of the page before; None for the first page.
        """
        self._namespaces.require(namespace)
        with self._store.separate_reads() as tx:
            return records.list_page(tx, namespace, filter, after, limit)

    @requires(of_application())
    def find(self, namespace: str, name: str, version: str | None = None) -> Application:
        """Return a version of an application, as :meth:`describe`, without its configuration.

        :raises NotFoundError: when there is none; the message lists the versions.
        """
        self._namespaces.require(namespace)
        is_latest = version is None or version in LATEST
        known = self._known.find(namespace, name) if is_latest else None
        if known is not None:
            return known
        seen = self._known.changes
        with self._store.separate_reads() as tx:
            found = records.find(tx, namespace, name, version)
        if is_latest:
            self._known.keep(found, seen)
        return found

    def _find_with_document(
        self, namespace: str, name: str, version: str | None
    ) -> tuple[Application, str, PipelineSpec | None]:
        """Return a version as :meth:`find`, the text of its document, and its specification."""
        found = self.find(namespace, name, version)
        with self._store.separate_reads() as tx:
            document = records.find_document(tx, found)
            if document is None:  # it has just been deleted
                found = records.find(tx, namespace, name, version)
                document = records.find_document(tx, found)
        assert document is not None
        return found, *document

    def list_specs_with(self, namespace: str, texts: Collection[str]) -> dict[str, PipelineSpec]:
        """Return the specifications of latest versions in which any of some texts occurs, by application.

        Those that were deployed before specifications were kept are left out.
        """
        with self._store.snapshot() as tx:
            return records.list_specs_with(tx, namespace, list(texts))

    @requires(of_application())
    def has_application(self, namespace: str, name: str) -> bool:
        """Return whether there is an application of that name."""
        self._namespaces.require(namespace)
        with self._store.separate_reads() as tx:
            return bool(records.list_versions(tx, namespace, name))

    @requires(of_application())
    def list_versions(self, namespace: str, name: str) -> list[Application]:
        """Return all versions of an application, newest first.

        :raises NotFoundError: when there is no such application.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            records.find(tx, namespace, name)
            return records.list_versions(tx, namespace, name)

    @requires(of_application())
    def describe(self, namespace: str, name: str, version: str | None = None) -> ApplicationDetail:
        """Return a version of an application, by default the latest.

        :param version: its id, a prefix of the id, its number, or ``latest``.
        :raises NotFoundError: when there is none; the message lists the versions.
        """
        application, text, spec = self._find_with_document(namespace, name, version)
        document = read_document(text)
        return ApplicationDetail(
            **msgspec.structs.asdict(application),
            copy_configuration=encode_json(copy_configuration(document)),
            plugins=[
                ApplicationPlugin(each.name, each.plugin.name, each.plugin.type)
                for each in (*document.stages, *document.post_actions)
            ],
            spec=spec,
        )

    @requires(of_application())
    def export(
        self, namespace: str, name: str, version: str | None = None, upgrade: bool = False
    ) -> str:
        """Return the JSON text of the document as it was deployed, keys in their order, indented by two.

        The name in the document is that of the application, as in an export of CDAP, also when another
        name was given at the deployment.

        :param upgrade: whether to convert an older form to the one that CDAP 6 exports.
        :raises NotFoundError: when there is no such version; the message lists the versions.
        """
        application, text, _ = self._find_with_document(namespace, name, version)
        document = _read_stored(application.name, text)
        text = encode_document(upgrade_document(document)) if upgrade else document.to_json()
        return format_json(text)

    def read_latest(self, namespace: str) -> dict[str, PipelineDocument]:
        """Return the documents of the latest versions as :meth:`export` does, by application.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            texts = records.list_document_texts(tx, namespace)
        return {name: _read_stored(name, text) for name, text in texts.items()}

    @requires(of_application(), Permission.ADMIN)
    def delete(self, namespace: str, name: str) -> Application:
        """Delete an application with all of its versions, and return the latest. Its runs stay.

        :raises NotFoundError: when there is none.
        :raises ConflictError: when it has active runs.
        """
        self._namespaces.require(namespace)
        active = self._active_runs(namespace, name)
        with self._store.transaction() as tx:
            found = records.find(tx, namespace, name)
            _refuse_active(name, active)
            self._remove(tx, found)
        return found

    @requires(of_application(), Permission.ADMIN)
    def delete_version(self, namespace: str, name: str, version: str | None = None) -> Application:
        """Delete one version of an application, by default the latest, and return it.

        With its last version the application is deleted.

        :raises NotFoundError: when there is none.
        :raises ConflictError: when the application has active runs.
        """
        self._namespaces.require(namespace)
        active = self._active_runs(namespace, name)
        with self._store.transaction() as tx:
            found = records.find(tx, namespace, name, version)
            _refuse_active(name, active)
            if len(records.list_versions(tx, namespace, name)) == 1:
                self._remove(tx, found)
                return found
            tx.on_commit(self._known.forget)
            records.remove_version(tx, found)
            for entity in list_entities(found):
                self._topics.publish_entity_event(tx, EntityUpdated, entity)
        return found

    def _remove_namespace(self, tx: Transaction, namespace: str) -> None:
        tx.on_commit(self._known.forget)
        records.remove_all(tx, namespace)

    def _remove(self, tx: Transaction, application: Application) -> None:
        tx.on_commit(self._known.forget)
        records.remove(tx, application.namespace, application.name)
        self._datasets.forget(tx, application.namespace, application.name)
        for entity in list_entities(application):
            self._topics.publish_entity_event(tx, EntityDeleted, entity)

    def _store_version(
        self,
        request: DeployRequest,
        name: str,
        pipeline: _DeployedPipeline,
    ) -> tuple[Application, list[DatasetChange]]:
        namespace, document = request.namespace, pipeline.document
        with self._store.transaction() as tx:
            tx.on_commit(self._known.forget)
            self._namespaces.require_in_transaction(tx, namespace)
            before = records.list_versions(tx, namespace, name)
            _require_parent(tx, request, name, before)
            application = Application(
                namespace=namespace,
                name=name,
                version=records.create_version(),
                number=before[0].number + 1 if before else 1,
                description=document.description,
                artifact=get_application_artifact(document),
                change=ChangeDetail(
                    current_principal().name, _change(request, document), _get_now_ms(), True
                ),
            )
            owner = _read_principal(document)
            changes = self._datasets.apply(tx, namespace, pipeline.datasets, name, owner)
            records.add(tx, application, pipeline.text, pipeline.spec)
            pipeline.record_lineage(tx, name)
            for entity in list_entities(application):
                kind = EntityUpdated if before else EntityCreated
                self._topics.publish_entity_event(tx, kind, entity)
        return application, changes


class _DeployedPipeline(NamedTuple):
    """What a deployment stores of a pipeline."""

    document: PipelineDocument
    text: str
    spec: PipelineSpec
    datasets: list[StageDataset]
    record_lineage: RecordLineage


class PreparedDeployment(NamedTuple):
    """A validated pipeline that was not stored yet."""

    request: DeployRequest
    answer: Deployment
    """Its errors are complete."""
    pipeline: _DeployedPipeline | None
    """None when it has errors."""


def _read_stored(name: str, text: str) -> PipelineDocument:
    """Return a deployed document, with the name of its application."""
    document = read_document(text)
    if document.name != name:
        document = read_document(rename_pipeline(document, name))
    return document


def _refuse_active(name: str, active: Sequence[str]) -> None:
    if active:
        raise ConflictError(
            f"Application '{name}' is running: {', '.join(active)}.",
            "Wait until that has ended, or stop it: localcdap stop RUN",
        )


def _require_parent(
    tx: Transaction, request: DeployRequest, name: str, before: Sequence[Application]
) -> None:
    asked = request.parent_version
    if asked is None or asked in LATEST:
        return
    parent = records.find(tx, request.namespace, name, asked)
    if not parent.change.latest:
        latest = before[0]
        raise ConflictError(
            f"Cannot deploy '{name}': its version {parent.number} ({parent.version}), which this one was "
            f"made from, is not the latest any more; that is {latest.number} ({latest.version}).",
            f"Look at what changed: localcdap diff {name}@{parent.number} {name}@{latest.number}",
        )


def _read_principal(document: PipelineDocument) -> str | None:
    """Return the owner of the datasets that the deployment creates (CDAP 6 ``AppRequest``)."""
    source: Any = document.source
    found = source.get("principal") if isinstance(source, Mapping) else None
    return found if isinstance(found, str) and found else None


def _change(request: DeployRequest, document: PipelineDocument) -> str | None:
    """Return the description of the change."""
    if request.change is not None:
        return request.change
    source: Any = document.source
    change = source.get("change") if isinstance(source, Mapping) else None
    found = change.get("description") if isinstance(change, Mapping) else None
    return found if isinstance(found, str) else None


def _get_now_ms() -> int:
    return time.time_ns() // 1_000_000
