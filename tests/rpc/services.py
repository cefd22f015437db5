"""Services that the tests call, in this and in other processes."""

from __future__ import annotations

import os
import sys
import threading
import time

import msgspec

from localcdap.api.errors import DocumentError, InvalidFieldError, LocalcdapError, NotFoundError
from localcdap.api.pipeline import StageSpec
from localcdap.api.schema import Schema


class Order(msgspec.Struct):
    name: str
    schemas: dict[str, Schema | None]
    limit: int = 10


class HomegrownError(NotFoundError):
    """Known in the answering process only."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no {what}")


class Echo:
    """Gives back what it gets."""

    def __init__(self) -> None:
        self.count = 0
        self.ten = threading.Barrier(10)
        self.begun, self.let_go = threading.Event(), threading.Event()
        self._lock = threading.Lock()

    def order(self, order: Order, times: int = 1) -> list[Order]:
        return [order] * times

    def schema(self, schema: Schema) -> Schema:
        return schema

    def stage(self, stage: StageSpec) -> StageSpec | None:
        return stage

    def nothing(self) -> None:
        return None

    def blob(self, data: bytes) -> bytes:
        return data

    def increment(self, by: int) -> int:
        with self._lock:
            self.count += by
            return self.count

    def pid(self) -> int:
        return os.getpid()

    def sleep(self, seconds: float) -> str:
        time.sleep(seconds)
        return "awake"

    def wait(self) -> str:
        """Answers when the test lets it."""
        self.begun.set()
        return "let go" if self.let_go.wait(60) else "forgotten"

    def meet(self) -> str:
        """Answers ten callers, when all of them are here."""
        self.ten.wait(60)
        return "met"

    def unencodable(self) -> object:
        return object()

    def fail(self, kind: str) -> str:
        match kind:
            case "document":
                raise DocumentError("bad", "repair it", file="a.json", line=3, column=7)
            case "field":
                raise InvalidFieldError("path", "no such path")
            case "homegrown":
                raise HomegrownError("bread")
            case "surrogate":
                raise ValueError("file \udc80 is odd")
            case "exit":
                sys.exit(7)
            case "die":
                os._exit(9)
            case "plain":
                raise LocalcdapError("just so")
        raise ZeroDivisionError(kind)

    def _private(self) -> str:
        return "hidden"


if __name__ == "__main__":
    from multiprocessing.connection import Connection

    from localcdap.rpc.methods import answer_calls

    answer_calls(Connection(int(sys.argv[1])), {"echo": Echo()})
