"""Directives that split mail addresses and URLs."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    find_column,
    report_missing_column,
    require_text,
    require_text_column,
)

_NULLABLE_TEXT: Final = Schema.STRING.as_nullable
_PROTOCOLS: Final = ("http", "https", "ftp", "file", "mailto", "jar", "jmod", "jrt")
_AUTHORITY: Final = re.compile(r"//([^/?#]*)")


@plugin(
    name="split-email",
    description="Splits a mail address to the columns <column>_account and <column>_domain.",
)
class SplitEmail(Directive):
    categories = ("transform", "email")
    examples = ("split-email :email",)
    keeps_values = True
    column: str = argument.column("The column with addresses, with or without a name before <…>.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "split")
        for part in ("account", "domain"):
            columns.add(f"{self.column}_{part}", _NULLABLE_TEXT)

    def change(self, row: Row, context: RowContext) -> None:
        value = row[find_column(row, self.column)]
        account, domain = (
            (None, None) if value is None else split_mail_address(require_text(row, self.column))
        )
        row.add(f"{self.column}_account", account)
        row.add(f"{self.column}_domain", domain)

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        require_text_column(frame, self.column)
        value = frame.column(self.column)
        inner = f.when(
            f.contains(value, f.lit("<")), f.regexp_extract(value, r"(?s)\A.*<(.*)>", 1)
        ).otherwise(value)
        for part, group in (("account", 1), ("domain", 2)):
            name = f"{self.column}_{part}"
            if frame.columns.find(name) is None:
                found = f.regexp_extract(inner, r"(?s)\A(.*)@(.*)\z", group)
                part_value = f.when(f.contains(inner, f.lit("@")), found)
                frame.put(name, part_value, _NULLABLE_TEXT)


def split_mail_address(text: str) -> tuple[str | None, str | None]:
    """Return account and domain; both None for a text that is not an address."""
    start = text.rfind("<")
    if start >= 0:
        end = text.rfind(">")
        text = text[start + 1 : end] if end > start else ""
    account, at, domain = text.rpartition("@")
    return (account, domain) if at else (None, None)


@plugin(
    name="split-url",
    description="Splits a URL to columns: protocol, authority, host, port, path, query, filename.",
)
class SplitUrl(Directive):
    categories = ("transform", "url")
    examples = ("split-url :url",)
    keeps_values = True
    column: str = argument.column("The column with addresses.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "split")
        for part in ("protocol", "authority", "host", "port", "path", "filename", "query"):
            schema = Schema.INT.as_nullable if part == "port" else _NULLABLE_TEXT
            columns.add(f"{self.column}_{part}", schema)

    def change(self, row: Row, context: RowContext) -> None:
        parts = None
        if row[find_column(row, self.column)] is not None:
            parts = split_url(require_text(row, self.column))
        for part in ("protocol", "authority", "host", "port", "path", "filename", "query"):
            row.add(f"{self.column}_{part}", None if parts is None else parts[part])


def split_url(text: str) -> dict[str, str | int | None]:
    """Return the parts as ``java.net.URL`` has them: port -1 and query None if the URL has none.

    :raises DirectiveError: for a text that is not a URL.
    """
    protocol, colon, rest = text.strip(TRIM_CHARACTERS).partition(":")
    if not colon or not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9+.-]*", protocol):
        raise DirectiveError(f"'{text}' is not a URL: no protocol such as http: stands before it")
    protocol = protocol.lower()
    if protocol not in _PROTOCOLS:
        raise DirectiveError(f"'{text}' is not a URL: unknown protocol '{protocol}'")
    rest = rest.partition("#")[0]
    authority = _AUTHORITY.match(rest)
    named = authority[1] if authority else None
    remainder = rest[authority.end() :] if authority else rest
    path, mark, query = remainder.partition("?")
    host, port = _host_and_port(named or "", text)
    return {
        "protocol": protocol,
        "authority": named,
        "host": host,
        "port": port,
        "path": path,
        "filename": f"{path}?{query}" if mark else path,
        "query": query if mark else None,
    }


def _host_and_port(authority: str, text: str) -> tuple[str, int]:
    server = authority.rpartition("@")[2]
    match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d*))?", server)
    if match is None:
        raise DirectiveError(f"'{text}' is not a URL: '{server}' is not a host with a port")
    return match[1], int(match[2]) if match[2] else -1
