"""The local Spark server of an instance, by its settings."""

from __future__ import annotations

from localcdap.engine.local.server import EngineServer
from localcdap.home import Home
from localcdap.settings import Settings


def make_engine_server(home: Home, settings: Settings) -> EngineServer:
    """Return the local Spark server of an instance; this needs no host."""
    return EngineServer(
        home.resolve(settings.engine_directory),
        cores=settings.engine_cores,
        memory=settings.engine_memory,
        idle_minutes=settings.engine_idle_minutes,
    )
