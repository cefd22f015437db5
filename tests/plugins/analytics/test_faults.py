"""Bad data, and jobs that are interrupted: a truthful state, and nothing left behind."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.apps.test_jobs import KILLED, find_job_processes
from tests.plugins.analytics.conftest import AnalyticsClient
from tests.small_disks import fill_disk, mount_small_disk

pytestmark = pytest.mark.spark


def write(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(lines) + "\n")
    return file


def wait_until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def get_split(client: AnalyticsClient, id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.do("GET", f"experiments/e/splits/{id}")
    return found


def list_files(client: AnalyticsClient) -> list[Path]:
    folder = client.instance.home.app_files / "app-ModelManagementApp"
    return [each for each in folder.glob(f"{client.namespace}-*/**/*") if each.is_file()]


@pytest.mark.slow
def test_bad_records_are_counted_and_one_class_is_a_warning(client, tmp_path):
    good = [f"{n}.5,red,4,cat,{n}" for n in range(30)]
    bad = ["much,red,4,cat,1", "1.5,,,cat,"]
    client.put_experiment(write(tmp_path / "odd.csv", *good, *bad))
    id = client.split(params={"testPercentage": "30", "seed": "1"})

    split = get_split(client, id)
    model = client.train(id, "decision.tree.classifier")

    assert split["status"] == "Complete"
    # A text where a number should be drops the record, and the counts show that.
    assert (split["rows"]["read"], split["rows"]["prepared"]) == (32, 31)
    assert (model["status"], model["error"]) == ("Trained", None)
    report = client.do("GET", f"experiments/e/models/{model['id']}/report")
    assert report["labels"] == ["cat"]
    one = "The outcome 'kind' has only one class in the training data."
    assert one in report["warnings"]


@pytest.mark.slow
def test_what_cannot_be_split_or_trained_says_why(client, tmp_path):
    client.put_experiment(write(tmp_path / "few.csv", "1.5,red,4,cat,3"))

    empty = get_split(client, client.split())

    assert empty["status"] == "Failed"
    assert "The split has no " in empty["error"]
    client.put_experiment(tmp_path / "missing.csv")
    missing = get_split(client, client.split())
    assert missing["status"] == "Failed"
    assert "missing.csv" in missing["error"]
    many = [f"{n}.5,colour {n},4,{'cat' if n % 2 else 'dog'},{n}" for n in range(60)]
    client.put_experiment(write(tmp_path / "many.csv", *many))
    split = client.split()
    model = client.do("POST", "experiments/e/models", {"name": "m", "split": split})["id"]
    jobs = len(client.instance.cdap.jobs.list_jobs(client.namespace))
    body = {"algorithm": "decision.tree.classifier"}
    refused = client.call("POST", f"experiments/e/models/{model}/train", body)
    assert refused.status == 400
    assert "maxBins is 32, and there are more values in 'colour' (" in refused.body["message"]
    search = client.call("POST", f"experiments/e/splits/{split}/search", body)
    assert (search.status, "maxBins is 32" in search.body["message"]) == (400, True)
    # Nothing was begun: the model can be trained with other parameters.
    assert client.do("GET", f"experiments/e/models/{model}/status") == "Data Ready"
    assert len(client.instance.cdap.jobs.list_jobs(client.namespace)) == jobs
    # Only the files of the split that was made are there.
    assert not [each for each in list_files(client) if "models" in each.parts]


@pytest.mark.slow
def test_a_killed_job_fails_its_split_and_its_model(client, animals):
    client.put_experiment(animals)
    body = {"type": "random", "params": {}, "directives": [], "schema": SPLIT_SCHEMA}
    model = client.do("POST", "experiments/e/models", {"name": "m"})["id"]
    path = f"experiments/e/models/{model}"

    client.do("POST", f"{path}/split", body)
    kill_job(client)

    status = lambda: client.do("GET", f"{path}/status")  # noqa: E731
    wait_until(lambda: status() == "Split Failed")
    (split,) = client.do("GET", "experiments/e/splits")
    assert (split["status"], split["error"]) == ("Failed", KILLED)
    client.do("DELETE", f"{path}/split")
    whole = client.split()
    client.do("PUT", f"{path}/split/{whole}")
    client.do("POST", f"{path}/train", {"algorithm": "decision.tree.classifier"})
    kill_job(client)
    wait_until(lambda: status() == "Training Failed")
    assert client.do("GET", path)["error"] == KILLED
    # It can be trained again, as the original allows: with a split that is assigned again.
    client.do("PUT", f"{path}/split/{whole}")
    client.do("POST", f"{path}/train", {"algorithm": "decision.tree.classifier"})
    client.wait_for_jobs()
    assert status() == "Trained"


@pytest.mark.slow
def test_a_model_or_a_split_that_is_deleted_while_a_job_works_for_it(client, animals):
    client.put_experiment(animals)
    split = client.split()
    model = client.do("POST", "experiments/e/models", {"name": "m", "split": split})["id"]
    client.do("POST", f"experiments/e/models/{model}/train", {"algorithm": "naive.bayes"})

    client.do("DELETE", f"experiments/e/models/{model}")

    wait_for_end(client)
    assert client.call("GET", f"experiments/e/models/{model}").status == 404
    assert client.do("GET", f"experiments/e/splits/{split}")["models"] == []
    assert not [each for each in list_files(client) if "models" in each.parts]
    client.do("DELETE", "experiments/e")
    assert list_files(client) == []


@pytest.mark.slow
def test_a_namespace_that_is_deleted_while_it_trains(instance, animals):
    instance.cdap.namespaces.create("leaving")
    client = AnalyticsClient(instance, "leaving")
    client.put_experiment(animals)
    split = client.split()
    model = client.do("POST", "experiments/e/models", {"name": "m", "split": split})["id"]
    client.do("POST", f"experiments/e/models/{model}/train", {"algorithm": "naive.bayes"})

    instance.cdap.namespaces.delete("leaving", force=True)

    wait_until(lambda: list_files(client) == [])
    instance.cdap.namespaces.create("leaving")
    assert client.do("GET", "experiments")["totalRowCount"] == 0
    assert instance.cdap.jobs.list_jobs("leaving") == []


@pytest.mark.slow
def test_a_full_disk_fails_the_split(client, animals):
    client.put_experiment(animals)
    client.split()
    place = client.instance.home.app_files / "app-ModelManagementApp"
    (folder,) = place.glob(f"{client.namespace}-*/splits")
    shutil.rmtree(folder)

    with mount_small_disk(folder, 512):
        filler = fill_disk(folder)
        failed = get_split(client, client.split())
        left = [each for each in folder.rglob("*") if each.is_file()]

    assert failed["status"] == "Failed"
    assert "space" in failed["error"].lower()
    assert left == [filler]


def kill_job(client: AnalyticsClient) -> None:
    """Kill the process of the newest job as soon as it is there."""
    job = client.instance.cdap.jobs.list_jobs(client.namespace)[0].id
    directory = client.instance.home.jobs / job
    (process,) = wait_until(lambda: find_job_processes(directory))
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


def wait_for_end(client: AnalyticsClient) -> None:
    jobs = client.instance.cdap.jobs
    for each in jobs.list_jobs(client.namespace):
        assert jobs.wait(each.id, 120).has_ended


SPLIT_SCHEMA = {
    "type": "record",
    "name": "line",
    "fields": [{"name": "kind", "type": ["string", "null"]}],
}
