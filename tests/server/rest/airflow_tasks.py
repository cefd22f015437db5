"""Tasks of Airflow on a server of localcdap. ``test_airflow.py`` runs this with a Python that has Airflow.

What needs Google is replaced: credentials, the token of the asynchronous hook, the look-up of the instance.
Usage: airflow_tasks.py ADDRESS PIPELINE_FILE SOURCE_FILE. It prints a JSON object of what the tasks gave.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import TaskDeferred
from airflow.providers.google.cloud.hooks import datafusion as hooks
from airflow.providers.google.cloud.operators.datafusion import (
    CloudDataFusionCreatePipelineOperator,
    CloudDataFusionDeletePipelineOperator,
    CloudDataFusionListPipelinesOperator,
    CloudDataFusionStartPipelineOperator,
    CloudDataFusionStopPipelineOperator,
)
from airflow.providers.google.cloud.sensors.datafusion import CloudDataFusionPipelineStateSensor
from airflow.providers.google.common.hooks.base_google import GoogleBaseHook
from google.oauth2.credentials import Credentials

TOKEN = "ya29.token"
PLACE = {"instance_name": "local", "location": "here", "project_id": "project"}
NAMED = {**PLACE, "pipeline_name": "csv2table"}
END = ["COMPLETED"]
FAILURES = ["FAILED", "KILLED", "REJECTED"]


class Token:
    """Stands in for ``gcloud.aio.auth.Token``."""

    def __init__(self, **_: Any) -> None:
        pass

    async def __aenter__(self) -> Token:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def get(self) -> str:
        return TOKEN


class TaskInstance:
    """Takes what operators keep for the links of Airflow's pages."""

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any, **_: Any) -> None:
        self.pushed[key] = value


def replace_google(url: str) -> None:
    instance = {
        "name": "projects/project/locations/here/instances/local",
        "apiEndpoint": url,
        "serviceEndpoint": url,
    }
    GoogleBaseHook.get_credentials = lambda self: Credentials(TOKEN)
    hooks.DataFusionHook.get_instance = lambda self, **_: instance
    hooks.Token = Token


async def wait_for_event(trigger: Any) -> Any:
    """Return the first event of a trigger, as Airflow's triggerer waits for it."""
    async for event in trigger.run():
        return event.payload
    return None


def run_deferred(operator: Any, context: Any) -> tuple[Any, Any]:
    """Return the event that a deferred operator waited for, and its result."""
    try:
        operator.execute(context)
    except TaskDeferred as deferred:
        event = asyncio.run(wait_for_event(deferred.trigger))
        return event, getattr(operator, deferred.method_name)(context, event)
    raise AssertionError("the operator did not defer")


def run_tasks(url: str, pipeline: dict[str, Any], source: str) -> dict[str, Any]:
    """Return what each task gave, in their order."""
    given: dict[str, Any] = {}
    hook, task = hooks.DataFusionHook(), TaskInstance()
    context = {"ti": task, "task_instance": task}
    arguments = {"in.path": source, "limit": 3}

    def start(name: str, **options: Any) -> Any:
        return CloudDataFusionStartPipelineOperator(
            task_id=name, runtime_args=arguments, **NAMED, **options
        )

    def list_pipelines(name: str, **options: Any) -> list[str]:
        operator = CloudDataFusionListPipelinesOperator(task_id=name, **PLACE, **options)
        return [each["name"] for each in operator.execute(context)]

    given["artifacts"] = [each["name"] for each in hook.get_instance_artifacts(url)]
    CloudDataFusionCreatePipelineOperator(task_id="create", pipeline=pipeline, **NAMED).execute(
        context
    )
    given["all"] = list_pipelines("list")
    given["batch"] = list_pipelines("list_batch", artifact_name="cdap-data-pipeline")
    given["version"] = list_pipelines("list_version", artifact_version="6.10.0")

    run = start("start", asynchronous=True).execute(context)
    CloudDataFusionPipelineStateSensor(
        task_id="sensor",
        pipeline_id=run,
        expected_statuses=END,
        failure_statuses=FAILURES,
        poke_interval=0.5,
        timeout=120,
        **NAMED,
    ).execute(context)
    given["sensed"] = hook.get_pipeline_workflow("csv2table", url, run)["status"]

    deferred = start("defer", deferrable=True, poll_interval=0.5, success_states=END)
    given["event"], given["deferred"] = run_deferred(deferred, context)
    # It looks at once, and again after 30 s.
    given["waited"] = start("wait", success_states=END).execute(context)

    stopped = start("start_again", asynchronous=True).execute(context)
    CloudDataFusionStopPipelineOperator(task_id="stop", **NAMED).execute(context)
    given["stopped"] = hook.get_pipeline_workflow("csv2table", url, stopped)["status"]

    CloudDataFusionDeletePipelineOperator(task_id="delete", **NAMED).execute(context)
    given["left"] = list_pipelines("list_rest")
    given["links"] = task.pushed
    return given


def main() -> None:
    address, pipeline, source = sys.argv[1:]
    url = f"{address}/api"
    replace_google(url)
    given = run_tasks(url, json.loads(Path(pipeline).read_text()), source)
    sys.stdout.write(json.dumps(given) + "\n")


if __name__ == "__main__":
    main()
