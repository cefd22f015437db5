"""A pipeline as Data Fusion exports it: buckets, recipes, a join, BigQuery. It validates, and it runs."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.datasets.sql import SqlRequest
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

CUSTOMERS = "id,name,country\n1,Ann,de\n2,Bob,fr\n3,Cid,de\n"
ORDERS = (
    "order_id,customer,amount,day\n"
    "10,1,12.50,2026-01-02\n11,1,7.25,2026-01-03\n12,2,99.00,2026-01-03\n13,9,1.00,2026-01-04\n"
)


def schema(*fields: tuple[str, Any]) -> str:
    made = [{"name": name, "type": [type, "null"]} for name, type in fields]
    return json.dumps({"type": "record", "name": "etlSchemaBody", "fields": made})


BODY = json.dumps(
    {"type": "record", "name": "text", "fields": [{"name": "body", "type": "string"}]}
)
DAY = {"type": "int", "logicalType": "date"}
CUSTOMER = schema(("id", "int"), ("name", "string"), ("country", "string"))
ORDER = schema(("order_id", "int"), ("customer", "int"), ("amount", "double"), ("day", DAY))
JOINED = schema(
    ("order_id", "int"),
    ("name", "string"),
    ("country", "string"),
    ("amount", "double"),
    ("day", DAY),
)
ACCOUNT = {
    "useConnection": "false",
    "project": "auto-detect",
    "serviceAccountType": "filePath",
    "serviceFilePath": "auto-detect",
}


def stage(name: str, type: str, plugin: str, artifact: str, **properties: str) -> dict[str, Any]:
    reference = {"name": artifact, "version": "0.22.0", "scope": "SYSTEM"}
    used = {"name": plugin, "type": type, "label": name, "artifact": reference}
    made = {"name": name, "plugin": used | {"properties": properties}}
    shown = properties.get("schema")
    outputs = [{"name": "etlSchemaBody", "schema": shown}] if shown else []
    return made | {"outputSchema": outputs, "id": name, "type": type, "label": name}


def bucket(name: str, path: str) -> dict[str, Any]:
    return stage(
        name,
        "batchsource",
        "GCSFile",
        "google-cloud",
        **ACCOUNT,
        referenceName=name,
        path=path,
        format="text",
        sampleSize="1000",
        skipHeader="true",
        filenameOnly="false",
        recursive="false",
        encrypted="false",
        schema=BODY,
    )


def wrangler(name: str, directives: str, made: str) -> dict[str, Any]:
    return stage(
        name,
        "transform",
        "Wrangler",
        "wrangler-transform",
        field="*",
        precondition="false",
        directives=directives,
        workspaceId="b0564dfc",
        schema=made,
        **{"on-error": "fail-pipeline"},
    )


READ_CUSTOMERS = """parse-as-csv :body ',' false
drop :body
set-headers :id,:name,:country
set-type :id integer
uppercase :country"""
READ_ORDERS = """parse-as-csv :body ',' false
drop :body
set-headers :order_id,:customer,:amount,:day
set-type :order_id integer
set-type :customer integer
set-type :amount double
parse-as-simple-date :day yyyy-MM-dd
set-column day day.toLocalDate()"""


def join() -> dict[str, Any]:
    return stage(
        "Join",
        "batchjoiner",
        "Joiner",
        "core-plugins",
        selectedFields="Orders.order_id as order_id,Customers.name as name,Customers.country as country,"
        "Orders.amount as amount,Orders.day as day",
        requiredInputs="Orders",
        conditionType="basic",
        joinKeys="Orders.customer = Customers.id",
        joinNullKeys="true",
        distributionEnabled="false",
        schema=JOINED,
    )


def table() -> dict[str, Any]:
    return stage(
        "BigQuery",
        "batchsink",
        "BigQueryTable",
        "google-cloud",
        **ACCOUNT,
        referenceName="orders",
        dataset="sales",
        table="orders",
        operation="upsert",
        relationTableKey="order_id",
        location="US",
        allowSchemaRelaxation="false",
        createPartitionedTable="true",
        partitioningType="TIME",
        timePartitioningType="DAY",
        partitionByField="day",
        schema=JOINED,
    )


def export() -> dict[str, Any]:
    stages = [
        bucket("CustomerFiles", "gs://shop/customers.csv"),
        bucket("OrderFiles", "gs://shop/orders/*.csv"),
        wrangler("Customers", READ_CUSTOMERS, CUSTOMER),
        wrangler("Orders", READ_ORDERS, ORDER),
        join(),
        table(),
    ]
    connections = [
        ("CustomerFiles", "Customers"),
        ("OrderFiles", "Orders"),
        ("Customers", "Join"),
        ("Orders", "Join"),
        ("Join", "BigQuery"),
    ]
    return {
        "name": "Sales",
        "description": "",
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"},
        "config": {
            "resources": {"memoryMB": 2048, "virtualCores": 1},
            "driverResources": {"memoryMB": 2048, "virtualCores": 1},
            "connections": [{"from": a, "to": b} for a, b in connections],
            "comments": [],
            "postActions": [],
            "properties": {},
            "processTimingEnabled": True,
            "stageLoggingEnabled": False,
            "stages": stages,
            "schedule": "0 1 */1 * *",
            "engine": "spark",
            "numOfRecordsPreview": 100,
            "maxConcurrentRuns": 1,
        },
    }


@pytest.fixture
def instance(tmp_path: Path):
    with TemporaryInstance(tmp_path / "instance") as made:
        made.settings('[locations]\n"gs://shop" = "buckets/shop"\n')
        folder = made.home.path / "buckets" / "shop"
        (folder / "orders").mkdir(parents=True)
        (folder / "customers.csv").write_text(CUSTOMERS)
        (folder / "orders" / "january.csv").write_text(ORDERS)
        yield made


@pytest.mark.slow
@pytest.mark.spark
def test_it_validates_runs_and_runs_again(instance, cdap_engine_directory):
    document = json.dumps(export())
    request = PipelineRequest(document, connected=True, use_suggested=True)
    assert instance.cdap.studio.validate_pipeline(request).errors == []
    applications = instance.cdap.applications
    deployed = applications.deploy(DeployRequest(document, fix=True))
    assert deployed.errors == []
    document = applications.export("default", deployed.name)

    assert instance.run(document).error is None
    more = instance.home.path / "buckets" / "shop" / "orders" / "february.csv"
    more.write_text("order_id,customer,amount,day\n11,1,8.00,2026-01-03\n14,3,5.00,2026-02-01\n")
    (more.parent / "january.csv").unlink()
    assert instance.run(document).error is None

    found = instance.cdap.sql.query(SqlRequest('SELECT * FROM "sales.orders" ORDER BY order_id'))
    first, third = datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)
    assert [tuple(row.values()) for row in found.to_table().to_pylist()] == [
        (10, "Ann", "DE", 12.5, first),
        (11, "Ann", "DE", 8.0, third),
        (12, "Bob", "FR", 99.0, third),
        (13, None, None, 1.0, datetime.date(2026, 1, 4)),
        (14, "Cid", "DE", 5.0, datetime.date(2026, 2, 1)),
    ]
