from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import FailureCollector, PluginConfig, Schema, field

RECORD = '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'


class Everything(PluginConfig):
    text: str = field("A text.")
    number: int = field("A number.", default=7)
    ratio: float = field("A ratio.", default=0.5)
    flag: bool = field("A flag.", default=False)
    names: list[str] = field("Names.", default=[])
    schema: Schema | None = field("A schema.", default=None)
    level: str = field("A level.", default="low", choices=["low", "HIGH"], macro=True)
    levels: list[str] | None = field("Levels.", default=None, choices=["a", "B"])
    row_field: str | None = field("A dotted name.", default=None, name="schema.row.field")
    password: str | None = field("A password.", default=None, macro=True, secret=True)
    script: str = field("A script.", default="", syntax="python")


def build(properties: dict[str, str], macros=()) -> tuple[Everything, list[str]]:
    failures = FailureCollector("stage")
    config = Everything.build({"text": "x"} | properties, failures, macros)
    return config, [failure.message for failure in failures]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", " kept as it is ", " kept as it is "),
        ("number", " -12 ", -12),
        ("number", "+3", 3),
        ("number", "99999999999999999999", 99999999999999999999),
        ("ratio", "1e3", 1000.0),
        ("ratio", "2", 2.0),
        ("flag", " TRUE", True),
        ("flag", "false", False),
        ("names", "a, b ,,c", ["a", "b", "c"]),
        ("names", " , ", []),
        ("schema", RECORD, Schema.record("r", [("a", Schema.INT)])),
        ("level", " high ", "HIGH"),
        ("levels", "A,b", ["a", "B"]),
        ("script", "a\nb", "a\nb"),
    ],
)
def test_each_type_is_read(name, text, value):
    config, messages = build({name: text})

    assert messages == []
    assert getattr(config, name) == value
    assert type(getattr(config, name)) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("number", "1.5", "Property 'number' must be a whole number, not '1.5'."),
        ("number", "１２", "Property 'number' must be a whole number, not '１２'."),
        ("ratio", "much", "Property 'ratio' must be a number, not 'much'."),
        ("flag", "yes", "Property 'flag' must be true or false, not 'yes'."),
        ("level", "medium", "Property 'level' must be one of low, HIGH, not 'medium'."),
        ("levels", "a,c", "Property 'levels' must be one of a, B, not 'c'."),
        ("schema", "int", "A record schema is needed, not 'int'."),
        ("schema", "{", "The schema is not valid JSON: "),
    ],
)
def test_a_wrong_value_is_a_failure_of_its_property(name, text, message):
    failures = FailureCollector("stage")
    config = Everything.build({"text": "x", name: text}, failures)

    (failure,) = failures
    assert failure.message.startswith(message)
    assert (failure.type, failure.field) == ("Invalid Field", name)
    assert failure.causes[0].attributes == {"stageConfig": name}
    assert getattr(config, name) == Everything.get_fields()[name].default


def test_all_wrong_values_are_found_at_once():
    failures = FailureCollector("stage")
    Everything.build({"number": "x", "flag": "x"}, failures)

    assert [f.field for f in failures] == ["text", "number", "flag"]


@pytest.mark.parametrize("properties", [{}, {"text": ""}, {"text": None}])
def test_a_required_property_needs_a_value(properties):
    failures = FailureCollector("stage")
    config = Everything.build(properties, failures)

    assert [f.message for f in failures] == ["Required property 'text' has no value."]
    assert config.text is None


def test_an_empty_text_is_as_good_as_none_and_unknown_properties_are_ignored():
    config, messages = build({name: "" for name in Everything.get_fields() if name != "text"})

    assert messages == []
    assert build({"unknown": "x"})[1] == []
    assert (config.number, config.ratio, config.flag, config.names) == (7, 0.5, False, [])
    assert (config.schema, config.level, config.levels) == (None, "low", None)


def test_names_with_dots_have_an_attribute_of_their_own():
    config, _ = build({"schema.row.field": "row", "row_field": "ignored"})

    assert config.row_field == "row"


def test_a_property_with_a_macro_has_its_default_until_the_run():
    config, messages = build({"level": "${level}", "password": "${p}"}, ["level", "password"])

    assert messages == []
    assert config.level == "low"
    assert config.password is None
    assert config.macros == {"level", "password"}
    assert config.contains_macro("level")
    assert not config.contains_macro("text")


class Files(PluginConfig, macros=True, rename="camel"):
    file_regex: str = field("Which files.", default="")
    path: str = field("Where.", macro=False)
    row_field: str = field("The key.", default="", name="row.field")


class MoreFiles(Files):
    line_end: str = field("The end of a line.", default="")


def test_a_class_decides_names_and_macros_of_its_own_fields():
    seen = {name: declared.describe() for name, declared in MoreFiles.get_fields().items()}

    assert {name: each.macro_supported for name, each in seen.items()} == {
        "fileRegex": True,
        "path": False,
        "row.field": True,
        "line_end": False,
    }
    config = MoreFiles.build({"fileRegex": "a.*", "path": "p"}, FailureCollector())
    assert (config.file_regex, config.path) == ("a.*", "p")


def test_a_required_property_with_a_macro_is_no_failure():
    class Config(PluginConfig):
        path: str = field("A path.", macro=True)

    failures = FailureCollector("stage")
    config = Config.build({"path": "${path}"}, failures, ["path"])

    assert len(failures) == 0
    assert config.path is None
    assert config.contains_macro("path")


def test_macros_count_only_where_they_are_supported():
    config, messages = build({"number": "${n}", "other": "${x}"}, ["number", "other"])

    assert messages == ["Property 'number' must be a whole number, not '${n}'."]
    assert config.macros == frozenset()


def test_a_default_that_can_be_changed_is_not_shared():
    one, other = build({})[0], build({})[0]
    one.names.append("changed")

    assert other.names == []


def test_declarations_are_inherited_and_may_be_replaced():
    class Child(Everything):
        number: int = field("Another number.", default=8)
        extra: str = field("One more.")

    names = list(Child.get_fields())

    assert names == [*Everything.get_fields(), "extra"]
    assert Child.get_fields()["number"].default == 8
    assert Everything.get_fields()["number"].default == 7
    assert "extra" not in Everything.get_fields()


def test_declarations_of_several_bases_are_united():
    class Path(PluginConfig):
        path: str = field("A path.")

    class Format(PluginConfig):
        format: str = field("A format.")

    class Both(Path, Format):
        mode: str = field("A mode.", default="append")

    failures = FailureCollector("stage")
    config = Both.build({"path": "p", "format": "f"}, failures)

    assert set(Both.get_fields()) == {"path", "format", "mode"}
    assert (config.path, config.format, config.mode, len(failures)) == ("p", "f", "append", 0)


@pytest.mark.parametrize("annotation", ["dict", "int | str", "list[int]", "bytes"])
def test_an_unsupported_type_is_refused_when_the_class_is_made(annotation):
    with pytest.raises(
        TypeError, match=r"Config: field 'wrong' has the unsupported type .*; use str, int"
    ):
        type(
            "Config",
            (PluginConfig,),
            {"__annotations__": {"wrong": annotation}, "wrong": field("x"), "__module__": __name__},
        )


def test_a_config_may_be_empty():
    failures = FailureCollector("stage")

    assert PluginConfig.build({"any": "thing"}, failures).macros == frozenset()
    assert len(failures) == 0


def test_front_ends_see_each_property():
    described = {p.name: msgspec.to_builtins(p) for p in map(_describe, Everything.get_fields())}

    assert described["text"] == {
        "name": "text",
        "description": "A text.",
        "type": "string",
        "required": True,
        "macroSupported": False,
        "macroEscapingEnabled": False,
        "default": None,
        "choices": [],
        "secret": False,
        "syntax": None,
        "form": None,
        "group": None,
    }
    assert {name: d["type"] for name, d in described.items()} == {
        "text": "string",
        "number": "long",
        "ratio": "double",
        "flag": "boolean",
        "names": "list",
        "schema": "schema",
        "level": "string",
        "levels": "list",
        "schema.row.field": "string",
        "password": "string",
        "script": "string",
    }
    assert described["level"]["choices"] == ["low", "HIGH"]
    assert described["password"]["secret"]
    assert described["password"]["macroSupported"]
    assert described["script"]["syntax"] == "python"


def _describe(name: str):
    return Everything.get_fields()[name].describe()


@pytest.mark.parametrize("name", [n for n in Everything.get_fields() if n != "text"])
def test_a_default_as_front_ends_see_it_is_read_as_the_default(name):
    declared = Everything.get_fields()[name]
    shown = declared.describe().default

    if shown:
        assert declared.parse(shown) == declared.default
    else:
        assert not declared.default


@given(st.dictionaries(st.sampled_from(list(Everything.get_fields())), st.text(max_size=8)))
def test_any_text_gives_a_config_and_failures_of_declared_properties(properties):
    failures = FailureCollector("stage")
    config = Everything.build(properties, failures)

    assert isinstance(config, Everything)
    assert {f.field for f in failures} <= set(Everything.get_fields())


class Shared(PluginConfig):
    url: str = field(
        "A URL.", name="newUrl", default="", former_names=("url", "address"), macro=True
    )
    case: str = field("A case.", default="Upper")
    codec: str | None = field("A codec.", default=None, addition="Files are small.")


class Special(Shared, additions={"case": "Every plugin renames."}):
    """A plugin whose original has no case."""


class Other(Shared):
    limit: int = field("A limit.", default=1)


class Both(Other, Special):
    """What one base says of a property holds, whatever the order of the bases."""


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"url": "a"}, "a"),
        ({"address": "a"}, "a"),
        ({"newUrl": "b", "url": "a"}, "b"),
        ({"url": "a", "newUrl": "b"}, "b"),
        ({"newUrl": "", "url": "a"}, "a"),
        ({"url": "a", "newUrl": ""}, "a"),
        ({}, ""),
    ],
)
def test_a_former_name_counts_unless_the_present_one_has_a_value(properties, expected):
    failures = FailureCollector("stage")
    assert Shared.build(properties, failures).url == expected
    assert list(failures) == []


def test_an_addition_of_a_class_holds_for_its_subclasses_only():
    def find_additions(config):
        return {name: info.addition for name, info in config.get_fields().items() if info.addition}

    assert find_additions(Shared) == find_additions(Other) == {"codec": "Files are small."}
    both = {"codec": "Files are small.", "case": "Every plugin renames."}
    assert find_additions(Special) == find_additions(Both) == both
    described = Special.get_fields()["case"].describe()
    assert described.addition == "Every plugin renames."
    assert [described.is_default(text) for text in ("", "upper ", "Lower")] == [True, True, False]
    assert Shared.get_fields()["newUrl"].describe().former_names == ["url", "address"]


def test_an_addition_that_is_no_property_is_refused():
    with pytest.raises(
        TypeError, match="'additions' names 'kase', but the class has no such property"
    ):

        class Wrong(Shared, additions={"kase": "A reason."}):
            """A misspelt name."""
