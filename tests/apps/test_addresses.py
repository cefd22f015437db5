"""Literal paths of services, as clients of CDAP write them."""

from __future__ import annotations

import pytest

from localcdap.api.errors import NotFoundError
from localcdap.apps.service import MethodAddress, parse_method_path, split_address

SPARK = "/v3/namespaces/system/apps/ModelManagementApp/spark/ModelManagerService/methods"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "services/service/methods/v2/contexts/default/connections",
            MethodAddress("Service", "service", "/v2/contexts/default/connections"),
        ),
        ("/spark/My%20Spark/methods/a", MethodAddress("Spark", "My Spark", "/a")),
        ("spark/S/methods", MethodAddress("Spark", "S", "/")),
        ("/v2/contexts/default/workspaces", None),
        ("spark/S", None),
        ("mapreduce/S/methods/a", None),
    ],
)
def test_paths_inside_an_application(path, expected):
    assert parse_method_path(path) == expected


def test_whole_paths():
    """That of the design document."""
    name, path = split_address(f"{SPARK}/v2/contexts/default/experiments")

    assert name == "ModelManagementApp"
    assert parse_method_path(path) == MethodAddress(
        "Spark", "ModelManagerService", "/v2/contexts/default/experiments"
    )


@pytest.mark.parametrize(
    "address",
    ["", "/v3/namespaces/system/apps/A", "/v2/x", SPARK.replace("system", "default")],
)
def test_paths_of_nothing(address):
    with pytest.raises(NotFoundError):
        split_address(address)
