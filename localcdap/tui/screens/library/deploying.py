"""Pipeline files deployed from the library, and what is told of a deployment that is refused."""

from __future__ import annotations

from pathlib import Path

from localcdap.pipeline.library.model import Deployment
from localcdap.tui import places
from localcdap.tui.screens.library.shelf_screen import ShelfScreen
from localcdap.tui.screens.welcome import beginnings
from localcdap.tui.screens.welcome.importing import ImportDialog
from localcdap.tui.words import plural


def deploy_file(screen: ShelfScreen, path: Path, *, fix: bool = False) -> None:
    """Deploy a file; when it has failures, have its user choose what becomes of it.

    :param fix: whether plugins of other versions are taken where those that it names are not here.
    """
    namespace = screen.studio.namespace
    screen.call(
        lambda cdap: beginnings.deploy(cdap, path, namespace, fix=fix),
        done=lambda answer: _deployed(screen, path, answer),
    )


def is_refused(screen: ShelfScreen, answer: Deployment | None, what: str) -> bool:
    """Tell why a pipeline was not deployed, when it was not.

    :param answer: None where nothing was to be deployed.
    """
    if answer is None or answer.application is not None:
        return False
    failures = "\n".join(f"{each.stage or 'pipeline'}: {each.message}" for each in answer.errors)
    screen.studio.tell(
        f"{what}: the pipeline has {plural(len(answer.errors), 'failure')}.", failures, "error"
    )
    return True


def _deployed(screen: ShelfScreen, path: Path, answer: Deployment) -> None:
    if answer.application is None:
        screen.run_worker(_offer_repair(screen, path, answer))
        return
    changed = "\n".join(str(each) for each in (*answer.repairs, *answer.upgrades))
    screen.studio.tell(f"{answer.name} is deployed, version {answer.application.number}.", changed)
    screen.go_to(f"deployed {answer.name}")


async def _offer_repair(screen: ShelfScreen, path: Path, answer: Deployment) -> None:
    match await screen.app.push_screen_wait(ImportDialog(answer)):
        case "fix":
            deploy_file(screen, path, fix=True)
        case "open":
            screen.studio.go(places.PipelineFile(path.absolute()))
