"""Decoders of Structs: one type used by many threads at once, and the errors of bad data."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import msgspec
import pytest

from localcdap.decoders import check_type, convert, decode_json, decode_msgpack


class Stage(msgspec.Struct):
    name: str
    inputs: list[Stage] = []


# msgspec itself crashes in this script, most times within the first ten types.
_MANY_THREADS = """
    import sys, threading, types
    from localcdap.decoders import convert, decode_json, decode_msgpack
    import msgspec

    SOURCE = '''
    import msgspec
    class Inner(msgspec.Struct):
        numbers: "dict[str, int]" = {}
    class Outer(msgspec.Struct):
        inner: "Inner"
        others: "list[Inner]" = []
        next: "Outer | None" = None
    '''
    DATA = {"inner": {"numbers": {"a": 1}}, "others": [{}], "next": {"inner": {}}}
    sys.setswitchinterval(1e-6)
    USES = [
        lambda type: decode_json(msgspec.json.encode(DATA), type),
        lambda type: decode_msgpack(msgspec.msgpack.encode(DATA), type),
        lambda type: convert(DATA, type),
        lambda type: decode_json(msgspec.json.encode([DATA]), list[type])[0],
    ]
    found = []

    def use(function, type, barrier):
        barrier.wait()
        found.append(function(type).inner.numbers)

    for number in range(60):
        module = types.ModuleType(f"module{number}")
        sys.modules[module.__name__] = module
        exec(__import__("textwrap").dedent(SOURCE), module.__dict__)
        barrier = threading.Barrier(len(USES))
        threads = [threading.Thread(target=use, args=(each, module.Outer, barrier)) for each in USES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [{"a": 1}] * 60 * len(USES), len(found)
"""


def test_threads_that_use_a_type_for_the_first_time_at_once() -> None:
    script = textwrap.dedent(_MANY_THREADS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_values_of_each_form() -> None:
    expected = Stage("a", [Stage("b")])
    plain = {"name": "a", "inputs": [{"name": "b"}]}
    assert decode_json(msgspec.json.encode(plain), Stage) == expected
    assert decode_msgpack(msgspec.msgpack.encode(plain), Stage) == expected
    assert convert(plain, Stage) == expected
    assert decode_json("[1, null]") == [1, None]


def test_text_is_a_number_only_when_it_is_not_strict() -> None:
    assert convert("7", int, strict=False) == decode_json('"7"', int, strict=False) == 7
    with pytest.raises(msgspec.ValidationError):
        convert("7", int)


def test_the_error_says_where() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.inputs\[0\]\.name"):
        decode_json('{"name": "a", "inputs": [{"name": 1}]}', Stage)


def test_a_type_that_json_cannot_hold() -> None:
    check_type(dict[str, int])
    with pytest.raises(TypeError):
        check_type(dict[tuple[int, int], int] | list[int] | set[int])
