"""Which service methods are checked with what, which are open to all, and the checks in a whole instance."""

from __future__ import annotations

from collections import defaultdict

import pytest

from localcdap.api.errors import UnauthorizedError
from localcdap.api.security import Principal
from localcdap.datasets.sql import SqlRequest
from localcdap.engine.messages.host import StatementBatch
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.host.service_table import SERVICES
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import read_host_record
from localcdap.rpc.methods import list_method_names
from localcdap.runs.model import RunRequest
from localcdap.security.access import describe_access
from localcdap.security.principals import act_as, get_process_user

CHECKED = {
    "ADMIN on application of the request or its document": "applications.deploy",
    "ADMIN on application or namespace of {level}, or namespace system": (
        "preferences.delete preferences.replace preferences.update"
    ),
    "ADMIN on application {namespace}/{name}": "applications.delete applications.delete_version",
    "ADMIN on application {namespace}/{application}": (
        "schedules.add schedules.delete schedules.update"
    ),
    "EXECUTE on application {namespace}/{application}": "schedules.enable schedules.suspend",
    "any on application {namespace}/{application}": (
        "schedules.get schedules.list_next_runtimes schedules.list_previous_runtimes"
    ),
    "ADMIN on dataset {namespace}/{name}": (
        "datasets.drop datasets.truncate datasets.upgrade tables.drop"
    ),
    "ADMIN on dataset {request.namespace}/{request.name}": "datasets.create",
    "ADMIN on dataset {update.namespace}/{update.name}": "datasets.update",
    "ADMIN on namespace of {path}": "artifacts.put_back artifacts.remove",
    "ADMIN on namespace system": (
        "apps.scale apps.stop audit.prune database.back_up messaging.forget_listener "
        "messaging.save_listener_position messaging.skip_event "
        "oauth.delete_provider oauth.exchange_code oauth.put_provider "
        "structured-tables.create_or_update structured-tables.drop"
    ),
    "ADMIN on namespace {namespace}": (
        "connections.delete connections.load connections.put dataset-modules.add "
        "dataset-modules.delete dataset-modules.delete_all messaging.create_topic "
        "messaging.delete_topic recordings.remove_recording recordings.set_recording runs.prune "
        "schedules.enable_again secure-keys.delete secure-keys.put sync.forget sync.record "
        "templates.delete templates.save"
    ),
    "ADMIN on namespace {order.namespace}": "sync.apply",
    "ADMIN on namespace {name}": "namespaces.create namespaces.delete namespaces.update",
    "EXECUTE on application of the request, or for a file its namespace": "runs.start",
    "EXECUTE on application of {address}": "apps.call_at",
    "EXECUTE on application of {run}": "runs.stop",
    "EXECUTE on application system/{name}": "apps.call",
    "EXECUTE on namespace {call.namespace}": "methods.call",
    "EXECUTE on namespace {namespace}": (
        "connectors.test connectors.test_stored methods.end_session previews.get "
        "previews.list_previews previews.stop previews.wait runs.warm_up"
    ),
    "EXECUTE on namespace {query.namespace}": "paths.list_entries paths.peek",
    "EXECUTE on namespace {request.namespace}": "cases.start debugging.debug previews.start",
    "READ WRITE on namespace system": "transactions.get_specification",
    "READ WRITE on namespace system, for a structured table": "transactions.perform",
    "READ on application or namespace of {level}, or namespace system": (
        "preferences.get preferences.get_sequence preferences.resolve"
    ),
    "WRITE on dataset {namespace}/{declaration.name}": "run-datasets.declare",
    "READ on dataset {namespace}/{name}": "tables.export tables.read_rows",
    "READ on entity or namespace of {query}, or namespace system": "audit.list_messages",
    "READ on each namespace of {namespaces}": "statistics.read_dashboard",
    "READ on each namespace of {request.namespaces}": "statistics.read_overview",
    "READ on namespace system": (
        "metadata.list_set_aside oauth.get_login_url oauth.get_recent_token oauth.get_token oauth.is_valid"
    ),
    "READ on namespace {namespace}": (
        "connections.find connections.get connections.get_properties connectors.browse "
        "connectors.read_page connectors.sample connectors.specify messaging.fetch metadata.export "
        "openlineage.list_job_events openlineage.list_run_events preferences.find_origins "
        "preferences.list_levels preferences.resolve_for_pipeline runs.list_by_pipeline runs.list_page "
        "schedules.list_planned secure-keys.get sync.list_synchronized"
    ),
    "READ on namespace {request.namespace}": "sync.plan",
    "WRITE on namespace {namespace}": (
        "client-documents.delete client-documents.put drafts.delete drafts.restore drafts.save "
        "messaging.publish"
    ),
    "WRITE on the entities of {metadata}": "metadata.import_all",
    "WRITE on {entity}": "metadata.add metadata.remove metadata.remove_all",
    "any on {dataset}": (
        "lineage.describe lineage.get lineage.get_dataset_field_lineage lineage.get_field_lineage "
        "lineage.get_field_operations lineage.list_fields lineage.trace_datasets lineage.trace_fields"
    ),
    "any on {entity}": "metadata.get",
    "any on application of {run}": (
        "runs.drain_spool runs.find_in_log runs.find_log_row runs.get runs.get_document "
        "runs.get_log_line runs.group_errors runs.read_log runs.read_log_outline "
        "runs.read_log_page "
        "runs.read_alerts runs.read_profiles runs.summarize_log runs.wait runs.wait_for_end "
        "runs.wait_for_log statistics.classify statistics.compare statistics.list_around"
    ),
    "any on application {namespace}/{pipeline}": "statistics.read_statistics",
    "any on application {namespace}/{name}": (
        "applications.describe applications.export applications.find applications.has_application "
        "applications.list_versions"
    ),
    "any on dataset {namespace}/{name}": "datasets.describe datasets.has_dataset",
    "any on dataset {namespace}/{name}; shows what is visible": "datasets.list_usage",
    "any on dataset {update.namespace}/{update.name}": "datasets.check_update",
    "any on namespace of {path}": "artifacts.trace",
    "any on namespace system": (
        "openlineage.list_destinations structured-tables.exists structured-tables.get_schema "
        "structured-tables.list_tables"
    ),
    "any on namespace {namespace}": (
        "artifacts.find_dataset_type artifacts.list_dataset_types artifacts.list_modules "
        "client-documents.find client-documents.list_documents "
        "dataset-modules.list_modules "
        "jobs.list_jobs artifacts.find_plugin artifacts.get_plugin artifacts.get_plugin_folder "
        "artifacts.list_artifacts artifacts.list_capabilities "
        "artifacts.list_capability_warnings artifacts.list_hidden artifacts.list_plugins "
        "artifacts.read_documentation connections.list_connections connectors.list_types datasets.list_types "
        "drafts.export drafts.get "
        "drafts.list_drafts drafts.list_revisions impact.find_readers messaging.describe_topic "
        "messaging.list_topics recordings.list_recordings runs.get_arguments runs.list_profiles "
        "secure-keys.describe secure-keys.list_keys sql.read_rows studio.find_ignored_properties "
        "tables.read_shapes "
        "templates.get templates.list_templates"
    ),
    "any on namespace {namespace}; shows what is visible": (
        "applications.list_applications applications.list_page datasets.list_datasets "
        "lineage.list_datasets lineage.list_recent runs.list_runs schedules.list_events schedules.list_jobs "
        "schedules.list_schedules schedules.list_triggered_by tables.list_tables"
    ),
    "EXECUTE on namespace of job {id}": "jobs.stop",
    "any on namespace of job {id}": "jobs.get jobs.read_log jobs.wait",
    "any on namespace {name}": "namespaces.describe",
    "any on namespace {request.namespace}": (
        "editing.open impact.assess impact.trace_field sql.query studio.validate_pipeline "
        "studio.validate_pipeline_stage "
        "studio.validate_stage"
    ),
    "any on namespace {statements.namespace}; WRITE on changed datasets of {statements}": (
        "table-statements.carry_out"
    ),
    "shows what is visible": "namespaces.list_namespaces sql.list_tables",
}
"""Methods by what they require."""
INTERNAL = {
    "applications.list_specs_with",
    "applications.prepare",
    "applications.read_latest",
    "applications.store_prepared",
    "artifacts.get_path_namespace",
    "cases.are_active",
    "cases.close",
    "editing.close_all",
    "editing.refresh_soon",
    "jobs.are_active",
    "jobs.are_waiting",
    "jobs.close",
    "jobs.resume",
    "jobs.submit",
    "metadata.apply_emitted",
    "metadata.check_emitted",
    "namespaces.exists_in_transaction",
    "namespaces.list_principals",
    "namespaces.register_resource",
    "namespaces.require_generation",
    "namespaces.require_in_transaction",
    "namespaces.resume",
    "previews.are_active",
    "previews.close",
    "runs.are_active",
    "runs.are_starting",
    "runs.close",
    "runs.finish_starting",
    "runs.list_active",
    "runs.resume",
    "schedules.are_active",
    "transactions.close",
}
"""Methods that only the host itself calls; a caller is refused while privileges are checked."""


def test_every_service_method_is_checked_or_says_why_not():
    found, internal = defaultdict(set), set()
    for name, entry in SERVICES.items():
        if name == "table-exports":  # the service of tables, under the name that runs use
            continue
        for method in list_method_names(entry.service):
            access = describe_access(entry.service, method)
            if access is None:
                internal.add(f"{name}.{method}")
            elif not access.startswith("open: "):
                found[access].add(f"{name}.{method}")

    assert dict(found) == {access: set(names.split()) for access, names in CHECKED.items()}
    assert internal == INTERNAL


SETTINGS = """
[security]
enabled = true

[security.privileges.alice]
"namespaces/default" = ["READ"]
"namespaces/default/datasets/orders" = "write"

[security.privileges.bob]
"namespaces/default/datasets/orders" = ["READ"]
"namespaces/default/apps/Load" = ["ADMIN", "EXECUTE"]

[security.privileges.root]
"*" = ["READ", "WRITE", "EXECUTE", "ADMIN"]
"""
ALICE, BOB, ROOT = Principal("alice"), Principal("bob"), Principal("root")
DOCUMENT = {
    "name": "Load",
    "artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"},
    "config": {"stages": [], "connections": []},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory, fresh_home):
    home = Home(fresh_home(tmp_path_factory.mktemp("guarded")))
    home.settings_file.write_text(SETTINGS)
    return home


@pytest.fixture(scope="module")
def cdap(home):
    with open_in_process(home) as cdap:
        with act_as(ROOT):
            for table in ("orders", "people"):
                cdap.table_statements.carry_out(make_table(table))
        yield cdap


def make_table(name):

    return StatementBatch("default", [f"CREATE TABLE {name} AS SELECT 1 AS n"], [name])


def query(cdap, sql):
    return cdap.sql.query(SqlRequest(sql)).to_table().to_pylist()


def test_tables_are_checked_one_by_one(cdap):
    with act_as(BOB):
        assert cdap.tables.read_rows("default", "orders", 5).rows == [[1]]
        assert [each.name for each in cdap.tables.list_tables("default")] == ["orders"]
        assert [each.name for each in cdap.sql.list_tables("default")] == ["orders"]
        with pytest.raises(UnauthorizedError, match="'READ' on entity 'dataset:default.people'"):
            cdap.tables.read_rows("default", "people", 5)
        with pytest.raises(UnauthorizedError, match="'ADMIN' on entity 'dataset:default.orders'"):
            cdap.tables.drop("default", "orders")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM people",
        "SELECT n FROM orders JOIN people USING (n)",
        "WITH p AS (FROM people) SELECT count(*) FROM p",
        "FROM query_table('people')",
        "FROM query('SELECT n FROM people')",
        'SELECT (SELECT max(n) FROM "default".people)',
        "DESCRIBE people",
        "SUMMARIZE people",
    ],
)
def test_a_query_reads_only_what_its_user_may_read(cdap, sql):
    with act_as(BOB):
        with pytest.raises(UnauthorizedError, match="'READ' on entity 'dataset:default.people'"):
            query(cdap, sql)
        assert query(cdap, "SELECT n FROM orders") == [{"n": 1}]
    with act_as(ALICE):
        assert len(query(cdap, sql)) > 0


def test_statements_change_and_read_what_their_user_may(cdap):

    with act_as(ALICE):
        cdap.table_statements.carry_out(
            StatementBatch("default", ["INSERT INTO orders FROM people LIMIT 0"], ["orders"])
        )
        with pytest.raises(UnauthorizedError, match="'WRITE' on entity 'dataset:default.people'"):
            cdap.table_statements.carry_out(
                StatementBatch("default", ["DELETE FROM people"], ["people"])
            )
    with act_as(BOB), pytest.raises(UnauthorizedError):
        cdap.table_statements.carry_out(
            StatementBatch("default", ["SELECT count(*) FROM people"], [])
        )


def test_pipelines_are_checked_by_name(cdap):
    with act_as(BOB):
        assert cdap.applications.deploy(DeployRequest(DOCUMENT)).errors  # it has no stages
        with pytest.raises(
            UnauthorizedError, match="'ADMIN' on entity 'application:default.Other'"
        ):
            cdap.applications.deploy(DeployRequest({**DOCUMENT, "name": "Other"}))
        with pytest.raises(UnauthorizedError, match="'EXECUTE' on entity 'namespace:default'"):
            cdap.runs.start(RunRequest(DOCUMENT))
        with pytest.raises(UnauthorizedError, match="'WRITE' on entity 'namespace:default'"):
            cdap.drafts.save("default", DraftRequest(DOCUMENT))
    with act_as(ALICE), pytest.raises(UnauthorizedError, match="application:default.Load"):
        cdap.applications.delete("default", "Load")


def test_namespaces_are_shown_and_changed_by_those_who_may(cdap):
    with act_as(BOB):
        assert [each.name for each in cdap.namespaces.list_namespaces()] == ["default"]
        with pytest.raises(UnauthorizedError, match="'ADMIN' on entity 'namespace:team'"):
            cdap.namespaces.create("team")
    with act_as(Principal("nobody")):
        assert cdap.namespaces.list_namespaces() == []
        with pytest.raises(UnauthorizedError, match="to access entity 'namespace:default'"):
            cdap.namespaces.describe("default")
    with act_as(ROOT):
        assert cdap.namespaces.create("team").created
        cdap.namespaces.delete("team")


def test_a_client_acts_as_the_user_that_it_names(home, cdap):
    record = read_host_record(home.path)
    assert record is not None
    with Client(record) as client:
        security = client.make_proxy("security", SERVICES["security"].service)
        tables = client.make_proxy("tables", SERVICES["tables"].service)
        runs = client.make_proxy("runs", SERVICES["runs"].service)

        assert security.describe().principal == Principal(get_process_user())
        with act_as(BOB):
            assert security.describe().principal == BOB
            assert tables.read_rows("default", "orders", 5).rows == [[1]]
            with pytest.raises(UnauthorizedError, match="Principal 'bob'"):
                tables.read_rows("default", "people", 5)
            with pytest.raises(
                UnauthorizedError, match="Only localcdap itself calls RunService.close"
            ):
                runs.close()


def test_a_privilege_that_is_taken_away_ends_at_once(home, cdap):
    with act_as(BOB):
        assert cdap.tables.read_rows("default", "orders", 5).rows == [[1]]
        home.settings_file.write_text(SETTINGS.replace('orders" = ["READ"]', 'orders" = []'))
        try:
            with pytest.raises(UnauthorizedError):
                cdap.tables.read_rows("default", "orders", 5)
            home.settings_file.write_text("[security]\nenabled = 'perhaps'")
            with pytest.raises(UnauthorizedError):
                cdap.tables.read_rows("default", "orders", 5)
            assert "localcdap.toml:2: security.enabled" in (cdap.security.describe().problem or "")
        finally:
            home.settings_file.write_text(SETTINGS)
        assert cdap.tables.read_rows("default", "orders", 5).rows == [[1]]
