"""The user stories of CDAP's design of datasets, by number."""

from __future__ import annotations

import json
import threading
import time

import pytest

from localcdap.api.app.transactions import TransactionKind
from localcdap.api.dataset.access import read_only, write_only
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.errors import (
    BadRequestError,
    DatasetAccessError,
    IncompatibleUpdateError,
    PluginError,
    TransactionError,
    TransactionTimeoutError,
    UnauthorizedError,
)
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.api.security import Principal
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.datasets.sql import SqlRequest
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.metadata.audit import AuditQuery, AuditType
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.security.principals import act_as
from tests.e2e.pipelines import pipeline, stage

SETTINGS = """
[security]
enabled = true
[security.privileges.admin]
"namespaces/default" = ["READ", "WRITE", "ADMIN", "EXECUTE"]
[security.privileges.reader]
"namespaces/default/datasets/kv" = ["READ"]
"""
ADMIN, READER = Principal("admin"), Principal("reader")
KV = MetadataEntity.of_dataset("kv", "default")
MODULE = """
from localcdap.api.dataset.definition import DatasetDefinition, dataset_type
from localcdap.api.errors import IncompatibleUpdateError


@dataset_type("sealed", description="Its property 'seal' does not change.")
class Sealed(DatasetDefinition):
    def reconfigure(self, name, properties, current):
        old, new = current.properties.get("seal"), properties.get("seal")
        if old != new:
            raise IncompatibleUpdateError(reasons=[f"Attempt to break the seal from {old} to {new}"])
        return super().reconfigure(name, properties, current)
"""
ID = ("id", Schema.LONG)


def record(*fields):
    return str(Schema.record("r", [ID, *fields]))


@pytest.fixture(scope="module")
def cdap(tmp_path_factory, fresh_home):
    home = Home(fresh_home(tmp_path_factory.mktemp("stories")))
    home.settings_file.write_text(SETTINGS, encoding="utf-8")
    plugins = home.path / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "sealed-1.0.0.py").write_text(MODULE, encoding="utf-8")
    with open_in_process(home) as cdap, act_as(ADMIN):
        cdap.datasets.create(DatasetRequest("kv", "keyValueTable"))
        yield cdap


def in_kv(cdap, body, **how):
    return cdap.transactions.run(lambda tx: body(tx.dataset("kv")), **how)


def load(name, schema):
    """A pipeline that writes a table."""
    source = stage(
        "in", "batchsource", "File", referenceName="in", path="in.csv", format="csv", schema=schema
    )
    sink = stage("out", "batchsink", "Table", schema=schema, schema__row__field="id")
    sink["plugin"]["properties"] = {"name": name, "schema": schema, "schema.row.field": "id"}
    return json.dumps(pipeline([source, sink], ("in", "out")) | {"name": f"load_{name}"})


def test_1_access_is_restricted_by_its_type(cdap):
    in_kv(cdap, lambda kv: kv.write(b"a", b"1"))
    with act_as(READER):
        assert in_kv(cdap, lambda kv: kv.read(b"a")) == b"1"
        with pytest.raises(UnauthorizedError):
            in_kv(cdap, lambda kv: kv.write(b"a", b"2"))


def test_2_a_custom_class_says_what_its_methods_do(cdap):
    class Notes(Dataset):
        @write_only
        def add(self, key, text):
            self._open_table().write([{"key": key, "value": text}])

        @read_only
        def steal(self):
            self._open_table().delete([])

    def use(tx):
        opened = tx.dataset("kv")
        notes = Notes(opened.context, opened.specification)
        notes.add(b"n", b"note")
        with pytest.raises(DatasetAccessError):
            notes.steal()
        return opened.read(b"n")

    assert cdap.transactions.run(use) == b"note"


def test_3_lineage_and_audit_tell_reading_from_writing(cdap):
    in_kv(cdap, lambda kv: kv.increment(b"n3", 1))
    found = cdap.audit.list_messages(AuditQuery(entity=KV, types=[AuditType.ACCESS]))
    assert {each.payload["accessType"] for each in found} == {"READ", "WRITE"}


def test_4_an_incompatible_schema_is_refused(cdap):
    cdap.datasets.create(DatasetRequest("four", "table", {"schema": record(("n", Schema.LONG))}))
    for wrong in (record(), record(("n", Schema.STRING)), record(("m", Schema.LONG))):
        with pytest.raises(IncompatibleUpdateError):
            cdap.datasets.update(DatasetUpdate("four", {"schema": wrong}))
    wider = record(("n", Schema.DOUBLE.as_nullable), ("more", Schema.STRING.as_nullable))
    with pytest.raises(IncompatibleUpdateError):  # a long does not fit a double
        cdap.datasets.update(DatasetUpdate("four", {"schema": wider}))
    wider = record(("n", Schema.LONG.as_nullable), ("more", Schema.STRING.as_nullable))
    cdap.datasets.update(DatasetUpdate("four", {"schema": wider}))


def test_5_a_type_checks_what_is_compatible(cdap):
    cdap.datasets.create(DatasetRequest("five", "sealed", {"seal": "red"}))
    with pytest.raises(IncompatibleUpdateError) as caught:
        cdap.datasets.update(DatasetUpdate("five", {"seal": "blue"}))
    assert caught.value.reasons == ["Attempt to break the seal from red to blue"]
    assert cdap.datasets.describe("default", "five").properties == {"seal": "red"}


def test_6_a_redeployment_updates_datasets_or_fails_whole(cdap):
    def deploy(*fields):
        return cdap.applications.deploy(DeployRequest(load("six", record(*fields))))

    assert deploy(("n", Schema.INT.as_nullable)).application is not None
    changed = deploy(("n", Schema.LONG.as_nullable), ("x", Schema.STRING.as_nullable))
    assert [each.name for each in changed.datasets] == ["six"]
    refused = deploy(("n", Schema.STRING.as_nullable), ("x", Schema.STRING.as_nullable))
    assert refused.application is None
    assert {each.stage for each in refused.errors} == {"out"}
    assert cdap.applications.describe("default", "load_six").number == 2
    schema = cdap.datasets.describe("default", "six").schema
    assert schema.field("n").schema == Schema.LONG.as_nullable


def test_7_a_first_deployment_fails_when_the_dataset_is_another_one(cdap):
    cdap.datasets.create(DatasetRequest("seven", "cube"))
    refused = cdap.applications.deploy(DeployRequest(load("seven", record(("n", Schema.LONG)))))
    text = "Existing dataset 'seven' of type 'cube' may not be updated to type 'table'"
    assert refused.application is None
    assert [each.message for each in refused.errors] == [text]


def test_8_a_schema_is_declared_once(cdap):
    given = {"schema": record(("name", Schema.STRING.as_nullable)), "schema.row.field": "id"}
    cdap.datasets.create(DatasetRequest("eight", "table", given))
    cdap.transactions.run(lambda tx: tx.dataset("eight").write({"id": 1, "name": "x"}))
    assert cdap.sql.query(SqlRequest("FROM eight")).to_table().to_pylist() == [
        {"id": 1, "name": "x"}
    ]
    assert cdap.tables.read_shapes("default")["eight"].schema.field_names == ["id", "name"]
    found = cdap.metadata.get(MetadataEntity.of_dataset("eight", "default")).system
    assert [each["name"] for each in json.loads(found.properties["schema"])["fields"]] == [
        "id",
        "name",
    ]


def test_9_a_program_controls_the_time_of_its_transactions(cdap):
    def slow(kv):
        time.sleep(0.4)
        return kv.read(b"a")

    with pytest.raises(TransactionTimeoutError):
        in_kv(cdap, slow, timeout_s=0.2)
    in_kv(cdap, slow, kind=TransactionKind.LONG)
    in_kv(cdap, slow, timeout_s=60)
    with pytest.raises(BadRequestError, match="must not exceed the transaction timeout limit"):
        in_kv(cdap, slow, timeout_s=601)


def test_10_transactions_run_asynchronously(cdap):
    threads = []

    def body(tx):
        threads.append(threading.current_thread())
        return tx.dataset("kv").increment(b"ten", 1)

    waiting = [cdap.transactions.submit(body) for _ in range(3)]
    assert sorted(each.result(60) for each in waiting) == [1, 2, 3]
    assert threading.main_thread() not in threads


def test_11_a_file_set_needs_no_transaction(cdap):
    cdap.datasets.create(DatasetRequest("eleven", "fileSet"))
    files = cdap.transactions.dataset("eleven")
    with files.open_output("a.txt") as file:
        file.write(b"x")
    assert files.list_files() == ["a.txt"]
    with pytest.raises(TransactionError, match="without a transaction"):
        cdap.transactions.dataset("kv").read(b"a")


def test_12_lookups_are_read_only_transactions(cdap):
    in_kv(cdap, lambda kv: kv.write(b"12", b"x"))
    attempts = []

    def look(kv):
        attempts.append(1)
        before = kv.read(b"12")
        other = threading.Thread(target=write)
        other.start()
        other.join(60)
        return before, kv.read(b"12")

    def write():
        with act_as(ADMIN):
            in_kv(cdap, lambda kv: kv.write(b"12", b"y"))

    assert in_kv(cdap, look, kind=TransactionKind.READ_ONLY) == (b"x", b"x")
    assert len(attempts) == 1
    assert in_kv(cdap, lambda kv: kv.read(b"12")) == b"y"
    with pytest.raises(TransactionError, match="read-only"):
        in_kv(cdap, lambda kv: kv.write(b"12", b"z"), kind=TransactionKind.READ_ONLY)


def test_user_code_that_fails_leaves_the_dataset(cdap):
    broken = MODULE.replace("sealed", "broken").replace("super().reconfigure", "self.nothing")
    place = cdap.artifacts.get_plugin_folder("default")
    with open(f"{place}/broken-1.0.0.py", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(broken)
    cdap.artifacts.sync()
    cdap.datasets.create(DatasetRequest("broken", "broken", {"seal": "red"}))
    with pytest.raises(PluginError, match="nothing"):
        cdap.datasets.update(DatasetUpdate("broken", {"seal": "red", "more": "x"}))
    assert cdap.datasets.describe("default", "broken").properties == {"seal": "red"}
