"""The checks of calls: entities from arguments, lists of what is visible, and methods without a statement."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.errors import UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import SYSTEM_PRINCIPAL, Permission, Principal
from localcdap.security.access import (
    AccessChecks,
    describe_access,
    of_dataset,
    of_namespace,
    open_to_all,
    perform_as_system,
    requires,
    shows_visible,
)
from localcdap.security.authorizer import PrivilegeAuthorizer
from localcdap.security.principals import act_as, current_principal, get_current_user
from localcdap.security.privileges import Privileges

READ, WRITE = Permission.READ, Permission.WRITE
ALICE = Principal("alice")


class Request(msgspec.Struct):
    namespace: str = "sales"


class Shelf:
    @requires(of_dataset(), READ)
    def read(self, name: str, namespace: str = "sales") -> str:
        return f"{namespace}.{name} for {current_principal().name}"

    @requires(of_namespace("request.namespace"), WRITE)
    def write(self, request: Request) -> str:
        return "written"

    @shows_visible(lambda each: MetadataEntity.of_dataset(each, "sales"))
    def list_names(self) -> list[str]:
        return ["orders", "people"]

    @open_to_all("it is a test")
    def count(self) -> int:
        return 2

    def internal(self) -> int:
        return 1


@pytest.fixture
def checks():
    held = Privileges.of(True, {"alice": {"namespaces/sales/datasets/orders": [READ]}})
    return AccessChecks(PrivilegeAuthorizer(lambda: held))


def test_a_call_is_checked_with_its_arguments_and_their_defaults(checks):
    with act_as(ALICE):
        assert checks.perform(Shelf(), "read", {"name": "orders"}) == "sales.orders for alice"
        for wrong in ({"name": "people"}, {"name": "orders", "namespace": "default"}):
            with pytest.raises(UnauthorizedError):
                checks.perform(Shelf(), "read", wrong)
        with pytest.raises(UnauthorizedError, match="'WRITE' on entity 'namespace:sales'"):
            checks.perform(Shelf(), "write", {"request": Request()})


def test_a_list_has_what_is_visible(checks):
    with act_as(ALICE):
        assert checks.perform(Shelf(), "list_names", {}) == ["orders"]
    with act_as(Principal("bob")):
        assert checks.perform(Shelf(), "list_names", {}) == []


def test_a_method_without_a_statement_is_for_localcdap_itself(checks):
    with act_as(ALICE):
        assert checks.perform(Shelf(), "count", {}) == 2
        with pytest.raises(UnauthorizedError, match="Only localcdap itself calls Shelf.internal"):
            checks.perform(Shelf(), "internal", {})
    with act_as(SYSTEM_PRINCIPAL):
        assert checks.perform(Shelf(), "internal", {}) == 1


def test_the_object_of_a_program_that_hosts_the_instance_checks_too(checks):
    shelf = checks.guard(Shelf())
    with act_as(ALICE):
        assert shelf.read("orders") == "sales.orders for alice"
        with pytest.raises(UnauthorizedError):
            shelf.read(name="people")


def test_checks_that_are_switched_off_allow_everything():
    off = AccessChecks(PrivilegeAuthorizer(Privileges))
    with act_as(ALICE):
        assert off.perform(Shelf(), "internal", {}) == 1


def test_applications_act_as_localcdap_itself():
    with act_as(ALICE):
        assert perform_as_system(Shelf(), "read", {"name": "people"}) == "sales.people for system"
        assert get_current_user() == "alice"


def test_what_is_stated_can_be_read():
    assert describe_access(Shelf, "read") == "READ on dataset {namespace}/{name}"
    assert describe_access(Shelf, "list_names") == "shows what is visible"
    assert describe_access(Shelf, "count") == "open: it is a test"
    assert describe_access(Shelf, "internal") is None
