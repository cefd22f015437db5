"""The splitter SensitiveRecordFilter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dlp_plugins.templates import CloudConfig, check_template
from localcdap.api import (
    PortEmitter,
    Record,
    SplitterTransform,
    StageConfigurer,
    StageContext,
    Type,
    field,
    plugin,
)

if TYPE_CHECKING:
    from localcdap.api.stage import Metrics

SENSITIVE: Final = "Sensitive"
OTHER: Final = "Non-Sensitive"
_PORTS_BEFORE_1_2: Final = {"S": SENSITIVE, "NS": OTHER}
_BASIC: Final = (Type.STRING, Type.BOOLEAN, Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)
_WHOLE: Final = ("true", "record")


@plugin(
    name="SensitiveRecordFilter",
    description="Sends records with data about persons to one port, and all others to another one.",
)
class SensitiveRecordFilter(SplitterTransform):
    """Properties and failures are those of CDAP's plugin (dlp-plugins, ``SensitiveRecordFilter.java``).

    Detectors on this machine take the place of the service, which can fail at no record: ``on-error`` has no
    effect. A null field, at which the original fails, is not sensitive. The connected ports ``S`` and ``NS``
    of older versions are known.
    """

    class Config(CloudConfig):
        entire_record: str = field(
            "Whether all fields of a record are looked at (true, record) or one (false, field).",
            choices=(*_WHOLE, "false", "field"),
            macro=True,
            name="entire-record",
        )
        inspected: str | None = field(
            "The field that is looked at.",
            default=None,
            macro=True,
            name="field",
            form="{input-field}",
        )
        template_id: str | None = field(
            "Id of the template.", default=None, macro=True, name="template-id"
        )
        on_error: str = field(
            "What becomes of a record at which the service fails; without effect here.",
            default="send-to-error",
            macro=True,
            name="on-error",
        )
        overrides_service: bool = field(
            "Whether another service is used; without effect here.",
            default=False,
            macro=True,
            name="dlp-override-enabled",
        )
        host: str | None = field(
            "Host of the other service; without effect here.",
            default=None,
            macro=True,
            name="dlp-host",
        )
        port: int | None = field(
            "TCP port of the other service; without effect here.",
            default=None,
            macro=True,
            name="dlp-port",
        )
        uses_tls: bool | None = field(
            "Whether the other service uses TLS; without effect here.",
            default=None,
            macro=True,
            name="dlp-tls-enabled",
        )
        confidence: str | None = field(
            "How certain a finding must be (older versions); without effect here.",
            default=None,
            macro=True,
            name="filter-confidence",
        )
        sensitive_types: str | None = field(
            "The types of findings (older versions); without effect here: all are.",
            default=None,
            macro=True,
            name="sensitive-types",
        )

    config: Config
    _metrics: Metrics

    def configure(self, stage: StageConfigurer) -> None:
        check_template(stage, self.config, self.config.template_id, "template-id")
        self._check_field(stage)
        if stage.input_schema is not None:
            is_old = any(port in _PORTS_BEFORE_1_2 for port in stage.output_ports)
            ports = tuple(_PORTS_BEFORE_1_2) if is_old else (SENSITIVE, OTHER)
            stage.port_schemas = dict.fromkeys(ports, stage.input_schema)

    def _check_field(self, stage: StageConfigurer) -> None:
        config, schema = self.config, stage.input_schema
        hidden = config.contains_macro("entire-record") or config.contains_macro("field")
        if config.entire_record in _WHOLE or hidden:
            return
        if not config.inspected:
            stage.failures.add(
                "Input type is specified as 'Field', but a field name has not been specified.",
                "Specify the field name.",
            ).with_config_property("field")
            return
        found = schema.field(config.inspected) if schema is not None else None
        if schema is not None and found is None:
            stage.failures.add(
                "Field specified is not present in the input schema.",
                "Update the field or input schema to ensure they match.",
            ).with_config_property("field")
        elif found is not None and found.schema.non_nullable.type not in _BASIC:
            stage.failures.add(
                "Filtering on field supports only basic types (string, bool, int, long, float, double).",
                "Please check that the select field's schema matches those types",
            ).with_config_property("field")

    def initialize(self, context: StageContext) -> None:
        self._metrics = context.metrics
        is_old = bool(_PORTS_BEFORE_1_2.keys() & set(context.port_schemas))
        self._sensitive, self._other = _PORTS_BEFORE_1_2 if is_old else (SENSITIVE, OTHER)

    def transform(self, record: Record, emit: PortEmitter) -> None:
        from localcdap.plugin_lib.wrangler.semantic_types.findings import find_in_text

        config = self.config
        values = (
            record.values() if config.entire_record in _WHOLE else [record[config.inspected or ""]]
        )
        is_sensitive = any(find_in_text(text) for text in map(_to_text, values) if text)
        self._metrics.count("dlp.requests.count")
        self._metrics.count("dlp.requests.success")
        emit(self._sensitive if is_sensitive else self._other, record)


def _to_text(value: Any) -> str:
    return "" if value is None or isinstance(value, bytes) else str(value)
