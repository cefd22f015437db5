"""The owners of datasets: their principals, and those of namespaces."""

from __future__ import annotations

import json

import pytest

from localcdap.api.errors import BadRequestError, UnauthorizedError
from localcdap.api.security import SYSTEM_PRINCIPAL, Principal
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.datasets.sql import SqlRequest
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.security.principals import act_as
from tests.e2e.pipelines import pipeline, stage

SETTINGS = """
[security]
enabled = true
[security.privileges.admin]
"*" = ["READ", "WRITE", "ADMIN"]
[security.privileges.maker]
"namespaces/sales/datasets/made" = ["ADMIN"]
[security.privileges.deployer]
"namespaces/sales/datasets/made" = ["ADMIN"]
"namespaces/sales/apps/lines" = ["ADMIN"]
"""
PARTS = {"partitioning.fields.": "day", "partitioning.field.day": "STRING"}
LINE = (
    '{"type":"record","name":"line","fields":'
    '[{"name":"body","type":"string"},{"name":"size","type":"int"}]}'
)
ADMIN, MAKER, DEPLOYER = Principal("admin"), Principal("maker"), Principal("deployer")
SELLER, BUYER, ADA = Principal("seller"), Principal("buyer"), Principal("ada")


@pytest.fixture(scope="module")
def cdap(tmp_path_factory, fresh_home):
    home = Home(fresh_home(tmp_path_factory.mktemp("owned")))
    home.settings_file.write_text(SETTINGS, encoding="utf-8")
    with open_in_process(home) as cdap, act_as(ADMIN):
        cdap.namespaces.create("sales", config={"principal": "seller"})
        cdap.namespaces.create("free")
        yield cdap


@pytest.fixture
def create(cdap):
    """Creates a key-value table for the time of a test."""
    made = []

    def create(name, namespace="sales", principal=None, by=ADMIN):
        request = DatasetRequest(
            name, "keyValueTable", namespace=namespace, description=None, principal=principal
        )
        with act_as(by):
            cdap.datasets.create(request)
        made.append((namespace, name))

    yield create
    with act_as(ADMIN):
        for namespace, name in made:
            cdap.datasets.drop(namespace, name)


def write(cdap, who, name, namespace="sales"):
    with act_as(who):
        cdap.transactions.run(
            lambda tx: tx.dataset(name, namespace=namespace).write(b"key", b"value")
        )


def find_owner(cdap, name, namespace="sales"):
    return cdap.datasets.describe(namespace, name).principal


def test_a_dataset_without_a_principal_belongs_to_that_of_its_namespace(cdap, create):
    create("orders", by=SYSTEM_PRINCIPAL)  # as an application does
    create("orders", namespace="free", by=SYSTEM_PRINCIPAL)
    assert (find_owner(cdap, "orders"), find_owner(cdap, "orders", "free")) == ("seller", None)

    write(cdap, SELLER, "orders")
    with act_as(SELLER):
        rows = cdap.sql.query(SqlRequest("SELECT * FROM orders", namespace="sales")).rows
        cdap.datasets.update(DatasetUpdate("orders", {"dataset.table.ttl": "5"}, "sales"))
        assert [each.name for each in cdap.datasets.list_datasets("sales")] == ["orders"]
    assert rows == 1
    with pytest.raises(UnauthorizedError):
        write(cdap, SELLER, "orders", "free")


def test_a_dataset_with_a_principal_belongs_to_it_alone(cdap, create):
    create("bought", principal="buyer")
    create("orders")
    write(cdap, BUYER, "bought")
    for who, name in ((SELLER, "bought"), (BUYER, "orders"), (ADA, "bought")):
        with pytest.raises(UnauthorizedError):
            write(cdap, who, name)
    with act_as(BUYER):
        seen = [each.name for each in cdap.datasets.list_datasets("sales")]
        cdap.datasets.truncate("sales", "bought")
    assert seen == ["bought"]


def test_the_parts_of_a_dataset_are_its_own_in_sql(cdap):
    request = DatasetRequest(
        "parts", "partitionedFileSet", PARTS, namespace="sales", principal="buyer"
    )
    cdap.datasets.create(request)
    sql = SqlRequest('SELECT count(*) FROM "parts.partitions"', namespace="sales")
    with act_as(BUYER):
        assert cdap.sql.query(sql).rows == 1
        cdap.datasets.drop("sales", "parts")
    cdap.datasets.create(request)
    with act_as(MAKER), pytest.raises(UnauthorizedError, match="dataset:sales.parts'"):
        cdap.sql.query(sql)
    cdap.datasets.drop("sales", "parts")


def test_an_owner_does_not_change_with_an_update(cdap, create):
    create("bought", principal="buyer")
    cdap.datasets.update(DatasetUpdate("bought", {"dataset.table.ttl": "5"}, "sales"))
    assert find_owner(cdap, "bought") == "buyer"


def test_a_new_user_of_the_namespace_owns_what_is_in_it_at_once(cdap, create):
    create("orders")
    write(cdap, SELLER, "orders")
    cdap.namespaces.update("sales", config={"principal": "ada"})
    try:
        write(cdap, ADA, "orders")
        with pytest.raises(UnauthorizedError):
            write(cdap, SELLER, "orders")
    finally:
        cdap.namespaces.update("sales", config={"principal": "seller"})


def test_a_dropped_dataset_leaves_no_owner(cdap):
    request = DatasetRequest("gone", "keyValueTable", namespace="free", principal="buyer")
    cdap.datasets.create(request)
    with act_as(BUYER):
        cdap.datasets.drop("free", "gone")
        with pytest.raises(UnauthorizedError):
            cdap.datasets.create(request)


def deploy(cdap, principal, by):
    source = stage(
        "in", "batchsource", "File", referenceName="in", path="x", format="csv", schema=LINE
    )
    table = {"name": "made", "schema": LINE, "schema.row.field": "body"}
    out = stage("out", "batchsink", "Table", **table)
    document = pipeline([source, out], ("in", "out")) | {"principal": principal}
    with act_as(by):
        answer = cdap.applications.deploy(DeployRequest(json.dumps(document), "sales", "lines"))
    assert answer.application is not None, answer.errors[0].message


def test_the_principal_of_a_deployment_owns_what_it_creates(cdap):
    with pytest.raises(UnauthorizedError, match="namespace:sales"):
        deploy(cdap, "buyer", DEPLOYER)
    assert not cdap.datasets.has_dataset("sales", "made")
    deploy(cdap, "buyer", ADMIN)
    deploy(cdap, "ada", ADMIN)
    assert find_owner(cdap, "made") == "buyer", "an owner does not change"
    cdap.applications.delete("sales", "lines")
    cdap.datasets.drop("sales", "made")


def test_only_who_administrates_the_namespace_gives_datasets_away(cdap, create):
    with act_as(MAKER), pytest.raises(UnauthorizedError, match="namespace:sales"):
        create("made", principal="buyer", by=MAKER)
    create("made", principal="maker", by=MAKER)
    write(cdap, MAKER, "made")
    assert find_owner(cdap, "made") == "maker"


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
def test_a_principal_has_a_name(cdap, create, name):
    with pytest.raises(BadRequestError, match="must be the name of a user"):
        create("unnamed", principal=name)
