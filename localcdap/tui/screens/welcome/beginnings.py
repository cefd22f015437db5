"""What one can begin with: a new pipeline, a file, the demo."""

from __future__ import annotations

from pathlib import Path

from localcdap.api.errors import DocumentError
from localcdap.home import Home
from localcdap.host import demo
from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.model import Deployment, DeployRequest
from localcdap.runs.model import Run, RunRequest


def read(path: Path) -> str:
    """The text of a pipeline file.

    :raises DocumentError: when it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.",
            "A pipeline file is the JSON that CDAP or Data Fusion exports.",
            file=str(path),
        ) from None
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}.", file=str(path)) from None


def deploy(cdap: Cdap, path: Path, namespace: str, *, fix: bool) -> Deployment:
    """Deploy a pipeline file.

    :param fix: have stages name the artifacts that are here, where they ask for others.
    """
    return cdap.applications.deploy(
        DeployRequest(read(path), namespace, fallback_name=path.stem, file=str(path), fix=fix)
    )


def run_demo(cdap: Cdap, home: Home, namespace: str) -> tuple[Path, Run]:
    """Set the sample pipeline up and start a run of it."""
    file = demo.set_up(home)
    request = RunRequest(read(file), namespace, demo.NAME, demo.arguments(file))
    return file, cdap.runs.start(request)
