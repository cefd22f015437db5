"""parse-as-xml, xpath, xpath-array and parse-xml-to-json."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.java.org_json import XmlFormatError, parse_xml_object
from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

BOOKS = """<?xml version="1.0" encoding="UTF-16"?>
<?xml-stylesheet href="catalog.xsl" type="transformation/xsl"?>
<!DOCTYPE catalog SYSTEM "catalog.dtd">
<catalog>
   <name cat_id="45"/>
   <book id="bk101"><author>Gambardella, Matthew</author><price>44.95</price>
      <description>An in-depth look
      with XML.</description></book>
   <book id="bk102"><author>Ralls &amp; Kim</author><price>5.0</price><size>007</size></book>
</catalog>"""
PATIENT = """<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:sdtc">
  <patient use=" t "><name><given>Ann</given><given qualifier="X">Lee</given></name>
  <sdtc:race code="2">r</sdtc:race><empty/></patient></ClinicalDocument>"""
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">'
    + "".join(
        f'<!ENTITY {c} "{f"&{p};" * 10}">' for p, c in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]><l>&i;</l>"
)
FILE = '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>'


def test_xml_becomes_columns_arrays_and_values():
    (row,) = run("parse-xml-to-json body", {"body": BOOKS, "k": 1})

    assert row == {
        "k": 1,
        "body_catalog_name_cat_id": 45,
        "body_catalog_book": [
            {
                "id": "bk101",
                "author": "Gambardella, Matthew",
                "price": 44.95,
                "description": "An in-depth look\n      with XML.",
            },
            {"id": "bk102", "author": "Ralls & Kim", "price": 5, "size": "007"},
        ],
    }


def test_paths_flatten_what_was_xml():
    made = run(
        "parse-xml-to-json body\n"
        "json-path body_catalog_book author $.[*].author\n"
        "json-path body_catalog_book price $.[*].price\n"
        "flatten author,price\n"
        "drop body_catalog_book",
        {"body": BOOKS},
    )

    assert [(row["author"], row["price"]) for row in made] == [
        ("Gambardella, Matthew", 44.95),
        ("Ralls & Kim", 5),
    ]


def test_numbers_of_what_was_xml_are_written_as_java_writes_them():
    (row,) = run(
        "parse-xml-to-json a 1\nset-type a_Data string\nparse-xml-to-json b 1 true\nset-type b_Data string",
        dict.fromkeys("ab", "<Data><tagid>303246306303E8</tagid></Data>"),
    )
    assert row == {
        "a_Data": '{"tagid":3.03246306303E19}',
        "b_Data": '{"tagid":"303246306303E8"}',
    }


def test_the_depth_and_texts_that_stay():
    (row,) = run("parse-xml-to-json body 1 true", {"body": "<a><b>1</b><c>true</c></a>"})
    assert row == {"body_a": {"b": "1", "c": "true"}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<a/>", {"a": ""}),
        ("<a></a>", {"a": ""}),
        ("<a x='1'/>", {"a": {"x": 1}}),
        ("<a x y=z>t</a>", {"a": {"x": "", "y": "z", "content": "t"}}),
        ("<a>1<b/>2</a>", {"a": {"content": [1, 2], "b": ""}}),
        ("<a>1<!-- x -->2</a>", {"a": [[1, 2]]}),
        ("<a><![CDATA[1 < 2 &amp;]]></a>", {"a": "1 < 2 &amp;"}),
        ("<a><![CDATA[]]></a>", {"a": ""}),
        ("<a>&lt;&#65;&#x42;&foo;</a>", {"a": "<AB&foo;"}),
        ("<n:a xmlns:n='u'>x</n:a>", {"n:a": {"xmlns:n": "u", "content": "x"}}),
        ("skipped <a>1</a> also <a>2</a>", {"a": [1, 2]}),
        ("<a>NULL</a>", {"a": None}),
        ("<a>-0</a><b>1e3</b><c>1e400</c><d>-</d><e>12345678.5</e>",
         {"a": 0, "b": 1000, "c": "1e400", "d": "-", "e": 12345678.5}),
        ("", {}),
    ],
)  # fmt: skip
def test_xml_as_org_json_reads_it(text, value):
    assert parse_xml_object(text, keeps_texts=False) == value


@pytest.mark.parametrize(
    "text",
    ["<a>", "<a></b>", "</a>", "<a", "<a x=>", "<!-- ", "<!DOCTYPE", "<a>x & y</a>", "<a><![CDATA[x</a>",
     None, 5],
)  # fmt: skip
def test_what_is_no_xml_fails_on_the_row(text):
    assert run_failing("parse-xml-to-json body", {"body": text}).kind == 1


def test_elements_nested_without_end_fail_on_the_row():
    text = "<a>" * 50_000 + "</a>" * 50_000
    assert "nested too deeply" in run_failing("parse-xml-to-json b", {"b": text}).message
    assert run_failing("parse-as-xml b", {"b": text}).kind == 1


@pytest.mark.parametrize("text", [BOMB, FILE])
def test_entities_are_never_looked_up(text):
    assert "entit" in run_failing("parse-as-xml b", {"b": text}).message
    assert "entit" in run_failing("xpath b c /a", {"b": text}).message
    (row,) = run("parse-xml-to-json b", {"b": text})
    assert set(row.values()) <= {"&i;", "&f;"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/catalog/book/author", "Gambardella, Matthew"),
        ("/catalog/book[2]/author", "Ralls & Kim"),
        ("/catalog/book/@id", "bk101"),
        ("/catalog/book[@id='bk102']/price", "5.0"),
        ("/catalog/book/missing", None),
        ("/catalog/book", None),
        ("/catalog/book/price/text()", "44.95"),
        ("count(//book)", "2"),
        ("string(//size)", "007"),
        ("boolean(//size)", "true"),
    ],
)
def test_the_first_text_that_a_path_selects(path, found):
    (row,) = run(f"parse-as-xml body\nxpath body item {path}", {"body": BOOKS})

    assert row == {"body": BOOKS, "item": found}


def test_all_texts_that_a_path_selects():
    (row,) = run(
        "parse-as-xml body\nxpath-array body items //price\nxpath-array body none //x\n"
        "xpath-array body ids /catalog/book/@id",
        {"body": BOOKS},
    )

    assert (row["items"], row["none"], row["ids"]) == (["44.95", "5.0"], [], ["bk101", "bk102"])


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/ClinicalDocument/patient/name/given", "Ann"),
        ("/ClinicalDocument/patient/name/given/@qualifier", "X"),
        ("/ClinicalDocument/patient/@use", " t "),
        ("//sdtc:race", "r"),
        ("//sdtc:race/@code", "2"),
        ("//empty", None),
    ],
)
def test_namespaces_of_the_document_are_known(path, found):
    (row,) = run(f"xpath body found {path}", {"body": PATIENT})
    assert row["found"] == found


def test_a_prefix_that_no_document_declares_fails():
    assert "cannot be evaluated" in run_failing("xpath b c //x:y", {"b": "<a/>"}).message


def test_nulls_and_missing_columns():
    assert run("parse-as-xml b", {"b": None}) == [{"b": None}]
    assert run("parse-as-xml b", {"a": 5}) == [{"a": 5}]
    assert run("xpath b c /a", {"a": 5}) == [{"a": 5, "c": None}]
    assert "null" in run_failing("xpath b c /a", {"b": None}).message
    assert run("parse-xml-to-json b", {"a": 5}) == [{"a": 5}]


@pytest.mark.parametrize("text", ["<a>", "", "x", "<a>\ud800</a>", "<a>\x00</a>"])
def test_malformed_documents_fail(text):
    assert "not well-formed XML" in run_failing("parse-as-xml b", {"b": text}).message


def test_a_path_that_is_none_is_reported_at_once():
    assert "not an XPath" in list_problems("xpath body c /a[")[0]


@given(st.text(alphabet="<>/ab=\"'!-[]?& \n"))
def test_any_text_is_read_or_refused(text):
    try:
        parse_xml_object(text, keeps_texts=False)
    except XmlFormatError:
        return
