"""Objects that Java has serialized: as much of the format as the keys in keystores need (Java Object
Serialization Specification, chapter 6).
"""

from __future__ import annotations

import struct
from typing import Any, Final

_NULL: Final = 0x70
_REFERENCE: Final = 0x71
_CLASS: Final = 0x72
_END: Final = 0x78
_MAGIC: Final = b"\xac\xed\x00\x05"
_FIRST_HANDLE: Final = 0x7E0000
_PRIMITIVES: Final = dict(B=">b", C=">H", D=">d", F=">f", I=">i", J=">q", S=">h", Z=">?")  # noqa: C408


class JavaObjectError(ValueError):
    """The bytes are not a serialized object, or one of a kind that keys do not have."""


class _ClassDescription:
    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.fields: list[tuple[str, str]] = []
        """The type code and the name of each field, in the order of the values."""
        self.parent: _ClassDescription | None = None


class JavaObjectReader:
    """Reads serialized objects: those of classes as values by field, and texts, bytes and enums.

    :param data: bytes with an object somewhere.
    :param at: where the stream of objects begins; afterwards, where it ends.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data: Final = data
        self.at = at
        self._handles: Final[list[Any]] = []

    def read(self) -> Any:
        """Return the first object of a stream.

        :raises JavaObjectError: when it cannot be read.
        """
        if self._take(4) != _MAGIC:
            raise JavaObjectError("It is not a serialized Java object.")
        try:
            return self._read_content()
        except (struct.error, IndexError, UnicodeDecodeError, RecursionError) as error:
            raise JavaObjectError(f"The serialized Java object is damaged: {error}.") from None

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at : self.at + size]
        if len(taken) != size:
            raise JavaObjectError("The serialized Java object is incomplete.")
        self.at += size
        return taken

    def _unpack(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _read_text(self) -> str:
        return self._take(self._unpack(">H")).decode()

    def _read_content(self) -> Any:
        match self._unpack(">B"):
            case 0x70:
                return None
            case 0x71:
                return self._handles[self._unpack(">i") - _FIRST_HANDLE]
            case 0x73:
                return self._read_object()
            case 0x74:
                return self._keep(self._read_text())
            case 0x75:
                return self._read_array()
            case 0x7E:  # an enum: its value is its name
                self._read_class()
                self._keep(None)
                return self._read_content()
            case other:
                raise JavaObjectError(f"The serialized Java object has the element 0x{other:02x}.")

    def _keep(self, value: Any) -> Any:
        self._handles.append(value)
        return value

    def _read_array(self) -> bytes:
        description = self._read_class()
        number = len(self._handles)
        self._keep(None)
        if description is None or description.name != "[B":
            raise JavaObjectError("The serialized Java object has an array that is not of bytes.")
        found = self._handles[number] = self._take(self._unpack(">i"))
        return found

    def _read_object(self) -> dict[str, Any]:
        description = self._read_class()
        values: dict[str, Any] = self._keep({})
        chain: list[_ClassDescription] = []
        while description is not None:
            chain.insert(0, description)
            description = description.parent
        for each in chain:
            for code, name in each.fields:
                is_plain = code in _PRIMITIVES
                values[name] = self._unpack(_PRIMITIVES[code]) if is_plain else self._read_content()
        return values

    def _read_class(self) -> _ClassDescription | None:
        kind = self._unpack(">B")
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            found = self._handles[self._unpack(">i") - _FIRST_HANDLE]
            if not isinstance(found, _ClassDescription):
                raise JavaObjectError("The serialized Java object refers to no class.")
            return found
        if kind != _CLASS:
            raise JavaObjectError(f"The serialized Java object has a class 0x{kind:02x}.")
        description = _ClassDescription(self._read_text())
        self._take(8)
        self._keep(description)
        flags = self._unpack(">B")
        if flags & 0x01 or flags & 0x04:
            raise JavaObjectError(f"Objects of the Java class {description.name} cannot be read.")
        for _ in range(self._unpack(">H")):
            code, name = chr(self._unpack(">B")), self._read_text()
            if code in "[L":
                self._read_content()  # the name of the field's class
            description.fields.append((code, name))
        if self._unpack(">B") != _END:
            raise JavaObjectError(f"The Java class {description.name} has annotations.")
        description.parent = self._read_class()
        return description
