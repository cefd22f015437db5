"""The dialog that calls a method of a plugin."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, NamedTuple

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError
from localcdap.api.methods import PluginMethod
from localcdap.artifacts.model import PluginInfo
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.values import as_properties
from localcdap.pipeline.methods import MethodCall, MethodPlugin, MethodResult
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.plugin_details import to_selector
from localcdap.tui.inspector.properties.controls import ValueArea
from localcdap.tui.records.values import escape_unprintable


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
