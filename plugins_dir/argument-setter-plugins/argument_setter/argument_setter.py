"""The ArgumentSetter action."""

from __future__ import annotations

import time
from http.client import HTTPException
from typing import Final

from localcdap.api import Action, ActionContext, StageConfigurer, field, plugin
from localcdap.plugin_lib.arguments import set_arguments
from localcdap.plugin_lib.web_requests import METHODS, TIMEOUT_MS, WebRequestConfig

_MAX_BYTES: Final = 10 * 2**20
_PAUSE_S: Final = 1.0


@plugin(
    name="ArgumentSetter",
    description="Sets arguments of the run from a JSON document of a web service.",
)
class ArgumentSetter(Action):
    class Config(WebRequestConfig):
        url: str = field(
            'URL of the document, of the form {"arguments": [{"name": "in", "type": "string", "value": '
            '"x"}]}. Types are string, int, short, float, double, char, array, map and schema.',
            macro=True,
        )
        method: str = field(
            "HTTP method of the request.", default="GET", choices=METHODS, macro=True
        )
        timeout_ms: int = field(
            "Milliseconds to wait for the connection and for each part of the response, unless 'readTimeout' "
            "is longer.",
            default=TIMEOUT_MS,
            name="connectTimeout",
        )
        read_timeout_ms: int = field(
            "Milliseconds to wait for each part of the response.",
            default=TIMEOUT_MS,
            name="readTimeout",
        )

        def get_timeout_ms(self) -> int:
            return max(self.timeout_ms, self.read_timeout_ms)

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage, "connectTimeout", least_ms=1)

    def run(self, context: ActionContext) -> None:
        for attempt in range(self.config.retries + 1):
            try:
                text = self._fetch_text()
                break
            except (OSError, HTTPException, ValueError) as error:
                problem = f"'{self.config.url}' gave no usable response: {error}."
                context.logger.warning("%s", problem)
                if attempt == self.config.retries:
                    raise context.fail(problem, "Check the URL and the service.") from None
                time.sleep(_PAUSE_S)
        set_arguments(context, text, self.config.url)

    def _fetch_text(self) -> str:
        """Return the text of the response.

        :raises OSError: (or HTTPException, ValueError) when there is no response, or its status is an error.
        """
        content = self.config.send(_MAX_BYTES + 1).content
        if len(content) > _MAX_BYTES:
            raise ValueError("the response is larger than 10 MB")
        return content.decode()
