"""XMLParser, XMLMultiParser and XMLToJSON: what they find, and documents that must not be read."""

from __future__ import annotations

import json
from urllib.parse import quote_plus

import pytest
from transform_plugins.xml import XMLMultiParser, XMLParser, XMLToJSON

from localcdap.api import Schema, StageError
from tests.plugins.transform.support import configure, messages, only_failure, record, run

BODY = record(id=Schema.INT, body=Schema.STRING.as_nullable)
BOOK = (
    '<book id="7" xmlns="urn:books"><title>Wer &amp; Wo</title><price cur="EUR">12.5</price>'
    "<tag>a</tag><tag>b</tag><who><first>Ann</first></who></book>"
)
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x><title>&b;</title></x>'
FILE = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x><title>&f;</title></x>'


def texts(*bodies):
    return [{"id": number, "body": body} for number, body in enumerate(bodies)]


def parser(**more):
    return {
        "input": "body",
        "encoding": "UTF-8",
        "xPathMappings": "title:/book/title,price:/book/price,id:/book/@id,tag:/book/tag,who:/book/who",
        "fieldTypeMapping": "title:string,price:double,id:int,tag:string,who:string",
        "processOnError": "Write to error dataset",
    } | more


def test_fields_are_found_by_path():
    (made,) = run(XMLParser, parser(), BODY, texts(BOOK)).records
    inner = made.pop("who")
    assert made == {"title": "Wer & Wo", "price": 12.5, "id": 7, "tag": "a"}
    assert inner == "<who><first>Ann</first></who>"


def test_what_is_not_there_is_null():
    (made,) = run(XMLParser, parser(), BODY, texts("<book/>")).records
    assert set(made.values()) == {None}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("no xml", "not well-formed"),
        (None, "it is null"),
        (
            "<book><price>dear</price></book>",
            "'dear' in field 'price' is not a value of type double",
        ),
        ("<book><price><b/></price></book>", "child elements"),
        (BOMB, "declares entities"),
        (FILE, "declares entities"),
    ],
)
def test_what_cannot_be_parsed_goes_where_the_property_says(document, why):
    ((_, code, message),) = run(XMLParser, parser(), BODY, texts(document)).errors
    assert code == 31
    assert why in message
    ignored = run(
        XMLParser, parser(processOnError="Ignore error and continue"), BODY, texts(document, BOOK)
    )
    assert (len(ignored.records), ignored.errors) == (1, [])
    with pytest.raises(StageError, match="Terminating process on error"):
        run(XMLParser, parser(processOnError="Exit on error"), BODY, texts(document))


def test_several_nodes_can_be_an_error():
    ((_, _, message),) = run(XMLParser, parser(failOnArray="true"), BODY, texts(BOOK)).errors
    assert "field 'tag' is an array of 2 nodes" in message


def test_mappings_are_checked():
    stage = configure(
        XMLParser,
        parser(
            input="gone",
            xPathMappings="title:/a[,x:/b,nothing",
            fieldTypeMapping="title:string,x:date,y:int,x:int,x:int",
        ),
        BODY,
    )
    assert [message.split(":")[0] for message in messages(stage)] == [
        "Input field 'gone' must exist in the input schema.",
        "Invalid XPath mapping",
        "Invalid XPath mapping",
        "Field 'title' must be present in XPath Mapping.",
        "A type must be provided for field 'x'.",
        "Field 'y' must be present in XPath Mapping.",
        "Field 'x' already has a type specified.",
    ]


ITEMS = (
    '<rss xmlns:m="urn:m"><channel><item><guid>1</guid><title>a</title><m:at>9</m:at></item>'
    "<item><guid>x</guid></item><item><title>b</title></item><item><guid>4</guid></item></channel></rss>"
)
ITEM = record(guid=Schema.INT, title=Schema.STRING.as_nullable)


def test_each_element_is_a_record():
    properties = {"field": "body", "xPath": "/rss/channel/item", "schema": str(ITEM)}
    output = run(XMLMultiParser, properties, BODY, texts(ITEMS, None, "<no"))
    assert output.records == [{"guid": 1, "title": "a"}, {"guid": 4, "title": None}]
    assert output.altered == [("a record without a document was left out, as in CDAP", 1, "null")]
    assert [given["id"] for given, _, _ in output.errors] == [0, 0, 2]
    assert (
        "element 2 of the xpath: 'x' in field 'guid' is not a value of type int"
        in output.errors[0][2]
    )
    assert "element 3 of the xpath: it has no 'guid'" in output.errors[1][2]
    assert "Unable to parse the xml document: it is not well-formed" in output.errors[2][2]


def test_paths_and_types_are_checked_before_anything_runs():
    schema = record(a=Schema.array(Schema.INT))
    stage = configure(XMLMultiParser, {"field": "id", "xPath": "/a[", "schema": str(schema)}, BODY)
    assert [message.partition(":")[0] for message in messages(stage)] == [
        "Field 'id' must be of type string.",
        "Failed to compile xpath '/a['",
        "Unsupported schema type array for field 'a'.",
    ]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<a>x</a>", {"a": "x"}),
        ("<a/>", {"a": ""}),
        ('<a b="1">t<c/></a>', {"a": {"b": 1, "content": "t", "c": ""}}),
        ("<a><b>1</b><b>2.5</b><b>true</b></a>", {"a": {"b": [1, 2.5, True]}}),
        (
            "<a><b>007</b><b>-0</b><b>1e3</b><b>null</b></a>",
            {"a": {"b": ["007", 0, 1000, None]}},
        ),
        ("<a>x<b/>y</a>", {"a": {"content": ["x", "y"], "b": ""}}),
        ("<a><!-- no --><![CDATA[<b>]]></a>", {"a": "<b>"}),
    ],
)
def test_a_document_as_json(document, expected):
    properties = {"inputField": "body", "outputField": "json"}
    (made,) = run(XMLToJSON, properties, BODY, texts(document)).records
    assert json.loads(made["json"]) == expected


def test_other_fields_pass_and_bad_documents_are_errors():
    properties = {
        "inputField": "body",
        "outputField": "json",
        "schema": str(record(id=Schema.INT, json=Schema.STRING)),
    }
    output = run(XMLToJSON, properties, BODY, texts("<a>1</a>", "<a>"))
    assert output.records == [{"id": 0, "json": '{"a":1}'}]
    assert [(given["id"], code) for given, code, _ in output.errors] == [(1, 31)]
    failure = only_failure(configure(XMLToJSON, properties | {"inputField": "id"}, BODY))
    assert failure.message == "Field 'id' must be of type string."


DECLARED = "<!DOCTYPE book><book><title>a</title></book>"


@pytest.mark.parametrize("plugin", [XMLParser, XMLMultiParser])
def test_document_types_can_be_forbidden(plugin):
    properties = (
        parser()
        if plugin is XMLParser
        else {
            "field": "body",
            "xPath": "/book",
            "schema": str(record(title=Schema.STRING.as_nullable)),
        }
    )
    assert len(run(plugin, properties, BODY, texts(DECLARED)).records) == 1
    forbidden = run(
        plugin, properties | {"disallowDocTypeDTD": "true"}, BODY, texts(DECLARED, BOOK)
    )
    assert len(forbidden.records) == 1
    (error,) = forbidden.errors
    assert "document type declaration (DOCTYPE), which 'disallowDocTypeDTD' forbids" in error[2]


@pytest.mark.parametrize("plugin", [XMLParser, XMLMultiParser])
def test_external_entities_are_never_read(plugin):
    more = {
        "enableExternalGeneralEntities": "true",
        "enableExternalParameterEntities": "true",
        "loadExternalDTD": "true",
    }
    properties = (
        parser()
        if plugin is XMLParser
        else {
            "field": "body",
            "xPath": "/x",
            "schema": str(record(title=Schema.STRING.as_nullable)),
        }
    )
    result = configure(plugin, properties | more, BODY)
    assert [each.field for each in result.warnings] == list(more)
    read = run(plugin, properties | more, BODY, texts(FILE))
    assert (read.records, len(read.errors)) == ([], 1)


@pytest.mark.parametrize(
    ("document", "path", "found"),
    [
        ("<a><b>t<!--n--><c>y</c></b></a>", "/a/b", "ty"),
        ("<a><c><![CDATA[a]]>b<i/></c></a>", "/a/c", "ab"),
        ("<a><b> <c/></b></a>", "/a/b", "<b> <c/></b>"),
        ("<a><b><!--x--><c/></b></a>", "/a/b", "<b><!--x--><c/></b>"),
        ("<a><b><!--x--><!--y--><c/></b></a>", "/a/b", ""),
        ("<a><b><?p q?>t<c/></b></a>", "/a/b", "t"),
        ("<a><b><![CDATA[<x>]]></b></a>", "/a/b", "<x>"),
        ("<a><b>x<c><![CDATA[y<]]></c>z</b></a>", "/a/b", "<b>x<c><![CDATA[y<]]></c>z</b>"),
        ("<a><b k='&quot;1&amp;'><c/></b></a>", "/a/b", '<b k="&quot;1&amp;"><c/></b>'),
        ("<a><b>a&gt;&lt;&amp;\"'<c/></b></a>", "/a/b", "<b>a&gt;&lt;&amp;\"'<c/></b>"),
        (
            "<a><b k='\U0001f600'>\U0001f600é<c/></b></a>",
            "/a/b",
            '<b k="&#128512;">&#128512;é<c/></b>',
        ),
        ("<a><b>x&#13;y&#10;z&#9;<c/></b></a>", "/a/b", "<b>x&#13;y\nz\t<c/></b>"),
        (
            "<a><b k='x&#13;y&#10;z&#9;'><c/></b></a>",
            "/a/b",
            '<b k="x&#13;y&#10;z&#9;"><c/></b>',
        ),
        ("<a><b>\x85x<c/></b></a>", "/a/b", "<b>&#133;x<c/></b>"),
        ("<a xmlns:x='u'><x:b><c/></x:b></a>", "/a/*", "<x:b><c/></x:b>"),
        ("<a xmlns:x='u'><x:b>t</x:b></a>", "/a/x:b", None),
        ("<a xmlns='u'><b><c/></b></a>", "/a/b", "<b><c/></b>"),
        ("<a><b z='2' y='1'><c/></b></a>", "/a/b", '<b y="1" z="2"><c/></b>'),
        ("<a><b>x<c/><!-- k --><?p d?></b></a>", "/a/b", "<b>x<c/><!-- k --><?p d?></b>"),
        ("<a><!--c--></a>", "/a/comment()", "c"),
        ("<a><?p q?></a>", "/a/processing-instruction()", "q"),
        ("<a k=' 1  2 '/>", "/a/@k", " 1  2 "),
        ("<a><b>x</b></a>", "/a/b | /a", "<a><b>x</b></a>"),
    ],
)
def test_texts_and_xml_are_those_of_java(document, path, found):
    """The values are those of ``XMLParser.getValue`` with the DOM of Java 17."""
    properties = parser(xPathMappings=f"x:{quote_plus(path)}", fieldTypeMapping="x:string")

    assert run(XMLParser, properties, BODY, texts(document)).records == [{"x": found}]


def test_a_path_that_gives_no_nodes_is_an_error():
    properties = parser(xPathMappings="x:count(/a)", fieldTypeMapping="x:string")

    ((_, _, message),) = run(XMLParser, properties, BODY, texts("<a/>")).errors

    assert "gives a number, not nodes" in message
