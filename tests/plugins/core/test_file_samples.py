"""The first records of files without Spark: exactly those that Spark reads, or none."""

from __future__ import annotations

import gzip
import random
from typing import Any

import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import create_plugin
from localcdap.engine.plan.contexts import DriverContext
from localcdap.engine.preview.python_stage import StageSampleContext, read_sample
from localcdap.engine.preview.records import make_nullable
from localcdap.testing import PipelineTester
from tests.plugins.core.support import plugin_ref, schema_text

pytestmark = pytest.mark.spark

ABC = schema_text(a="int", b=["string", "null"], c=["double", "null"])
BODY = schema_text(body="string")
NUMBERED = schema_text(offset="long", body="string")


class Source:
    """A File source with the given properties, paths relative to a folder."""

    def __init__(self, spark, folder, properties):
        self._tester = PipelineTester(spark, folder)
        given = {"referenceName": "r", "path": "in"} | properties
        self._stage = self._tester.stage("in", plugin_ref("batchsource", "File"), given)
        self._run = self._tester.build_run_context()
        loaded = load_plugin(self._stage.plugin)
        self._plugin: Any = create_plugin(loaded, "in", self._stage.properties)
        self._codec = RecordCodec(make_nullable(self._stage.output_schema))

    def sample(self, limit):
        context = StageSampleContext(self._run.create_stage_data(self._stage), self._run.locations)
        batch = read_sample(self._stage, self._plugin, context, limit)
        return None if batch is None else self._codec.decode(batch)

    def read(self, limit):
        frame = self._plugin.read(DriverContext(self._stage, self._run)).limit(limit)
        return [
            record
            for batch in frame.toArrow().to_batches()
            for record in self._codec.decode(batch.cast(self._codec.arrow))
        ]


@pytest.fixture
def source(spark, tmp_path):
    (tmp_path / "in").mkdir()

    def create(*contents, suffix="txt", **properties):
        for number, content in enumerate(contents):
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / "in" / f"{number}.{suffix}").write_bytes(data)
        return Source(spark, tmp_path, properties)

    return create


def write_plain_rows():
    """Rows in every form that is taken without Spark, with the edges of each type."""
    draw = random.Random(7)
    numbers = ["0", "-0", "007", "-1", "999999999", "-999999999"]
    longs = [*numbers, "999999999999999999", "-999999999999999999", ""]
    doubles = ["", "0", "-0", "-0.0", "0.1", "1.10", "999999999999999.999999999999999", "2.5"]
    doubles += [f"{draw.randrange(10**6)}.{draw.randrange(10**9):09}" for _ in range(40)]
    texts = ["", "x", " spaced ", "é😀", "tab\tin", "a'b", "\x00", "null", '"q"']
    lines = [
        ",".join(map(draw.choice, (numbers, texts, doubles, longs, ["true", "false", ""], texts)))
        for _ in range(400)
    ]
    return "\n".join([*lines, "1,x", "2"])


PLAIN = schema_text(
    a="int",
    b=["string", "null"],
    c=["double", "null"],
    d=["long", "null"],
    e=["boolean", "null"],
    f=["string", "null"],
)
EMPTY_LINES = schema_text(a=["boolean", "null"], b=["string", "null"])


@pytest.mark.parametrize(
    ("contents", "properties"),
    [
        ([write_plain_rows()], {"format": "csv", "schema": PLAIN}),
        (["h,h,h\n1,x,1.5\r\n2,,\r3"], {"format": "csv", "schema": ABC, "skipHeader": "true"}),
        (["true\n\nfalse\n"], {"format": "csv", "schema": EMPTY_LINES}),
        (["\ufeff1,x,1\n2,y,2"], {"format": "csv", "schema": ABC}),
        (["\ufeff\na"], {"format": "text", "schema": BODY}),
        (["1\tx\n"], {"format": "tsv", "schema": ABC, "enableQuotedValues": "true"}),
        (["1||x||2\n5"], {"format": "delimited", "delimiter": "||", "schema": ABC}),
        (["1.*x.*2\n5"], {"format": "delimited", "delimiter": ".*", "schema": ABC}),
        (["a\n\nb"], {"format": "csv", "schema": schema_text(a="string")}),
        ([""], {"format": "csv", "schema": ABC}),
        (["a\r\nb\rc\n\nd"], {"format": "text", "schema": BODY}),
        (["a\nb", "", "c\n"], {"format": "text", "schema": NUMBERED}),
        (["h\na\nb", "h\nc\n"], {"format": "text", "schema": NUMBERED, "skipHeader": "true"}),
        (["h\na\nb", "h\nc\n"], {"format": "text", "schema": BODY, "copyHeader": "true"}),
        (["é\n".encode("utf-16")], {"format": "text", "schema": BODY, "fileEncoding": "UTF-16"}),
        ([b"\xff\xfe", b"\x00"], {"format": "blob", "schema": schema_text(body="bytes")}),
    ],
)
def test_a_sample_is_what_spark_reads_first(source, contents, properties):
    made = source(*contents, **properties)
    # The text of a record tells -0.0 from 0.0.
    expected = list(map(str, made.read(1000)))
    for limit in (1, 3, 1000):
        sampled = made.sample(limit)
        assert sampled is not None
        assert list(map(str, sampled)) == expected[:limit]


def test_a_compressed_file_with_offsets_is_sampled(source):
    made = source(gzip.compress(b"a\nb"), suffix="gz", format="text", schema=NUMBERED)
    assert (
        made.sample(10) == made.read(10) == [{"offset": 0, "body": "a"}, {"offset": 2, "body": "b"}]
    )


@pytest.mark.parametrize(
    ("contents", "properties"),
    [
        (['1,"x",2'], {"format": "csv", "schema": ABC, "enableQuotedValues": "true"}),
        (["1,x,1\n 2 ,y,2"], {"format": "csv", "schema": ABC}),
        (["1,x,NaN"], {"format": "csv", "schema": ABC}),
        (["1,x,1e3"], {"format": "csv", "schema": ABC}),
        (["2147483647,x,1"], {"format": "csv", "schema": ABC}),
        (["1,x,1,more"], {"format": "csv", "schema": ABC}),
        ([",x,1"], {"format": "csv", "schema": ABC}),
        (["١,x,1"], {"format": "csv", "schema": ABC}),
        ([b"1,\xff,1"], {"format": "csv", "schema": ABC}),
        (["1,x,1", "2,y,2"], {"format": "csv", "schema": ABC}),
        (
            ["1,x,1"],
            {
                "format": "csv",
                "schema": ABC,
                "enableQuotedValues": "true",
                "enableMultilineSupport": "true",
            },
        ),
        (
            ["2026-01-02"],
            {"format": "csv", "schema": schema_text(a={"type": "int", "logicalType": "date"})},
        ),
        (['{"a": 1}'], {"format": "json", "schema": ABC}),
        (["a", "b"], {"format": "text", "schema": BODY}),
        (["\ufeff"], {"format": "text", "schema": BODY}),
    ],
)
def test_what_only_spark_can_tell_is_left_to_it(source, contents, properties):
    assert source(*contents, **properties).sample(10) is None


def test_only_the_records_of_the_sample_are_parsed(source):
    made = source("1,x,1\nwrong,y,2", format="csv", schema=ABC)
    assert made.sample(1) == [{"a": 1, "b": "x", "c": 1.0}]
    assert made.sample(2) is None
