"""What is asked of a user who keeps a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from localcdap.api.errors import ConflictError, LocalcdapError
from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Deployment, DeployRequest, check_name
from localcdap.pipeline.library.draft_model import DraftRequest
from localcdap.tui.document.editor import Editor
from localcdap.tui.document.source import DocumentSource, read_stamp
from localcdap.tui.routes import DeployedTarget, DraftTarget, PipelineFileTarget
from localcdap.tui.studio import StudioNode, get_studio
from localcdap.tui.system.atomic_files import write_file

Save = Callable[[Cdap, str, bool], DocumentSource]
"""Keeps a text; with True whatever it replaces."""


class SaveActions:
    """Saves the pipeline of an editor. Its methods are awaited in a worker.

    :param node: the widget that calls services for it.
    """

    def __init__(self, node: StudioNode, editor: Editor) -> None:
        self._node = node
        self._editor = editor
        self._studio = get_studio(node)

    async def save(self) -> None:
        """Save where it came from; what is nowhere yet becomes a draft."""
        source = self._editor.source
        path = source.path
        if path is not None:
            await self._keep(
                lambda _, text, forced: save_file(source, path, text, is_forced=forced),
                f"Saved {path.name}.",
            )
        elif source.draft is not None:
            await self._keep_draft(source.name or self._editor.title)
        else:
            await self.save_as()

    async def save_as(self) -> None:
        """Save as a draft; under another name it is another draft."""
        name = await self._studio.ask(
            "Save as draft", self._editor.title, verb="Save", check=_needs_name
        )
        if name is not None:
            await self._keep_draft(name.strip())

    async def export(self) -> None:
        """Write a file. What is kept somewhere else stays there; what is nowhere yet is a file then."""
        typed = f"{self._editor.title}.json"
        path = await self._studio.pick_file("Export to a file", for_saving=True, typed=typed)
        if path is None:
            return
        if path.exists() and not await self._studio.confirm(
            f"There is a file {path.name} already.", str(path), "Replace"
        ):
            return
        source = self._editor.source
        is_kept = bool(source.path or source.draft or source.application)

        def write(_: Cdap, text: str, __: bool) -> DocumentSource:
            if is_kept and path != source.path:
                write_file(path, text)
                return source
            return save_file(source, path, text, is_forced=True)

        await self._keep(write, f"Wrote {path}.", is_saved=not is_kept or path == source.path)

    async def deploy(self) -> bool:
        """Deploy it. False when the pipeline has failures."""
        editor = self._editor
        namespace, source = editor.namespace, editor.source
        start = source.application or editor.title
        name = await self._studio.ask("Deploy as", start, verb="Deploy", check=_refused_name)
        if name is None:
            return True
        draft, text = editor.local_document.draft, editor.to_text()
        for forced in (False, True):
            try:
                deployment, made = await self._node.call_and_wait(
                    lambda cdap, forced=forced: deploy_document(  # type: ignore[misc]
                        cdap, namespace, source, text, name, None, is_forced=forced
                    ),
                )
            except ConflictError as error:
                if forced or not await self._may_replace(error):
                    return True
                continue
            except LocalcdapError as error:
                self._tell(error)
                return True
            break
        if deployment.application is None:
            self._studio.show_notice(
                "Nothing was deployed: the pipeline has failures.",
                deployment.errors[0].full_message if deployment.errors else "",
                "error",
            )
            return False
        editor.mark_saved(made, draft)
        self._studio.show_notice(f"Deployed {name}, version {deployment.application.number}.")
        return True

    async def _keep_draft(self, name: str) -> None:
        namespace, source = self._editor.namespace, self._editor.source
        await self._keep(
            lambda cdap, text, forced: save_draft(
                cdap, namespace, source, text, name, is_forced=forced
            ),
            f"Saved the draft {name}.",
        )

    async def _keep(self, save: Save, told: str, *, is_saved: bool = True) -> None:
        draft, text = self._editor.local_document.draft, self._editor.to_text()
        for forced in (False, True):
            try:
                source = await self._node.call_and_wait(
                    lambda cdap, forced=forced: save(cdap, text, forced),  # type: ignore[misc]
                )
            except ConflictError as error:
                if forced or not await self._may_replace(error):
                    return
            except LocalcdapError as error:
                self._tell(error)
                return
            else:
                if is_saved:
                    self._editor.mark_saved(source, draft)
                self._studio.show_notice(told)
                return

    async def _may_replace(self, error: LocalcdapError) -> bool:
        """Whether to keep ours in place of what came between."""
        return await self._studio.confirm(error.message, "Yours can take its place.", "Replace")

    def _tell(self, error: LocalcdapError) -> None:
        self._studio.show_notice(error.message, error.corrective_action or "", "error")


def _needs_name(name: str) -> str | None:
    return None if name.strip() else "It needs a name."


def _refused_name(name: str) -> str | None:
    try:
        check_name(name)
    except LocalcdapError:
        return "A name has letters, digits, _ and - only."
    return None


def save_file(
    source: DocumentSource, path: Path, text: str, *, is_forced: bool = False
) -> DocumentSource:
    """The source of what was just written to a file. Called in a thread.

    :param is_forced: what another program wrote there meanwhile is overwritten.
    :raises ConflictError: when another program changed the file meanwhile.
    """
    stamp = read_stamp(path)
    if not is_forced and path == source.path and stamp is not None and stamp != source.stamp:
        raise ConflictError(f"{path} was changed by another program.", "Open it again.")
    write_file(path, text)
    name = source.name if path == source.path else path.stem
    return DocumentSource(PipelineFileTarget(path), name, path=path, stamp=read_stamp(path))


def save_draft(
    cdap: Cdap,
    namespace: str,
    source: DocumentSource,
    text: str,
    name: str,
    *,
    is_forced: bool = False,
) -> DocumentSource:
    """The source of what was just kept as a draft. Called in a thread.

    :param name: another one than the source's makes a draft of its own.
    :param is_forced: what another studio saved meanwhile is overwritten.
    :raises ConflictError: when another studio saved it meanwhile.
    """
    is_same = source.draft is not None and name == source.name
    request = DraftRequest(
        text,
        name=name,
        revision=source.revision if is_same and not is_forced else None,
        parent_version=source.version,
        file=source.file,
    )
    draft = cdap.drafts.save(namespace, request, source.draft if is_same else None)
    return replace(
        source,
        target=DraftTarget(draft.id),
        name=draft.name,
        path=None,
        draft=draft.id,
        revision=draft.revision,
    )


def deploy_document(
    cdap: Cdap,
    namespace: str,
    source: DocumentSource,
    text: str,
    name: str,
    change: str | None,
    *,
    is_forced: bool = False,
) -> tuple[Deployment, DocumentSource]:
    """What became of a pipeline that was to be deployed. Called in a thread.

    :param is_forced: what was deployed meanwhile does not matter.
    :raises ConflictError: when another version was deployed meanwhile.
    """
    is_same = source.application == name and not is_forced
    request = DeployRequest(
        text,
        namespace=namespace,
        name=name,
        file=source.file,
        change=change or None,
        parent_version=source.version if is_same else None,
    )
    deployment = cdap.applications.deploy(request)
    application = deployment.application
    if application is None:
        return deployment, source
    target = DeployedTarget(application.name)
    made = DocumentSource(
        target, application.name, application=application.name, version=application.version
    )
    return deployment, made
