"""A system application that says what its routes get as the body, and how it ends."""

from __future__ import annotations

import base64
import os
import signal
import time
from typing import Annotated, Any

import msgspec

from localcdap.api.app import SystemApplication, SystemService, application, get, post


class Order(msgspec.Struct, rename="camel"):
    customer_name: str
    count: int = 1
    notes: list[str | None] | None = None


def _show(value: Any) -> Any:
    return {"bytes": value.decode("latin-1")} if isinstance(value, bytes) else value


class Echo(SystemService):
    name = "echo"

    @post("/bytes")
    def take_bytes(self, body: bytes | None = None) -> Any:
        return _show(body)

    @post("/short")
    def take_short(self, body: Annotated[bytes, msgspec.Meta(max_length=4)]) -> Any:
        return _show(body)

    @post("/text")
    def take_text(self, body: str) -> Any:
        return body

    @post("/texts")
    def take_texts(self, body: list[str]) -> Any:
        return body

    @post("/by-name")
    def take_by_name(self, body: dict[str, str | None]) -> Any:
        return body

    @post("/encoded")
    def take_encoded(self, body: dict[str, bytes]) -> Any:
        return {name: base64.b64encode(value).decode() for name, value in body.items()}

    @post("/order")
    def take_order(self, body: Order | None = None) -> Any:
        return body

    @post("/anything")
    def take_anything(self, body: Any) -> Any:
        return body

    @get("/killed")
    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    @get("/left")
    def leave(self) -> None:
        os._exit(3)

    @get("/asleep")
    def sleep(self) -> None:
        time.sleep(600)


class Broken(SystemService):
    name = "broken"

    def initialize(self) -> None:
        raise ZeroDivisionError("a bug")

    @get("/state")
    def answer(self) -> None: ...


@application(name="echoing", description="Says what it gets.")
class Echoing(SystemApplication):
    services = [Echo]
