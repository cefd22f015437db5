"""Tests of localcdap.moved."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest

from localcdap.moved import MovedModules, build_getattr


class NewName:
    """What a renamed name stands for."""


__getattr__ = build_getattr(__name__, {"OldName": "NewName"})


@pytest.fixture
def moved_module() -> Iterator[str]:
    name = "localcdap.api.module_before"
    finder = MovedModules({name: "localcdap.api.tables"})
    sys.meta_path.append(finder)
    yield name
    sys.meta_path.remove(finder)
    sys.modules.pop(name, None)


def test_an_old_name_is_the_new_one_and_warns():
    module = sys.modules[__name__]

    with pytest.warns(
        DeprecationWarning, match=r"OldName is deprecated .* use .*NewName"
    ) as caught:
        assert module.OldName is NewName
    assert caught[0].filename == __file__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = sys.modules[__name__].Nothing


def test_a_moved_module_has_the_names_of_the_new_one_and_warns(moved_module: str):
    with pytest.warns(DeprecationWarning, match=r"use localcdap\.api\.tables"):
        module = importlib.import_module(moved_module)

    assert module.TableShape is importlib.import_module("localcdap.api.tables").TableShape
    assert not hasattr(module, "Nothing")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("localcdap.api.argument", "Argument"),
        ("localcdap.api.lookup", "TableShape"),
        ("localcdap.api.rows", "Row"),
        ("localcdap.api.table_writes", "TableWrite"),
    ],
)
def test_modules_of_the_version_before_can_be_imported(module: str, name: str):
    sys.modules.pop(module, None)
    with pytest.warns(DeprecationWarning, match=module):
        found = importlib.import_module(module)

    assert isinstance(getattr(found, name), type)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("localcdap.api.arrow", "arrow_schema", "to_arrow_schema"),
        ("localcdap.api.directive", "Range", "NumberRange"),
        ("localcdap.api.directive.argument", "Range", "NumberRange"),
        ("localcdap.api.record_json", "records_from_json", "decode_json_records"),
        ("localcdap.api.tables", "Order", "SortField"),
        ("localcdap.testing", "GivenTable", "TableData"),
    ],
)
def test_names_of_the_version_before_are_the_new_ones(module: str, old: str, new: str):
    found = importlib.import_module(module)

    with pytest.warns(DeprecationWarning, match=f"use {module}.{new}"):
        assert getattr(found, old) is getattr(found, new)
