"""The transform SensitiveRecordRedaction and the splitter SensitiveRecordFilter."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    Emitter,
    LineageRecorder,
    PluginConfig,
    PortEmitter,
    Record,
    SplitterTransform,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
    field,
    plugin,
)

from .transformations import (
    FILTERS,
    TEMPLATE,
    Problem,
    Transformation,
    create_replacement,
    find_problems,
    parse_transformations,
    replace_findings,
    shift_date,
)

if TYPE_CHECKING:
    from localcdap.api.stage import Metrics


_UNUSED = "without effect here: the detectors are on this machine."


class CloudConfig(PluginConfig):
    """The properties of the service, which are kept (dlp-plugins, ``GCPConfig.java``)."""

    project: str | None = field(f"Project of Google Cloud; {_UNUSED}", default=None, macro=True)
    service_account_type: str | None = field(
        f"Kind of the service account; {_UNUSED}",
        default=None,
        macro=True,
        name="serviceAccountType",
    )
    service_file_path: str | None = field(
        f"File of the service account; {_UNUSED}", default=None, macro=True, name="serviceFilePath"
    )
    service_account_json: str | None = field(
        f"Keys of the service account; {_UNUSED}",
        default=None,
        macro=True,
        secret=True,
        name="serviceAccountJSON",
    )
    uses_template: bool = field(
        "Whether an inspection template of the service says what is sensitive. The templates are in the "
        "cloud: here all detectors are used.",
        default=False,
        name="customTemplateEnabled",
    )
    template_path: str | None = field(
        "Path of the template.", default=None, macro=True, name="customTemplatePath"
    )


def check_template(
    stage: StageConfigurer, config: CloudConfig, template: str | None, name: str
) -> None:
    """Add the failures about the template of ``SensitiveRecordFilter`` and ``SensitiveRecordRedaction``.

    :param name: the property with the id of the template.
    """
    hidden = config.contains_macro(name) or config.contains_macro("customTemplatePath")
    if not config.uses_template or hidden or bool(template) != bool(config.template_path):
        return
    message, action = (
        ("Both template id and template path are specified.", "Must specify only one of template")
        if template
        else ("Custom template fields are not specified.", "Must specify one of template")
    )
    stage.failures.add(message, f"{action} id or template path").with_config_property(
        name
    ).with_config_property("customTemplatePath")


_PROPERTY: Final = "fieldsToTransform"


@plugin(
    name="SensitiveRecordRedaction",
    description="Masks, hashes, replaces or removes data about persons in fields, or moves their dates.",
)
class SensitiveRecordRedaction(Transform):
    """Properties and failures are those of CDAP's plugin (dlp-plugins, ``SensitiveRecordRedaction.java``,
    ``DLPTransformPluginConfig.java``).

    Detectors on this machine take the place of the service. Encryption and keys of the cloud are refused. A
    date moves by another number of days in each record, as in the service without a context.
    """

    class Config(CloudConfig):
        transformations: str = field(
            "The transformations: a JSON list of texts, each the JSON of an object with transform (MASKING, "
            "REPLACE_VALUE, REDACT, CRYPTO_HASH, DATE_SHIFT), fields, filters (NONE for all, CREDIT_CARD, "
            "DEMOGRAPHIC, LOCATION, NATIONAL_ID, …) and transformProperties.",
            macro=True,
            name=_PROPERTY,
        )
        template_id: str | None = field(
            "Id of the template.", default=None, macro=True, name="templateId"
        )
        location: str | None = field(
            "Location of the service; without effect here.", default=None, macro=True
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        config = self.config
        check_template(stage, config, config.template_id, "templateId")
        if config.contains_macro(_PROPERTY):
            return
        try:
            transformations = parse_transformations(config.transformations)
        except ValueError as error:
            stage.failures.add(f"Error while parsing transforms: {error}").with_config_property(
                _PROPERTY
            )
            return
        for one in transformations:
            for problem in (
                *self._find_template_problems(one),
                *find_problems(one, stage.input_schema),
            ):
                stage.failures.add(problem.message, problem.action or None).with_config_property(
                    _PROPERTY, element=one.text
                )
        self._check_together(stage, transformations)

    def _find_template_problems(self, one: Transformation) -> list[Problem]:
        if TEMPLATE in one.filters and not self.config.uses_template:
            return [
                Problem(
                    "This transform depends on custom template that was not defined.",
                    "Enable the custom template option and provide the name of it.",
                )
            ]
        return []

    def _check_together(self, stage: StageConfigurer, all: list[Transformation]) -> None:
        uses = {TEMPLATE in one.filters for one in all}
        if len(uses) > 1:
            stage.failures.add(
                "Cannot use custom templates and built-in filters in the same plugin instance.",
                "All transforms must use custom templates or built-in filters, not a combination of both.",
            ).with_config_property(_PROPERTY)
        if self.config.uses_template and uses == {False}:
            stage.failures.add(
                "Custom template is enabled but no transforms use a custom template.",
                "Please define a transform that uses the custom template or disable the custom template.",
            ).with_config_property("customTemplateEnabled")
        self._check_repetitions(stage, all)
        missing = sorted({f for one in all for f in one.filters if not FILTERS.get(f)})
        if missing:
            stage.warnings.add(
                f"There are no detectors here for {', '.join(missing)}: nothing of that is replaced.",
                "Run the pipeline in the cloud, or use other filters.",
            ).with_config_property(_PROPERTY)

    @staticmethod
    def _check_repetitions(stage: StageConfigurer, all: list[Transformation]) -> None:
        known: dict[tuple[str, str], str] = {}
        for one in all:
            for key in [(name, each) for name in one.fields for each in one.filters]:
                before = known.setdefault(key, one.transform)
                if before == one.transform and key not in _list_keys_before(all, one):
                    continue
                message = (
                    "Combination of transform, filter and field must be unique. Found multiple definitions "
                    f"for '{one.transform}' transform on '{key[0]}' with filter '{_name_filter(key[1])}'"
                    if before == one.transform
                    else "Only one transform can be defined per field and filter combination. Found "
                    f"conflicting transforms '{before}' and '{one.transform}'"
                )
                stage.failures.add(message).with_config_property(_PROPERTY, element=one.text)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if self.config.contains_macro(_PROPERTY):
            return
        changed = {
            name: one.transform
            for one in parse_transformations(self.config.transformations)
            for name in one.fields
        }
        for name in lineage.input_fields:
            if name in changed:
                lineage.derive(name, [name], f"{changed[name]} on {name}", masking=True)
            else:
                lineage.keep(name, name)

    def initialize(self, context: StageContext) -> None:
        self._chance = random.Random()  # noqa: S311 - the original's shift is random, too
        all = parse_transformations(self.config.transformations)
        self._steps = [(one, create_replacement(one, context.run_id)) for one in all]
        self._metrics = context.metrics

    def transform(self, record: Record, emit: Emitter) -> None:
        from localcdap.plugin_lib.wrangler.semantic_types.findings import find_in_text

        for one, replace in self._steps:
            for name in one.fields:
                value = record[name]
                if one.is_date_shift:
                    record[name] = shift_date(value, one, self._chance)
                elif value is not None:
                    record[name] = replace_findings(value, find_in_text(value, one.types), replace)
        self._metrics.count("dlp.requests.count")
        self._metrics.count("dlp.requests.success")
        emit(record)


def _list_keys_before(all: list[Transformation], one: Transformation) -> set[tuple[str, str]]:
    """Return the fields and filters of the transformations before this one."""
    before = all[: next(i for i, each in enumerate(all) if each is one)]
    return {(name, each) for other in before for name in other.fields for each in other.filters}


def _name_filter(filter: str) -> str:
    return "Custom Template" if filter == TEMPLATE else filter.lower().capitalize()


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
