"""Semantic types of columns, on labelled samples: what they are, and what only looks like one."""

from __future__ import annotations

import random

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.semantic_types.detection import detect_semantic_type
from localcdap.plugin_lib.wrangler.semantic_types.findings import (
    build_mask,
    list_privacy_hints,
    list_tags,
)
from localcdap.plugin_lib.wrangler.semantic_types.values import is_card, is_phone

EMAILS = [
    "ada@example.com",
    "b.o-b+x@mail.example.co.uk",
    "c_d@example.org",
    "e1@a-b.example",
    "f@x.io",
]
IBANS = [
    "DE89 3704 0044 0532 0130 00",
    "GB29NWBK60161331926819",
    "FR1420041010050500013M02606",
    "NL91ABNA0417164300",
    "AT611904300234573201",
]
CARDS = [
    "4111 1111 1111 1111",
    "5500-0000-0000-0004",
    "340000000000009",
    "30000000000004",
    "6011000000000004",
    "4012888888881881",
]
PHONES = [
    "+49 30 123456",
    "+1 (212) 555-0187",
    "(415) 555-2671",
    "020 7946 0958",
    "0171/1234567",
    "+44 (0)20 7946 0018",
    "212-555-0100 x12",
]
STEUER_IDS = ["36574261809", "02476291358", "86095742719", "47036892816", "65929970489"]
DNIS = ["12345678Z", "00000000T", "54362315K", "87654321X", "11111111H"]
SSNS = ["536-90-4399", "078-05-1121", "212-09-9999", "457-55-5463", "001-01-0001"]
CODICI = ["RSSMRA85T10A562S", "MRTMTT25D09F205Z", "VRDLGI70A01H501J"]
ADDRESSES = [
    "221B Baker Street, London",
    "Unter den Linden 77",
    "Hauptstraße 5, 10115 Berlin",
    "10 rue de Rivoli, Paris",
    "1600 Pennsylvania Ave NW",
    "Via Roma 12",
]
NAMES = ["Ada Lovelace", "Jean-Luc Picard", "Søren Kierkegaard", "O'Brien", "María José García"]


def luhn_numbers(count: int, length: int, prefix: str, seed: int = 1) -> list[str]:
    """Numbers with the check digit of cards, as loyalty cards and phones have them, too."""
    from stdnum import luhn

    numbers = random.Random(seed)
    bodies = [
        prefix + "".join(numbers.choices("0123456789", k=length - len(prefix) - 1))
        for _ in range(count)
    ]
    return [body + luhn.calc_check_digit(body) for body in bodies]


def random_numbers(count: int, length: int, seed: int = 2) -> list[str]:
    numbers = random.Random(seed)
    return [str(numbers.randrange(10 ** (length - 1), 10**length)) for _ in range(count)]


@pytest.mark.parametrize(
    ("name", "values", "type"),
    [
        ("a", EMAILS, "email"),
        ("a", [*EMAILS, "n/a"], "email"),
        ("a", IBANS, "iban"),
        ("a", CARDS, "card"),
        ("a", PHONES, "phone"),
        ("phone", ["2125550187", "4155552671", "2075550101"], "phone"),
        ("a", DNIS, "national-id"),
        ("a", SSNS, "national-id"),
        ("a", ADDRESSES, "address"),
        ("full_name", NAMES, "person-name"),
        ("lastName", NAMES, "person-name"),
        ("e_mail", EMAILS[:1], "email"),
    ],
)
def test_a_type_is_found(name, values, type):
    found = detect_semantic_type(name, [*values, "", "  "])

    assert found is not None
    assert found.type == type
    assert 0.8 <= found.share <= 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dates", ["2026-11-30", "2026-12-01", "1999-01-31", "2000-02-29", "2001-03-04"]),
        ("dates", ["30.11.2026", "01.12.2026", "31.01.1999", "29.02.2000", "04.03.2001"]),
        ("dates", ["01-02-2026 10:30", "02-03-2026 11:45", "1/2/2026 9:15", "3/4/2026", "5/6/26"]),
        ("times", ["20261130183000", "20261201094500", "19990131120000", "20000229000000", "20010304235959"]),
        ("phone", ["2026-11-30", "2026-12-01", "1999-01-31", "2000-02-29", "2001-03-04"]),
        ("hosts", ["192.168.0.1", "10.0.0.254", "172.16.31.2", "8.8.8.8", "127.0.0.1"]),
        ("prices", ["1234.50", "99999.99", "-1000.00", "123456.78", "0.99"]),
        ("isbn", ["978-3-16-148410-0", "978-0-306-40615-7", "9783161484100", "979-10-90636-07-1"]),
        ("versions", ["1.2.3", "10.11.12", "2.0.0-rc1", "3.1.4", "0.0.1"]),
        ("card_no", random_numbers(200, 16)),
        ("loyalty", luhn_numbers(200, 16, "9")),
        ("imei", luhn_numbers(200, 15, "35")),
        ("id", [str(n) for n in range(10_000_000, 10_000_200)]),
        ("id", random_numbers(400, 9)),
        ("id", random_numbers(400, 11)),
        ("ssn", random_numbers(400, 13)),
        ("order", [f"A-{n:04}" for n in range(100)]),
        ("city", ["Berlin", "New York", "São Paulo", "Rome", "Vienna"]),
        ("product_name", ["Garden Chair", "Blue Lamp", "Round Table", "Old Sofa", "Big Bed"]),
        ("name", ["Garden Chair", "Blue Lamp", "Round Table", "Old Sofa", "Big Bed"]),
        ("handles", ["@ada", "bob@", "c@d", "a@b@c.de", "x..y@example.com"]),
        ("email", ["yes", "no", "yes", "no"]),
        ("notes", ["Meet at 5", "Call 3 people", "10 st", "see page 12", "way 1"]),
        ("empty", ["", " "]),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_type_is_none(name, values):
    assert detect_semantic_type(name, values) is None


def test_few_numbers_with_a_check_digit_prove_nothing():
    assert detect_semantic_type("a", STEUER_IDS[:3]) is None
    assert detect_semantic_type("a", CODICI[:2]) is None


def test_a_single_value_is_not_more_than_it_is():
    assert not is_card("4111 1111 1111 1112")
    assert not is_card("1111 1111 1111 1117")
    assert [is_phone(text) for text in ("2125550187", "12345", "+1", "00:30", "+49.30.123456")] == [
        False,
        False,
        False,
        False,
        True,
    ]


def test_the_hints_are_directives_that_run():
    from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor
    from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
    from localcdap.plugin_lib.wrangler.recipe.propagation import propagate

    assert build_mask(IBANS) is None
    hints = list_privacy_hints("card", "card", ["4111-1111-1111-1111", "5500-0000-0000-0004"])
    assert [hint.directive.split()[0] for hint in hints] == ["mask-number", "hash", "mask-shuffle"]
    for hint in hints:
        recipe = load_recipe(hint.directive)
        assert recipe.errors == []
        executor = RecipeExecutor(propagate(recipe.steps, Columns(open=True)).directives, {})
        executor.start()
        made = executor.run({"card": "4111-1111-1111-1234"})
        assert isinstance(made, list)
        (row,) = made
        assert "1111-1111-1111" not in row["card"]
    assert hints[0].directive == "mask-number :card 'xxxx-xxxx-xxxx-####'"
    assert list_tags("card") == ["pii", "card"]
