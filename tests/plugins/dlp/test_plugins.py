"""SensitiveRecordFilter and SensitiveRecordRedaction, with the properties of real pipelines."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any

import pytest
from dlp_plugins.sensitive_records import SensitiveRecordFilter, SensitiveRecordRedaction
from dlp_plugins.transformations import mask

from localcdap.api import Schema
from localcdap.testing import StageTester

NOTES = Schema.record(
    "notes",
    [
        ("id", Schema.INT),
        ("notes", Schema.STRING.as_nullable),
        ("day", Schema.DATE.as_nullable),
        ("raw", Schema.BYTES.as_nullable),
    ],
)
CARD = "card 4111-1111-1111-1111"
KEY = base64.b64encode(b"0123456789abcdef").decode()


def note(text: str | None, day: datetime.date | None = None, id: int = 1) -> dict[str, Any]:
    return {"id": id, "notes": text, "day": day, "raw": b"ada@x.org"}


class TestFilter:
    def test_records_go_to_their_port(self):
        records = [note("nothing"), note("ada@x.org"), note(None)]
        for whole in ("true", "record"):
            properties = {"entire-record": whole, "on-error": "send-to-error", "project": "auto"}
            stage = StageTester(SensitiveRecordFilter, properties, NOTES)
            assert stage.problems == []
            out = stage.run(records)
            assert out.ports == {
                "Sensitive": [records[1]],
                "Non-Sensitive": [records[0], records[2]],
            }
            assert out.metrics == {"dlp.requests.count": 3, "dlp.requests.success": 3}

    def test_the_ports_of_older_versions(self):
        properties = {"entire-record": "false", "field": "notes", "filter-confidence": "low"}
        stage = StageTester(SensitiveRecordFilter, properties, NOTES, ports=["S", "NS"])
        assert stage.run([note("ada@x.org"), note("x")]).ports == {
            "S": [note("ada@x.org")],
            "NS": [note("x")],
        }

    @pytest.mark.parametrize(
        ("properties", "problem"),
        [
            (
                {},
                "Input type is specified as 'Field', but a field name has not been specified.",
            ),
            ({"field": "x"}, "Field specified is not present in the input schema."),
            (
                {"field": "raw"},
                "Filtering on field supports only basic types (string, bool, int, long, float, double).",
            ),
        ],
    )
    def test_wrong_fields(self, properties: dict[str, str], problem: str):
        stage = StageTester(SensitiveRecordFilter, {"entire-record": "false"} | properties, NOTES)
        assert stage.problems == [f"field: {problem}"]

    def test_a_template_is_named_once(self):
        for more, problem in (
            ({}, "Custom template fields are not specified."),
            (
                {"template-id": "a", "customTemplatePath": "b"},
                "Both template id and template path are specified.",
            ),
        ):
            given = {"entire-record": "true", "customTemplateEnabled": "true"} | more
            assert StageTester(SensitiveRecordFilter, given, NOTES).problems == [
                f"template-id: {problem}"
            ]


def redact(*transformations: dict[str, Any], template: bool = False) -> StageTester:
    texts = [json.dumps({"filters": "CREDIT_CARD", "fields": "notes"} | t) for t in transformations]
    properties = {"fieldsToTransform": json.dumps(texts)}
    if template:
        properties |= {"customTemplateEnabled": "true", "templateId": "Demo"}
    return StageTester(SensitiveRecordRedaction, properties, NOTES)


def run(stage: StageTester, text: str | None) -> Any:
    assert stage.problems == []
    (record,) = stage.run([note(text)]).records
    return record["notes"]


class TestRedaction:
    def test_masking_as_in_the_example_pipeline(self):
        given = {"maskingChar": "#", "numberToMask": "0", "reverseOrder": "false"}
        one = {
            "transform": "MASKING",
            "transformProperties": given | {"charsToIgnoreEnum": "PUNCTUATION"},
        }
        stage = redact(one | {"filters": "NONE"}, template=True)
        assert run(stage, f"{CARD}, ada@x.org") == "card ####-####-####-####, ###@#.###"
        assert run(stage, None) is None
        assert run(redact(one), f"{CARD}, ada@x.org") == "card ####-####-####-####, ada@x.org"
        assert stage.trace() is not None

    def test_other_replacements(self):
        value = {"transform": "REPLACE_VALUE", "transformProperties": {"newValue": "[card]"}}
        assert run(redact(value), CARD) == "card [card]"
        assert run(redact({"transform": "REDACT"}), CARD) == "card "
        hashed = {
            "transform": "CRYPTO_HASH",
            "transformProperties": {"keyType": "UNWRAPPED", "key": KEY},
        }
        first, second = run(redact(hashed), CARD), run(redact(hashed), CARD)
        assert first == second
        assert len(base64.b64decode(first.removeprefix("card "))) == 32
        transient = {"transform": "CRYPTO_HASH", "transformProperties": {"keyType": "TRANSIENT"}}
        assert run(redact(transient), CARD) != first

    def test_dates_move_within_their_bounds(self):
        given = {"lowerBoundDays": "10", "upperBoundDays": "12"}
        one = {"transform": "DATE_SHIFT", "fields": "day", "transformProperties": given}
        stage = redact(one)
        day = datetime.date(2026, 1, 1)
        records = stage.run([note("x", day, id=i) for i in range(50)] + [note("x")]).records
        moved = {record["day"] for record in records[:-1]}
        assert moved == {day + datetime.timedelta(days=n) for n in (10, 11, 12)}
        assert records[-1]["day"] is None

    @pytest.mark.parametrize(
        ("one", "problem"),
        [
            ({"transform": "MASKING"}, "Masking Character is a required field for this transform."),
            (
                {"transform": "MASKING", "transformProperties": {"maskingChar": "##"}},
                "Masking Character must be a single character, string '##' of length 2 is invalid.",
            ),
            (
                {"transform": "REDACT", "fields": ""},
                "No fields were selected to apply 'REDACT' transform.",
            ),
            (
                {"transform": "REDACT", "fields": "x"},
                "Field 'x' is not present in the input schema",
            ),
            (
                {"transform": "REDACT", "fields": "id"},
                "Field 'id' has type 'int' which is not supported by 'REDACT' transform",
            ),
            ({"transform": "REDACT", "filters": ""}, "At least one filter must be selected."),
            (
                {"transform": "REDACT", "filters": "NONE"},
                "This transform depends on custom template that was not defined.",
            ),
            (
                {
                    "transform": "CRYPTO_HASH",
                    "transformProperties": {"keyType": "UNWRAPPED", "key": "YQ=="},
                },
                "Key must be 16/24/32 bytes long.",
            ),
            (
                {"transform": "CRYPTO_HASH", "transformProperties": {"keyType": "KMS_WRAPPED"}},
                "A key of the type KMS_WRAPPED is known to Google Cloud only.",
            ),
            (
                {"transform": "DETERMINISTIC_ENCRYPTION"},
                "The transform 'DETERMINISTIC_ENCRYPTION' needs the service of Google Cloud.",
            ),
            (
                {
                    "transform": "DATE_SHIFT",
                    "fields": "day",
                    "transformProperties": {"lowerBoundDays": 2, "upperBoundDays": 1},
                },
                "Lower Bound cannot be greater than Upper Bound.",
            ),
            (
                {"transform": "SHRED"},
                (
                    "Error while parsing transforms: Transform SHRED does not have an associated transform "
                    "config"
                ),
            ),
        ],
    )
    def test_wrong_transformations(self, one: dict[str, Any], problem: str):
        assert redact(one).problems == [f"fieldsToTransform: {problem}"]

    def test_transformations_that_do_not_go_together(self):
        value = {"transform": "REPLACE_VALUE", "transformProperties": {"newValue": "x"}}
        assert redact({"transform": "REDACT"}, {"transform": "REDACT"}).problems == [
            (
                "fieldsToTransform: Combination of transform, filter and field must be unique. Found "
                "multiple definitions for 'REDACT' transform on 'notes' with filter 'Credit_card'"
            )
        ]
        assert redact({"transform": "REDACT"}, value).problems == [
            (
                "fieldsToTransform: Only one transform can be defined per field and filter combination. "
                "Found conflicting transforms 'REDACT' and 'REPLACE_VALUE'"
            )
        ]
        mixed = redact({"transform": "REDACT"}, value | {"filters": "NONE"}, template=True)
        assert "Cannot use custom templates and built-in filters" in mixed.problems[0]
        assert "no transforms use a custom template" in redact(value, template=True).problems[0]

    def test_what_no_detector_finds_has_a_warning(self):
        stage = redact({"transform": "REDACT", "filters": "PASSPORT,CREDIT_CARD"})
        assert [each.message for each in stage.warnings] == [
            "There are no detectors here for PASSPORT: nothing of that is replaced."
        ]


def test_masks_end_where_they_should():
    assert mask("12-34", "*", 3, "-", backwards=False) == "**-*4"
    assert mask("12-34", "*", 3, "-", backwards=True) == "1*-**"
    assert mask("", "*", 0, "", backwards=True) == ""
