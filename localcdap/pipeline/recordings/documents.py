"""Documents with recordings: what runs, previews and tests get in place of the pipeline's own document."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.pipeline.document.changes import StageChange, change_stages, copy_configuration
from localcdap.pipeline.document.legacy import is_legacy
from localcdap.pipeline.document.model import PipelineDocument, PluginUse
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.stages import TEMPLATE_MARK
from localcdap.pipeline.document.upgraded import upgrade_document
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.recordings.stand_ins import Replacements
from localcdap.pipeline.rules.graph import Graph


def write_stand_ins(document: PipelineDocument, replacements: Replacements) -> PipelineDocument:
    """Return a document whose source has the new plugins; the given one when there are none.

    It is for one run and is never stored: a pipeline that is saved or exported has its own plugins.
    """
    if not replacements.plugins:
        return document
    if is_legacy(copy_configuration(document)):  # where the name of a stage is that of its plugin
        document = read_document(encode_json(upgrade_document(document)))
    changes = {name: _create_change(plugin) for name, plugin in replacements.plugins.items()}
    written = read_document(change_stages(document, changes))
    return msgspec.structs.replace(written, name=document.name)


def cut_after(document: PipelineDocument, stage: str) -> str:
    """Return the JSON text of a pipeline that ends after one stage: it has the stages before it, and a sink
    that keeps nothing.

    :raises NotFoundError: when there is no such stage; the message lists the stages.
    """
    names = [each.name for each in document.stages]
    if stage not in names:
        raise NotFoundError(
            f"The pipeline has no stage '{stage}'.", f"Its stages: {', '.join(names) or 'none'}."
        )
    source = upgrade_document(document)
    config = source["config"]
    end = f"after {stage}"
    wanted = {stage, *Graph(names, document.connections).find_ancestors(stage)}
    sink = {"name": end, "plugin": {"name": "Trash", "type": "batchsink", "properties": {}}}
    config["stages"] = [each for each in config["stages"] if each.get("name") in wanted] + [sink]
    config["connections"] = [
        each
        for each in config["connections"]
        if each.get("from") in wanted and each.get("to") in wanted
    ] + [{"from": stage, "to": end}]
    config["postActions"] = []
    return encode_json(source)


def _create_change(plugin: PluginUse) -> StageChange:
    def change(node: dict[str, Any]) -> None:
        node["plugin"] = {
            "name": plugin.name,
            "type": plugin.type,
            "properties": plugin.properties,
        }
        node.pop(TEMPLATE_MARK, None)

    return change
