"""System applications read and emit metadata as localcdap itself."""

from __future__ import annotations

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope
from localcdap.testing.apps import AppTester
from tests.apps.catalogue import Catalogue

USER = MetadataScope.USER
TEAM = MetadataEntity.of_namespace("default")


def test_an_application_emits_and_then_reads(cdap_app) -> None:
    app: AppTester = cdap_app(Catalogue)
    app.context.add_tags(TEAM, "gold", "old")
    app.context.add_properties(TEAM, {"owner": "Anna", "of": "x"})
    app.context.remove_tags(TEAM, "old")
    app.context.remove_properties(TEAM, "of")
    app.deliver()
    assert app.context.get_metadata(USER, TEAM) == Metadata.of({"owner": "Anna"}, ["gold"])
    assert app.context.get_metadata(MetadataScope.SYSTEM, TEAM).tags == []
    app.context.remove_metadata(TEAM)
    app.deliver()
    assert app.context.get_metadata(USER, TEAM).is_empty()


def test_an_entity_without_a_namespace_is_in_that_of_the_system(cdap_app) -> None:
    app: AppTester = cdap_app(Catalogue)
    app.context.add_tags(MetadataEntity({"jar": "tools"}), "new")
    app.deliver()
    assert app.metadata.get(MetadataEntity({"namespace": "system", "jar": "tools"})).user.tags == [
        "new"
    ]


def test_what_is_illegal_or_missing_raises_at_the_call(cdap_app) -> None:
    app: AppTester = cdap_app(Catalogue)
    with pytest.raises(BadRequestError, match="Illegal format for 'not good'"):
        app.context.add_tags(TEAM, "not good")
    with pytest.raises(NotFoundError):
        app.context.get_metadata(USER, MetadataEntity.of_dataset("nope", "default"))
