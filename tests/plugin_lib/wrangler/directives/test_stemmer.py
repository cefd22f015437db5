"""stemming."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.directives.stemmer import list_stems, stem
from tests.plugin_lib.wrangler.directives.recipes import run, run_failing

STEMS = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat",
    "feed": "feed", "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor",
    "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
    "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
    "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit",
    "rational": "ration", "valenci": "valenc", "digitizer": "digit", "radicalli": "radic",
    "differentli": "differ", "vileli": "vile", "vietnamization": "vietnam", "operator": "oper",
    "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "formaliti": "formal",
    "sensitiviti": "sensit", "sensibiliti": "sensibl", "triplicate": "triplic", "formative": "form",
    "formalize": "formal", "electriciti": "electr", "electrical": "electr", "hopeful": "hope",
    "goodness": "good", "revival": "reviv", "allowance": "allow", "inference": "infer",
    "airliner": "airlin", "gyroscopic": "gyroscop", "adjustable": "adjust", "irritant": "irrit",
    "replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt",
    "homologou": "homolog", "communism": "commun", "activate": "activ", "homologous": "homolog",
    "effective": "effect", "bowdlerize": "bowdler", "probate": "probat", "rate": "rate", "cease": "ceas",
    "controll": "control", "roll": "roll", "oed": "o", "ion": "ion", "by": "by", "syzygy": "syzygi",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), STEMS.items())
def test_stems_of_the_published_examples(word, expected):
    assert stem(word) == expected


def test_the_words_of_a_text():
    (row,) = run("stemming word", {"word": "how are you doing ? do you have apples ?"})

    assert row["word_porter"] == ["how", "ar", "you", "do", "do", "you", "have", "appl"]


def test_the_words_of_a_list():
    assert run("stemming :w", {"w": ["Running", "x1y", "été", ""]})[0]["w_porter"] == [
        "run", "x", "y", "ã", "tã",
    ]  # fmt: skip


def test_a_row_without_the_column_gets_no_words():
    assert run("stemming :w", {"a": 1}) == [{"a": 1, "w_porter": []}]


@pytest.mark.parametrize("value", [None, 5, [1], {"a": 1}])
def test_other_values_fail(value):
    assert "texts are needed" in run_failing("stemming :w", {"w": value}).message


@given(st.text(alphabet="aeiouybdslt", min_size=1))
def test_a_stem_is_no_longer_than_its_word(word):
    assert len(stem(word)) <= len(word)


def test_long_words_are_cut():
    assert list_stems(["b" * 10_000]) == ["b" * 500]
