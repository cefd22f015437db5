"""Tests of single values: whether a text may be an e-mail address, a phone number or a national identifier.

A test says what a text may be. It takes no dates for phone numbers, but one value alone proves little:
:mod:`.detection` looks at a whole column.

Only numbers with check digits, or of a written form that other values rarely have, are here. A number passes
a check of one digit by chance in one of ten cases; :mod:`.detection` therefore asks how many values of a
column pass the same test.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_EMAIL: Final = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,24}"
)
_CARD: Final = re.compile(r"\d{4}(?:[ -]?\d){8,15}")
_BRANDS: Final = (
    (re.compile(r"4"), (13, 16, 19)),  # Visa
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),  # Mastercard
    (re.compile(r"3[47]"), (15,)),  # American Express
    (re.compile(r"30[0-5]|36|38|39"), (14,)),  # Diners Club
    (re.compile(r"6011|64[4-9]|65"), (16, 19)),  # Discover
    (re.compile(r"352[89]|35[3-8]"), (16,)),  # JCB
    (re.compile(r"62"), (16, 17, 18, 19)),  # UnionPay
)
"""The first digits of the numbers of a brand, and how many digits these have."""
_PHONE: Final = re.compile(
    r"[+(]?[\d(][\d\s()./-]{5,22}\d(?:\s?(?:x|ext\.?)\s?\d{1,6})?", re.IGNORECASE
)
_INTERNATIONAL: Final = re.compile(r"(?:\+|00)[1-9]\d{6,13}")
_AMERICAN: Final = re.compile(
    r"(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}"
)
_WITH_TRUNK: Final = re.compile(r"\(?0[1-9]\d{0,4}\)?[ /-]\d[\d -]{3,12}\d")
"""A national number with the prefix of long-distance calls, as in Europe."""
_NOT_PHONE: Final = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ T].*)?"  # a date, also with a time
    r"|\d{1,3}(?:\.\d{1,3}){3}"  # an address of the Internet
    r"|\d{3}-\d{2}-\d{4}"  # a number of the social security of the United States
    r"|97[89][- ]?\d[\d -]{7,}\d"  # an ISBN
    r"|[-+]?\d+\.\d+"  # a decimal number
)
_WORD: Final = r"[^\W\d_]+(?:['’.-][^\W\d_]*)*"
_WORDS: Final = re.compile(rf"{_WORD}(?:,? {_WORD}){{0,4}}")
_STREET: Final = (
    r"street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|court|ct|square|sq|terrace|parkway|pkwy"
    r"|highway|hwy"
)
_STREET_ENDING: Final = (
    r"straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan|gatan|vej"
)
_FRENCH: Final = r"rue|avenue|boulevard|place|chemin|impasse|quai"
_SOUTHERN: Final = r"calle|avenida|plaza|via|viale|piazza|corso|rua|ulica|ul\."
_ADDRESSES: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\d+[a-z]?,? (?:[\w.'’-]+ ){{1,4}}(?:{_STREET})\b\.?.*",
        rf"[^\d,]*\w(?:{_STREET_ENDING})\.? \d+.*",
        r"[^\d,]*\b(?:straße|strasse|weg|platz|allee) \d+.*",
        rf"\d+(?: ?(?:bis|ter))?,? (?:{_FRENCH}) .+",
        rf"(?:{_SOUTHERN}) \D+,? ?\d+.*",
    )
)
_LONGEST: Final = 200


def is_email(text: str) -> bool:
    """Return whether a text is an address of e-mail, in the form in which people have them."""
    return len(text) <= _LONGEST and _EMAIL.fullmatch(text) is not None and ".." not in text


def is_card(text: str) -> bool:
    """Return whether a text is the number of a payment card: of a known brand, with the right check digit."""
    if _CARD.fullmatch(text) is None:
        return False
    from stdnum import luhn

    digits = re.sub(r"[ -]", "", text)
    fits = any(form.match(digits) and len(digits) in lengths for form, lengths in _BRANDS)
    return fits and luhn.is_valid(digits)


def is_iban(text: str) -> bool:
    """Return whether a text is an IBAN, with the length of its country and the right check digits."""
    if not text[:2].isalpha() or not 14 <= len(text) <= 42:
        return False
    from stdnum import iban

    return bool(iban.is_valid(text))


def is_phone(text: str) -> bool:
    """Return whether a text is a phone number in a form in which no other number is written."""
    if _PHONE.fullmatch(text) is None or _NOT_PHONE.fullmatch(text):
        return False
    plain = re.split(r"x|ext", text, flags=re.IGNORECASE)[0]
    if _INTERNATIONAL.fullmatch(re.sub(r"\(0\)|[\s()./-]", "", plain)):
        return text.startswith(("+", "00")) and (text[0] == "+" or len(text) > 9)
    return bool(_AMERICAN.fullmatch(plain.strip()) or _WITH_TRUNK.fullmatch(plain.strip()))


def is_plain_phone(text: str) -> bool:
    """Return whether a text has the digits of a phone number, which only the name of its column makes one."""
    digits = re.sub(r"[\s()./+-]", "", text)
    return (
        7 <= len(digits) <= 15
        and digits.isdecimal()
        and _PHONE.fullmatch(text) is not None
        and _NOT_PHONE.fullmatch(text) is None
    )


def is_person_name(text: str) -> bool:
    """Return whether a text has the form of a person's name, which only the name of its column makes one."""
    return len(text) <= 60 and text[:1].isupper() and _WORDS.fullmatch(text) is not None


def is_address(text: str) -> bool:
    """Return whether a text names a street and a number, in the languages of many addresses."""
    return len(text) <= _LONGEST and any(form.fullmatch(text) for form in _ADDRESSES)


_LONGEST_NUMBER: Final = 24
_MODULES: Final = (
    ("Belgium", "be.nn", r"\d{2}\.?\d{2}\.?\d{2}-?\d{3}\.?\d{2}"),
    ("Brazil", "br.cpf", r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}"),
    ("Bulgaria", "bg.egn", r"\d{10}"),
    ("Canada", "ca.sin", r"\d{3}[- ]\d{3}[- ]\d{3}"),
    ("China", "cn.ric", r"\d{17}[\dX]"),
    ("Czechia", "cz.rc", r"\d{6}/\d{3,4}"),
    ("Denmark", "dk.cpr", r"\d{6}-\d{4}"),
    ("Estonia", "ee.ik", r"\d{11}"),
    ("Finland", "fi.hetu", r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]"),
    ("France", "fr.nir", r"[1-8] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}"),
    ("Germany", "de.idnr", r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),
    ("India", "in_.aadhaar", r"\d{4} ?\d{4} ?\d{4}"),
    ("Italy", "it.codicefiscale", r"[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]"),
    ("Mexico", "mx.curp", r"[A-Z]{4}\d{6}[HM][A-Z]{5}[0-9A-Z]\d"),
    ("Netherlands", "nl.bsn", r"\d{4}\.?\d{2}\.?\d{3}"),
    ("Norway", "no.fodselsnummer", r"\d{6} ?\d{5}"),
    ("Poland", "pl.pesel", r"\d{11}"),
    ("Romania", "ro.cnp", r"\d{13}"),
    ("South Africa", "za.idnr", r"\d{6} ?\d{4} ?\d{3}"),
    ("South Korea", "kr.rrn", r"\d{6}-\d{7}"),
    ("Spain", "es.dni", r"\d{8}-?[A-Z]"),
    ("Spain", "es.nie", r"[XYZ]-?\d{7}-?[A-Z]"),
    ("Sweden", "se.personnummer", r"(?:\d{2})?\d{6}[-+]\d{4}"),
    ("Switzerland", "ch.ssn", r"756\.?\d{4}\.?\d{4}\.?\d{2}"),
    ("Turkey", "tr.tckimlik", r"[1-9]\d{10}"),
    ("the United States", "us.ssn", r"\d{3}-\d{2}-\d{4}"),
)
"""The country, the module of python-stdnum, and the written form that is looked at."""


def list_countries(text: str) -> list[str]:
    """Return the countries whose numbers a text may be."""
    text = text.strip().upper()
    if not 8 <= len(text) <= _LONGEST_NUMBER:
        return []
    found = [
        country
        for country, form, module in _FORMS
        if form.fullmatch(text) and _load_test(module)(text)
    ]
    return list(dict.fromkeys(found))


_FORMS: Final = [(country, re.compile(form), module) for country, module, form in _MODULES]


@lru_cache
def _load_test(module: str) -> Callable[[str], bool]:
    test: Callable[[str], bool] = importlib.import_module(f"stdnum.{module}").is_valid
    return test
