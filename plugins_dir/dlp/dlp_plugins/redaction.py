"""The transform SensitiveRecordRedaction."""

from __future__ import annotations

import random
from typing import Final

from dlp_plugins.templates import CloudConfig, check_template
from dlp_plugins.transformations import (
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
from localcdap.api import (
    Emitter,
    LineageRecorder,
    Record,
    StageConfigurer,
    StageContext,
    Transform,
    field,
    plugin,
)

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
