"""The GCSArgumentSetter action."""

from __future__ import annotations

from localcdap.api import (
    Action,
    ActionContext,
    Capabilities,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.plugin_lib.arguments import set_arguments

from ..account import GoogleProjectConfig
from .paths import check_storage_path, resolve_objects


@plugin(
    name="GCSArgumentSetter",
    description="Local: sets arguments of the run from a JSON file in a bucket's folder.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsArgumentSetter(Action):
    class Config(GoogleProjectConfig):
        reference_name: str | None = field(
            "Name of this action in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
            default=None,
            name="referenceName",
        )
        path: str = field(
            'File of the form {"arguments": [{"name": "in", "type": "string", "value": "x"}]}. Types are '
            "string, int, short, float, double, char, array, map and schema.",
            macro=True,
            form="{path}",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_reference_name(stage, self.config.reference_name)
        check_storage_path(stage, self.config, "path", self.config.path)

    def run(self, context: ActionContext) -> None:
        file = resolve_objects(context, self.config.path)
        try:
            text = file.place.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise context.fail(f"'{file.written}' cannot be read as JSON: {error}.") from None
        set_arguments(context, text, file.written)
