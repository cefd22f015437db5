"""The shuffling mask against what the JDK draws, and columns against single texts."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.directives.masks import (
    RandomCharacters,
    shuffle_column,
    shuffle_text,
)

MASKED = [
    ("150 Mars Avenue, Marcity, Mares", "089 Kyrp Oziwyy, Dyggoci, Fagyq"),
    ("root@joltie.io", "buek@typcoi.yy"),
    ("\u0130\u212a K", "AL M"),
    ("ABCxyz0123456789", "ALMkyr1194773254"),
    ("été 😀 ok", "ébé 😀 um"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "masked"), MASKED)
def test_texts_are_masked_as_the_jdk_does(text, masked):
    assert shuffle_text(text) == masked


@settings(deadline=None)  # the first import of NumPy takes its time
@given(st.lists(st.none() | st.text("abcXYZ019 ,é😀\u0130\u212a", max_size=40)), st.integers(0, 5))
def test_a_column_is_masked_as_its_texts(texts, start):
    column = pa.array(texts, pa.string())[start:]

    masked = shuffle_column(column)

    assert masked.type == pa.string()
    assert masked.to_pylist() == [None if t is None else shuffle_text(t) for t in texts[start:]]


def test_draws_grow_by_leaps_as_one_by_one():
    seed, bits = 0x5DEECE66D, []
    for _ in range(3000):
        seed = (seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        bits.append(seed >> 17)

    made = RandomCharacters()
    made.extend(3000)

    assert made.digits[:3000] == "".join(str(drawn % 10) for drawn in bits)


def test_a_long_text_keeps_its_length():
    assert len(shuffle_text("a" * 300_000)) == 300_000
    assert shuffle_column(pa.array(["a" * 300_000]))[0].as_py() == shuffle_text("a" * 300_000)
