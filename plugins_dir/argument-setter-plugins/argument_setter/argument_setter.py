"""The ArgumentSetter action."""

from __future__ import annotations

import time
from http.client import HTTPException
from typing import Final

from localcdap.api import Action, ActionContext, StageConfigurer, field, plugin
from localcdap.plugin_lib.arguments import set_arguments
from localcdap.plugin_lib.web_requests import METHODS, WebRequestConfig

_MOST_BYTES: Final = 10 * 2**20
_PAUSE_S: Final = 1.0


@plugin(
    type="action",
    name="ArgumentSetter",
    description="Sets arguments of the run from a JSON document that a web service answers with.",
)
class ArgumentSetter(Action):
    class Config(WebRequestConfig):
        url: str = field(
            'Address of the document, of the form {"arguments": [{"name": "in", "type": "string", "value": '
            '"x"}]}. Types are string, int, short, float, double, char, array, map and schema.',
            macro=True,
        )
        method: str = field("Method of the request.", default="GET", choices=METHODS, macro=True)

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage, "connectTimeoutMillis", least_ms=1)

    def run(self, context: ActionContext) -> None:
        for attempt in range(self.config.retries + 1):
            try:
                text = self._answer()
                break
            except (OSError, HTTPException, ValueError) as error:
                problem = f"'{self.config.url}' gives no answer that can be used: {error}."
                context.logger.warning("%s", problem)
                if attempt == self.config.retries:
                    raise context.fail(problem, "Check the address and its service.") from None
                time.sleep(_PAUSE_S)
        set_arguments(context, text, self.config.url)

    def _answer(self) -> str:
        """:raises OSError: (or HTTPException, ValueError) when there is none, or it says that it failed."""
        content = self.config.send(_MOST_BYTES + 1).content
        if len(content) > _MOST_BYTES:
            raise ValueError("the answer is larger than 10 MB")
        return content.decode()
