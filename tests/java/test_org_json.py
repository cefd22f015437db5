"""XML as JSON beside org.json 20180813, run with Java 17; members are in the order of the document."""

from __future__ import annotations

import pytest

from localcdap.java.org_json import XmlFormatError, format_object, parse_xml_object


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", "1"),
        ("007", '"007"'),
        ("-0", "-0"),
        ("1.0", "1"),
        ("1.", "1"),
        ("12.50", "12.5"),
        ("1e3", "1000"),
        ("1E400", '"1E400"'),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", '"9223372036854775808"'),
        ("TRUE", "true"),
        ("null", "null"),
        ("NaN", '"NaN"'),
        (".5", '".5"'),
        ("-.5", "-0.5"),
        ("+5", '"+5"'),
        ("0x1", '"0x1"'),
        ("1d", '"1d"'),
        ("100000.5", "100000.5"),
        ("10000000.5", "1.00000005E7"),
        ("1.0E10", "1.0E10"),
        ("1e-7", "1.0E-7"),
        (" 5 ", "5"),
        ("é😀", '"é😀"'),
        ('"q"/', '"\\"q\\"/"'),
        ("<![CDATA[<1></]]>", '"<1><\\/"'),
        ("&lt;&#65;&unknown;&apos;", '"<A&unknown;\'"'),
        ("\u2028\x85", '"\\u2028\\u0085"'),
    ],
)
def test_texts_become_values(text, found):
    assert (
        format_object(parse_xml_object(f"<a>{text}</a>", keeps_texts=False)) == f'{{"a":{found}}}'
    )


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ("", "{}"),
        ("no xml", "{}"),
        ("text<a>1</a>tail", '{"a":1}'),
        ("<a/><b/>", '{"a":"","b":""}'),
        ("<a b='x' b='y'/>", '{"a":{"b":["x","y"]}}'),
        ("<a b=1/>", '{"a":{"b":1}}'),
        ("<a><b>1</b><b>2</b></a>", '{"a":{"b":[1,2]}}'),
        ("<x:a xmlns:x='u'>t</x:a>", '{"x:a":{"xmlns:x":"u","content":"t"}}'),
        ("<!DOCTYPE a [<!ENTITY e 'v'>]><a>&e;</a>", '{"a":"&e;"}'),
        ("<a> </a>", '{"a":""}'),
    ],
)
def test_elements_become_members(document, found):
    assert format_object(parse_xml_object(document, keeps_texts=False)) == found


@pytest.mark.parametrize("document", ["<a>", "<a></b>", "<a>t", "<a>&amp</a>"])
def test_what_org_json_refuses(document):
    with pytest.raises(XmlFormatError):
        parse_xml_object(document, keeps_texts=False)
