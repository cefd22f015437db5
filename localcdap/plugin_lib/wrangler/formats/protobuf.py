"""Reads messages of Protocol Buffers as rows."""

from __future__ import annotations

from typing import Any

from localcdap.api.directive.rows import Row


class ProtobufError(ValueError):
    """Bytes are not a message of the type, or the type does not exist."""


class MessageType:
    """Reads messages of a type.

    :param descriptors: a ``FileDescriptorSet``, as ``protoc --include_imports -o file.desc`` writes it.
    :param name: the name of the type, with or without its package.
    :raises ProtobufError: for an unknown type, or invalid descriptors.
    """

    def __init__(self, descriptors: bytes, name: str) -> None:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
            pool = descriptor_pool.DescriptorPool()
            for file in files:
                pool.Add(file)
            names = [
                _join_name(file.package, each.name) for file in files for each in file.message_type
            ]
            full = next((each for each in names if name in (each, each.rpartition(".")[2])), None)
            if full is None:
                raise ProtobufError(f"there is no message '{name}'; there are {', '.join(names)}")
            self._class: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(full))
        except ProtobufError:
            raise
        except Exception as error:
            reason = str(error)[:300]
            raise ProtobufError(f"the descriptors are not a FileDescriptorSet: {reason}") from None

    def read(self, content: bytes) -> Row:
        """Read the fields of a message in the order of their numbers. Nested messages become columns
        ``<field>_<field>``, and enumerations the names of their values.

        :raises ProtobufError: for bytes that are not a message of the type.
        """
        from google.protobuf.message import DecodeError

        try:
            message = self._class.FromString(content)
        except (DecodeError, ValueError, RecursionError) as error:
            raise ProtobufError(str(error)) from None
        row = Row()
        _fill(message, "", row)
        return row


def _join_name(package: str, name: str) -> str:
    return f"{package}.{name}" if package else name


def _fill(message: Any, prefix: str, row: Row) -> None:
    for field, value in message.ListFields():
        name = prefix + field.name
        several = _is_repeated(value)
        if field.message_type is None:
            scalars = (
                [_convert_scalar(field, each) for each in value]
                if several
                else _convert_scalar(field, value)
            )
            row.add(name, scalars)
        elif field.message_type.GetOptions().map_entry:
            row.add(name, {str(key): _convert_value(each) for key, each in value.items()})
        else:
            for each in value if several else [value]:
                _fill(each, f"{name}_", row)


def _is_repeated(value: Any) -> bool:
    return not isinstance(value, str | bytes) and hasattr(value, "__len__")


def _convert_scalar(field: Any, value: Any) -> Any:
    if field.enum_type is None:
        return value
    known = field.enum_type.values_by_number.get(value)
    return known.name if known is not None else str(value)


def _convert_value(value: Any) -> Any:
    if not hasattr(value, "ListFields"):
        return value
    row = Row()
    _fill(value, "", row)
    return dict(row)
