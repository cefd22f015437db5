"""The rows of samples: files of each format, and tables that are read without a host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from localcdap.engine.messages.host import TableFiles

TWO = json.dumps(
    Schema.record("two", [("a", Schema.STRING), ("b", Schema.INT.as_nullable)]).to_json()
)


def avro_file(path: Path) -> None:
    import fastavro

    with path.open("wb") as file:
        fastavro.writer(file, json.loads(TWO), [{"a": "x", "b": 1}])


def parquet_file(path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(two_rows(), path)


def orc_file(path: Path) -> None:
    from pyarrow import orc

    orc.write_table(two_rows(), str(path))


def two_rows() -> Any:
    import pyarrow as pa

    return pa.table({"a": ["x", "y"], "b": pa.array([1, None], pa.int32())})


def two_documents() -> Any:
    import pyarrow as pa

    return pa.table({"key": ["x", "y"], "value": ['{"a": "x", "b": 1}', '{"a": "y"}']})


DOCUMENT = Schema.record("document", [("key", Schema.STRING), ("value", Schema.STRING)])
COLLECTIONS = ("firestore.c", "mongodb.d.c")
PARTITIONS = {"Avro": avro_file, "Parquet": parquet_file, "Orc": orc_file}


class OneTable:
    """A table of two rows; a collection of Firestore or MongoDB, of two documents."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "rows.parquet"

    def export(self, namespace: str, name: str) -> TableFiles:
        import pyarrow.parquet as pq

        pq.write_table(two_documents() if name in COLLECTIONS else two_rows(), self._file)
        return TableFiles(self.find(namespace, name).schema, [str(self._file)])

    def find(self, namespace: str, name: str) -> TableShape:
        return TableShape(DOCUMENT if name in COLLECTIONS else Schema.parse_record(TWO))
