"""The plugin of a stage: its declaration, its other versions and its methods, which can be called."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, ClassVar, Final, NamedTuple

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from localcdap.api.config import NamedPlugins, PluginProperty
from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.api.methods import PluginMethod
from localcdap.artifacts.model import ArtifactSelector, PluginInfo
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.document.values import as_properties
from localcdap.pipeline.methods import MethodCall, MethodPlugin, MethodResult
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.heading import format_artifact
from localcdap.tui.inspector.properties.controls import ValueArea
from localcdap.tui.records.values import escape_unprintable
from localcdap.tui.studio import Choice, Studio

_POLL_S: Final = 2.0


class PluginDetails(msgspec.Struct):
    """The details of the plugin of a stage, and the names that its properties can refer to."""

    plugin: PluginInfo | None
    preferences: dict[str, str]
    secure_keys: list[str]
    """Their names."""
    connections: list[str]
    """Their names."""


class PluginCandidate(msgspec.Struct):
    """A plugin that a stage could use."""

    name: str
    artifact: ArtifactId
    description: str


def read_plugin_details(cdap: Cdap, namespace: str, pipeline: str, use: PluginUse) -> PluginDetails:
    """Read the plugin of a stage, and the names that its properties can use.

    :param pipeline: the name of the stage's pipeline.
    """
    preferences = cdap.preferences.resolve_for_pipeline(namespace, pipeline)
    keys = [key.name for key in cdap.secure_keys.list_keys(namespace)]
    connections = [each.name for each in cdap.connections.list_connections(namespace)]
    return PluginDetails(find_plugin(cdap, namespace, use), preferences, keys, connections)


def find_plugin(cdap: Cdap, namespace: str, use: PluginUse) -> PluginInfo | None:
    """Return the plugin of a stage, with the properties of the formats that it names; None when there is
    none.
    """
    try:
        found = cdap.artifacts.get_plugin(namespace, use.type, use.name, use.artifact)
    except NotFoundError:
        return None
    properties = dict(found.properties)
    for name, shared in _list_sharing(found).items():
        known = [each.name for each in cdap.artifacts.list_plugins(namespace, shared.type)]
        properties[name] = _offer_words(properties[name], known)
        for other in set(known) & {use.properties.get(name, "")}:
            added = cdap.artifacts.get_plugin(namespace, shared.type, other).properties
            for each in added.values():
                grouped = msgspec.structs.replace(each, group=f"{name} {other}")
                properties.setdefault(each.name, grouped)
    return msgspec.structs.replace(found, properties=properties)


def select_use(use: PluginUse, plugin: PluginInfo | None) -> PluginUse:
    """Return the use of a plugin with the properties that decide which other properties it has.

    :param plugin: what is known of it; None, or another plugin, when nothing is.
    """
    is_known = plugin is not None and (plugin.type, plugin.name) == (use.type, use.name)
    sharing = _list_sharing(plugin) if plugin is not None and is_known else {}
    given = {name: use.properties[name] for name in sharing if use.properties.get(name)}
    return PluginUse(use.type, use.name, given, use.artifact)


def _list_sharing(plugin: PluginInfo) -> dict[str, NamedPlugins]:
    """Return the properties that name plugins which have the properties of the stage, too."""
    return {
        name: each.uses
        for name, each in plugin.properties.items()
        if isinstance(each.uses, NamedPlugins) and each.uses.shares_properties
    }


def _offer_words(declared: PluginProperty, words: list[str]) -> PluginProperty:
    """Return a property whose form also offers these words."""
    form = declared.form or ""
    if not words or not form.endswith("}"):
        return declared
    return msgspec.structs.replace(declared, form=f"{form[:-1]}|{'|'.join(words)}}}")


def list_candidates(cdap: Cdap, namespace: str, use: PluginUse) -> list[PluginCandidate]:
    """Return the versions of the plugin, highest first; for an unknown name, all plugins of its type."""
    known = cdap.artifacts.list_plugins(namespace, use.type, all_versions=True)
    found = [each for each in reversed(known) if each.name == use.name] or known
    return [PluginCandidate(each.name, each.artifact, each.description) for each in found]


def to_selector(artifact: ArtifactId) -> ArtifactSelector:
    return ArtifactSelector(artifact.scope, artifact.name, artifact.version)


def watch_artifacts(cdap: Cdap) -> Iterator[bool]:
    """After each poll, whether artifacts changed."""
    last = cdap.messaging.get_newest_id()
    while True:
        messages = cdap.messaging.fetch("system", "artifacts", last, wait_s=_POLL_S)
        last = messages[-1].id if messages else last
        yield bool(messages)


async def choose_method(studio: Studio, plugin: PluginInfo) -> PluginMethod | None:
    """Let the user choose one of the methods; None when the user cancels."""
    methods = plugin.methods
    if len(methods) == 1:
        return methods[0]
    choices = [Choice(each.name, each, detail=each.description) for each in methods]
    return await studio.choose(choices, title=f"Which method of {plugin.name}?")


async def choose_version(
    studio: Studio, use: StageUse, found: list[PluginCandidate]
) -> PluginCandidate | None:
    """Let the user choose another plugin or version for a stage; None when the user cancels."""
    choices = [
        Choice(f"{c.name}  {format_artifact(c.artifact)}", c, detail=c.description) for c in found
    ]
    return await studio.choose(choices, title=f"Which {use.plugin.name} shall '{use.name}' use?")


class MethodInput(NamedTuple):
    """Values for the members ``schema`` and ``records`` of a request.

    :param schema: the schema of the stage's first input, as JSON.
    :param sample: reads records of this input.
    """

    schema: Any
    sample: Callable[[], Awaitable[list[Any]]]


class MethodDialog(DialogScreen[str | None]):
    """Calls one method, and shows its request and its answer. The result of the dialog is the schema to use.

    :param call: the call without its request, with the current properties of the stage.
    :param given: the values of the members ``schema`` and ``records`` of the request.
    :param takes_schema: whether the stage has a property for a schema that an answer proposes.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f9,ctrl+enter", "ask", "call", id="method.call"),
        Binding("f3", "copy", "copy the answer", id="method.copy"),
        Binding("f5", "take", "take the schema", id="method.take"),
    ]
    DEFAULT_CSS = """
    MethodDialog > #dialog { width: 90; }
    MethodDialog .description { color: $text-muted; height: auto; margin-bottom: 1; }
    MethodDialog .state { height: auto; margin-top: 1; }
    MethodDialog ValueArea.-answer { max-height: 20; }
    """
    HAS_FOOTER = True

    def __init__(
        self,
        method: PluginMethod,
        call: MethodCall,
        given: MethodInput | None = None,
        *,
        takes_schema: bool = False,
    ) -> None:
        super().__init__()
        self._method = method
        self._request = call
        self._given = given
        self._takes_schema = takes_schema
        self._schema: str | None = None
        """The schema that the last answer proposes."""

    def compose_body(self) -> ComposeResult:
        yield Static(Content(self._method.name), id="dialog-title")
        yield Static(Content(self._method.description), classes="description")
        if self._method.request is not None:
            yield ValueArea(format_template(self._method.request), "json")
        yield Static(classes="state")
        answer = ValueArea("", "json")
        answer.add_class("-answer")
        answer.read_only = True
        answer.display = False
        yield answer

    def on_mount(self) -> None:
        if self._method.request is None:
            self.action_ask()
        else:
            self.run_worker(self._fill_in(self._method.request))

    async def _fill_in(self, schema: Any) -> None:
        """Fill in the known members of the request, unless the user has changed it."""
        members, area = build_request(schema), self.query(ValueArea).first()
        given, blank = self._given, area.text
        if given is None or not {"schema", "records"} <= members.keys():
            return
        self._show_state("… reading records of the input", "dim")
        records = await given.sample()
        if self.is_attached and area.text == blank:
            area.load_text(
                escape_unprintable(
                    format_request(members | {"schema": given.schema, "records": records})
                )
            )
            self._show_state("" if records else "The input has no records: write some here.", "dim")

    @property
    def answer(self) -> str:
        """The text of the last answer."""
        return self.query_one("ValueArea.-answer", ValueArea).text

    def action_ask(self) -> None:
        call = self._request
        if self._method.request is not None:
            try:
                request = json.loads(self.query(ValueArea).first().text)
            except ValueError as error:
                self._show_state(f"✗ The request is not valid JSON: {error}.", "$text-error")
                return
            call = msgspec.structs.replace(call, request=request)
        self._show_state("… calling the method", "dim")

        def ask(cdap: Cdap) -> MethodResult:
            return cdap.methods.call(call)

        self.call(ask, self._show_answer, on_error=self._show_error, group="method")

    def action_copy(self) -> None:
        if self.answer:
            self.studio.copy_text(self.answer, "answer")

    def action_take(self) -> None:
        self.dismiss(self._schema)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "take":
            return self._schema is not None
        return super().check_action(action, parameters)

    def _show_answer(self, result: MethodResult) -> None:
        self._show_state(
            f"✓ {result.artifact.name} {result.artifact.version} answered", "$text-success"
        )
        answer = self.query_one("ValueArea.-answer", ValueArea)
        answer.load_text(
            escape_unprintable(json.dumps(result.answer, indent=2, ensure_ascii=False))
        )
        answer.display = True
        proposed = result.answer.get("schema") if isinstance(result.answer, dict) else None
        takes = self._takes_schema and isinstance(proposed, dict)
        self._schema = json.dumps(proposed, ensure_ascii=False) if takes else None
        self.refresh_bindings()

    def _show_error(self, error: LocalcdapError) -> None:
        action = f"\n  {error.corrective_action}" if error.corrective_action else ""
        self._show_state(f"✗ {error.message}{action}", "$text-error")

    def _show_state(self, text: str, style: str) -> None:
        self.query_one(".state", Static).update(Content.styled(text, style))


def build_call(method: PluginMethod, plugin: PluginInfo, stage: str, editor: Editor) -> MethodCall:
    """Return the call of a method without its request, with the current properties of the stage."""
    properties = as_properties(editor.get_properties(stage))
    of = MethodPlugin(plugin.type, plugin.name, to_selector(plugin.artifact), properties)
    return MethodCall(of, method.name, None, editor.namespace, editor.arguments)


def format_template(schema: Any) -> str:
    """Return the JSON text of an empty request, from its JSON Schema."""
    return format_request(build_request(schema))


def format_request(request: dict[str, Any]) -> str:
    """Return a request as JSON with one record per line."""
    lines = [f"  {json.dumps(name)}: {_format_lines(value)}" for name, value in request.items()]
    return "{\n" + ",\n".join(lines) + "\n}" if lines else "{}"


def _format_lines(value: Any) -> str:
    if not (isinstance(value, list) and value):
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(f"    {json.dumps(v, ensure_ascii=False)}" for v in value) + "\n  ]"


def build_request(schema: Any) -> dict[str, Any]:
    """Return the members of a request with empty values, from its JSON Schema."""
    found = schema.get("$defs", {}).get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    members = found.get("properties") or {}
    empty = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
    return {
        name: each.get("default", empty.get(each.get("type")))
        for name, each in members.items()
        if name in found.get("required", members)
    }
