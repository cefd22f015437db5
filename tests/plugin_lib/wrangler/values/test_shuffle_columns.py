"""A column shuffled at once is what its values are one by one."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.directives.masks import shuffle_column, shuffle_text

TEXTS = st.none() | st.text("abcxyzABZ019 -.", max_size=40) | st.text(max_size=10)


@settings(deadline=None, max_examples=150)
@given(st.lists(TEXTS, max_size=20), st.integers(0, 5))
def test_a_column_is_shuffled_as_its_values(texts, skipped):
    texts = [t if t is None else t.encode("utf-8", "ignore").decode() for t in texts]
    column = pa.array(texts, pa.string()).slice(min(skipped, len(texts)))

    expected = [None if t is None else shuffle_text(t) for t in column.to_pylist()]
    assert shuffle_column(column).to_pylist() == expected


def test_texts_longer_than_the_draws_that_were_made():
    long = "a" * 5000

    assert shuffle_column(pa.array([long, "b"])).to_pylist() == [
        shuffle_text(long),
        shuffle_text("b"),
    ]
