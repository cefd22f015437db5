"""The connector HTTP, which shows a file at a URL, and the post action HTTPCallback."""

from __future__ import annotations

import http.client
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from pathlib import PurePosixPath
from typing import IO, Final
from urllib.error import HTTPError

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    Connector,
    ConnectorContext,
    PluginConfig,
    PostAction,
    PostActionConfig,
    PostActionContext,
    Record,
    RecordStream,
    SampleRequest,
    StageConfigurer,
    Unreadable,
    field,
    plugin,
)
from localcdap.api.errors import BadRequestError
from localcdap.plugin_lib.connectors.file_records import read_file
from localcdap.plugin_lib.web_requests import TIMEOUT_MS, WebRequestConfig

_MOST_BYTES: Final = 64 * 2**20
_TIMEOUT_S: Final = 5.0
_BLOCK: Final = 64 * 1024


@plugin(name="HTTP", description="Samples a file at a URL.")
class HttpConnector(Connector):
    class Config(PluginConfig, macros=True):
        url: str = field("The URL of the file, or of a folder of files, with http:// or https://.")
        headers: str | None = field(
            "Headers of the request, each on a line: name: value",
            default=None,
            name="requestHeaders",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        if not self.config.url.strip().lower().startswith(("http://", "https://")):
            stage.failures.add(
                f"'{self.config.url}' is not the URL of a file.",
                "Begin it with 'http://' or 'https://'.",
            ).with_config_property("url")

    def test(self, context: ConnectorContext) -> None:
        self._open("").close()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        path = (request.path or "").strip("/")
        name = PurePosixPath(urllib.parse.urlsplit(self._locate(path)).path).name or "file"
        return BrowseDetail([BrowseEntity(name, f"/{path}", "file", can_sample=True)])

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        path = (request.path or "").strip("/")
        suffix = PurePosixPath(urllib.parse.urlsplit(self._locate(path)).path).suffix
        file = tempfile.NamedTemporaryFile(suffix=suffix)  # noqa: SIM115 - the records are read later
        self._download(path, file)
        stream = read_file(file.name, request.properties)
        stream.records = _read_all(stream.records, file)
        return stream

    def _locate(self, path: str) -> str:
        """Return the URL of a path, which cannot leave the folder of the connection."""
        if not path:
            return self.config.url.strip()
        parts = path.split("/")
        if ".." in parts or "" in parts:
            raise BadRequestError(
                f"The path '{path}' leads elsewhere.", "Name a file below the URL."
            )
        return self.config.url.strip().rstrip("/") + "/" + urllib.parse.quote(path)

    def _open(self, path: str) -> http.client.HTTPResponse:
        url, headers = self._locate(path), {}
        for line in (self.config.headers or "").splitlines():
            name, _, value = line.partition(":")
            if name.strip():
                headers[name.strip()] = value.strip()
        try:
            asked = urllib.request.Request(url, headers=headers)  # noqa: S310 - configure checks it
            answer: http.client.HTTPResponse = urllib.request.urlopen(asked, timeout=_TIMEOUT_S)  # noqa: S310
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise BadRequestError(
                f"{url} does not answer: {error}.", "Check the URL and the network."
            ) from None
        return answer

    def _download(self, path: str, file: IO[bytes]) -> None:
        size = 0
        with self._open(path) as answer:
            try:
                while block := answer.read(_BLOCK):
                    size += len(block)
                    if size > _MOST_BYTES:
                        raise BadRequestError(
                            f"The file has more than {_MOST_BYTES // 2**20} MB.",
                            "Download it, and use a connection of the type File.",
                        )
                    file.write(block)
            except (OSError, http.client.HTTPException) as error:
                raise BadRequestError(f"The download broke off: {error}.") from None
        file.flush()


def _read_all(
    records: Iterable[Record | Unreadable], file: IO[bytes]
) -> Iterator[Record | Unreadable]:
    """Yield records, and remove the file from which they come at the end."""
    with file:
        yield from records


_PAUSE_S: Final = 1.0


@plugin(name="HTTPCallback", description="Sends a request to a web service when the run has ended.")
class HttpCallback(PostAction):
    """Every response of the service is logged; as in CDAP, an error status is not a failure."""

    class Config(PostActionConfig, WebRequestConfig):
        timeout_ms: int = field(
            "Milliseconds to wait for a response; 0 to wait forever.",
            default=TIMEOUT_MS,
            macro=True,
            name="connectTimeout",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage, "connectTimeout", least_ms=0)

    def run(self, context: PostActionContext) -> None:
        config = self.config
        for attempt in range(config.retries + 1):
            try:
                answer = config.send(max_bytes=0)
                context.logger.info(
                    "'%s' responded %s %s", config.url, answer.status, answer.reason
                )
                return
            except HTTPError as error:
                context.logger.warning("'%s' responded %s %s", config.url, error.code, error.reason)
                return
            except (OSError, HTTPException, ValueError) as error:
                problem = f"'{config.url}' did not respond: {error}."
                context.logger.warning("%s", problem)
                if attempt == config.retries:
                    raise context.fail(problem, "Check the URL and the service.") from None
                time.sleep(_PAUSE_S)
