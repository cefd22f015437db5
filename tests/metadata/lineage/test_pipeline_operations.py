"""Platform operations: CDAP's LineageOperationProcessorTest and FieldLineageProcessorTest by name."""

from __future__ import annotations

import pytest

from localcdap.metadata.lineage.pipeline_operations import (
    PlatformTransform,
    RecordedStage,
    convert_operations,
    convert_pipeline,
)
from tests.metadata.lineage.pipeline_samples import (
    assert_same,
    connect,
    make,
    makes,
    merge,
    read,
    reads,
    taken,
    write,
    writes,
)


def test_simple_pipeline():
    found = convert_operations(
        {
            "n1": [reads("read", "file", "offset", "body")],
            "n2": [makes("parse", ["body"], "name", "address", "zip")],
            "n3": [writes("write", "file2", "name", "address", "zip")],
        },
        connect("n1-n2-n3"),
    )

    assert_same(
        found,
        [
            read("n1.read", "file", "offset", "body"),
            make("n2.parse", ["n1.read:body"], "name", "address", "zip"),
            write("n3.write", "file2", "n2.parse:name", "n2.parse:address", "n2.parse:zip"),
        ],
    )


def test_another_simple_pipeline():
    """The field offset passes two stages that do not record it."""
    found = convert_operations(
        {
            "n1": [reads("read", "file1", "offset", "body")],
            "n2": [makes("parse", ["body"], "first_name", "last_name")],
            "n3": [makes("concat", ["first_name", "last_name"], "name")],
            "n4": [writes("write_op", "another_file", "offset", "name")],
        },
        connect("n1-n2-n3-n4"),
    )

    assert_same(
        found,
        [
            read("n1.read", "file1", "offset", "body"),
            make("n2.parse", ["n1.read:body"], "first_name", "last_name"),
            make("n3.concat", ["n2.parse:first_name", "n2.parse:last_name"], "name"),
            write("n4.write_op", "another_file", "n1.read:offset", "n3.concat:name"),
        ],
    )


@pytest.mark.parametrize(
    "connections", [connect("n1-n2-n3", "n2-n4"), connect("n1-n2-n3-n4")], ids=["branch", "chain"]
)
def test_source_with_multiple_destinations(connections):
    """The original's test connects the second sink to the first one."""
    found = convert_operations(
        {
            "n1": [reads("read", "file", "offset", "body")],
            "n2": [makes("parse", ["body"], "id", "name", "address", "zip")],
            "n3": [writes("infoWrite", "info", "id", "name")],
            "n4": [writes("locationWrite", "location", "address", "zip")],
        },
        connections,
    )

    assert_same(
        found,
        [
            read("n1.read", "file", "offset", "body"),
            make("n2.parse", ["n1.read:body"], "id", "name", "address", "zip"),
            write("n3.infoWrite", "info", "n2.parse:id", "n2.parse:name"),
            write("n4.locationWrite", "location", "n2.parse:address", "n2.parse:zip"),
        ],
    )


def test_direct_merge():
    """Two sinks with the same inputs share the merge operations."""
    found = convert_operations(
        {
            "n1": [reads("pRead", "personFile", "offset", "body")],
            "n2": [reads("hRead", "hrFile", "offset", "body")],
            "n3": [writes("write1", "testStore", "offset", "body")],
            "n4": [writes("write2", "prodStore", "offset", "body")],
        },
        connect("n1-n3", "n1-n4", "n2-n3", "n2-n4"),
    )

    merged = [f"n1,n2.merge.{field}:{field}" for field in ("offset", "body")]
    assert_same(
        found,
        [
            read("n1.pRead", "personFile", "offset", "body"),
            read("n2.hRead", "hrFile", "offset", "body"),
            merge("n1,n2", "offset", "n1.pRead", "n2.hRead"),
            merge("n1,n2", "body", "n1.pRead", "n2.hRead"),
            write("n3.write1", "testStore", *merged),
            write("n4.write2", "prodStore", *merged),
        ],
    )


def test_complex_merge():
    """n1-n2 and n3-n4 merge in n5, which goes to n6 and over n7 to n8."""
    found = convert_operations(
        {
            "n1": [reads("read", "file1", "offset", "body")],
            "n2": [makes("parse", ["body"], "name", "address", "zip")],
            "n3": [reads("read", "file2", "offset", "body")],
            "n4": [makes("parse", ["body"], "name", "address", "zip")],
            "n5": [
                makes("normalize", ["address"], "address"),
                makes("rename", ["address"], "state_address"),
            ],
            "n6": [writes("write", "file3", "offset", "name", "address")],
            "n7": [makes("rename", ["offset"], "file_offset")],
            "n8": [writes("write", "file4", "file_offset", "name", "address", "zip")],
        },
        connect("n1-n2-n5", "n3-n4-n5", "n5-n6", "n5-n7-n8"),
    )

    assert_same(
        found,
        [
            read("n1.read", "file1", "offset", "body"),
            make("n2.parse", ["n1.read:body"], "name", "address", "zip"),
            read("n3.read", "file2", "offset", "body"),
            make("n4.parse", ["n3.read:body"], "name", "address", "zip"),
            *(merge("n2,n4", each, "n1.read", "n3.read") for each in ("offset", "body")),
            *(merge("n2,n4", each, "n2.parse", "n4.parse") for each in ("address", "name", "zip")),
            make("n5.normalize", ["n2,n4.merge.address:address"], "address"),
            make("n5.rename", ["n5.normalize:address"], "state_address"),
            write(
                "n6.write",
                "file3",
                "n2,n4.merge.offset:offset",
                "n2,n4.merge.name:name",
                "n5.normalize:address",
            ),
            make("n7.rename", ["n2,n4.merge.offset:offset"], "file_offset"),
            write(
                "n8.write",
                "file4",
                "n7.rename:file_offset",
                "n2,n4.merge.name:name",
                "n5.normalize:address",
                "n2,n4.merge.zip:zip",
            ),
        ],
    )


CUSTOMER = read("n1.read", "customer", "id", "name")
PURCHASE = read("n2.read", "purchase", "customer_id", "item")
JOIN = makes("Join", ["n1.id", "n2.customer_id"], "id", "customer_id")
JOINED = make("n3.Join", ["n1.read:id", "n2.read:customer_id"], "id", "customer_id")


def join(operations, *fields):
    """The platform operations of a join of customers and purchases that writes fields."""
    return convert_operations(
        {
            "n1": [reads("read", "customer", "id", "name")],
            "n2": [reads("read", "purchase", "customer_id", "item")],
            "n3": [JOIN, *operations],
            "n4": [writes("write", "joined", *fields)],
        },
        connect("n1-n3-n4", "n2-n3"),
        joiners={"n3"},
    )


def test_simple_join_operation():
    assert_same(
        join([], "id", "customer_id"),
        [
            CUSTOMER,
            PURCHASE,
            JOINED,
            write("n4.write", "joined", "n3.Join:id", "n3.Join:customer_id"),
        ],
    )


def test_simple_join_with_additional_fields():
    operations = [
        makes("Identity name", ["n1.name"], "name"),
        makes("Identity item", ["n2.item"], "item"),
    ]

    assert_same(
        join(operations, "id", "name", "customer_id", "item"),
        [
            CUSTOMER,
            PURCHASE,
            JOINED,
            make("n3.Identity name", ["n1.read:name"], "name"),
            make("n3.Identity item", ["n2.read:item"], "item"),
            write(
                "n4.write",
                "joined",
                "n3.Join:id",
                "n3.Identity name:name",
                "n3.Join:customer_id",
                "n3.Identity item:item",
            ),
        ],
    )


def test_simple_join_with_rename_join_keys():
    operations = [
        makes("Rename id", ["id"], "id_from_customer"),
        makes("Rename customer_id", ["customer_id"], "id_from_purchase"),
    ]

    assert_same(
        join(operations, "id_from_customer", "id_from_purchase"),
        [
            CUSTOMER,
            PURCHASE,
            JOINED,
            make("n3.Rename id", ["n3.Join:id"], "id_from_customer"),
            make("n3.Rename customer_id", ["n3.Join:customer_id"], "id_from_purchase"),
            write(
                "n4.write",
                "joined",
                "n3.Rename id:id_from_customer",
                "n3.Rename customer_id:id_from_purchase",
            ),
        ],
    )


def test_simple_join_with_rename_on_additional_fields():
    operations = [
        makes("Rename name", ["n1.name"], "name_from_customer"),
        makes("Rename item", ["n2.item"], "item_from_purchase"),
    ]

    assert_same(
        join(operations, "customer_id", "name_from_customer", "item_from_purchase"),
        [
            CUSTOMER,
            PURCHASE,
            JOINED,
            make("n3.Rename name", ["n1.read:name"], "name_from_customer"),
            make("n3.Rename item", ["n2.read:item"], "item_from_purchase"),
            write(
                "n4.write",
                "joined",
                "n3.Join:customer_id",
                "n3.Rename name:name_from_customer",
                "n3.Rename item:item_from_purchase",
            ),
        ],
    )


def test_join_with_3_inputs():
    found = convert_operations(
        {
            "n1": [reads("read", "customer", "id", "name")],
            "n2": [reads("read", "purchase", "customer_id", "item")],
            "n3": [reads("read", "address", "address_id", "address")],
            "n4": [
                makes("Join", ["n1.id", "n2.customer_id", "n3.address_id"], "id", "address_id"),
                makes("Rename id", ["id"], "id_from_customer"),
                makes("Rename customer.name", ["n1.name"], "name_from_customer"),
                makes("Identity address.address", ["n3.address"], "address"),
            ],
            "n5": [writes("write", "out", "id_from_customer", "address_id", "address")],
        },
        connect("n1-n4-n5", "n2-n4", "n3-n4"),
        joiners={"n4"},
    )

    assert_same(
        found,
        [
            CUSTOMER,
            PURCHASE,
            read("n3.read", "address", "address_id", "address"),
            make(
                "n4.Join",
                ["n1.read:id", "n2.read:customer_id", "n3.read:address_id"],
                "id",
                "address_id",
            ),
            make("n4.Rename id", ["n4.Join:id"], "id_from_customer"),
            make("n4.Rename customer.name", ["n1.read:name"], "name_from_customer"),
            make("n4.Identity address.address", ["n3.read:address"], "address"),
            write(
                "n5.write",
                "out",
                "n4.Rename id:id_from_customer",
                "n4.Join:address_id",
                "n4.Identity address.address:address",
            ),
        ],
    )


def test_generated_operations():
    """A transformation that records nothing takes all inputs for all outputs, and is marked."""
    found = convert_pipeline(
        [
            RecordedStage("src", [reads("Read", "file", "body", "offset")], {}, ["body", "offset"]),
            RecordedStage("transform1", [], {"src": ["body", "offset"]}, ["body"]),
            RecordedStage("transform2", [], {"transform1": ["body"]}, ["id", "name"]),
            RecordedStage(
                "sink", [writes("Write", "sink", "id", "name")], {"transform2": ["id", "name"]}
            ),
        ],
        connect("src-transform1-transform2-sink"),
    )

    assert_same(
        found.operations,
        [
            read("src.Read", "file", "body", "offset"),
            PlatformTransform(
                "transform1.Transform",
                "",
                taken("src.Read:body", "src.Read:offset"),
                ("body",),
                assumed=True,
            ),
            PlatformTransform(
                "transform2.Transform",
                "",
                taken("transform1.Transform:body"),
                ("id", "name"),
                assumed=True,
            ),
            write("sink.Write", "sink", "transform2.Transform:id", "transform2.Transform:name"),
        ],
    )
    assert found.checks == {}
