"""Logs of web servers."""

from __future__ import annotations

from localcdap.plugin_lib.wrangler.formats.http_logs.format import LogFormat
from localcdap.plugin_lib.wrangler.formats.http_logs.parts import LineError
from localcdap.plugin_lib.wrangler.formats.http_logs.tokens import LogFormatError

__all__ = ["LineError", "LogFormat", "LogFormatError"]
