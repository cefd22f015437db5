"""While privileges are checked, a user sees and changes what their privileges allow."""

from __future__ import annotations

import pytest

from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.security.principals import get_process_user
from localcdap.server.access import SiteCheck
from localcdap.server.rest.app import RequestAccess, RestApp
from localcdap.server.rest.table import build_router
from tests.server.rest.client import NS, PORT, RestClient

ANNA = {"CDAP-UserId": "anna"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, fresh_home):
    home = fresh_home(tmp_path_factory.mktemp("rights") / "home")
    (home / "localcdap.toml").write_text(
        f"""
        security.enabled = true
        [security.privileges.{get_process_user()}]
        "*" = ["READ", "WRITE", "EXECUTE", "ADMIN"]
        [security.privileges.anna]
        "namespaces/default/apps/hers" = ["READ"]
        """
    )
    with open_in_process(Home(home)) as cdap:
        access = RequestAccess(None, trusts_user_header=True)
        yield RestClient(RestApp(cdap, SiteCheck(PORT), access, build_router(), lambda *_: ""))


def test_a_user_sees_what_is_theirs(guarded, pipeline):
    for name in ("first", "hers", "last"):
        guarded.ok("PUT", f"{NS}/apps/{name}", pipeline)

    for query in ("", "?pageSize=2", "?pageSize=1&pageToken=first.1", "?orderBy=DESC"):
        found = guarded.ok("GET", f"{NS}/apps{query}", headers=ANNA)
        listed = found["applications"] if "pageSize" in query else found
        assert [each["name"] for each in listed] == ["hers"], query
        assert "nextPageToken" not in found

    assert len(guarded.ok("GET", f"{NS}/apps")) == 3


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("GET", "apps/first", None),
        ("DELETE", "apps/hers", None),
        ("PUT", "preferences", "{}"),
        ("PUT", "securekeys/k", '{"data": "s"}'),
        ("POST", "artifacts/echo", "x = 1"),
        ("PUT", "data/datasets/d", '{"typeName": "table"}'),
        ("PUT", "profiles/p", '{"provisioner": {"name": "native"}}'),
    ],
)
def test_a_user_is_refused_the_rest(guarded, method, path, content):
    headers = {**ANNA, "Artifact-Version": "1.0.0"}

    assert guarded.refused(method, f"{NS}/{path}", content=content, headers=headers)[0] == 403
