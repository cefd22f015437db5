from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.version import ArtifactVersion, VersionRange, split_file_name

SUFFIXES = st.sampled_from(
    ["", "-SNAPSHOT", "-snapshot.2", ".SNAPSHOT1", "-alpha", ".beta", "-1", "-a-b", ".9.9"]
)
TEXTS = st.builds(
    lambda numbers, suffix: ".".join(map(str, numbers)) + suffix,
    st.lists(st.integers(0, 12), min_size=1, max_size=3),
    SUFFIXES,
)
VERSIONS = TEXTS.map(ArtifactVersion)


def test_documented_order():
    texts = [
        "1",
        "1.0",
        "1.0.0-SNAPSHOT",
        "1.0.0",
        "1.0.0-alpha",
        "1.0.0-beta",
        "1.0.1",
        "1.10",
        "2",
    ]

    assert sorted(map(ArtifactVersion, reversed(texts))) == list(map(ArtifactVersion, texts))


def test_snapshot_is_below_its_release_in_any_case():
    assert ArtifactVersion("1.0.0-snapShot-3") < ArtifactVersion("1.0.0")
    assert ArtifactVersion("1.0.0-snapShot-3") < ArtifactVersion("1.0.0-alpha")
    assert ArtifactVersion("1.0.0-SNAPSHOT").is_snapshot
    assert not ArtifactVersion("1.0.0-alpha-SNAPSHOT").is_snapshot


def test_equal_means_the_same_text_while_neither_is_smaller():
    one, other = ArtifactVersion("1.0-a"), ArtifactVersion("1.0.a")

    assert one != other
    assert not one < other
    assert not other < one


@given(VERSIONS, VERSIONS, VERSIONS)
def test_order_is_total_and_transitive(a, b, c):
    assert (a <= b) or (b <= a)
    assert (a < b) == (not b <= a) == (b > a)
    if a <= b and b <= c:
        assert a <= c


@given(TEXTS)
def test_parts_give_the_text_again(text):
    version = ArtifactVersion(text)
    numbers = [n for n in (version.major, version.minor, version.fix) if n is not None]
    start = ".".join(map(str, numbers))

    assert text.startswith(start)
    assert text[len(start) + 1 :] == (version.suffix or "")


@pytest.mark.parametrize("text", ["", "a", "v1", "1.0.0-", "1.0.0-a_b", "1.0.0+x", "-1", "1.0\n"])
def test_not_a_version(text):
    with pytest.raises(BadRequestError, match="(?s)Could not parse .* as an artifact version"):
        ArtifactVersion(text)


@pytest.mark.parametrize(
    ("stem", "name", "version"),
    [
        ("my-plugins-1.2.3-SNAPSHOT", "my-plugins", "1.2.3-SNAPSHOT"),
        ("hasher-1.2.0", "hasher", "1.2.0"),
        ("my-2d-plugins-1", "my-2d-plugins", "1"),
        ("hasher", "hasher", None),
        ("hasher-one", "hasher-one", None),
    ],
)
def test_name_and_version_of_a_file(stem, name, version):
    assert split_file_name(stem) == (name, version)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("[1.0.0,2.0.0)", ["1.0.0", "1.9", "2.0.0-SNAPSHOT"], ["1.0", "2.0.0", "1.0.0-SNAPSHOT"]),
        ("(1.0.0,2.0.0]", ["1.0.1", "2.0.0"], ["1.0.0", "2.0.0-a"]),
        ("[ 1 , 2 ]", ["1", "1.5", "2"], ["2.0"]),
        ("1.2.0", ["1.2.0"], ["1.2", "1.2.0-a"]),
        ("(1,1)", [], ["1"]),
        ("(1,1]", [], ["1", "1.0"]),
    ],
)
def test_range_contains(text, inside, outside):
    versions = VersionRange.parse(text)

    assert [v for v in inside if ArtifactVersion(v) not in versions] == []
    assert [v for v in outside if ArtifactVersion(v) in versions] == []


@given(VERSIONS, VERSIONS, VERSIONS)
def test_range_agrees_with_the_order_of_its_bounds(a, b, c):
    low, high = min(a, b), max(a, b)

    assert (c in VersionRange.parse(f"[{low},{high}]")) == (low <= c <= high)
    assert (c in VersionRange.parse(f"({low},{high}]")) == (low < c <= high)


@pytest.mark.parametrize("text", ["1.0.0", "[1.0.0,2.0.0)", "(1,2]"])
def test_text_of_a_range(text):
    assert str(VersionRange.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", "Could not parse 'x' as an artifact version."),
        (
            "[1.0.0)",
            "Invalid version range [1.0.0). Could not find ',' separating lower and upper verions.",
        ),
        ("[x,2)", "Invalid version range [x,2). Lower version x is invalid."),
        ("[1,2", "Invalid version range [1,2. Could not find enclosing ']' or ')'."),
        (
            "[1,2)]",
            "Invalid version range [1,2)]. There are extra characters after enclosing ']' or ')'.",
        ),
        ("[1,y]", "Invalid version range [1,y]. Upper version y is invalid."),
        (
            "[2,1]",
            "Invalid version range [2,1]. Lower version 2 is greater than upper version 1.",
        ),
        (
            "[1,1)",
            (
                "Invalid version range [1,1). Lower and upper versions 1 are equal, "
                "but lower is inclusive and upper is exclusive."
            ),
        ),
    ],
)
def test_what_is_wrong_with_a_range(text, problem):
    with pytest.raises(BadRequestError) as caught:
        VersionRange.parse(text)

    assert caught.value.message == problem
