"""Numbers by which states identify persons, tested by python-stdnum.

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

_LONGEST: Final = 24
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
    if not 8 <= len(text) <= _LONGEST:
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
