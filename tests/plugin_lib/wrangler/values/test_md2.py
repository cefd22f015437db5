"""MD2, by the test suite of RFC 1319."""

from __future__ import annotations

import pytest

from localcdap.plugin_lib.wrangler.directives.digests import compute_md2


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("", "8350e5a3e24c153df2275c9f80692773"),
        ("a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"),
        ("abc", "da853b0d3f88d99b30283a69e6ded6bb"),
        ("message digest", "ab4f496bfb2a530b219ff33031fe06b0"),
        ("abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"),
        (8 * "1234567890", "d5976f79d83d3a0dc9806c3c66f3efd8"),
    ],
)
def test_md2(text: str, digest: str) -> None:
    assert compute_md2(text.encode()).hex() == digest
