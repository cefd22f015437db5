"""Pipelines for tests, of the shipped plugins."""

from __future__ import annotations

import json


def stage(name, type, plugin, artifact="core-plugins", **properties):
    return {
        "name": name,
        "plugin": {
            "name": plugin,
            "type": type,
            "artifact": {"name": artifact, "version": "[1.0.0,9.0.0)", "scope": "SYSTEM"},
            "properties": properties,
        },
    }


def pipeline(stages, links="", name="orders", **config):
    """A document; ``links`` as ``a>b b>c``."""
    connections = [
        dict(zip(("from", "to"), link.split(">"), strict=True)) for link in links.split()
    ]
    return {
        "name": name,
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"},
        "config": {"stages": list(stages), "connections": connections, **config},
    }


SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "order",
        "fields": [{"name": "id", "type": "int"}, {"name": "body", "type": "string"}],
    }
)


def orders(path="/nowhere/orders.csv", folder="/nowhere/out"):
    """A source, a transform and a sink that are valid."""
    return pipeline(
        [
            stage(
                "Orders",
                "batchsource",
                "File",
                path=path,
                format="csv",
                schema=SCHEMA,
                referenceName="orders",
                skipHeader="true",
            ),
            stage("Rename", "transform", "Projection", rename="body:text"),
            stage("Out", "batchsink", "File", path=folder, format="json", referenceName="out"),
        ],
        "Orders>Rename Rename>Out",
    )
