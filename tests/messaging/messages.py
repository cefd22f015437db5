"""Messages that the tests spool."""

from __future__ import annotations

import msgspec

from localcdap.api.schema import Schema


class Counted(msgspec.Struct, tag=True):
    number: int
    text: str = ""


class Shaped(msgspec.Struct, tag=True):
    schema: Schema | None


Message = Counted | Shaped
