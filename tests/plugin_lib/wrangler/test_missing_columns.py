"""What is said of missing columns before a run is what becomes of rows without them."""

from __future__ import annotations

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives

EXAMPLES = [
    pytest.param(example, id=example)
    for name in load_shipped_directives().names
    for example in load_shipped_directives()[name].examples
]
WITHOUT = {"unrelated__": "1"}


def test_every_directive_has_an_example_and_a_category():
    for name in load_shipped_directives().names:
        cls = load_shipped_directives()[name]
        assert cls.examples, name
        assert cls.categories, name


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_recipe_is_refused_only_where_its_rows_would_fail(example):
    steps = load_recipe(example)
    if steps.errors:
        pytest.skip("refused whatever the columns are")
    columns = Columns([(name, Schema.STRING.as_nullable) for name in WITHOUT])
    directives = [step.directive for step in steps.steps if step.directive is not None]
    for each in directives:
        each.propagate(columns)
    executor = RecipeExecutor(directives, {})
    executor.start()

    made = executor.run(WITHOUT)

    assert not columns.problems or isinstance(made, RowFailure)


GIVEN = Columns([("country", Schema.STRING.as_nullable), ("age", Schema.INT)])


def report(recipe: str, columns: Columns = GIVEN) -> list[str]:
    built = load_recipe(recipe)
    found = propagate(built.known_steps, columns).problems
    return [f"{'warning' if p.is_warning else 'error'} {p.text}" for p in found]


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_column_that_a_directive_reads_is_reported_where_it_is_missing(example):
    built = load_recipe(example)
    if built.errors:
        pytest.skip("refused whatever the columns are")
    (directive,) = [step.directive for step in built.steps if step.directive is not None]
    propagated = propagate(built.steps, Columns([("unrelated__", Schema.STRING.as_nullable)]))
    made = [argument.attribute for argument in directive.arguments if _is_made(argument)]
    read = [name for name in directive.reads_columns() if name not in _list_names(directive, made)]
    reported = " ".join(problem.message for problem in propagated.problems)

    if example.startswith(("flatten :codes,", "fill-null-or-empty")):
        return  # the first of several columns stands for all; a filled column may be new
    assert [name for name in read if f"'{name}'" not in reported] == []
    assert [name for name in _list_names(directive, made) if f"column '{name}'" in reported] == []


def _is_made(argument):
    return any(word in argument.description for word in ("new", "The column for"))


def _list_names(directive, attributes):
    return [str(getattr(directive, each)) for each in attributes]


@pytest.mark.parametrize(
    ("recipe", "reported"),
    [
        ("uppercase :contry", "line 1, column 1: uppercase: There is no column 'contry'."),
        ("drop :contry", "line 1, column 1: drop: There is no column 'contry'."),
        ("set-type :contry int", "line 1, column 1: set-type: There is no column 'contry'."),
        ("mask-number :contry '##'", "mask-number: There is no column 'contry' to mask."),
        (
            "fill-null-or-empty :contry 'x'",
            "fill-null-or-empty: There is no column 'contry' to fill.",
        ),
        ("extract-regex-groups :contry '(a)'", "There is no column 'contry' to match."),
        ("create-record :all :contry,:age", "create-record: There is no column 'contry'."),
        ("flatten :country,:contry", "flatten: There is no column 'contry' to flatten."),
        (
            "rename :age :years\nfilter-row exp:{contry == null} true",
            "line 2, column 17: filter-row: There is no column 'contry'.",
        ),
        (
            "set-column :a exp:{\n contry}",
            "line 2, column 2: set-column: There is no column 'contry'.",
        ),
    ],
)
def test_a_misspelt_column_is_a_warning_with_the_nearest_name(recipe, reported):
    (found,) = report(recipe)

    assert found.startswith("warning ")
    assert found.endswith(f"{reported} Did you mean 'country'?")


@pytest.mark.parametrize(
    "recipe",
    [
        "set-column :a exp:{contry + 1}",
        "filter-row exp:{contry.trim() == 'x'}",
        "set-column :a exp:{country.getYear()}",
        "set-variable v exp:{age.trim()}",
    ],
)
def test_an_expression_that_fails_for_every_row_is_an_error(recipe):
    (found,) = report(recipe)
    assert found.startswith("error line 1, column ")

    executor = RecipeExecutor([step.directive for step in load_recipe(recipe).steps], {})
    executor.start()
    assert isinstance(executor.run({"country": "US", "age": 7}), RowFailure)


@pytest.mark.parametrize(
    "recipe",
    [
        "set-variable n exp:{age + 1}; set-column :next exp:{n + 1}",
        "send-to-error-and-continue exp:{age < 0}; set-column :n exp:{dq_total + 1}",
        "fill-null-or-empty :source 'web'",
        "diff-date :now :now :x",
        "copy :country :c2; rename :c2 :c3; merge :c3 :country :both ','; uppercase :both",
        "swap :country :age; uppercase :country; uppercase :age",
        "split-email :country; uppercase :country_account",
        "parse-as-fixed-length :country 1,1; uppercase :country_2",
        "parse-as-csv :country ','; uppercase :country_9; filter-row exp:{country_1 == 'x'}",
        "parse-as-csv :country ',' true; drop :anything",
        "parse-as-json :country 1; set-type :country_name int",
        "split-to-columns :country ','; drop :country_3",
        "parse-as-date :country; drop :country_1",
        "table-lookup :country 'cities'; drop :country_name",
        "set-headers :a,:b; uppercase :a; filter-row exp:{b > 1}",
        "columns-replace s/^c/k/; uppercase :kountry",
        "cleanse-column-names; change-column-case upper; uppercase :COUNTRY; uppercase :country",
        "keep :country; generate-uuid :id; drop :id,:country",
        "set-column :r exp:{country}; create-record :rec :r,:age; flatten-record :rec; drop :rec_r",
    ],
)
def test_columns_that_a_directive_makes_are_not_missing(recipe):
    assert report(recipe) == []


@pytest.mark.parametrize(
    "opening",
    [
        "split-to-columns :country ','",
        "parse-as-csv :country ','",
        "parse-as-json :country",
        "extract-regex-groups :country '(a)'",
        "parse-as-date :country",
        "parse-as-hl7 :country",
        "table-lookup :country 'cities'",
    ],
)
def test_columns_with_other_names_than_the_data_can_make_are_missing(opening):
    (found,) = report(f"{opening}; set-type :agee int")
    assert "set-type: There is no column 'agee'. Did you mean 'age'?" in found


@pytest.mark.parametrize(
    "recipe",
    [
        "split-to-columns :country ','; rename :country_1 :first; trim :first; rename :first :x; trim :x",
        "split-to-columns :country ','; columns-replace s/country/land/; trim :land_1",
        "split-to-columns :country ','; split-to-columns :country_1 '-'; trim :country_1_2",
        "split-to-columns :country ','; swap :country_1 :age; copy :COUNTRY_2 :y; trim :y",
        "split-to-columns :country ','; set-headers :a,:b,:c; trim :c",
        "split-to-columns :country ','; keep :country_1; trim :country_1",
        "parse-as-json :country; parse-as-json :country_address; trim :country_address_city",
        "parse-as-json :country; flatten :country; parse-as-json :country; trim :country_name",
        "parse-as-csv :country ',' true; trim :whatever",
        "parse-as-json :country; flatten-record :country_rec; trim :country_rec_x",
    ],
)
def test_columns_that_the_data_may_make_are_not_missing(recipe):
    assert report(recipe) == []


def test_unused_names_of_headers_are_reported():
    (found,) = report("set-headers :a,:b,:c,:d")
    assert found.endswith("set-headers: There is no column for 'c', 'd': the rows have 2.")


@pytest.mark.parametrize(
    "recipe",
    [
        "{0}; rename :country",
        "{0}; set-column :x exp:{{country.toUperCase()}}",
        "set-column :x exp:{{country.toUperCase()}}; {0}",
        "filter-row exp:{{string:uperCase(age)}}; {0}",
        "set-variable v exp:{{nope(age)}}; set-column :w exp:{{v}}; {0}",
        "filter-row exp:{{${{condition}}}}; {0}",
        "{0}; ${{more}}",
        "{0}; split-to-columns :country ','",
    ],
)
def test_nothing_else_in_the_recipe_hides_a_misspelt_column(recipe):
    (found,) = report(recipe.format("uppercase :contry"))
    assert "uppercase: There is no column 'contry'. Did you mean 'country'?" in found


@pytest.mark.parametrize(
    "recipe",
    [
        "${more}; uppercase :contry",
        "rename :country; uppercase :contry",
        "uppercase :${name}; rename ${from} contry; uppercase :contry",
        "set-column :${name} exp:{age}; uppercase :contry",
        "set-variable ${v} exp:{age}; set-column :x exp:{contry}",
        "#pragma load-directives own; own :country; uppercase :contry",
    ],
)
def test_a_column_that_an_unknown_directive_may_make_is_not_missing(recipe):
    assert report(recipe) == []
