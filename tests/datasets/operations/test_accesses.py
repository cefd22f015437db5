"""Accesses of programs and clients: privileges, the audit log and lineage, once per kind and context."""

from __future__ import annotations

import uuid

import pytest

from localcdap.api.dataset.access import read_only
from localcdap.api.dataset.classes.tables import KeyValueTable
from localcdap.api.dataset.rows import equal
from localcdap.api.errors import DatasetAccessError, UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Principal
from localcdap.datasets.model import DatasetRequest
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.metadata.audit import AuditQuery, AuditType
from localcdap.metadata.lineage.relations import ProgramId, ProgramRunId
from localcdap.security.principals import act_as
from localcdap.transactions.calls import Accessor
from localcdap.transactions.client import HostTransactionRunner

SETTINGS = """
[security]
enabled = true
[security.privileges.ada]
"namespaces/default" = ["READ", "WRITE", "ADMIN"]
[security.privileges.reader]
"namespaces/default/datasets/data" = ["READ"]
[security.privileges.writer]
"namespaces/default/datasets/data" = ["WRITE"]
"""
ADA, READER, WRITER = Principal("ada"), Principal("reader"), Principal("writer")
STRANGER = Principal("stranger")
DATA = MetadataEntity.of_dataset("data", "default")


@pytest.fixture(scope="module")
def cdap(tmp_path_factory, fresh_home):
    home = Home(fresh_home(tmp_path_factory.mktemp("guarded")))
    home.settings_file.write_text(SETTINGS, encoding="utf-8")
    with open_in_process(home) as cdap, act_as(ADA):
        cdap.datasets.create(DatasetRequest("data", "keyValueTable"))
        yield cdap


@pytest.fixture
def run():
    """A run of a program of its own."""
    id = str(uuid.uuid1())
    return ProgramRunId(ProgramId("default", "Loader", "Worker", id), id)


@pytest.fixture
def program(cdap, run):
    """Runs transactions of a run of a program."""
    runner = HostTransactionRunner(lambda: cdap.transaction_service, make_accessor(run))
    yield runner
    runner.close()


def make_accessor(run):
    program = run.program
    return Accessor(run.run, program.namespace, program.application, program.type, program.program)


def list_accesses(cdap, run):
    with act_as(ADA):
        found = cdap.audit.list_messages(AuditQuery(entity=DATA, types=[AuditType.ACCESS]))
        usage = cdap.datasets.list_usage("default", "data")
    audited = [
        (each.user, each.payload["accessType"])
        for each in reversed(found)
        if each.payload["accessor"].get("run") == run.run
    ]
    return audited, sorted(each.access.name for each in usage if each.program == run.program)


def read(tx):
    return tx.dataset("data").read(b"a")


def write(tx):
    tx.dataset("data").write(b"a", b"1")


def increment(tx):
    return tx.dataset("data").increment(b"n", 1)


@pytest.mark.parametrize(
    ("who", "allowed"),
    [(ADA, {read, write, increment}), (READER, {read}), (WRITER, {write}), (STRANGER, set())],
)
@pytest.mark.parametrize("body", [read, write, increment])
def test_the_method_decides_what_a_principal_needs(cdap, program, who, allowed, body):
    with act_as(who):
        if body in allowed:
            program.run(body)
            return
        with pytest.raises(
            UnauthorizedError, match=f"'{who.name}'.*datasets/data|{who.name}.*data"
        ):
            program.run(body)


def test_the_host_checks_operations_on_rows_too(cdap, program):
    """A class whose methods lie about what they do gains nothing."""

    def bypass(tx):
        rows = tx.dataset("data").context.table("data")
        rows._guard = _NoGuard()
        rows.delete([equal("key", b"a")])

    with act_as(READER), pytest.raises(UnauthorizedError):
        program.run(bypass)


class _NoGuard:
    rules = "strict"

    def check(self, access, recorded):
        pass


def test_a_method_that_reads_cannot_write_rows(cdap, program):
    class Lying(KeyValueTable):
        @read_only
        def read(self, key):
            self._open_table().delete([])

    def lie(tx):
        honest = tx.dataset("data")
        Lying(honest.context, honest.specification).read(b"a")

    with pytest.raises(DatasetAccessError, match="Delete data.* cannot be called from 'read'"):
        program.run(lie)


def test_each_kind_is_recorded_once_for_a_run(cdap, program, run):
    for body in (read, read, write, write, read):
        program.run(body)
    assert list_accesses(cdap, run) == ([("ada", "READ"), ("ada", "WRITE")], ["READ", "WRITE"])


def test_reading_and_writing_are_two_relations(cdap, program, run):
    program.run(increment)
    assert list_accesses(cdap, run) == ([("ada", "READ"), ("ada", "WRITE")], ["READ", "WRITE"])


def test_reads_count_at_once_and_writes_with_the_commit(cdap, program, run):
    def fail(tx):
        read(tx)
        write(tx)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program.run(fail)
    assert list_accesses(cdap, run) == ([("ada", "READ")], ["READ"])


def test_opening_a_dataset_is_no_access(cdap, program, run):
    program.run(lambda tx: tx.dataset("data").name)
    assert list_accesses(cdap, run) == ([], [])


def test_a_client_that_is_no_program_is_audited_only(cdap):
    before = cdap.datasets.list_usage("default", "data")
    client = HostTransactionRunner(lambda: cdap.transaction_service)
    with act_as(READER):
        client.run(read)
        client.run(read)
    client.close()
    found = cdap.audit.list_messages(AuditQuery(entity=DATA, user="reader"))
    accesses = [each.payload for each in found if each.payload["accessor"].get("service")]
    accessor = {"service": "localcdap", "entity": "SYSTEM_SERVICE"}
    assert accesses == [{"accessType": "READ", "accessor": accessor}]
    assert cdap.datasets.list_usage("default", "data") == before
