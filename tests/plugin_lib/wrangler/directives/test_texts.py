"""Directives on texts, the examples of their documentation and null."""

from __future__ import annotations

import re
import uuid

import pytest

from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

SPACES = " \t\n\x0b\x0c\r\x85\xa0\u1680\u180e\u2000\u200a\u2028\u2029\u202f\u205f\u3000"

CHANGES = [
    ("uppercase :a", "aBc ß é", "ABC SS É"),
    ("uppercase :a", None, None),
    ("uppercase :a", 5, 5),
    ("lowercase :a", "ABc É", "abc é"),
    ("lowercase :a", None, None),
    ("titlecase :a", "TITLE is\ttiTLE o'neil", "Title Is\tTitle O'neil"),
    ("titlecase :a", "", ""),
    ("titlecase :a", None, None),
    ("trim :a", f"{SPACES}a b{SPACES}", "a b"),
    ("trim :a", None, None),
    ("trim :a", "", ""),
    ("ltrim :a", f"{SPACES}a {SPACES}", f"a {SPACES}"),
    ("rtrim :a", f"{SPACES} a{SPACES}", f"{SPACES} a"),
    ("rtrim :a", 7, 7),
    ("fill-null-or-empty :a 'none'", None, "none"),
    ("fill-null-or-empty :a 'none'", "", "none"),
    ("fill-null-or-empty :a 'none'", " ", " "),
    ("fill-null-or-empty :a 'none'", 0, 0),
    ("mask-number :a xxx-xx-####", "000-00-1234", "xxx-xx-1234"),
    ("mask-number :a xxx-xx-#####", "000-00-1234", "xxx-xx-1234"),
    ("mask-number :a xxx-##-xx-##-XXXX-9", "0000012349898", "xxx-00-xx-34-xxxx-9"),
    ("mask-number :a xx-xx-#", 12345, "xx-xx-5"),
    ("mask-number :a xx-xx-#", 123, "xx-xx-"),
    ("mask-number :a xx-xx-TESTING-#", 12345, "xx-xx-TESTING-5"),
    ("mask-number :a x#.x#", 12.34, "x2.x4"),
    ("mask-number :a '#'", None, None),
    ("mask-number :a 'xx#'", "😀b", "xxb"),
    ("mask-number :a '##x'", "😀b", "😀x"),
    ("mask-number :a '#x#'", "😀b", "?xb"),
    ("mask-number :a '##-#'", "😀b", "😀-b"),
    ("mask-shuffle :a", "150 Mars Avenue, Marcity, Mares", "089 Kyrp Oziwyy, Dyggoci, Fagyq"),
    ("mask-shuffle :a", "été 😀 ok", "ébé 😀 um"),
    ("mask-shuffle :a", "", ""),
    ("find-and-replace :a s/Washington/Wash/g", "Washington, Washington", "Wash, Wash"),
    ("find-and-replace :a s/a/b/", "aaa", "baa"),
    ("find-and-replace :a s/a/b/2", "aaa", "aba"),
    ("find-and-replace :a s/A/b/gI", "aAa", "bbb"),
    ("find-and-replace :a s/(\\w+) (\\w+)/$2 $1/", "one two", "two one"),
    ("find-and-replace :a s/\\//-/g", "a/b/c", "a-b-c"),
    ("find-and-replace :a s/[\\r\\n]//g", "a\r\nb\n", "ab"),
    ('find-and-replace a s/"//g', '07/29,"Other (i.e. phone)",x', "07/29,Other (i.e. phone),x"),
    ("find-and-replace :a s/a/b/g", None, None),
    ("find-and-replace :a s/1/2/g", 11, 11),
    ("url-encode :a", "a b&c=ä*-._~", "a+b%26c%3D%C3%A4*-._%7E"),
    ("url-decode :a", "a+b%26c%3D%C3%A4", "a b&c=ä"),
    ("set-charset :a 'utf-8'", "é".encode(), "é"),
    ("set-charset :a 'ISO-8859-1'", b"\xe9", "é"),
    ("set-charset :a 'utf-8'", b"\xff", "\ufffd"),
    ("set-charset :a 'utf-8'", None, None),
    ("set-charset :a ' UTF-8 '", b"\xe2\x82|\xed\xa0\x80", "\ufffd|\ufffd\ufffd\ufffd"),
    ("set-charset :a 'UTF-16'", b"\x00a\xd8\x00\x00b", "a\ufffdb"),
    ("set-charset :a 'UTF-16'", b"\xff\xfea\x00", "a"),
    ("set-charset :a 'UTF-16LE'", b"a\x00b", "a\ufffd"),
    ("set-charset :a 'UTF-32'", b"\x00\x00\x00a\xff", "a\ufffd"),
    ("set-charset :a 'IBM01140'", b"\x9f", "€"),
    ("set-charset :a 'windows-1252'", b"\x80\x81", "€\ufffd"),
    ("set-charset :a 'Shift_JIS'", b"\x82\xa0\x82", "あ\ufffd"),
]


@pytest.mark.parametrize(("recipe", "value", "expected"), CHANGES)
def test_a_value_changes(recipe, value, expected):
    assert run(recipe, {"a": value, "b": 1}) == [{"a": expected, "b": 1}]


MISSING = [
    ("uppercase :a", {"b": 1}),
    ("lowercase :a", {"b": 1}),
    ("titlecase :a", {"b": 1}),
    ("trim :a", {"b": 1}),
    ("fill-null-or-empty :a 'none'", {"b": 1, "a": "none"}),
    ("mask-number :a '#'", {"b": 1, "a": ""}),
    ("find-and-replace :a s/a/b/g", {"b": 1}),
    ("set-charset :a 'utf-8'", {"b": 1}),
    ("encode hex :a", {"b": 1}),
    ("merge :a :b :c ','", {"b": 1}),
]


@pytest.mark.parametrize(("recipe", "expected"), MISSING)
def test_a_missing_column_is_passed_over(recipe, expected):
    assert run(recipe, {"b": 1}) == [expected]


FAILING = [
    ("mask-shuffle :a", {"b": 1}, "does not exist"),
    ("mask-shuffle :a", {"a": None}, "is null"),
    ("mask-shuffle :a", {"a": 1}, "is a int"),
    ("mask-number :a '#'", {"a": True}, "cannot be masked"),
    ("cut-character :a :b 1-3", {"b": 1}, "does not exist"),
    ("cut-character :a :b 1-3", {"a": None}, "is null"),
    ("cut-character :a :b 1-3", {"a": 1}, "is a int"),
    ("url-encode :a", {"a": None}, "is null"),
    ("url-encode :a", {"b": 1}, "does not exist"),
    ("url-decode :a", {"a": "%zz"}, "without two hexadecimal digits"),
    ("set-charset :a 'utf-8'", {"a": "text"}, "bytes are needed"),
    ("hash :a 'MD5'", {"a": None}, "is null"),
    ("hash :a 'MD5'", {"a": 1}, "a text or bytes are needed"),
    ("hash :a 'MD5'", {"b": 1}, "does not exist"),
    ("encode hex :a", {"a": 1}, "a text or bytes are needed"),
    ("decode hex :a", {"a": "xyz"}, "not hex"),
]


@pytest.mark.parametrize(("recipe", "row", "message"), FAILING)
def test_a_row_fails(recipe, row, message):
    assert message in run_failing(recipe, row).message


CUTS = [
    ("1-3", "one"),
    ("5-7", "two"),
    ("9-13", "three"),
    ("15-", "four five six seven eight"),
    ("1,2,3", "one"),
    ("-3", "one"),
    ("1,2,3-5", "one t"),
    ("-c 5-7", "two"),
    ("-c -3", "one"),
    ("3,1", "oe"),
    ("90-95", ""),
]
UNIT_CUTS = [("3", "b"), ("1-2", "😀"), ("1", "?"), ("2-", "?b"), ("1,2", "😀"), ("1,3", "?b")]


@pytest.mark.parametrize(("ranges", "expected"), UNIT_CUTS)
def test_places_are_utf_16_units(ranges, expected):
    (row,) = run(f"cut-character body part {ranges}", {"body": "😀b"})

    assert row["part"] == expected


@pytest.mark.parametrize(("ranges", "expected"), CUTS)
def test_characters_are_cut_by_place(ranges, expected):
    text = "one two three four five six seven eight"

    (row,) = run(f"cut-character body part {ranges}", {"body": text})

    assert row == {"body": text, "part": expected}


def test_what_is_cut_replaces_a_column():
    assert run("cut-character :a :a 2-", {"a": "$734.77"}) == [{"a": "734.77"}]


MERGES = [
    ("merge A B C ','", "Root,Joltie"),
    ("merge B A C ' '", "Joltie Root"),
    ("merge A B C '\\u000A'", "Root\nJoltie"),
    ("merge A B C '---'", "Root---Joltie"),
    ("merge A N C '-'", "Root-null"),
]


@pytest.mark.parametrize(("recipe", "expected"), MERGES)
def test_two_columns_are_merged(recipe, expected):
    row = {"A": "Root", "B": "Joltie", "N": None}

    assert run(recipe, row) == [{**row, "C": expected}]


def test_numbers_are_merged_as_java_writes_them_and_a_present_column_stays():
    row = {"a": 1.0e10, "b": True, "c": "old"}

    assert run("merge :a :b :d '/'", row) == [{**row, "d": "1.0E10/true"}]
    assert run("merge :a :b :c '/'", row) == [row]


ENCODED = [
    ("base32", "Base32 Encoding", "IJQXGZJTGIQEK3TDN5SGS3TH"),
    ("base64", "Testing Base 64 Encoding", "VGVzdGluZyBCYXNlIDY0IEVuY29kaW5n"),
    ("hex", "Hex Encoding", "48657820456e636f64696e67"),
    ("BASE64", "", ""),
]


@pytest.mark.parametrize(("method", "text", "encoded"), ENCODED)
def test_texts_are_encoded_and_decoded(method, text, encoded):
    name = method.lower()
    recipe = f"encode {method} :a; decode {method} :a_encode_{name}"

    (row,) = run(recipe, {"a": text})

    assert row == {
        "a": text,
        f"a_encode_{name}": encoded,
        f"a_encode_{name}_decode_{name}": text,
    }


def test_null_is_not_encoded_and_bytes_are():
    assert run("encode hex :a", {"a": None}) == [{"a": None}]
    assert run("encode hex :a", {"a": b"\x00\xff"})[0]["a_encode_hex"] == "00ff"


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        ("base64", "VGVz\r\ndA==", "Test"),
        ("base64", "VGVzdA", "Test"),
        ("base64", "_-8", "\ufffd\ufffd"),
        ("base32", "KRSXG5A=", "Test"),
        ("base32", "KRSXG5A", "Test"),
        ("hex", "54657374", "Test"),
    ],
)
def test_decoding_is_as_patient_as_the_original(method, text, expected):
    assert run(f"decode {method} :a", {"a": text})[0][f"a_decode_{method}"] == expected


def test_digests_are_bytes_or_hexadecimal():
    row = {"a": "abc"}

    assert run("hash :a 'MD5' false", row)[0]["a"].hex() == "900150983cd24fb0d6963f7d28e17f72"
    assert run("hash :a 'MD5'", row)[0]["a"].hex() == "900150983cd24fb0d6963f7d28e17f72"
    assert run("hash :a MD5 true", row)[0]["a"] == "0" * 32 + "900150983cd24fb0d6963f7d28e17f72"
    assert run("hash :a MD2 true", row)[0]["a"] == "0" * 32 + "da853b0d3f88d99b30283a69e6ded6bb"
    assert run("hash :a 'SHA-256' true", row)[0]["a"].startswith("ba7816bf8f01cfea")
    assert len(run("hash :a 'SHA-512' true", {"a": b"x"})[0]["a"]) == 128


def test_a_digest_longer_than_64_digits_has_no_zeros_in_front():
    found = next(t for t in map(str, range(1000)) if _sha512(t).startswith("0"))

    assert run("hash :a 'SHA-512' true", {"a": found})[0]["a"] == _sha512(found).lstrip("0")


def _sha512(text: str) -> str:
    import hashlib

    return hashlib.sha512(text.encode()).hexdigest()


def test_a_uuid_is_new_for_each_row():
    rows = run("generate-uuid :id", {"id": 1}, {"a": 2})

    assert all(uuid.UUID(row["id"]) for row in rows)
    assert rows[0]["id"] != rows[1]["id"]
    assert list(rows[1]) == ["a", "id"]


NO_CHARSETS = ("klingon", "", "hex", "zlib", "UTF-7", "unicode_escape", "idna", "undefined", "a\0b")
WRONG = [
    ("fill-null-or-empty :a ''", "must not be empty"),
    ("hash :a SHA-385 true", "no algorithm 'SHA-385'"),
    ("hash :a 'Tiger'", "not available"),
    ("encode 'base16' :a", "base64"),
    ("cut-character :a :b 'x-y'", "not a list of ranges"),
    ("cut-character :a :b 3-1", "not a range"),
    ("find-and-replace :a s/a", "is not a sed script"),
    *((f"set-charset :a '{name}'", "no character set") for name in NO_CHARSETS),
]


@pytest.mark.parametrize(("recipe", "message"), WRONG)
def test_wrong_arguments_are_reported_with_the_recipe(recipe, message):
    assert any(re.search(message, reported) for reported in list_problems(recipe)), list_problems(
        recipe
    )
