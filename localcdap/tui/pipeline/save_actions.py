"""Saving a pipeline as a draft, to a file or as a deployed application, with the questions that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from localcdap.api.errors import ConflictError, LocalcdapError
from localcdap.files.atomic import write_file
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.impact_service import ImpactReport, ImpactRequest
from localcdap.metadata.lineage.impact_text import describe_impact, summarize_impact
from localcdap.pipeline.library.application_model import (
    Deployment,
    DeployRequest,
    DraftRequest,
    check_application_name,
)
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import LinesDialog
from localcdap.tui.dialogs.path_dialog import is_taken
from localcdap.tui.document.editor import Editor
from localcdap.tui.document.source import DocumentSource, read_stamp
from localcdap.tui.routes import DeployedTarget, DraftTarget, PipelineFileTarget
from localcdap.tui.studio import StudioNode, get_studio

Save = Callable[[Cdap, str, bool], DocumentSource]
"""Saves a text; True overwrites a newer version."""


class SaveActions:
    """The save, export and deploy actions of a pipeline. The methods are awaited in a worker.

    :param node: the widget that calls the services.
    """

    def __init__(self, node: StudioNode, editor: Editor) -> None:
        self._node = node
        self._editor = editor
        self._studio = get_studio(node)

    async def save(self) -> None:
        """Save to the source of the document; a document without one becomes a draft."""
        source = self._editor.source
        path = source.path
        if path is not None:
            await self._save(
                lambda _, text, forced: save_file(source, path, text, is_forced=forced),
                f"Saved {path.name}.",
            )
        elif source.draft is not None:
            await self._save_draft(source.name or self._editor.title)
        else:
            await self.save_as()

    async def save_as(self) -> None:
        """Save as a draft; another name makes another draft."""
        name = await self._studio.ask(
            "Save as draft", self._editor.title, verb="Save", check=_check_not_empty
        )
        if name is not None:
            await self._save_draft(name.strip())

    async def export(self) -> None:
        """Write a file, which becomes the source of a document that was not saved yet."""
        typed = f"{self._editor.title}.json"
        path = await self._studio.pick_file("Export to a file", for_saving=True, typed=typed)
        if path is None:
            return
        if is_taken(path) and not await self._studio.confirm(
            f"There is a file {path.name} already.", str(path), "Replace"
        ):
            return
        source = self._editor.source
        has_source = bool(source.path or source.draft or source.application)

        def write(_: Cdap, text: str, __: bool) -> DocumentSource:
            if has_source and path != source.path:
                write_file(path, text)
                return source
            return save_file(source, path, text, is_forced=True)

        await self._save(write, f"Wrote {path}.", is_saved=not has_source or path == source.path)

    async def deploy(self) -> bool:
        """Deploy the pipeline. False when it has failures."""
        editor = self._editor
        namespace, source = editor.namespace, editor.source
        start = source.application or editor.title
        name = await self._studio.ask("Deploy as", start, verb="Deploy", check=_check_pipeline_name)
        if name is None:
            return True
        edited, text = editor.local_document.current, editor.to_text()
        if not await self._accept_impact(text, name):
            return True
        for forced in (False, True):
            try:
                deployment, made = await self._node.call_and_wait(
                    lambda cdap, forced=forced: deploy_document(  # type: ignore[misc]
                        cdap, namespace, source, text, name, None, is_forced=forced
                    ),
                )
            except ConflictError as error:
                if forced or not await self._confirm_overwrite(error):
                    return True
                continue
            except LocalcdapError as error:
                self._show_error(error)
                return True
            break
        if deployment.application is None:
            self._studio.show_notice(
                "Nothing was deployed: the pipeline has failures.",
                deployment.errors[0].full_message if deployment.errors else "",
                "error",
            )
            return False
        editor.mark_saved(made, edited)
        self._studio.show_notice(f"Deployed {name}, version {deployment.application.number}.")
        return True

    async def show_impact(self) -> None:
        """Show what the pipeline changes against the deployed one of its name."""
        report = await self._assess(self._editor.to_text(), self._editor.source.application)
        if report is not None:
            await self._ask(report)

    async def _accept_impact(self, text: str, name: str) -> bool:
        """Return whether to deploy; ask where a deployment breaks datasets or other pipelines."""
        report = await self._assess(text, name)
        if report is None or report.errors or not report.breaks:
            return True  # with errors, the deployment is refused
        return await self._ask(report, verb="Deploy")

    async def _ask(self, report: ImpactReport, verb: str = "") -> bool:
        """Show a report; return whether the verb is confirmed."""
        failures = plural(len(report.errors), "failure")
        warning = (
            f"The pipeline has {failures}: what follows may be incomplete." if report.errors else ""
        )
        parts = describe_impact(report)
        dialog = LinesDialog(summarize_impact(report), parts, warning=warning, verb=verb)
        answer: bool = await self._node.app.push_screen_wait(dialog)
        return bool(answer)  # None for escape

    async def _assess(self, text: str, name: str | None) -> ImpactReport | None:
        """Return what a pipeline changes; None when it cannot be told, which is shown.

        :param name: under which it is deployed; by default that of the document.
        """
        editor = self._editor

        def assess(cdap: Cdap) -> ImpactReport | None:
            is_new = name is not None and not cdap.applications.has_application(
                editor.namespace, name
            )
            if is_new:
                return None
            return cdap.impact.assess(ImpactRequest(text, editor.namespace, against=name))

        try:
            return await self._node.call_and_wait(assess)
        except LocalcdapError as error:
            self._show_error(error)
            return None

    async def _save_draft(self, name: str) -> None:
        namespace, source = self._editor.namespace, self._editor.source
        await self._save(
            lambda cdap, text, forced: save_draft(
                cdap, namespace, source, text, name, is_forced=forced
            ),
            f"Saved the draft {name}.",
        )

    async def _save(self, save: Save, notice: str, *, is_saved: bool = True) -> None:
        self._editor.is_saving = True
        try:
            await self._save_or_ask(save, notice, is_saved=is_saved)
        finally:
            self._editor.is_saving = False

    async def _save_or_ask(self, save: Save, notice: str, *, is_saved: bool) -> None:
        edited, text = self._editor.local_document.current, self._editor.to_text()
        for forced in (False, True):
            try:
                source = await self._node.call_and_wait(
                    lambda cdap, forced=forced: save(cdap, text, forced),  # type: ignore[misc]
                )
            except ConflictError as error:
                if forced or not await self._confirm_overwrite(error):
                    return
            except LocalcdapError as error:
                self._show_error(error)
                return
            else:
                if is_saved:
                    self._editor.mark_saved(source, edited)
                self._studio.show_notice(notice)
                return

    async def _confirm_overwrite(self, error: LocalcdapError) -> bool:
        """Ask whether to overwrite a newer version."""
        return await self._studio.confirm(
            error.message, f"Overwrite with your version?{self._hint_at_differences()}", "Overwrite"
        )

    def _hint_at_differences(self) -> str:
        is_file = self._editor.source.path is not None
        return " f5 shows the differences, or reloads the file." if is_file else ""

    def _show_error(self, error: LocalcdapError) -> None:
        self._studio.report_error(error)


def _check_not_empty(name: str) -> str | None:
    return None if name.strip() else "It needs a name."


def _check_pipeline_name(name: str) -> str | None:
    try:
        check_application_name(name)
    except LocalcdapError:
        return "A name has letters, digits, _ and - only."
    return None


def save_file(
    source: DocumentSource, path: Path, text: str, *, is_forced: bool = False
) -> DocumentSource:
    """Write a file and return it as the source. Runs in a thread.

    :param is_forced: overwrite changes of another program.
    :raises ConflictError: when another program has changed the file.
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
    """Save a draft and return it as the source. Runs in a thread.

    :param name: a name that differs from the source's makes another draft.
    :param is_forced: overwrite what another studio saved.
    :raises ConflictError: when another studio has saved the draft.
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
    """Deploy a document; return the result and the new source. Runs in a thread.

    :param is_forced: deploy although another version was deployed.
    :raises ConflictError: when another version has been deployed.
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
