"""Secure keys: kept, replaced, deleted, and shown by nothing."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from localcdap.api.errors import BadRequestError, NotFoundError, StoreError
from localcdap.namespaces.secure_keys import FileVault, KeyringVault, SecureKeyService, has_keyring
from localcdap.namespaces.service import NamespaceService
from localcdap.store.store import Store

VALUE = "hunter2-ü"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "secrets.json"


@pytest.fixture
def chosen() -> list[str]:
    return ["file"]


@pytest.fixture
def keys(store: Store, namespaces: NamespaceService, file: Path, chosen) -> SecureKeyService:
    namespaces.create("team")
    vaults = [KeyringVault(file.parent), FileVault(file)]
    return SecureKeyService(store, namespaces, vaults, lambda: chosen[0])


def test_a_key_is_put_replaced_and_deleted(keys: SecureKeyService, file: Path):
    first = keys.put("team", "db-pw", "old", "of the database", {"owner": "me"})
    second = keys.put("team", "db-pw", VALUE, "of the new one")

    assert (first.description, first.properties) == ("of the database", {"owner": "me"})
    assert second.created_epoch_ms == first.created_epoch_ms <= second.last_modified_time
    assert keys.get("team", "db-pw") == VALUE
    assert keys.list_keys("team") == [second] == [keys.describe("team", "db-pw")]
    assert keys.list_keys("default") == []
    keys.delete("team", "db-pw")
    assert keys.list_keys("team") == []
    assert b"db-pw" not in file.read_bytes()
    for asked in (keys.get, keys.describe, keys.delete):
        with pytest.raises(NotFoundError, match="available: none"):
            asked("team", "db-pw")


def test_the_file_is_its_users_alone(keys: SecureKeyService, file: Path):
    previous = os.umask(0)
    try:
        keys.put("team", "a", VALUE)
        keys.put("team", "b", VALUE)
    finally:
        os.umask(previous)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(p.name for p in file.parent.iterdir()) == ["secrets.json"]


def test_nothing_shows_a_value(keys, store: Store, file: Path, tmp_path: Path, caplog):
    caplog.set_level(logging.DEBUG)
    key = keys.put("team", "a", VALUE, "words")
    reported = [repr(key), msgspec.json.encode(keys.list_keys("team")).decode(), caplog.text]
    file.write_text(file.read_text() + "garbage")
    with pytest.raises(StoreError, match="is damaged") as damaged:
        keys.get("team", "a")
    reported += [str(damaged.value), repr(damaged.value.__cause__), damaged.value.full_message]
    store.close()

    assert VALUE not in "".join(reported)
    for path in tmp_path.glob("x.duckdb*"):
        assert VALUE.encode() not in path.read_bytes()


@pytest.mark.parametrize("name", ["", "A", "ä", "a b", "a/b", "a\n"])
def test_names_that_cannot_be_are_refused(keys: SecureKeyService, name: str):
    with pytest.raises(BadRequestError, match="cannot be the name of a secure key"):
        keys.put("team", name, VALUE)


@pytest.mark.parametrize("value", ["", " ", "\n\t"])
def test_a_blank_value_is_refused(keys: SecureKeyService, value: str):
    with pytest.raises(BadRequestError, match="The data field must not be null or empty"):
        keys.put("team", "a", value)


def test_a_namespace_that_does_not_exist_has_no_keys(keys: SecureKeyService):
    for asked in (
        lambda: keys.put("nope", "a", VALUE),
        lambda: keys.get("nope", "a"),
        lambda: keys.list_keys("nope"),
    ):
        with pytest.raises(NotFoundError, match="Namespace 'nope' does not exist"):
            asked()


def test_keys_go_with_their_namespace(keys: SecureKeyService, namespaces, file: Path):
    keys.put("team", "a", VALUE)
    keys.put("default", "a", "stays")
    namespaces.delete("team")
    namespaces.create("team")

    assert keys.list_keys("team") == []
    assert VALUE not in file.read_text()
    assert keys.get("default", "a") == "stays"


def test_a_value_that_is_gone_is_reported(keys: SecureKeyService, file: Path):
    keys.put("team", "a", VALUE)
    file.unlink()
    with pytest.raises(NotFoundError, match="is missing in its file") as gone:
        keys.get("team", "a")
    assert gone.value.corrective_action == "Set it again: localcdap secrets put a"
    keys.delete("team", "a")


@pytest.fixture
def keyring_in_memory() -> Iterator[dict[tuple[str, str], str]]:
    keyring = pytest.importorskip("keyring")
    from keyring.backend import KeyringBackend

    # Asked before the class is made, which from then on is one of those to choose from.
    before = keyring.get_keyring()

    kept: dict[tuple[str, str], str] = {}

    class Memory(KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            kept[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del kept[service, username]

    keyring.set_keyring(Memory())
    yield kept
    keyring.set_keyring(before)


def test_a_keyring_is_used_where_there_is_one(keys, keyring_in_memory, chosen, file: Path):
    keys.put("team", "a", "in the file")
    assert has_keyring()
    chosen[0] = "keyring"
    key = keys.put("team", "a", VALUE)
    keys.put("team", "b", "more")

    assert key.vault == "keyring"
    assert keys.get("team", "a") == VALUE
    assert sorted(keyring_in_memory.values()) == [VALUE, "more"]
    assert "in the file" not in file.read_text()
    keys.delete("team", "b")
    assert list(keyring_in_memory.values()) == [VALUE]


def test_a_keyring_that_keeps_nothing_is_none():
    keyring = pytest.importorskip("keyring")
    from keyring.backends import fail, null

    before = keyring.get_keyring()
    try:
        for backend in (fail.Keyring(), null.Keyring()):
            keyring.set_keyring(backend)
            assert not has_keyring()
    finally:
        keyring.set_keyring(before)


def test_the_library_of_the_keyring_keeps_no_caller_with_its_variables():
    """In a new process, since the library keeps what was there when it was imported."""
    pytest.importorskip("keyring")
    program = """
import gc, weakref
from localcdap.namespaces.secure_keys import has_keyring

class Secret:
    pass

def use_keyring():
    secret = Secret()
    has_keyring()
    return weakref.ref(secret)

secret = use_keyring()
gc.collect()
print(secret())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
