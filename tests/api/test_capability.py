from __future__ import annotations

import pytest

from localcdap.api.capability import (
    SYSTEM_CAPABILITIES,
    Capabilities,
    canonical,
    capabilities_of,
    capability,
)


def test_a_class_without_capabilities_has_all_of_the_system_and_no_other():
    class Plain:
        pass

    assert capabilities_of(Plain) == set(SYSTEM_CAPABILITIES)
    assert "pii" not in capabilities_of(Plain)


def test_a_class_has_exactly_what_it_declares():
    @capability(Capabilities.Mode.NATIVE, "PII")
    class Marked:
        pass

    assert capabilities_of(Marked) == {"mode_native", "pii"}


def test_several_declarations_add_up_and_are_inherited_one_way():
    @capability("a")
    @capability("B")
    class Parent:
        pass

    @capability("c")
    class Child(Parent):
        pass

    assert capabilities_of(Parent) == {"a", "b"}
    assert capabilities_of(Child) == {"a", "b", "c"}


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
    assert canonical(given) == meant


@pytest.mark.parametrize("value", ["", "  ", None, 5])
def test_a_capability_is_a_text(value):
    with pytest.raises(TypeError, match="A capability is a non-empty string"):
        capability("fine", value)
