"""What an author gets wrong is listed with file, line and class; all of it at once."""

from __future__ import annotations

import pytest

from tests.artifacts.authoring import source, write

GOOD = """
from localcdap.api import PluginConfig, Schema, Transform, capability, field, plugin

@plugin(type="transform", name="Hasher", description="Hashes.")
@capability("mode_native")
class Hasher(Transform):
    class Config(PluginConfig):
        fields: list[str] = field("Fields to hash.")
"""


def errors(instance, text: str, name: str = "thing-1.0.0.py") -> list[str]:
    write(instance.plugins / name, text)
    service = instance.synced()
    assert service.list_plugins("default") == []
    (detail,) = service.list_artifacts("default", errors=True)
    return detail.error.splitlines()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"mode_native"', '""', "4: class Hasher: A capability is a non-empty string, not ''."),
        ('"mode_native"', '"  "', "4: class Hasher: A capability is a non-empty string, not '  '."),
        ('"mode_native"', "5", "4: class Hasher: A capability is a non-empty string, not 5."),
        (
            '"mode_native"',
            '["mode_native"]',
            "4: class Hasher: A capability is a non-empty string, not ['mode_native'].",
        ),
        ('"mode_native"', '"a,b"', "4: class Hasher: A capability holds no control"),
        ('("mode_native")', "()", "4: class Hasher: @capability names no capability; remove it"),
        ('("mode_native")', "", "4: class Hasher: @capability needs its values, for instance"),
        (
            'type="transform"',
            'type="transfrom"',
            "4: class Hasher: unknown plugin type 'transfrom'; allowed: transform.",
        ),
        ('type="transform"', "type=[1]", "4: class Hasher: unknown plugin type '[1]'; allowed"),
        ('name="Hasher"', "name=None", "4: class Hasher: a plugin needs a name and a description."),
        ('name="Hasher"', 'name="a\\nb"', "4: class Hasher: the name 'a\\nb' contains characters"),
        ("(Transform)", "", "4: class Hasher: a plugin extends one of the plugin base classes"),
        (
            "list[str] =",
            "list[int] =",
            "7: class Hasher.Config: field 'fields' has the unsupported type list[int]; use str, int",
        ),
        (
            "list[str] =",
            "bytes =",
            "7: class Hasher.Config: field 'fields' has the unsupported type bytes; use str, int",
        ),
        (
            "list[str] =",
            '"Missing" =',
            "7: class Hasher.Config: its annotations cannot be read: NameError: name 'Missing'",
        ),
        (
            'field("Fields to hash.")',
            "field(7)",
            "4: class Hasher: ValidationError: Expected `str`",
        ),
    ],
)
def test_a_wrong_declaration(instance, old, new, expected):
    assert old in GOOD

    (error, *_) = errors(instance, GOOD.replace(old, new))

    assert error.startswith(f"thing-1.0.0.py:{expected}")


def test_all_problems_of_a_file_at_once(instance):
    second = GOOD.replace("Hasher", "Other").replace('"transform"', '"action"')
    third = GOOD.replace("Hasher", "Third").replace("list[str] =", "dict =")
    text = GOOD.replace('"mode_native"', '"mode_native", "", 3') + second + third

    found = errors(instance, text)

    assert [line.partition(": ")[2][:40] for line in found] == [
        "class Hasher: A capability is a non-empt",
        "class Hasher: A capability is a non-empt",
        "class Other: unknown plugin type 'action",
        "class Third.Config: field 'fields' has t",
    ]
    assert [int(line.split(":")[1]) for line in found] == [4, 4, 12, 23]


def test_a_problem_is_reported_again_by_the_same_worker(instance):
    file = write(instance.plugins / "thing-1.0.0.py", GOOD.replace('"mode_native"', '""'))
    service = instance.synced()
    before = service.list_artifacts("default")[0].error
    service.sync(retry_errors=True)

    assert len(instance.inspector.inspected) == 2
    assert service.list_artifacts("default")[0].error == before
    file.write_text(GOOD)
    service.sync()
    assert service.list_artifacts("default")[0].error is None


def test_clashing_names_in_one_file(instance):
    (error,) = errors(instance, GOOD + GOOD.replace("class Hasher", "class Second"))

    assert error == (
        "Plugin 'Hasher' of type 'transform' is defined 2 times: thing.Hasher (thing-1.0.0.py:4), "
        "thing.Second (thing-1.0.0.py:12)."
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("thing-1.0.0-a_b.py", "Could not parse '1.0.0-a_b' as an artifact version."),
        ("thing.py", "thing.py: the file name has no version; name it like thing-1.0.0.py."),
        ("my thing-1.0.py", "'my thing' is not a valid name of an artifact."),
        (
            "thing-1.0.0.jar",
            "thing-1.0.0.jar is not an artifact: an artifact is a Python file, a folder",
        ),
    ],
)
def test_a_bad_name_or_version(instance, name, expected):
    (error,) = errors(instance, GOOD, name)

    assert error.startswith(expected)
    assert instance.inspector.inspected == []


@pytest.mark.parametrize(
    ("code", "reported"),
    [
        ("class Stop(BaseException): pass\nraise Stop('x')", "thing-1.0.0.py:2: "),
        ("raise KeyboardInterrupt", "thing-1.0.0.py:1: KeyboardInterrupt"),
        ("raise GeneratorExit", "thing-1.0.0.py:1: GeneratorExit"),
        ("import sys; sys.exit()", "thing-1.0.0.py:1: SystemExit"),
        ("raise ValueError('\\udcff' * 3)", "thing-1.0.0.py:1: ValueError: \\udcff"),
        ("def f(): f()\nf()", "thing-1.0.0.py:1 in f: RecursionError"),
        ("x = '\\ud800'\n1/0", "thing-1.0.0.py:2: ZeroDivisionError"),
        ("raise ValueError('x' * 10_000_000)", "thing-1.0.0.py:1: ValueError: xxx"),
        ("import os; os._exit(3)", "thing-1.0.0.py: its code ended its process with exit code 3."),
        (
            source("A\\ud800").replace("class A\\ud800", "class A"),
            "thing-1.0.0.py:4: class A: the name",
        ),
    ],
)
def test_code_that_ends_badly(instance, code, reported):
    write(instance.plugins / "good-1.0.0.py", source("Good"))
    write(instance.plugins / "thing-1.0.0.py", code)
    service = instance.synced()

    (detail,) = service.list_artifacts("default", errors=True)
    assert reported in detail.error
    assert len(detail.error) < 5000
    assert [p.name for p in service.list_plugins("default")] == ["Good"]


def test_a_description_that_is_no_unicode(instance):
    write(instance.plugins / "a-1.0.0.py", GOOD.replace('"Hashes."', '"Hashes \\ud800."'))

    assert instance.synced().list_plugins("default")[0].description == "Hashes \\ud800."
