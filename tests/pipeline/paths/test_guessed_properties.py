"""The properties of a source that the format of a file sets."""

from __future__ import annotations

from localcdap.api.config import PluginProperty
from localcdap.files.detection import FileHead, detect_facts
from localcdap.pipeline.paths.format_guess import build_properties, guess_format


def guess(text: str | bytes):
    content = text.encode() if isinstance(text, str) else text
    return guess_format(detect_facts(FileHead(content, "file", True)))


def declare(*names: str, formats: str = "") -> dict[str, PluginProperty]:
    return {
        name: PluginProperty(
            name, "", "string", False, True, form=formats if name == "format" else None
        )
        for name in names
    }


ALL = ("format", "delimiter", "skipHeader", "copyHeader", "enableQuotedValues", "fileEncoding")


def test_a_guess_sets_the_properties_that_the_plugin_has():
    of = build_properties(guess('id;n\n1;"a"\n'), declare(*ALL))
    assert of == {
        "format": "delimited",
        "delimiter": ";",
        "skipHeader": "true",
        "copyHeader": None,
        "enableQuotedValues": "true",
        "fileEncoding": None,
    }
    plain = build_properties(guess("1,a\n2,b\n"), declare("format", "copyHeader", "delimiter"))
    assert plain == {"format": "csv", "copyHeader": None, "delimiter": None}
    assert build_properties(guess("id,n\n1,a\n"), declare("format", "copyHeader")) == {
        "format": "csv",
        "copyHeader": "true",
    }


def test_a_guess_sets_nothing_where_the_plugin_does_not_read_the_format():
    assert build_properties(guess(b"PAR1"), declare(*ALL, formats="{format:csv|tsv}")) == {}
    assert build_properties(guess("a,b\n1,2\n"), declare("path")) == {}
    assert build_properties(guess("a,b\n1,2\n"), declare("format", formats="{format:csv}"))
