"""The test scenarios 1 to 14 of the design document, each by its number."""

from __future__ import annotations

import pytest

from localcdap.api.capability import SYSTEM_CAPABILITIES
from localcdap.settings import load_settings
from tests.artifacts.authoring import capable, write

CAPABLE = {
    "Plain": "",
    "NativeOnly": '@capability("mode_native", "spark_1")',
    "CloudOnly": '@capability("mode_cloud", "spark_1")',
    "Both": '@capability("mode_cloud", "mode_native", "spark_2")',
    "NativePii": '@capability("native", "PII")',
    "CloudPii": '@capability("remote", "pii")',
}
"""What each plugin of the shelf declares."""


class Shelf:
    """An instance whose plugins declare what :data:`CAPABLE` says."""

    def __init__(self, instance, tmp_path):
        self._instance = instance
        self._settings = tmp_path / "localcdap.toml"
        for name, declaration in CAPABLE.items():
            write(instance.plugins / f"{name}-1.0.0.py", capable(name, declaration))

    def shown(self, required: str | None = None, *asked: str) -> list[str]:
        """The plugins in the list of an instance with this setting, asked for some capabilities."""
        if required is not None:
            self._settings.write_text(f'plugin.required.capabilities = "{required}"\n')
        settings = load_settings(self._settings, {})
        service = self._instance.synced(*settings.plugin_required_capabilities)
        return [p.name for p in service.list_plugins("default", "transform", asked)]


@pytest.fixture
def shelf(instance, tmp_path):
    return Shelf(instance, tmp_path)


def deployed(instance, declaration):
    """The capabilities of a plugin after it was dropped in with this declaration."""
    write(instance.plugins / "hasher-1.0.0.py", capable("Hasher", declaration))
    (plugin,) = instance.synced().list_plugins("default")
    return plugin.capabilities


def test_01_plugin_without_annotation_has_all_system_capabilities(instance):
    assert deployed(instance, "") == sorted(SYSTEM_CAPABILITIES)


def test_02_plugin_with_annotation_has_only_what_it_declares(instance):
    assert deployed(instance, '@capability("MODE_NATIVE", "Pii")') == ["mode_native", "pii"]


def test_03_plugin_with_two_annotations_has_their_union(instance):
    two = '@capability("mode_native", "spark_2")\n@capability("SPARK_2", "PII")'

    assert deployed(instance, two) == ["mode_native", "pii", "spark_2"]


def test_04_redeployed_plugin_with_updated_annotation_is_updated(instance):
    service = instance.synced()
    file = write(instance.plugins / "hasher-1.0.0.py", capable("Hasher", '@capability("a", "b")'))
    service.sync()
    file.write_text(capable("Hasher", '@capability("b", "c")'))
    service.sync()

    assert service.list_plugins("default")[0].capabilities == ["b", "c"]
    assert service.get_plugin("default", "transform", "Hasher").capabilities == ["b", "c"]


@pytest.mark.parametrize("setting", [None, "", " , "])
def test_05_missing_or_empty_requirement_shows_all(shelf, setting):
    assert shelf.shown(setting) == sorted(CAPABLE)


def test_06_mode_cloud_shows_plugins_capable_of_cloud(shelf):
    assert shelf.shown("mode_cloud") == ["Both", "CloudOnly", "CloudPii", "Plain"]


def test_07_mode_native_shows_plugins_capable_of_native(shelf):
    assert shelf.shown("mode_native") == ["Both", "NativeOnly", "NativePii", "Plain"]


def test_08_spark_1_shows_plugins_of_any_mode_capable_of_spark_1(shelf):
    assert shelf.shown("spark_1") == ["CloudOnly", "NativeOnly", "Plain"]


def test_09_native_and_cloud_shows_plugins_capable_of_both(shelf):
    assert shelf.shown("mode_native, mode_cloud") == ["Both", "Plain"]


def test_10_native_and_spark_1_shows_plugins_capable_of_both(shelf):
    assert shelf.shown("mode_native, spark_1") == ["NativeOnly", "Plain"]


def test_11_native_and_pii_shows_plugins_capable_of_both(shelf):
    assert shelf.shown("mode_native, pii") == ["NativePii"]


def test_12_asking_for_what_is_not_required_shows_nothing(shelf):
    assert shelf.shown("mode_cloud", "mode_native") == []


def test_13_asking_without_requirement_filters(shelf):
    assert shelf.shown("", "mode_native") == ["Both", "NativeOnly", "NativePii", "Plain"]


def test_14_asking_filters_what_the_requirement_left(shelf):
    assert shelf.shown("mode_cloud, mode_native", "mode_native") == ["Both", "Plain"]
