"""The topological order of operations: the rest of CDAP's FieldLineageInfoTest by name."""

from __future__ import annotations

import itertools

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.metadata.lineage.pipeline_operations import sort_operations
from tests.metadata.lineage.samples import DESTINATION, SOURCE, read, transform, write

READ = read("read", SOURCE, "offset", "body")
PARSE = transform("parse", ["read.body"], "name", "address")
NORMALIZE = transform("normalize", ["parse.address"], "address")


def assert_order(operations, *pairs):
    ordered = [operation.name for operation in sort_operations(operations)]
    assert sorted(ordered) == sorted(operation.name for operation in operations)
    for before, after in pairs:
        assert ordered.index(before) < ordered.index(after)


def test_non_cycle():
    """An operation without inputs counts like a read."""
    operations = [
        transform("combine", ["read.a", "read.b"], "a", "b"),
        read("read", SOURCE, "a", "b"),
        transform("generate", [], "c"),
        write("write", DESTINATION, "combine.a", "combine.b", "generate.c"),
    ]

    ordered = [operation.name for operation in sort_operations(operations)]

    assert ordered == ["read", "generate", "combine", "write"]


@pytest.mark.parametrize("missing", [(), ("nop.field",)], ids=["complete", "with missing origins"])
def test_cycle(missing):
    """Origins that are not among the operations do not hide the cycle."""
    operations = [
        transform("parse", ["read.body", "normalize.name", *missing], "name", "address"),
        READ,
        transform("normalize", ["parse.name", *missing], "name"),
        write("write", DESTINATION, "normalize.name", "parse.address", *missing),
    ]

    with pytest.raises(BadRequestError) as raised:
        sort_operations(operations)

    assert str(raised.value) == (
        "Cycle detected in graph for operations {parse=[normalize, write], normalize=[parse, write]}"
    )


def test_self_referential_operations():
    with pytest.raises(BadRequestError, match=r"for operations {parse=\[parse\]}"):
        sort_operations([transform("parse", ["read.body", "parse.name"], "name", "address")])


def test_linear_topological_sort():
    last = write("write", DESTINATION, "parse.name", "normalize.address")
    for operations in itertools.permutations([READ, PARSE, NORMALIZE, last]):
        assert_order(operations, ("read", "parse"), ("parse", "normalize"), ("normalize", "write"))


def test_branch_topological_sort():
    last = write("write", DESTINATION, "read.offset", "parse.name", "normalize.address")
    for operations in itertools.permutations([READ, PARSE, NORMALIZE, last]):
        assert_order(operations, ("read", "parse"), ("parse", "normalize"), ("normalize", "write"))
    assert_order([last, READ], ("read", "write"))


def test_disjoint_branches():
    operations = [
        write("write1", DESTINATION, "read1.offset"),
        write("write2", DESTINATION, "read2.offset"),
        read("read2", SOURCE, "offset", "body"),
        read("read1", SOURCE, "offset", "body"),
    ]

    assert_order(operations, ("read1", "write1"), ("read2", "write2"))
