"""The forms of dates that the menu of the prep area offers."""

from __future__ import annotations

import pytest

from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.values.date_forms import DATE_FORMS, DAYS, find_date_forms


@pytest.mark.parametrize(
    ("texts", "forms"),
    [
        (["27.08.2023", "", "01.02.1999"], ["dd.MM.yyyy"]),
        (["2.8.2023", "12.10.2023"], ["d.M.yyyy"]),
        (["02/03/2024", "04/05/2024"], ["dd/MM/yyyy", "MM/dd/yyyy"]),
        (["02/03/2024", "14/05/2024"], ["dd/MM/yyyy"]),
        (["2023-01-11 10:20:30"], ["yyyy-MM-dd HH:mm:ss"]),
        (["Mar 05, 2024"], ["MMM dd, yyyy"]),
        (["2023-01-11", "2023-13-11"], []),
        (["2023-01-11", "unknown"], []),
        (["3. Mai 2023"], []),
        (["20230230"], []),
        (["42"], []),
        (["", " "], []),
        ([], []),
    ],
)
def test_a_form_fits_all_texts(texts: list[str], forms: list[str]) -> None:
    assert find_date_forms(texts) == forms


def test_every_form_can_be_written_in_a_recipe() -> None:
    for form in DATE_FORMS[:DAYS]:
        assert not load_recipe(f'parse-as-simple-date :d "{form}"').problems
