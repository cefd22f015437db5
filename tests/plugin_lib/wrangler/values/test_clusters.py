"""The keys of clusters equal those of OpenRefine and Commons Codec on their test vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.values.clusters import (
    METHODS,
    find_clusters,
    make_cologne_code,
    make_fingerprint,
    make_ngram_fingerprint,
)

BLANKS = (
    "a\u0009\nb\u000bc\u000cd\re\u0085f\u00a0g\u1680h\u2000i\u2001j\u2002k\u2003l\u2004m\u2005n\u2006o"
    "\u2007p\u2008q\u2009r\u200as\u2028t\u2029u\u202fv\u205fw\u3000z"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the multi multi word test", "multi test the word"),
        (" école ÉCole ecoLe ", "ecole"),
        (" d c b a ", "a b c d"),
        ("\tABC \t DEF ", "abc def"),
        ("bbb\taaa", "aaa bbb"),
        ("æø", "aeoe"),
        ("©ß", "css"),
        ("\u00d0\u00f0\u00de\u00feǷƿ", "ddththww"),
        ("ﬀﬁﬂﬃﬅﬆ", "fffiflffistst"),
        ("\u00c0\u00c1\u00c2\u00c3\u00c4\u00c5\u00e0\u0100\u0105", "aaaaaaaaa"),
        ("\u00d0\u00f0\u010e\u010f\u0110\u0111", "dddddd"),
        ("\u0126\u0127", "hh"),
        ("\u00cc\u0129\u012e\u012f\u0130", "iiiii"),
        ("\u0131", "i"),
        ("\u0138", "k"),
        ("\u0139\u013d\u013e\u0141\u0142", "lllll"),
        ("\u013f\u0140", "ll"),
        ("\u0149", "n"),
        ("\u014a\u014b", "nn"),
        ("\u00d8\u00f8", "oeoe"),
        ("\u015a\u0161\u017f", "sss"),
        ("\u0162\u0166\u0167", "ttt"),
        (BLANKS, "a b c d e f g h i j k l m n o p q r s t u v w z"),
        (
            "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ",
            "aaaaaaaeceeeeiiiidnooooooeuuuuythssaaaaaaaeceeeeiiiidnooooooeuuuuythy",
        ),
        ("ĲĳŒœſ", "ijijoeoes"),
        ("ẖẗẘẙẚẛẜẝẞẠạẢả", "htwyasssssaaaa"),
        ("", ""),
    ],
)
def test_fingerprints(text: str, expected: str) -> None:
    assert make_fingerprint(text) == expected


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("hello", 1, "ehlo"),
        ("he!llo,. world", 1, "dehlorw"),
        ("\u0001a, !b-c_d\u00a0d\tz\u0003", 3, "abcbcdcddddz"),
        ("abcdefg", 2, "abbccddeeffg"),
        ("gfedcba", 2, "bacbdcedfegf"),
        (" a,b.c d\te!f?g ", 2, "abbccddeeffg"),
        ("écÉCec", 2, "ceec"),
        (BLANKS, 2, "abbccddeeffgghhiijjkkllmmnnooppqqrrssttuuvvwwz"),
        ("", 2, ""),
    ],
)
def test_ngram_fingerprints(text: str, size: int, expected: str) -> None:
    assert make_ngram_fingerprint(text, size) == expected


COLOGNE = """
    Aabjoe 01,Aaclan 0856,Aychlmajr 04567,ä 0,ß 8,ha 0,aha 0,ph 3,q 4,x 48,ax 048,cx 48,cl 45,acl 085,mn 6
    {mn} 6,müller 657,mÜller 657,schmidt 862,schneider 8627,fischer 387,weber 317,wagner 3467,becker 147
    hoffmann 036,schÄfer 837,Breschnew 17863,Wikipedia 3412,peter 127,pharma 376,mönchengladbach 64645214
    deutsch 28,deutz 28,hamburg 06174,hannover 0637,christstollen 478256,Xanthippe 48621,Zacharias 8478
    Holzbau 0581,matsch 68,matz 68,Arbeitsamt 071862,Eberhard 0172,Eberhardt 0172,Celsius 858,Ace 08
    shch 84,xch 484,heithabu 021,bergisch-gladbach 174845214,Müller-Lüdenscheidt 65752682,Test-test 28282
    TesT?test 28282,mellah 65,muehle 65,Mejer 67,Major 67
"""


@pytest.mark.parametrize(
    "pair", [each.split() for line in COLOGNE.split("\n") for each in line.split(",")]
)
def test_cologne_codes(pair: list[str]) -> None:
    if pair:
        assert make_cologne_code(pair[0]) == pair[1]


def test_clusters_have_the_most_frequent_value_first() -> None:
    counts = {"Rome": 5, "rome ": 1, "Rom": 2, "Oslo": 3, "oslo": 9, "Paris": 1}
    assert find_clusters(counts, "fingerprint") == [["oslo", "Oslo"], ["Rome", "rome "]]
    assert find_clusters(counts, "distance") == [["oslo", "Oslo"], ["Rome", "Rom", "rome "]]
    assert find_clusters({"Meyer": 2, "Maier": 1, "Müller": 4}, "cologne-phonetic") == [
        ["Meyer", "Maier"]
    ]
    assert find_clusters({}, "distance") == []


@pytest.mark.slow
@given(
    st.dictionaries(st.text(max_size=8), st.integers(1, 9), max_size=20), st.sampled_from(METHODS)
)
def test_a_value_is_in_one_cluster_at_most(counts: dict[str, int], method: str) -> None:
    clusters = find_clusters(counts, method)
    members = [value for cluster in clusters for value in cluster]
    assert len(members) == len(set(members))
    assert set(members) <= set(counts)
    assert all(len(cluster) > 1 for cluster in clusters)
    assert all(counts[cluster[0]] == max(map(counts.__getitem__, cluster)) for cluster in clusters)
