"""Secrets: what was asked for is taken out of texts, however it is written there."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.failures import Cause, ValidationFailure
from localcdap.pipeline.macros.evaluation import HIDDEN, Secrets
from localcdap.pipeline.macros.parser import create_macro_functions


def asked(*values: str) -> Secrets:
    secrets = Secrets(dict(enumerate(values)).__getitem__)
    for number in range(len(values)):
        assert secrets.source is not None
        assert secrets.source(number) == values[number]
    return secrets


def test_values_are_hidden_wherever_they_stand():
    secrets = asked("pass", "password1")
    failure = ValidationFailure(
        "Invalid Stage", "'password1' is wrong", None, [Cause({"stacktrace": "pass!"})], "a"
    )

    assert secrets.hide("password1, pass, other") == f"{HIDDEN}, {HIDDEN}, other"
    (clean,) = secrets.clean([failure])
    assert clean.message == f"'{HIDDEN}' is wrong"
    assert clean.causes[0].attributes == {"stacktrace": f"{HIDDEN}!"}
    assert (clean.type, clean.stage, failure.message) == (
        "Invalid Stage",
        "a",
        "'password1' is wrong",
    )


def test_nothing_is_changed_while_nothing_was_asked_for():
    failure = ValidationFailure("Invalid Stage", "x", None, [])

    assert Secrets(None).source is None
    assert Secrets(None).clean([failure])[0] is failure
    assert Secrets(str).hide("k") == "k"


@given(value=st.text(min_size=4), before=st.text(), after=st.text())
def test_no_way_of_writing_shows_a_value(value: str, before: str, after: str):
    secrets = asked(value)
    for text in (value, repr(value)[1:-1], json.dumps(value)[1:-1]):
        hidden = secrets.hide(before + text + after)
        assert value not in hidden or value in HIDDEN


def test_the_beginning_of_a_value_that_a_message_has_cut_is_hidden():
    secrets = asked("hunter2 is the word", "abc")

    assert secrets.hide("no number: 'hunter2 is…', or 'hunter2 i...'") == (
        "no number: '********…', or '********...'"
    )
    assert secrets.hide("hunt hunter…") == "hunt ********…"
    assert secrets.hide("the hun… and ab…, hunter") == "the hun… and ab…, hunter"


def test_a_token_is_asked_for_once_and_hidden_in_what_macros_give():
    asked_for = []

    def ask(provider: str, credential: str) -> dict[str, str]:
        asked_for.append((provider, credential))
        return {"accessToken": "ya29.tok", "instanceURL": "https://eu.example"}

    secrets = Secrets(None, lambda _: PROPERTIES, ask)
    functions = create_macro_functions(oauth=secrets.credentials, conn=secrets.connections)
    token = functions["oauth"]("sales", " mine ")
    assert json.loads(token) == ask("sales", "mine")
    assert functions["oauthAccessToken"]("sales", "mine") == "ya29.tok"
    connection = json.loads(functions["conn"]("shop"))

    assert connection == PROPERTIES | {"auth": token, "bearer": "Bearer ya29.tok"}
    assert asked_for == [("sales", "mine")] * 2  # that of this test is one of them
    assert secrets.hide(json.dumps(connection)).count(HIDDEN) == 2
    assert "ya29" not in secrets.hide(json.dumps(connection))


PROPERTIES = {
    "auth": "${oauth(sales,mine)}",
    "bearer": "Bearer ${oauthAccessToken(sales,mine)}",
    "key": "${secure(k)}",
    "host": "h",
}
"""The properties of a connection; there are no secure keys."""
