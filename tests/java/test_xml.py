"""XML that may be read, and what paths find in it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from localcdap.java.xml import XmlError, evaluate_path, find_path_problem, read_document


@pytest.mark.parametrize(
    ("document", "tags"),
    [
        ("<a><b/></a>", ["a", "b"]),
        ('<a xmlns="urn:x"><b/><p:c xmlns:p="urn:y"/></a>', ["a", "b", "{urn:y}c"]),
        ('<?xml version="1.0" encoding="UTF-16"?><ä/>', ["ä"]),
    ],
)
def test_elements_are_called_as_they_are_written(document, tags):
    assert [each.tag for each in read_document(document).iter()] == tags


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("", "not well-formed"),
        ("<a>\ud800</a>", "not well-formed"),
        ("<a>" * 300 + "</a>" * 300, "not well-formed"),
        ('<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>', "declares entities"),
        ('<!DOCTYPE a [<!ENTITY b "bb">]><a/>', "declares entities"),
    ],
)
def test_what_must_not_be_read(document, why):
    with pytest.raises(XmlError, match=why):
        read_document(document)


@given(st.text())
def test_any_text_is_a_document_or_refused(text):
    with contextlib.suppress(XmlError):
        read_document(text)


@pytest.mark.parametrize(
    ("path", "found"),
    [("//b/text()", ["1", "2"]), ("//@id", ["7"]), ("count(//b)", [2.0]), ("//none", [])],
)
def test_what_paths_find(path, found):
    root = read_document("<a id='7'><b>1</b><b>2</b></a>")
    assert evaluate_path(etree.XPath(path), root) == found


def test_paths_that_cannot_be_used():
    assert find_path_problem("/a/b[1]/@c") is None
    assert find_path_problem("/a[") is not None
    with pytest.raises(XmlError, match="'//x:y' cannot be evaluated"):
        evaluate_path(etree.XPath("//x:y"), read_document("<a/>"))
