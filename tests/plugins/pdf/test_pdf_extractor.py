"""PDFExtractor on documents that pypdf writes, broken ones and null."""

from __future__ import annotations

from typing import Any

import pytest
from pdf_extractor.pdf_extractor import PdfExtractor

from localcdap.api import Schema
from localcdap.api.errors import StageError
from localcdap.testing import StageTester
from tests.plugins.pdf.documents import write_pdf

FILES = Schema.record("files", [("name", Schema.STRING), ("body", Schema.BYTES.as_nullable)])


def stage(*, goes_on: bool = False, source: str = "body") -> StageTester:
    given = {"sourceFieldName": source, "continueOnError": str(goes_on).lower()}
    return StageTester(PdfExtractor, given, FILES)


def extract(*documents: bytes | None, goes_on: bool = False) -> list[dict[str, Any]]:
    records = [{"name": str(i), "body": body} for i, body in enumerate(documents)]
    return stage(goes_on=goes_on).run(records).records


def test_text_and_properties():
    data = write_pdf(
        "hello world",
        "page two",
        Title="T",
        Author="Ada",
        CreationDate="D:20200102030405+01'00'",
        Trapped="/True",
    )
    (made,) = extract(data)
    assert made["raw_pdf_data"] == data
    assert made["text"].split() == ["hello", "world", "page", "two"]
    assert (made["page_count"], made["title"], made["author"]) == (2, "T", "Ada")
    assert made["creation_date"] == 1_577_930_645_000
    assert made["modification_date"] is None
    assert made["trapped"] == "True"
    assert made["keywords"] is None


def test_a_document_without_properties():
    (made,) = extract(write_pdf("x"))
    assert (made["text"], made["title"], made["creation_date"]) == ("x", None, None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "No data found in source field of incoming record."),
        (b"", "cannot be read"),
        (b"no pdf", "cannot be read"),
        (write_pdf("secret", password="x"), "File has not been decrypted"),
        (write_pdf("cut")[:300], "cannot be read"),
    ],
    ids=["null", "empty", "text", "encrypted", "cut"],
)
def test_documents_that_cannot_be_read(body: bytes | None, message: str, caplog: Any):
    with pytest.raises(StageError, match=message):
        extract(body)
    good = write_pdf("good")
    assert [each["text"] for each in extract(good, body, good, goes_on=True)] == ["good", "good"]
    assert "left out, since continueOnError is true" in caplog.text


def test_wrong_fields():
    assert stage(source="x").problems == [
        "sourceFieldName: Field 'x' must be present in the input schema."
    ]
    assert stage(source="name").problems == [
        "sourceFieldName: Field 'name' is of unexpected type 'string'."
    ]
