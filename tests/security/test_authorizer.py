"""Authorizers: messages of the original, and settings that change while they are in use."""

from __future__ import annotations

import pytest

from localcdap.api.errors import SettingsError, UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import SYSTEM_PRINCIPAL, Permission, Principal
from localcdap.security.authorizer import AllowAll, PrivilegeAuthorizer, PrivilegeFile
from localcdap.security.privileges import Privileges

READ, WRITE = Permission.READ, Permission.WRITE
ALICE = Principal("alice")
ORDERS = MetadataEntity.of_dataset("orders", "sales")


def authorizer(enabled=True, **users):
    return PrivilegeAuthorizer(lambda: Privileges.of(enabled, users))


@pytest.mark.parametrize(
    ("permissions", "message"),
    [
        (
            [READ],
            (
                "Principal 'alice' has insufficient privileges to perform action 'READ' on entity "
                "'dataset:sales.orders'."
            ),
        ),
        (
            [WRITE, READ],
            (
                "Principal 'alice' has insufficient privileges to perform actions '[READ, WRITE]' on entity "
                "'dataset:sales.orders'."
            ),
        ),
        (
            [],
            "Principal 'alice' has insufficient privileges to access entity 'dataset:sales.orders'.",
        ),
    ],
)
def test_a_refusal_has_the_text_of_the_original(permissions, message):
    with pytest.raises(UnauthorizedError) as refused:
        authorizer().enforce(ALICE, ORDERS, permissions)
    assert refused.value.message == message


def test_a_refusal_says_what_to_add_to_the_settings():
    with pytest.raises(UnauthorizedError) as refused:
        authorizer().enforce(Principal("a.b"), ORDERS, [WRITE])
    assert refused.value.corrective_action == (
        'To grant it, add to [security.privileges."a.b"] in localcdap.toml: '
        '"namespaces/sales/datasets/orders" = ["WRITE"]'
    )


def test_only_what_is_missing_is_named():
    with pytest.raises(UnauthorizedError, match="action 'WRITE'"):
        authorizer(alice={"*": [READ]}).enforce(ALICE, ORDERS, [READ, WRITE])


def test_system_custom_entities_and_what_is_switched_off_are_allowed():
    checked = authorizer()
    checked.enforce(SYSTEM_PRINCIPAL, ORDERS, [WRITE])
    checked.enforce(ALICE, ORDERS.append("field", "email"), [WRITE])
    authorizer(enabled=False).enforce(ALICE, ORDERS, [WRITE])
    AllowAll().enforce(ALICE, ORDERS, [WRITE])
    assert not checked.is_visible(ALICE, ORDERS)
    assert checked.is_visible(SYSTEM_PRINCIPAL, ORDERS)


class SettingsFile:
    """A file with the names of the users who may read everything, one per line."""

    def __init__(self, path):
        self.path = path
        self.reads = 0

    def load(self):
        self.reads += 1
        text = self.path.read_text() if self.path.exists() else ""
        if "!" in text:
            raise SettingsError("localcdap.toml:1: wrong.")
        return Privileges.of(True, {name: {"*": [READ]} for name in text.split()})


def test_a_changed_file_takes_effect_at_the_next_check(tmp_path, caplog):
    settings = SettingsFile(tmp_path / "localcdap.toml")
    file = PrivilegeFile(settings.path, settings.load)
    checked = PrivilegeAuthorizer(file.read)
    assert not checked.is_visible(ALICE, ORDERS)

    settings.path.write_text("alice")
    assert checked.is_visible(ALICE, ORDERS)
    reads = settings.reads
    assert checked.is_visible(ALICE, ORDERS)
    assert settings.reads == reads  # an unchanged file is not read

    settings.path.write_text("wrong !")
    assert checked.is_visible(ALICE, ORDERS)  # the last good privileges
    assert file.problem is not None
    assert "localcdap.toml:1: wrong." in caplog.text

    settings.path.write_text("bob bob")
    assert not checked.is_visible(ALICE, ORDERS)
    assert file.problem is None

    settings.path.unlink()
    assert not checked.is_visible(Principal("bob"), ORDERS)
