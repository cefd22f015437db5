"""The field lineage of one run: CDAP's FieldLineageInfoTest by name, without sorting."""

from __future__ import annotations

import random

import msgspec
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EndPoint
from localcdap.decoders import decode_json
from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
from localcdap.metadata.lineage.pipeline_operations import (
    PlatformOperation,
    PlatformRead,
    PlatformWrite,
    resolve_operations,
)
from tests.metadata.lineage.samples import (
    DESTINATION,
    SOURCE,
    end,
    field,
    people,
    read,
    transform,
    write,
)


def names(operations):
    return {operation.name for operation in operations}


def test_direct_read_write():
    one, two, three = (end(f"endpoint{number}", "ns1") for number in (1, 2, 3))
    info = FieldLineageInfo(
        [
            read("read", one, "id", "name"),
            write("write", three, "read.id", "read.name", "anotherRead.id1", "anotherRead.name1"),
            read("anotherRead", two, "id1", "name1"),
        ]
    )
    pairs = [(one, "id"), (two, "id1"), (one, "name"), (two, "name1")]

    assert info.incoming_summary == {field(three, n): {field(e, n)} for e, n in pairs}
    assert info.outgoing_summary == {field(e, n): {field(three, n)} for e, n in pairs}


def test_write_to_same_endpoint():
    one, two, three = end("endpoint1", "ns1"), end("endpoint2", "ns1"), end("endpoint3", "ns")
    info = FieldLineageInfo(
        [
            read("read", one, "offset", "body"),
            write("write", three, "read.body"),
            read("anotherRead", two, "offset", "body"),
            write("anotherWrite", three, "anotherRead.body"),
        ]
    )

    assert info.incoming_summary == {field(three, "body"): {field(one, "body"), field(two, "body")}}
    assert info.outgoing_summary == {
        field(one, "body"): {field(three, "body")},
        field(two, "body"): {field(three, "body")},
    }


def test_large_lineage_operation():
    """Five times 100 identities and one operation from all fields to all fields."""
    fields = [f"num{number}" for number in range(100)]
    operations = [read("read", end("start"), *fields)]
    origin = "read"
    for turn in range(5):
        operations += [transform(f"{turn} {name}", [f"{origin}.{name}"], name) for name in fields]
        origin = f"alltoall{turn}"
        operations.append(transform(origin, [f"{turn} {name}.{name}" for name in fields], *fields))
    operations.append(write("Write", end("dest"), *(f"{origin}.{name}" for name in fields)))

    info = FieldLineageInfo(operations)

    everything = {field(end("start"), name) for name in fields}
    assert info.incoming_summary == {field(end("dest"), name): everything for name in fields}


def test_a_chain_may_be_longer_than_the_stack():
    chain = [transform(f"t{i}", [f"t{i - 1}.a" if i else "read.a"], "a") for i in range(3_000)]
    info = FieldLineageInfo(
        [*chain, read("read", SOURCE, "a"), write("write", DESTINATION, "t2999.a")]
    )

    assert info.incoming_summary == {field(DESTINATION, "a"): {field(SOURCE, "a")}}
    assert len(info.find_incoming_operations(field(DESTINATION, "a"))) == 3_002
    assert len(info.find_outgoing_operations(field(SOURCE, "a"))) == 3_002


READ = read("read", end("endpoint1"), "offset", "body")
PARSE = transform("parse", ["read.body"], "name", "address")
WRITE = write("write", end("endpoint2", "ns"), "read.offset", "parse.name", "parse.body")


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ([PARSE, WRITE], "Field level lineage requires at least one operation of type 'READ'."),
        ([READ, PARSE], "Field level lineage requires at least one operation of type 'WRITE'."),
        (
            [READ, PARSE, WRITE, WRITE],
            (
                "All operations provided for creating field level lineage info must have unique "
                "names. Operation name 'write' is repeated."
            ),
        ),
        (
            [
                READ,
                PARSE,
                WRITE,
                transform("more", ["invalid.body", "anotherinvalid.body"], "name"),
            ],
            "No operation is associated with the origins '[invalid, anotherinvalid]'.",
        ),
        (
            [PlatformRead("read", "", None, ()), WRITE],
            "Source endpoint cannot be null for the read operation 'read'.",
        ),
        (
            [READ, PARSE, PlatformWrite("write", "", None, ())],
            "Destination endpoint cannot be null for the write operation 'write'.",
        ),
        (
            [READ, PARSE, WRITE, transform("a", ["b.x"], "x"), transform("b", ["a.x"], "x")],
            "Cycle detected in graph for operations {a=[b], b=[a]}",
        ),
    ],
    ids=["no read", "no write", "repeated", "origins", "no source", "no destination", "cycle"],
)
def test_invalid_operations(operations, message):
    with pytest.raises(BadRequestError) as raised:
        FieldLineageInfo(operations)

    assert str(raised.value) == message


def test_valid_operations():
    """Equal operations have equal checksums, in any order and after a way through JSON."""
    operations = [READ, WRITE, PARSE]
    info = FieldLineageInfo(operations)
    shuffled = random.Random(1).sample(operations, 3)
    text = msgspec.json.encode(operations)
    moved = write("write", end("endpoint2", "myns"), "read.offset", "parse.name", "parse.body")

    assert FieldLineageInfo(shuffled) == info
    assert FieldLineageInfo(decode_json(text, list[PlatformOperation])) == info
    assert hash(FieldLineageInfo(shuffled)) == hash(info)
    assert -(2**63) <= info.checksum < 2**63
    assert FieldLineageInfo([READ, PARSE, moved]) != info


def test_simple_field_lineage_summary():
    info = FieldLineageInfo(people())

    assert info.destination_fields == {DESTINATION: {"offset", "name"}}
    assert info.sources == {SOURCE}
    assert info.destinations == {DESTINATION}
    assert info.incoming_summary == {
        field(DESTINATION, "offset"): {field(SOURCE, "offset")},
        field(DESTINATION, "name"): {field(SOURCE, "body")},
    }
    assert info.outgoing_summary == {
        field(SOURCE, "offset"): {field(DESTINATION, "offset")},
        field(SOURCE, "body"): {field(DESTINATION, "name")},
    }
    through_name = {"read", "parse", "concat", "write_op"}
    direct = {"read", "write_op"}
    assert names(info.find_incoming_operations(field(DESTINATION, "offset"))) == direct
    assert names(info.find_outgoing_operations(field(SOURCE, "offset"))) == direct
    assert names(info.find_incoming_operations(field(DESTINATION, "name"))) == through_name
    assert names(info.find_outgoing_operations(field(SOURCE, "body"))) == through_name


def test_source_to_multiple_destinations():
    source, info_end, location = end("file", "ns"), end("info", "ns"), end("location", "ns")
    info = FieldLineageInfo(
        [
            read("read", source, "offset", "body"),
            transform("parse", ["read.body"], "id", "name", "address", "zip"),
            write("infoWrite", info_end, "parse.id", "parse.name"),
            write("locationWrite", location, "parse.address", "parse.zip"),
        ]
    )
    written = {field(info_end, "id"), field(info_end, "name")}
    written |= {field(location, "address"), field(location, "zip")}
    body = field(source, "body")

    assert info.destination_fields == {info_end: {"id", "name"}, location: {"address", "zip"}}
    assert info.incoming_summary == {target: {body} for target in written}
    assert info.outgoing_summary == {body: written}
    assert names(info.find_outgoing_operations(field(source, "offset"))) == {"read"}
    everything = {"read", "parse", "infoWrite", "locationWrite"}
    assert names(info.find_outgoing_operations(body)) == everything


def test_multi_source_single_destination_without_merge():
    person, code = end("personFile", "ns"), end("codeFile", "ns")
    secure, insecure = end("secureStore", "ns"), end("insecureStore", "ns")
    info = FieldLineageInfo(
        [
            read("pRead", person, "offset", "body"),
            read("cRead", code, "id"),
            transform("parse", ["pRead.body"], "id", "name", "address"),
            transform("codeGen", ["parse.id", "cRead.id"], "id"),
            write("sWrite", secure, "codeGen.id", "parse.name", "parse.address"),
            write("iWrite", insecure, "parse.id", "parse.name", "parse.address"),
        ]
    )
    fields = ("id", "name", "address")
    body, code_id = field(person, "body"), field(code, "id")
    targets = {field(store, name) for store in (secure, insecure) for name in fields}

    assert info.destination_fields == {secure: set(fields), insecure: set(fields)}
    expected = {target: {body} for target in targets}
    expected[field(secure, "id")] = {body, code_id}
    assert info.incoming_summary == expected
    assert info.outgoing_summary == {body: targets, code_id: {field(secure, "id")}}

    for name in fields:
        found = info.find_incoming_operations(field(insecure, name))
        assert names(found) == {"iWrite", "parse", "pRead"}
    for name in ("name", "address"):
        found = info.find_incoming_operations(field(secure, name))
        assert names(found) == {"sWrite", "parse", "pRead"}
    found = info.find_incoming_operations(field(secure, "id"))
    assert names(found) == {"sWrite", "codeGen", "cRead", "parse", "pRead"}
    assert names(info.find_outgoing_operations(field(person, "offset"))) == {"pRead"}
    found = info.find_outgoing_operations(body)
    assert names(found) == {"sWrite", "iWrite", "codeGen", "parse", "pRead"}
    assert names(info.find_outgoing_operations(code_id)) == {"sWrite", "codeGen", "cRead"}


def test_multi_path_field_lineage():
    """One merge of two fields, so that each field of a source influences all fields of the destination."""
    ends = [end("file1", "ns1"), end("file2", "ns2")]
    target = end("file", "ns3")
    info = FieldLineageInfo(
        [
            transform("parse", ["merge.body"], "name", "address"),
            transform(
                "merge",
                ["read1.offset", "read2.offset", "read1.body", "read2.body"],
                "offset",
                "body",
            ),
            read("read1", ends[0], "offset", "body"),
            read("read2", ends[1], "offset", "body"),
            write("write", target, "merge.offset", "parse.name", "parse.address"),
        ]
    )
    sources = {field(each, name) for each in ends for name in ("offset", "body")}
    targets = {field(target, name) for name in ("name", "address", "offset")}

    assert info.incoming_summary == dict.fromkeys(targets, sources)
    assert info.outgoing_summary == dict.fromkeys(sources, targets)
    for number, each in enumerate(ends, 1):
        for name in ("offset", "body"):
            found = info.find_outgoing_operations(field(each, name))
            assert names(found) == {f"read{number}", "merge", "parse", "write"}


def test_rename_then_drop_fields():
    one, two = end("endpoint1"), end("endpoint2")
    info = FieldLineageInfo(
        [
            read("read", one, "first_name", "last_name", "social"),
            transform("renameSocial", ["read.social"], "ssn"),
            transform("renameSocialAgain", ["renameSocial.ssn"], "ssn2"),
            transform("dropSocial", ["renameSocialAgain.ssn2"]),
            write("write", two, "read.first_name", "read.last_name"),
        ]
    )
    kept = ("first_name", "last_name")

    assert info.incoming_summary == {field(two, name): {field(one, name)} for name in kept}
    assert info.outgoing_summary == {
        **{field(one, name): {field(two, name)} for name in kept},
        field(one, "social"): {None},
    }


def test_multi_source_dropped_fields():
    one, two = end("endpoint1"), end("endpoint2")
    info = FieldLineageInfo(
        [
            read("read", one, "first_name", "last_name", "social"),
            write("write", two, "combineNames.full_name"),
            transform("combineNames", ["read.first_name", "read.last_name"], "full_name"),
            transform("dropSocial", ["read.social"]),
        ]
    )
    full_name, first, last = (
        field(two, "full_name"),
        field(one, "first_name"),
        field(one, "last_name"),
    )

    assert info.incoming_summary == {full_name: {first, last}}
    assert info.outgoing_summary == {
        first: {full_name},
        last: {full_name},
        field(one, "social"): {None},
    }


def test_a_path_to_the_destination_need_not_exist():
    info = FieldLineageInfo([read("read", SOURCE, "a"), write("write", DESTINATION)])

    assert info.incoming_summary == {}
    assert info.destination_fields == {DESTINATION: set()}


def test_properties_do_not_tell_end_points_apart():
    """Two stages that write one table write the same fields."""
    first = EndPoint("t", "ns", {"stageName": "a"})
    second = EndPoint("t", "ns", {"stageName": "b"})
    info = FieldLineageInfo(
        [
            read("read", SOURCE, "a", "b"),
            write("w1", first, "read.a"),
            write("w2", second, "read.b"),
        ]
    )

    assert info.destination_fields == {EndPoint("t", "ns"): {"a", "b"}}
    assert names(info.find_incoming_operations(field(end("t", "ns"), "b"))) == {"read", "w2"}


def test_end_points_without_a_namespace_get_that_of_the_program():
    given = [READ, PARSE, write("write", end("out"), "parse.name")]

    resolved = resolve_operations(given, "ns")

    assert [resolved[0].source, resolved[2].destination] == [
        end("endpoint1", "ns"),
        end("out", "ns"),
    ]
    assert resolve_operations(resolved, "other") == resolved
