"""The properties that both plugins have: those of the cloud, and those of inspection templates."""

from __future__ import annotations

from localcdap.api import PluginConfig, StageConfigurer, field

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
