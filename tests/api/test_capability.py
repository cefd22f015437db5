from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.capability import (
    SYSTEM_CAPABILITIES,
    Capabilities,
    capability,
    get_capabilities,
    normalize_capability,
)


def test_a_class_without_capabilities_has_all_of_the_system_and_no_other():
    class Plain:
        pass

    assert get_capabilities(Plain) == set(SYSTEM_CAPABILITIES)
    assert "pii" not in get_capabilities(Plain)


def test_a_class_has_exactly_what_it_declares():
    @capability(Capabilities.Mode.NATIVE, "PII")
    class Marked:
        pass

    assert get_capabilities(Marked) == {"mode_native", "pii"}


def test_several_declarations_add_up_and_none_is_inherited():
    @capability("a")
    @capability("B")
    class Parent:
        pass

    @capability("c")
    class Child(Parent):
        pass

    class Silent(Parent):
        pass

    assert get_capabilities(Parent) == {"a", "b"}
    assert get_capabilities(Child) == {"c"}
    assert get_capabilities(Silent) == set(SYSTEM_CAPABILITIES)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (" Mode_Native ", "mode_native"),
        ("native", "mode_native"),
        ("CLOUD", "mode_cloud"),
        ("remote", "mode_cloud"),
        ("mode_remote", "mode_cloud"),
        ("spark_2", "spark_2"),
        ("PII", "pii"),
    ],
)
def test_a_capability_has_one_spelling(given, meant):
    assert normalize_capability(given) == meant


@given(st.text())
def test_case_and_space_around_make_no_difference(text):
    assert normalize_capability(normalize_capability(text)) == normalize_capability(text)
    assert normalize_capability(f" {text.casefold()} ") == normalize_capability(text)


@pytest.mark.parametrize("value", ["", "  ", None, 5, ["a"]])
def test_a_capability_is_a_text(value):
    with pytest.raises(TypeError, match="Marked: A capability is a non-empty string"):

        @capability("fine", value)
        class Marked:
            pass


@pytest.mark.parametrize("value", ["a,b", "a\nb", "(a", "a)", "a&&b", "a||b"])
def test_a_capability_can_be_written_in_the_settings(value):
    with pytest.raises(
        TypeError, match="Marked: A capability holds no control character and none of"
    ):

        @capability(value)
        class Marked:
            pass


def test_a_declaration_without_values_is_refused():
    with pytest.raises(TypeError, match="Marked: @capability names no capability"):

        @capability()
        class Marked:
            pass

    with pytest.raises(TypeError, match="Bare: @capability needs its values"):

        @capability
        class Bare:
            pass
