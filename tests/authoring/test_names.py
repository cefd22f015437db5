from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.authoring.artifact import Names, derive_names


@pytest.mark.parametrize(
    ("plugin", "cls", "module"),
    [
        ("Shout", "Shout", "shout"),
        ("CleanText", "CleanText", "clean_text"),
        ("clean_text", "CleanText", "clean_text"),
        ("CSVLines", "CSVLines", "csv_lines"),
        ("HTTPSource2", "HTTPSource2", "http_source_2"),
        ("x", "X", "x"),
        ("Json", "Json", "json"),
        ("For", "For", "for_"),
    ],
)
def test_names(plugin, cls, module):
    names = derive_names(plugin)

    assert (names.plugin, names.cls, names.module) == (plugin, cls, module)


def test_the_names_of_the_artifact_are_not_those_of_a_library():
    assert derive_names("Json") == Names("Json", "Json", "json", "json_plugins", "json-plugins")


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "9lives",
        "no-hyphen",
        "a b",
        "a.b",
        "../up",
        "/tmp/x",
        "_",
        "__",
        "_hidden",
        "Größe",
        "class",
        "None",
        "none",
        "Transform",
        "transform",
        "plugin_config",
        "ValueError",
        "DataFrame",
        "x\n",
        "x" * 61,
    ],
)
def test_what_cannot_be_a_name_is_refused(name):
    with pytest.raises(BadRequestError) as error:
        derive_names(name)

    assert error.value.corrective_action


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,20}", fullmatch=True))
def test_names_are_those_of_python_and_of_files(plugin):
    try:
        names = derive_names(plugin)
    except BadRequestError:
        return
    for each in (names.cls, names.module, names.package):
        assert each.isidentifier()
        assert not keyword.iskeyword(each)
    assert names.artifact == names.artifact.lower().strip("-._")
