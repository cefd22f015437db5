"""Calls over a socket pair, to a thread and to a child process."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.errors import (
    BadRequestError,
    DocumentError,
    HostError,
    HostLostError,
    InvalidFieldError,
    LocalcdapError,
    NotFoundError,
)
from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import PluginSpec, StageSpec
from localcdap.api.schema import Schema
from localcdap.rpc.frames import Call
from localcdap.rpc.methods import Caller, answer_calls, make_proxy

from .services import Echo, Order

WIDE = Schema.record(
    "wide",
    [(f"f{i}", Schema.decimal(10, 2).as_nullable if i % 3 else Schema.LONG) for i in range(28)]
    + [
        ("tags", Schema.map(Schema.STRING, Schema.array(Schema.TIMESTAMP))),
        ("inner", Schema.record("inner", [("a", Schema.union([Schema.INT, Schema.STRING]))])),
    ],
)


@pytest.fixture
def ends() -> Iterator[tuple[Connection, threading.Thread]]:
    """This end of a pair of connections, and the thread that answers at the other."""
    mine, theirs = multiprocessing.Pipe()
    thread = threading.Thread(target=answer_calls, args=(theirs, {"echo": Echo()}), daemon=True)
    thread.start()
    yield mine, thread
    mine.close()
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def echo(ends) -> Echo:
    return make_proxy(Caller(ends[0]), "echo", Echo)


@pytest.fixture
def child() -> Iterator[tuple[Caller, subprocess.Popen[bytes]]]:
    mine, theirs = multiprocessing.Pipe()
    number = theirs.fileno()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.rpc.services", str(number)], pass_fds=[number]
    )
    theirs.close()
    caller = Caller(mine, "the child")
    yield caller, process
    caller.close()
    process.kill()
    process.wait()


def test_structs_with_schemas_come_back_equal(echo: Echo):
    order = Order("n", {"a": WIDE, "b": None}, limit=3)

    assert echo.order(order) == [order]
    assert echo.order(order, times=2) == [order, order]
    assert echo.schema(schema=WIDE) == WIDE
    assert echo.nothing() is None
    assert echo.blob(b"\x00\xff" * 40_000) == b"\x00\xff" * 40_000


def test_a_stage_specification_crosses_unchanged(echo: Echo):
    spec = StageSpec(
        name="s",
        plugin=PluginSpec("transform", "P", {"k": "v"}, ArtifactId("core", "2.11.0", "SYSTEM")),
        input_schemas={"in": WIDE, "other": None},
        input_stages=["in", "other"],
        output_ports={},
        port_schemas={"p": WIDE},
        output_schema=WIDE,
        error_schema=None,
    )

    assert echo.stage(spec) == spec


def test_a_record_used_twice_is_still_the_whole_record(echo: Echo):
    address = Schema.record("address", [("street", Schema.STRING)])
    same = Schema.record("person", [("home", address), ("work", address.as_nullable)])
    other = Schema.record("address", [("zip", Schema.INT)])
    different = Schema.record("person", [("home", address), ("work", other)])
    recursive = Schema.record("node", [("next", Schema.reference("node").as_nullable)])

    assert echo.schema(same) == same
    assert echo.schema(different) == different
    assert echo.schema(recursive) == recursive


def test_errors_of_localcdap_keep_class_and_attributes(echo: Echo):
    with pytest.raises(DocumentError) as caught:
        echo.fail("document")
    assert caught.value.attributes() == {
        "message": "bad",
        "corrective_action": "repair it",
        "file": "a.json",
        "line": 3,
        "column": 7,
    }
    with pytest.raises(InvalidFieldError) as field:
        echo.fail("field")
    assert (field.value.field, field.value.message) == ("path", "no such path")
    with pytest.raises(LocalcdapError) as plain:
        echo.fail("plain")
    assert type(plain.value) is LocalcdapError


def test_an_unknown_subclass_arrives_as_its_nearest_known_base(echo: Echo):
    with pytest.raises(NotFoundError, match="no bread"):
        echo.fail("homegrown")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("other", "ZeroDivisionError: other"),
        ("exit", "SystemExit: 7"),
        ("surrogate", r"ValueError: file \udc80 is odd"),
    ],
)
def test_other_exceptions_arrive_with_their_traceback_and_the_service_goes_on(
    echo: Echo, kind: str, text: str
):
    with pytest.raises(HostError) as caught:
        echo.fail(kind)

    assert caught.value.message == text
    assert any("in fail" in line for line in caught.value.traceback)
    assert echo.increment(1) == 1


def test_a_result_that_cannot_be_encoded_is_a_fault_of_the_method(echo: Echo):
    with pytest.raises(HostError, match="object cannot be encoded"):
        echo.unencodable()
    assert echo.increment(1) == 1


def test_wrong_calls_are_refused_with_what_there_is(ends):
    caller = Caller(ends[0])
    word = msgspec.Raw(msgspec.msgpack.encode("word"))

    with pytest.raises(NotFoundError, match="no service 'ecco'; available: echo"):
        caller.call(Call("ecco", "pid", {}))
    for name in ("_private", "__init__", "count", "pit"):
        with pytest.raises(NotFoundError, match=f"no method '{name}'; it has: blob"):
            caller.call(Call("echo", name, {}))
    with pytest.raises(BadRequestError, match=r"Argument 'by' .*Expected `int`, got `str`"):
        caller.call(Call("echo", "increment", {"by": word}))
    with pytest.raises(BadRequestError, match="no parameter 'to'; it has: by"):
        caller.call(Call("echo", "increment", {"to": word}))
    with pytest.raises(BadRequestError, match="Argument 'schema' .*Unknown type 'word'"):
        caller.call(Call("echo", "schema", {"schema": word}))
    with pytest.raises(HostError, match="missing 1 required positional argument"):
        caller.call(Call("echo", "increment", {}))
    with pytest.raises(
        HostError, match=r"to echo.pid cannot be decoded: Expected `str`, got `int`"
    ):
        caller.call(Call("echo", "pid", {}), str)


def test_a_proxy_has_the_methods_of_its_class_only(echo: Echo):
    with pytest.raises(AttributeError, match="no method 'cheese'"):
        echo.cheese()  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unexpected keyword argument 'twice'"):
        echo.pid(twice=True)  # type: ignore[call-arg]


def test_threads_that_share_a_caller_take_turns(echo: Echo):
    threads = [
        threading.Thread(target=lambda: [echo.increment(1) for _ in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert echo.increment(0) == 400


def test_an_answer_that_comes_too_late_closes_the_caller(ends):
    caller = Caller(ends[0], "the sleeper")

    with pytest.raises(TimeoutError, match=r"the sleeper did not answer echo.sleep within 0.05 s"):
        make_proxy(caller, "echo", Echo, timeout_s=0.05).sleep(0.3)
    assert caller.closed
    with pytest.raises(HostLostError):
        make_proxy(caller, "echo", Echo).pid()


def test_a_child_process_answers(child):
    caller, process = child

    assert make_proxy(caller, "echo", Echo).pid() == process.pid


def test_a_child_that_dies_in_a_call_is_reported_lost(child):
    caller, process = child

    with pytest.raises(HostLostError, match=r"connection to the child broke .* echo\.fail"):
        make_proxy(caller, "echo", Echo).fail("die")
    assert process.wait(60) == 9


def test_a_killed_child_is_reported_lost(child):
    caller, process = child
    timer = threading.Timer(0.5, process.send_signal, [signal.SIGKILL])
    timer.start()

    with pytest.raises(HostLostError):
        make_proxy(caller, "echo", Echo).sleep(60)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_garbage_ends_the_connection_and_nothing_else(data: bytes):
    mine, theirs = multiprocessing.Pipe()
    thread = threading.Thread(target=answer_calls, args=(theirs, {"echo": Echo()}), daemon=True)
    thread.start()
    with mine:
        mine.send_bytes(data)
    thread.join(60)

    assert not thread.is_alive()
    assert theirs.closed
