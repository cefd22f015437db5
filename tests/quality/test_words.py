"""No invented words in names and sentences: the terms are those of ``docs/glossary.md``."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quality.source_tree import REPOSITORY, list_sources, name_of, read_nodes

PACKAGES = ("localcdap", "plugins_dir")
TESTS = ("tests", "benchmarks")

DIALECT = (
    r"anew|likewise|heed(?:s|ed|ing)?|whoever|judg(?:e[sd]?|ing|ement)|culprits?|misfits?|surroundings"
    r"|is told|are told|tells? of|of its own accord|the house|rooms?|what comes of it|besides which"
    r"|(?<!there )(?:is|are) no (?!longer|such|more|problem|need)|memoi[sz]e[ds]?|drop-in|goldens?"
)
"""Words and turns that have no meaning in the field, or that are not plain technical English."""
INVENTED = {
    "anew", "blame", "blamed", "culprit", "desk", "discreet", "footprint", "goldens", "habits",
    "harmless", "heed", "heeded", "heeding", "judge", "judgement", "keeper", "manners", "misfit",
    "misfits", "surroundings",
    "teller", "telling", "told", "trial", "trials", "unsaid",
}  # fmt: skip
"""Words that must not be part of an identifier."""
GERUNDS = {
    "heading",
    "authoring",
    "editing",
    "loading",
    "logging",
    "messaging",
    "planning",
    "routing",
    "string",
    "testing",
    "typing",
}
"""Module names in -ing that are standard terms."""
PARTICIPLES = re.compile(
    r"_?(?:[a-z]+ed|chosen|drawn|found|given|heard|held|kept|known|made|said|seen|shown|taken|told"
    r"|written)(?:_|$)"
)
PUBLIC = {"namespaced_table", "renamed", "sorted_rows"}
"""Names of ``localcdap.api`` that authors use."""
VERBS_IN_ED = {
    "embed",
    "exceed",
    "feed",
    "need",
    "proceed",
    "read",
    "seed",
    "shed",
    "speed",
    "succeed",
}


def sources(*folders: str) -> list[Path]:
    """The Python files below the folders but this one, which names the words."""
    return [path for path in list_sources(*folders) if path != Path(__file__)]


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of docstrings, messages and comments of a module, with their numbers."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                yield from enumerate(token.string.splitlines(), token.start[0])


def definitions(path: Path) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in read_nodes(path):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def words_of(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def is_property(node: ast.AST) -> bool:
    return "property" in " ".join(map(ast.dump, getattr(node, "decorator_list", [])))


def test_sentences_have_no_dialect():
    pattern = re.compile(rf"\b(?:{DIALECT})\b", re.IGNORECASE)
    found = [
        f"{name_of(path)}:{line}: {m[0]}"
        for path in sources(*PACKAGES, *TESTS)
        if pattern.search(path.read_text(encoding="utf-8"))  # tokenizing all takes 6 s
        for line, text in sentences(path)
        for m in pattern.finditer(text)
    ]

    assert found == []


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "CONTRIBUTING.md",
        *sorted(f"docs/{p.name}" for p in (REPOSITORY / "docs").glob("*.md")),
    ],
)
def test_documents_have_no_dialect(document: str):
    text = (REPOSITORY / document).read_text(encoding="utf-8")

    assert re.findall(rf"\b(?:{DIALECT})\b", text, re.IGNORECASE) == []


def test_names_are_terms_of_the_field():
    participles = [
        f"{name_of(path)}:{node.lineno}: {node.name}"
        for path in sources(*PACKAGES)
        for node in definitions(path)
        if not isinstance(node, ast.ClassDef)
        and not is_property(node)
        and (match := PARTICIPLES.match(node.name))
        and match[0].strip("_") not in VERBS_IN_ED
        and node.name not in PUBLIC
    ]

    assert participles == []


def test_names_have_no_invented_words():
    found = [
        f"{name_of(path)}:{node.lineno}: {node.name}"
        for path in sources(*PACKAGES, *TESTS)
        for node in definitions(path)
        if words_of(node.name) & INVENTED
    ]

    assert found == []


def test_modules_are_nouns():
    modules = {path for path in sources(*PACKAGES) if path.stem.endswith("ing")}
    packages = {p for folder in PACKAGES for p in (REPOSITORY / folder).rglob("*ing") if p.is_dir()}

    assert [name_of(each) for each in modules | packages if each.stem not in GERUNDS] == []


def test_a_class_name_has_one_meaning():
    """Directives are left out: their names are those of the original."""
    places = defaultdict(list)
    for path in sources("localcdap"):
        if path.parent.name == "directives":
            continue
        for node in ast.iter_child_nodes(read_nodes(path)[0]):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))

    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
