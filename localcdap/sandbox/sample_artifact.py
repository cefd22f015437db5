"""An artifact of localcdap itself, which the fork server of plugin workers inspects and configures once.

What Python and msgspec prepare when code runs for the first time is then there in each fork, which saves
about 5 ms of the first call in each worker.
"""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api import PluginConfig, Schema, StageConfigurer, Transform, field, plugin
from localcdap.api.failures import ArtifactId
from localcdap.api.serialization.structs import pack
from localcdap.artifacts.loading import unmount
from localcdap.artifacts.model import PluginRef
from localcdap.sandbox.jobs import InspectRequest, get_job_name, inspect, run_job
from localcdap.sandbox.stage_configuration import ConfigureRequest, configure_stage

_DIGEST: Final = "0" * 64
_SCHEMA_TEXT: Final = (
    '{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["string", "null"]}]}'
)


@plugin(name="Sample", description="Passes records on.")
class Sample(Transform):
    """A plugin with the usual kinds of properties."""

    class Config(PluginConfig):
        column: str = field("A text.", macro=True)
        count: int = field("A number.", default=1)
        schema: Schema | None = field("The output schema.", default=None)

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        stage.failures.add("An example.").with_config_property("column")


def rehearse() -> None:
    """Run the usual jobs on this artifact, and forget it."""
    ref = PluginRef(
        ArtifactId("sample", "1.0.0", "SYSTEM"),
        __file__,
        _DIGEST,
        "transform",
        "Sample",
        "sample_artifact.Sample",
    )
    properties = {"column": "a", "schema": _SCHEMA_TEXT}
    inputs: dict[str, Schema | None] = {"input": Schema.parse_record(_SCHEMA_TEXT)}
    configured = ConfigureRequest(ref, "sample", properties, [], inputs)
    run_job(get_job_name(inspect), msgspec.Raw(pack(InspectRequest(__file__, _DIGEST))))
    run_job(get_job_name(configure_stage), msgspec.Raw(pack(configured)))
    unmount(_DIGEST)
