"""AccessKind annotations: what methods of a dataset class may call, in threads and tasks too."""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from localcdap.api.dataset.access import (
    AccessKind,
    AnnotationRules,
    enter_method,
    no_access,
    read_only,
    read_write,
    write_only,
)
from localcdap.api.dataset.dataset import Dataset, pass_calls_to_threads
from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.errors import DatasetAccessError

STRICT, SHIPPED = AnnotationRules.STRICT, AnnotationRules.SHIPPED
NONE, READ, WRITE, BOTH = AccessKind.NONE, AccessKind.READ, AccessKind.WRITE, AccessKind.READ_WRITE
EVERY = [NONE, READ, WRITE, BOTH]


class Guard:
    """Keeps what it is asked to check."""

    def __init__(self, rules=STRICT):
        self.rules = rules
        self.seen = []

    def check(self, access, recorded):
        self.seen.append((access, recorded))


class Context:
    namespace = "default"
    arguments = {}

    def __init__(self, rules=STRICT):
        self.guard = Guard(rules)


class Notes(Dataset):
    """One method of each kind."""

    def unannotated(self, body=None):
        return body() if body else None

    @no_access
    def none(self, body=None):
        return body() if body else None

    @read_only
    def read(self, body=None):
        return body() if body else None

    @write_only
    def write(self, body=None):
        return body() if body else None

    @read_write
    def both(self, body=None):
        return body() if body else None

    @read_only
    def scan(self, body=None):
        yield 1
        yield body() if body else 2

    @read_only
    async def aread(self, body=None):
        await asyncio.sleep(0)
        return body() if body else None

    def _private(self):
        return "unchecked"

    @write_only
    def _annotated(self):
        return None

    @property
    def plain(self):
        return "unchecked"

    @property
    @read_only
    def size(self):
        return 3


METHODS = {NONE: "none", READ: "read", WRITE: "write", BOTH: "both", None: "unannotated"}


def open_notes(rules=STRICT, cls=Notes):
    made = cls(Context(rules), DatasetSpecification("notes", "notes"))
    made.context.guard.seen.clear()
    return made


def test_a_constructor_without_annotation_has_no_access():
    context = Context()
    Notes(context, DatasetSpecification("notes", "notes"))
    assert context.guard.seen == [(NONE, NONE)]


@pytest.mark.parametrize(
    ("access", "own"), [(NONE, NONE), (READ, READ), (WRITE, WRITE), (BOTH, BOTH), (None, BOTH)]
)
def test_the_first_method(access, own):
    notes = open_notes()
    getattr(notes, METHODS[access])()
    assert notes.guard.seen == [(own, own)]


@pytest.mark.parametrize("inner", [*EVERY, None])
@pytest.mark.parametrize("outer", EVERY)
def test_nested_methods(outer, inner):
    """The matrix of the design: equal or a proper subset; without an annotation that of the caller."""
    notes = open_notes()
    allowed = {
        NONE: {NONE},
        READ: {NONE, READ},
        WRITE: {NONE, WRITE},
        BOTH: {NONE, READ, WRITE, BOTH},
    }[outer] | {None}
    call = getattr(notes, METHODS[outer])
    if inner in allowed:
        call(getattr(notes, METHODS[inner]))
        own = outer if inner is None else inner
        assert notes.guard.seen == [(outer, outer), (own, own)]
    else:
        with pytest.raises(DatasetAccessError) as caught:
            call(getattr(notes, METHODS[inner]))
        names = f"Method '{METHODS[inner]}' ({inner}) cannot be called from '{METHODS[outer]}' ({outer})."
        assert caught.value.message == names
        assert notes.guard.seen == [(outer, outer)]


@pytest.mark.parametrize("outer", [*EVERY, None])
@pytest.mark.parametrize("inner", [*EVERY, None])
def test_nested_methods_by_the_rules_of_the_shipped_system(outer, inner):
    notes = open_notes(SHIPPED)
    getattr(notes, METHODS[outer])(getattr(notes, METHODS[inner]))
    first, second = (AccessKind.UNKNOWN if each is None else each for each in (outer, inner))
    effective = second if first is AccessKind.UNKNOWN else first
    assert notes.guard.seen == [(first, first), (second, effective)]


def test_the_stack_ends_with_the_method():
    notes = open_notes()
    notes.read()
    notes.write()
    with pytest.raises(ZeroDivisionError):
        notes.read(lambda: 1 / 0)
    notes.write()
    assert [own for own, _ in notes.guard.seen] == [READ, WRITE, READ, WRITE]


def test_only_public_and_annotated_members_are_checked():
    notes = open_notes()
    assert (notes._private(), notes.plain, notes.name) == ("unchecked", "unchecked", "notes")
    assert notes.guard.seen == []
    notes._annotated()
    assert notes.size == 3
    assert [own for own, _ in notes.guard.seen] == [WRITE, READ]
    assert Notes.read.__name__ == "read"


def test_a_method_of_another_dataset_starts_another_stack():
    notes, others = open_notes(), open_notes()
    notes.read(others.write)
    assert (notes.guard.seen, others.guard.seen) == ([(READ, READ)], [(WRITE, WRITE)])
    with pytest.raises(DatasetAccessError):
        notes.read(lambda: others.write(notes.both))


def test_embedded_datasets_share_the_stack():
    notes = open_notes()
    part = Notes(notes.context, DatasetSpecification("notes.part", "notes"))
    with pytest.raises(DatasetAccessError, match="'write' .* cannot be called from 'read'"):
        notes.read(part.write)


def test_overridden_and_inherited_methods():
    class Special(Notes):
        @read_write
        def both(self, body=None):
            return super().read(body)

        def write(self, body=None):  # without an annotation, it counts as read and write
            return super().write(body)

    notes = open_notes(cls=Special)
    notes.both()
    notes.write()
    assert [own for own, _ in notes.guard.seen] == [BOTH, READ, BOTH, WRITE]


def test_constructors():
    class Greedy(Notes):
        def __init__(self, context, specification):
            super().__init__(context, specification)
            self.read()

    with pytest.raises(
        DatasetAccessError, match="'read' .* cannot be called from 'Greedy' \\(no access"
    ):
        Greedy(Context(), DatasetSpecification("notes", "notes"))

    class Reader(Notes):
        @read_only
        def __init__(self, context, specification):
            super().__init__(context, specification)
            self.read()

    context = Context()
    Reader(context, DatasetSpecification("notes", "notes"))
    assert [own for own, _ in context.guard.seen] == [READ, READ, READ]


def test_generators_run_as_their_method():
    notes = open_notes()
    steps = notes.scan(notes.write)
    assert notes.guard.seen == [(READ, READ)]
    assert next(steps) == 1
    notes.write()  # between two steps, nothing of the dataset runs
    with pytest.raises(DatasetAccessError):
        next(steps)
    assert list(notes.scan()) == [1, 2]


def test_coroutines_and_tasks_inherit_the_stack():
    notes = open_notes()

    async def spawn():
        async def later():
            notes.write()

        return await asyncio.gather(later(), return_exceptions=True)

    async def nested():
        return await notes.aread()

    asyncio.run(nested())
    (error,) = notes.read(lambda: asyncio.run(spawn()))
    assert isinstance(error, DatasetAccessError)


def test_threads_inherit_the_stack():
    pass_calls_to_threads()
    notes = open_notes()
    errors = []

    def write():
        try:
            notes.write()
            errors.append(None)
        except DatasetAccessError as error:
            errors.append(error)

    def run_in_thread():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()

    with ThreadPoolExecutor(1) as pool:
        notes.read(run_in_thread)
        notes.read(lambda: pool.submit(write).result())
        run_in_thread()
        pool.submit(write).result()
    assert [type(each) for each in errors] == [DatasetAccessError] * 2 + [type(None)] * 2


def test_an_asynchronous_generator_cannot_be_checked():
    with pytest.raises(
        TypeError, match="'stream' of a dataset class cannot be an asynchronous gen"
    ):

        class Wrong(Dataset):
            async def stream(self):
                yield 1


def test_blocks_count_as_methods():
    guard = Guard()
    with (
        enter_method(guard, "outer", READ),
        pytest.raises(DatasetAccessError),
        enter_method(guard, "inner", WRITE),
    ):
        pass
    assert guard.seen == [(READ, READ)]


class Counting:
    """A mixin that knows nothing of datasets."""

    guard: Any
    write: Any

    def count(self):
        return self.write()

    @read_only
    def look(self):
        return self.guard.seen[-1]


class Shaped(Counting, Notes):
    """Members of all kinds that Python has."""

    def __init__(self, context, specification):
        super().__init__(context, specification)
        self.value = 1

    def __getitem__(self, key):
        return self.read(lambda: key)

    @read_only
    def __len__(self):
        return 3

    def __repr__(self):
        return "Shaped"

    @property
    def rate(self):
        """The rate."""
        return self.value

    @rate.setter
    @write_only
    def rate(self, value):
        self.value = value

    @rate.deleter
    @read_write
    def rate(self):
        self.value = 0

    @functools.cached_property
    @read_only
    def first(self):
        return self.read(lambda: 1)

    @read_only
    @functools.lru_cache(maxsize=8)  # noqa: B019
    def get(self, key):
        """Return the key."""
        return key

    again = functools.partialmethod(Notes.read, None)

    @staticmethod
    def helper():
        return 1


def use(body, dataset_class=Shaped):
    """Return what members are checked for."""
    context = Context()
    opened = dataset_class(context, DatasetSpecification("n", "t"))
    context.guard.seen.clear()
    body(opened)
    return [access for access, _ in context.guard.seen]


def set_rate(shaped):
    shaped.rate = 2


def delete_rate(shaped):
    del shaped.rate


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda shaped: shaped.count(), [BOTH, WRITE]),
        (lambda shaped: shaped.look(), [READ]),
        (lambda shaped: shaped["a"], [BOTH, READ]),
        (len, [READ]),
        (repr, []),
        (lambda shaped: shaped.rate, []),
        (set_rate, [WRITE]),
        (delete_rate, [BOTH]),
        (lambda shaped: (shaped.first, shaped.first), [READ, READ]),
        (lambda shaped: (shaped.get(1), shaped.get(1)), [READ, READ]),
        (lambda shaped: shaped.again(), [READ]),
        (lambda shaped: shaped.helper(), []),
    ],
)
def test_members_of_every_kind_are_checked(body, expected):
    assert use(body) == expected


def test_members_keep_what_they_are():
    assert Shaped.rate.__doc__ == "The rate."
    assert Shaped.get.__doc__ == "Return the key."
    assert Counting.count.__qualname__ == "Counting.count"
    assert not hasattr(Counting.count, "__wrapped__"), "other users of the mixin are not checked"


def test_a_mixin_behind_a_dataset_class_is_checked_too():
    class Behind(Notes, Counting):
        pass

    def body(behind):
        behind.count()
        with pytest.raises(DatasetAccessError, match="'write' .* cannot be called from 'read'"):
            behind.read(behind.write)

    assert use(body, Behind) == [BOTH, WRITE, READ]


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_a_method_without_a_dataset_cannot_be_annotated(kind):
    with pytest.raises(TypeError, match=f"cannot be a {kind.__name__} with an annotation"):

        class _Wrong(Notes):
            get = read_only(kind(lambda *_: 1))
