"""Requirements on capabilities: their expressions, and the vocabulary that an instance fixes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.capability import SYSTEM_CAPABILITIES
from localcdap.artifacts.capabilities import CapabilityRequirement, CapabilityVocabulary
from tests.artifacts.authoring import capable, write

NAMES = ("a", "b", "c")

expressions = st.recursive(
    st.sampled_from(NAMES),
    lambda inner: st.tuples(inner, st.sampled_from(("&&", "||")), inner).map(
        lambda parts: "({} {} {})".format(*parts)
    ),
    max_leaves=8,
)


@given(expressions, st.sets(st.sampled_from(NAMES)))
def test_an_expression_means_what_it_says(text, capabilities):
    required = CapabilityRequirement.parse(text)
    python = text.replace("&&", "and").replace("||", "or")

    met = eval(python, {name: name in capabilities for name in NAMES})

    assert required.is_met_by(capabilities) == met
    assert required.find_unmet(capabilities) == ([] if met else required.texts)
    assert CapabilityRequirement.parse(required.texts[0]) == required


@pytest.mark.parametrize(
    ("text", "standard"),
    [
        ("Native&&SPARK_2", "mode_native && spark_2"),
        ("a || b && c", "a || (b && c)"),
        ("(a || b) && c", "(a || b) && c"),
        ("((a))", "a"),
        ("PII compliant", "pii compliant"),
    ],
)
def test_the_standard_form(text, standard):
    assert CapabilityRequirement.parse(text).texts == [standard]


def test_parts_that_a_comma_or_a_list_separates_must_all_hold():
    required = CapabilityRequirement.parse(["a || b, c", "a||b"])

    assert required.texts == ["a || b", "c"]
    assert required.names == {"a", "b", "c"}
    assert required.find_unmet(["c"]) == ["a || b"]
    assert required.find_unmet([]) == ["a || b", "c"]


def test_without_conditions_everything_is_capable():
    assert not CapabilityRequirement.parse(" , ")
    assert CapabilityRequirement.parse([]).is_met_by([])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a &&", "A capability is missing at the end: 'a &&'"),
        ("|| a", "A capability is missing before '||'"),
        ("a && || b", "A capability is missing before '||'"),
        ("()", "A capability is missing before ')'"),
        ("(a", "A ')' is missing: '(a'"),
        ("a)", "')' is not expected there"),
        ("a (b)", "'(' is not expected there"),
        ("(" * 1000 + "a", "nested too deeply"),
    ],
)
def test_a_malformed_expression_says_what_is_wrong(text, problem):
    with pytest.raises(ValueError, match="An expression consists of") as caught:
        CapabilityRequirement.parse(text)
    assert problem in str(caught.value)


@given(st.text("ab&|(), ", max_size=20))
def test_any_text_is_an_expression_or_a_value_error(text):
    try:
        required = CapabilityRequirement.parse(text)
    except ValueError:
        return
    assert CapabilityRequirement.parse(required.texts) == required


def test_an_expression_of_the_design_document_filters_plugins(instance):
    for name, declared in (
        ("New", '"mode_cloud", "spark_2"'),
        ("Old", '"mode_native", "spark_1"'),
        ("Mixed", '"mode_native", "spark_2"'),
    ):
        write(
            instance.plugins / f"{name.lower()}-1.0.0.py", capable(name, f"@capability({declared})")
        )
    text = "(mode_cloud && spark_2) || (mode_native && spark_1)"

    service = instance.synced(text)

    assert [p.name for p in service.list_plugins("default")] == ["New", "Old"]
    assert [p.name for p in service.list_plugins("default", capabilities=["spark_1"])] == ["Old"]
    assert service.list_plugins("default", capabilities=["spark_3"]) == []
    (hidden,) = service.list_hidden("default")
    assert (hidden.name, hidden.lacking) == ("Mixed", [text])


def test_an_undeclared_subclass_has_all_capabilities_of_the_system(instance):
    text = capable("Base", '@capability("mode_cloud")')
    text += '\n\n@plugin(type="transform", name="Sub", description="Has no declaration.")'
    text += "\nclass Sub(Base):\n    pass\n"
    write(instance.plugins / "two-1.0.0.py", text)

    plugins = {p.name: p.capabilities for p in instance.synced().list_plugins("default")}

    assert plugins == {"Base": ["mode_cloud"], "Sub": sorted(SYSTEM_CAPABILITIES)}


def test_a_fixed_vocabulary_warns_of_other_names_with_the_nearest(instance):
    write(instance.plugins / "one-1.0.0.py", capable("One", '@capability("mode_native", "PII")'))
    write(instance.plugins / "two-1.0.0.py", capable("Two", '@capability("mode_native", "piii")'))

    service = instance.synced("mode_nativ || mode_native", known=["PII", "gcp"])

    unlisted = "which 'plugin.capabilities.known' does not list."
    assert service.list_capability_warnings("default") == [
        f"'plugin.required.capabilities' names 'mode_nativ' (nearest: 'mode_native'), {unlisted}",
        f"Plugin 'Two' of type 'transform' declares 'piii' (nearest: 'pii'), {unlisted}",
    ]
    assert {a.name: len(a.warnings) for a in service.list_artifacts("default")} == {
        "one": 0,
        "two": 1,
    }
    assert {"One", "Two"} == {p.name for p in service.list_plugins("default")}
    counts = {c.capability: (c.plugins, c.known) for c in service.list_capabilities("default")}
    assert (counts["pii"], counts["gcp"], counts["piii"]) == ((1, True), (0, True), (1, False))


def test_without_a_vocabulary_every_name_is_known():
    assert CapabilityVocabulary().find_warning("Plugin 'A' declares", ["anything"]) is None
