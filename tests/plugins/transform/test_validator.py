"""The transform Validator: its results, its failures, and its functions beside those of Python."""

from __future__ import annotations

from typing import Any

import pytest
from core_plugins.scripts.javascript import ScriptError
from core_plugins.scripts.legacy_javascript import Validator, build_core_validator
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Schema
from localcdap.plugin_lib.jexl.functions import data_quality
from localcdap.plugin_lib.jexl.functions import data_quality as python
from tests.plugins.transform.support import configure, messages, record, run

SCHEMA = record(
    date=Schema.STRING, url=Schema.STRING.as_nullable, content_length=Schema.INT.as_nullable
)
SCRIPT = """function isValid(input, context) {
  var core = context.getValidator("coreValidator");
  context.getMetrics().pipelineCount("total.processed", 1);
  if (!core.isDate(input.date))
    return {isValid: false, errorCode: 5, errorMsg: input.date + " is invalid date"};
  if (!coreValidator.isUrl(input.url))
    return {isValid: false, errorCode: 7.0, errorMsg: "invalid url"};
  if (!core.isInRange(input.content_length, 0, 1024 * 1024))
    return {isValid: false, errorCode: 10, errorMsg: "content length >1MB"};
  input.date = "changed";
  return {isValid: true};
}"""
"""The script of CDAP's own test."""


def validate(script: str, *rows: tuple[Any, ...]):
    records = [dict(zip(SCHEMA.field_names, row, strict=True)) for row in rows]
    return run(Validator, {"validators": "core", "validationScript": script}, SCHEMA, records)


def test_invalid_records_become_error_records():
    good = ("1/2/1988", "http://xyz.com", 120)
    found = validate(
        SCRIPT,
        good,
        ("1/2-1988", "http://xyz.com", 120),
        ("1/2/1988", "xyz.com", 120),
        ("1/2/1988", None, 120),
        ("1/2/1988", "http://xyz.com", 1025 * 1024),
    )
    assert [tuple(each.values()) for each in found.records] == [good]
    assert [(code, message) for _, code, message in found.errors] == [
        (5, "1/2-1988 is invalid date"),
        (7, "invalid url"),
        (7, "invalid url"),
        (10, "content length >1MB"),
    ]
    assert found.errors[1][0] == {"date": "1/2/1988", "url": "xyz.com", "content_length": 120}
    assert found.metrics == {"total.processed": 5, "invalid": 4}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("null", "did not contain an entry for 'isValid'"),
        ("{}", "did not contain an entry for 'isValid'"),
        ("{isValid: 'no'}", "must be true or false, not no"),
        ("{isValid: false}", "errorCode entry in resultMap is not a valid number"),
        ("{isValid: false, errorCode: 'x'}", "errorCode entry in resultMap is not a valid number"),
        ("{isValid: false, errorCode: 1e12}", "errorCode must be a valid Integer"),
        ("coreValidator.isDate(input.nothing.at)", "of undefined"),
    ],
)
def test_a_wrong_result_fails_the_run(returned: str, message: str):
    with pytest.raises(ScriptError, match=message):
        validate(f"function isValid(input, context) {{ return {returned}; }}", ("1", "2", 3))


def test_failures():
    wrong = {"validators": "core,mine", "validationScript": "function valid( {"}
    stage = configure(Validator, wrong, SCHEMA)
    script, validator = stage.failures
    assert script.message.startswith("Invalid script: ")
    assert script.causes[0].attributes["stageConfig"] == "validationScript"
    assert validator.message == "No validator plugin named mine could be found."
    assert messages(configure(Validator, {}, SCHEMA)) == [
        "Required property 'validators' has no value.",
        "Required property 'validationScript' has no value.",
    ]
    assert (
        configure(Validator, {"validators": "core", "validationScript": SCRIPT}, SCHEMA) is not None
    )


@pytest.fixture(scope="module")
def v8():
    from py_mini_racer import MiniRacer

    with MiniRacer() as made:
        made.eval(
            f"var core = {build_core_validator()}; var call = (name, ...a) => core[name](...a);"
        )
        yield made


PAIRS = {
    "isDate": python.is_short_date,
    "isEmail": data_quality.is_email,
    "isUrl": data_quality.is_url,
    "isValidISBN": python.isISBN,
    "isValidInet4Address": data_quality.is_ipv4,
    "isValidInet6Address": data_quality.is_ipv6,
    "isValidTId": data_quality.is_top_level,
    "isValidCountryCodeTid": data_quality.is_country,
    "isValidGenericTId": data_quality.is_generic,
    "isInt": lambda text: text.lstrip("+-").isdecimal() and -(2**31) <= int(text) < 2**31,
}
TEXTS = [
    *("1/2/1988", " 12/31/26 ", "2/29/00", "2/29/01", "13/1/2020", "0/1/2020", "1/2/1988x", "1/2"),
    *(
        "ada@example.com",
        "a.b+c@x.org",
        '"a b"@x.de',
        "a@b",
        "a@localhost",
        "@x.com",
        "a@[1.2.3.4]",
    ),
    *("a..b@x.com", "a@x.com.", "a@x.nosuchtld", "a b@x.com", f"{'u' * 65}@x.com"),
    *(
        "http://xyz.com",
        "https://u:p@x.org:80/a/../b?c=d#e",
        "ftp://1.2.3.4/",
        "http://[::1]:8080/x",
    ),
    *(
        "http://x",
        "mailto:a@x.com",
        "http://x.com/..",
        "http://x.com//a",
        "http://x.com:70000",
        "x.com",
    ),
    *("978-3-16-148410-0", "0-306-40615-2", "080442957X", "0804429570", "9783161484101"),
    *(
        "1.2.3.4",
        "256.1.1.1",
        "01.2.3.4",
        "::",
        "::1",
        "1::2::3",
        "1:2:3:4:5:6:7:8",
        "::1.2.3.4",
        "1:2",
        "%",
    ),
    *("com", ".de", "uk", "arpa", "nosuchtld", "COM", "", "localhost"),
    *("1", "+1", "-1", "2147483647", "2147483648", "-2147483648", "1.0"),
]


@pytest.mark.parametrize("name", PAIRS)
def test_the_functions_agree_with_those_of_expressions(v8, name: str):
    found = {text: v8.call("call", name, text) for text in TEXTS}
    assert found == {text: bool(PAIRS[name](text)) for text in TEXTS}
    assert True in found.values()


@given(st.text("a1.:/@[]-x?#com%", max_size=14))
def test_addresses_of_any_characters_agree(v8, text: str):
    for name in ("isEmail", "isUrl", "isValidInet6Address", "isValidInet4Address"):
        assert v8.call("call", name, text) == bool(PAIRS[name](text)), name


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("isCreditCard", "4111111111111111"), True),
        (("isCreditCard", "4111111111111112"), False),
        (("isCreditCard", "30569309025904"), False),  # Diners are not among the cards by default
        (("isBlankOrNull", " \t"), True),
        (("isBlankOrNull", None), True),
        (("isBlankOrNull", "x"), False),
        (("isInRange", 5, 5, 6), True),
        (("isInRange", 7, 5, 6), False),
        (("isLong", "9223372036854775807"), True),
        (("isLong", "9223372036854775808"), False),
        (("isShort", "32768"), False),
        (("matchRegex", "[a-z]+", "abc"), True),
        (("matchRegex", "[a-z]", "abc"), False),
        (("matchRegex", "[a-z]", None), False),
        (("maxLength", "abc", 3), True),
        (("minLength", "abc", 4), False),
        (("maxValue", 3, 3), True),
        (("minValue", 2.5, 3), False),
        (("isValidIp", "::1"), True),
        (("isValidLocalTId", "localhost"), True),
        (("isValidInfrastructureTId", ".arpa"), True),
    ],
)
def test_the_other_functions(v8, call: tuple[Any, ...], expected: bool):
    assert v8.call("call", *call) is expected
