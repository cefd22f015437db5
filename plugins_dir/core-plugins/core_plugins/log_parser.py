"""The LogParser transform: lines of web server logs become records."""

from __future__ import annotations

import datetime
import re
import time
from functools import lru_cache
from typing import Any, Final, NamedTuple

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
    field,
    plugin,
)

MALFORMED: Final = 31
"""The error code of a line in another format."""
_OUTPUT: Final = Schema.record(
    "event",
    [
        ("uri", Schema.STRING),
        ("ip", Schema.STRING),
        ("browser", Schema.STRING),
        ("device", Schema.STRING),
        ("httpStatus", Schema.INT),
        ("ts", Schema.LONG),
    ],
)
_IP: Final = r"(?P<ip>[\d.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)"
_CLF: Final = re.compile(
    _IP + r' \S+ \S+ \[(?P<time>[^\]]+)\] "(?P<request>[^"]+)" (?P<status>\d{3})'
    r' [-"\d]+ "[^"]+" "(?P<agent>[^"]+)"'
)
_S3: Final = re.compile(
    r"\S+ \S+ \[(?P<time>[ -~]+?)\] " + _IP + r' \S+ \S+ \S+ \S+ "(?P<request>[^"]+)"'
    r' (?P<status>\d{3}) [ -~]+? [-"\d]+ [-"\d]+ \d+ [-"\d]+ "[^"]+" "(?P<agent>[^"]+)" [ -~]+'
)
_REQUEST: Final = re.compile(r"\S+\s(\S+)")
_TIME: Final = "%d/%b/%Y:%H:%M:%S %z"
_CLOUDFRONT_TIME: Final = "%Y-%m-%d %H:%M:%S"
_LINE_FORMATS: Final = {"S3": _S3, "CLF": _CLF}
_CLOUDFRONT: Final = "Cloudfront"
_FORMATS: Final = (*_LINE_FORMATS, _CLOUDFRONT)
_DATE, _HOUR, _CLIENT, _URI, _STATUS, _AGENT = 0, 1, 4, 7, 8, 10
"""Column numbers of a Cloudfront log."""
_DESKTOPS: Final = frozenset(
    (
        "Windows",
        "Mac OS X",
        "Linux",
        "Ubuntu",
        "Fedora",
        "Debian",
        "Chrome OS",
        "FreeBSD",
        "OpenBSD",
    )
)
_ROBOT: Final = "Spider"
UNKNOWN: Final = "unknown"


class LogEntry(NamedTuple):
    """The parsed fields of a line."""

    uri: str
    ip: str
    agent: str
    status: int
    millis: int


class LogLineError(ValueError):
    """A line does not have the format; the message says why."""


@plugin(
    name="LogParser",
    description="Parses lines of web server logs (CLF, S3, Cloudfront) into URI, IP, browser, device, HTTP "
    "status and time.",
)
class LogParser(Transform):
    """CLF is the combined log format. ``ts`` is in milliseconds since 1970.

    A line in another format becomes an error record. Null and comments of Cloudfront give no record. A time
    that cannot be parsed becomes the current time, as in CDAP.
    """

    class Config(PluginConfig):
        log_format: str = field(
            name="logFormat", description=f"Format of the lines: {', '.join(_FORMATS)}."
        )
        source: str = field(
            name="inputName",
            description="Field with the lines, a string or bytes in UTF-8.",
            form="{input-field}",
        )

    config: Config

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(lineage.outputs, [self.config.source], "Parse")
        lineage.influence(EdgeKind.FILTER, [self.config.source])

    def configure(self, stage: StageConfigurer) -> None:
        if self.config.log_format and self.config.log_format not in _FORMATS:
            stage.failures.add(
                f"Format '{self.config.log_format}' is not supported.",
                f"Supported formats are: {', '.join(_FORMATS)}.",
            ).with_config_property("logFormat")
        schema, name = stage.input_schema, self.config.source
        given = schema.field(name) if schema is not None and name else None
        if schema is not None and name and given is None:
            stage.failures.add(
                f"Field '{name}' must be present in the input schema."
            ).with_config_property("inputName")
        if given is not None and given.schema.non_nullable.type not in (Type.STRING, Type.BYTES):
            failure = stage.failures.add(
                f"Field '{name}' of unsupported type '{given.schema.display_name}'.",
                "Ensure it is of type bytes or string.",
            )
            failure.with_config_property("inputName").with_input_field(name)
        stage.output_schema = _OUTPUT
        stage.error_schema = schema

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        # Error records hold the whole input record.
        return None

    def initialize(self, context: StageContext) -> None:
        self._context = context

    def _decode(self, line: bytes) -> str:
        text = line.decode("utf-8", errors="replace")
        if "\ufffd" in text and text.encode("utf-8") != line:
            self._context.count_altered("bytes that are not UTF-8 became U+FFFD", text)
        return text

    def transform(self, record: Record, emit: Emitter) -> None:
        line: Any = record[self.config.source]
        if line is None:
            self._context.count_altered("a record without a line was left out, as in CDAP", "null")
            return
        text = line if isinstance(line, str) else self._decode(bytes(line))
        chosen = self.config.log_format
        if chosen == _CLOUDFRONT and text.startswith("#"):
            return
        try:
            read = _parse_cloudfront(text) if chosen == _CLOUDFRONT else _parse_line(text, chosen)
        except LogLineError as error:
            emit.error(record, MALFORMED, f"Couldn't parse log: {error}.")
            return
        browser, device = parse_user_agent(read.agent)
        emit(
            {
                "uri": read.uri,
                "ip": read.ip,
                "browser": browser,
                "device": device,
                "httpStatus": read.status,
                "ts": read.millis,
            }
        )


def _parse_line(text: str, chosen: str) -> LogEntry:
    match = _LINE_FORMATS[chosen].fullmatch(text)
    if match is None:
        raise LogLineError(f"the log did not match the {chosen} format")
    request = _REQUEST.match(match["request"])
    if request is None:
        raise LogLineError(f"its request '{match['request']}' names no URI")
    millis = _to_millis(match["time"], _TIME)
    return LogEntry(request[1], match["ip"], match["agent"], int(match["status"]), millis)


def _parse_cloudfront(text: str) -> LogEntry:
    columns = text.split("\t")
    if len(columns) <= _AGENT:
        raise LogLineError(
            f"it has {len(columns)} columns, a {_CLOUDFRONT} log has more than {_AGENT}"
        )
    if not columns[_STATUS].isdigit():
        raise LogLineError(f"its HTTP status is '{columns[_STATUS]}'")
    millis = _to_millis(f"{columns[_DATE]} {columns[_HOUR]}", _CLOUDFRONT_TIME)
    status = int(columns[_STATUS])
    return LogEntry(columns[_URI], columns[_CLIENT], columns[_AGENT], status, millis)


def _to_millis(text: str, pattern: str) -> int:
    try:
        moment = datetime.datetime.strptime(text, pattern)
    except ValueError:
        return int(time.time() * 1000)
    in_zone = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return int(in_zone.timestamp() * 1000)


@lru_cache(maxsize=4096)
def parse_user_agent(user_agent: str) -> tuple[str, str]:
    """Return the browser family and the device type of a user agent.

    Device types are ``Personal computer``, ``Smartphone``, ``Tablet`` and ``Other``. Both results are
    ``unknown`` if the text does not identify them. Browser families come from the uap-core project; CDAP uses
    an older list, so that a few names differ.
    """
    from ua_parser import parse

    found = parse(user_agent)
    browser = found.user_agent.family if found.user_agent else UNKNOWN
    system = found.os.family if found.os else None
    device = found.device.family if found.device else None
    return browser, _get_device_kind(user_agent, system, device)


def _get_device_kind(user_agent: str, system: str | None, device: str | None) -> str:
    if device == _ROBOT:
        return "Other"
    if device == "iPad" or "Tablet" in user_agent or _is_android_tablet(user_agent):
        return "Tablet"
    if "Mobi" in user_agent or device in ("iPhone", "iPod"):
        return "Smartphone"
    if system in _DESKTOPS:
        return "Personal computer"
    return "Other" if system or device else UNKNOWN


def _is_android_tablet(user_agent: str) -> bool:
    return "Android" in user_agent and "Mobi" not in user_agent
