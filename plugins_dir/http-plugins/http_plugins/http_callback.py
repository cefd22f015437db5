"""The HTTPCallback post action."""

from __future__ import annotations

import time
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError

from localcdap.api import (
    PostAction,
    PostActionConfig,
    PostActionContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.plugin_lib.web_requests import TIMEOUT_MS, WebRequestConfig

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
