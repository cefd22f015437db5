"""A temporary instance for a test: its folder, its plugin folder and its host in this process."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.runs.model import Run, RunRequest
from localcdap.testing.databases import copy_known_instance

_POLL_S: Final = 5.0


class TemporaryInstance:
    """An instance for one test. The first access to its services opens it, so write settings before.

    >>> cdap_instance.drop("shout-plugins")                                     # doctest: +SKIP
    >>> [p.name for p in cdap_instance.cdap.artifacts.list_plugins("default")]  # doctest: +SKIP
    >>> cdap_instance.run(document, {"input": "in.csv"}).status                 # doctest: +SKIP

    :param folder: the folder of the instance, created when it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.home: Final = Home(folder)
        self.home.path.mkdir(parents=True, exist_ok=True)
        self._open = contextlib.ExitStack()
        self._cdap: Cdap | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cdap(self) -> Cdap:
        """The services of the instance, as front ends use them."""
        if self._cdap is None:
            copy_known_instance(self.home.path)
            self._cdap = self._open.enter_context(open_in_process(self.home))
        return self._cdap

    def settings(self, text: str) -> None:
        """Write ``localcdap.toml``, which takes effect when the instance is opened next."""
        self.home.settings_file.write_text(text, encoding="utf-8")

    def drop(self, artifact: str | Path, namespace: str = "default") -> Path:
        """Copy an artifact, a file or a folder, into the plugin folder, and return its new path.

        An artifact with the same file name is replaced.
        """
        source = Path(artifact).absolute()
        folder = self.home.path / "plugins"
        place = (folder if namespace == "default" else folder / namespace) / source.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.rmtree(place, ignore_errors=True)
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(source, place, ignore=ignored)
        else:
            shutil.copyfile(source, place)
        if self._cdap is not None:
            self._cdap.artifacts.sync()
        return place

    def run(
        self,
        document: Mapping[str, Any] | str,
        arguments: Mapping[str, str] | None = None,
        namespace: str = "default",
    ) -> Run:
        """Run a pipeline document and wait for its end. Relative paths are relative to the instance's folder.

        :raises InvalidPipelineError: when the pipeline has failures.
        """
        text = document if isinstance(document, str) else json.dumps(dict(document))
        request = RunRequest(text, namespace, arguments=dict(arguments or {}))
        run = self.cdap.runs.start(request)
        while not run.status.is_end:
            run = self.cdap.runs.wait(run.run, run.version, timeout_s=_POLL_S)
        return run

    def close(self) -> None:
        """Close the instance; its runs continue. The next access to its services opens it again."""
        self._cdap = None
        self._open.close()
