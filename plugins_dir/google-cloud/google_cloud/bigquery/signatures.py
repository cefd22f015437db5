"""The functions of BigQuery's SQL that have a translation, their arguments, and the types of both.

A function that is not in the table is refused by its name, and so is an argument, or a type of an argument,
that the table does not have. ``tests/plugins/cloud/googlesql_values.jsonl`` has values of the others.
"""

from __future__ import annotations

from typing import Final

import msgspec

TYPES: Final = {
    "S": "STRING",
    "B": "BYTES",
    "I": "INT64",
    "F": "FLOAT64",
    "N": "NUMERIC",
    "O": "BOOL",
    "D": "DATE",
    "M": "DATETIME",
    "P": "TIMESTAMP",
    "C": "TIME",
    "J": "JSON",
    "V": "INTERVAL",
    "A": "ARRAY",
    "R": "STRUCT",
    "L": "ARRAY<STRING>",
    "H": "ARRAY<INT64>",
}
"""The letters of types in the table. ``*`` is any type, ``#`` that of a number, ``.`` what is not a value."""
NUMBER: Final = "#"
ANY: Final = "*"
_TABLE: Final = """
ABS                 this:IFN                                      = this
ACOS                this:IFN                                      = F
ACOSH               this:IFN                                      = F
ANY_VALUE           this:*                                        = this
APPROX_COUNT_DISTINCT this:SBIFNODMPC                             = I
ARRAY_AGG           this:SBIFNODMPCJVR                            = A
ARRAY_CONCAT        this:A expressions*:A                         = A
ARRAY_CONCAT_AGG    this:A                                        = A
ARRAY_FIRST         this:A                                        = *
ARRAY_LAST          this:A                                        = *
ARRAY_LENGTH        this:A                                        = I
ARRAY_REVERSE       this:A                                        = A
ARRAY_SLICE         this:A start:I end:I                          = A
ARRAY_TO_STRING     this:L expression:S null?:S                   = S
ASCII               this:S                                        = I
ASIN                this:IFN                                      = F
ASINH               this:IFN                                      = F
ATAN                this:IFN                                      = F
ATAN2               this:IFN expression:IFN                       = F
ATANH               this:IFN                                      = F
AVG                 this:IFN                                      = #
BIT_AND             this:I                                        = I
BIT_COUNT           this:I                                        = I
BIT_OR              this:I                                        = I
BIT_XOR             this:I                                        = I
BYTE_LENGTH         this:SB                                       = I
CEIL                this:IFN                                      = #
CEILING             this:IFN                                      = #
CHARACTER_LENGTH    this:S                                        = I
CHAR_LENGTH         this:S                                        = I
CHR                 expressions*:I                                = S
COALESCE            this:* expressions*:*                         = *
CODE_POINTS_TO_BYTES  this:H                                      = B
CODE_POINTS_TO_STRING this:H                                      = S
CONCAT              expressions*:SBIFNODMPC                       = *
CORR                this:IFN expression:IFN                       = F
COS                 this:IFN                                      = F
COSH                this:IFN                                      = F
COUNT               this:SBIFNODMPCVRJ                            = I
COUNTIF             this:O                                        = I
COVAR_POP           this:IFN expression:IFN                       = F
COVAR_SAMP          this:IFN expression:IFN                       = F
CUME_DIST                                                         = F
CURRENT_DATE        this?:S                                       = D
CURRENT_DATETIME    this?:S                                       = M
CURRENT_TIME        this?:S                                       = C
CURRENT_TIMESTAMP                                                 = P
DATE                this?:SDMP zone?:S year?:I month?:I day?:I    = D
DATETIME            this?:SDMP expression?:SC year?:I month?:I day?:I hour?:I min?:I sec?:I = M
DATETIME_ADD        this:M  expression:I unit:.                   = M
DATETIME_DIFF       this:DM expression:DM unit:.                  = I
DATETIME_SUB        this:M  expression:I unit:.                   = M
DATETIME_TRUNC      this:M unit:.                                 = M
DATE_ADD            this:SDMP expression:I unit:.                 = *
DATE_DIFF           this:DM expression:DM unit:.                  = I
DATE_FROM_UNIX_DATE this:I                                        = D
DATE_SUB            this:SDMP expression:I unit:.                 = *
DATE_TRUNC          this:DMP unit:.                               = *
DENSE_RANK                                                        = I
DIV                 this:IN expression:IN                         = #
EDIT_DISTANCE       this:S expression:S                           = I
ENDS_WITH           this:S expression:S                           = O
ERROR               expressions*:S                                = *
EXP                 this:IFN                                      = #
FARM_FINGERPRINT    expressions*:SB                               = I
FIRST_VALUE         this:*                                        = this
FLOOR               this:IFN                                      = #
FORMAT              this:S expressions*:*                         = S
FORMAT_DATE         this:D format:S                               = S
FORMAT_DATETIME     this:M format:S                               = S
FORMAT_TIME         this:C format:S                               = S
FORMAT_TIMESTAMP    this:P format:S zone?:S                       = S
FROM_BASE64         this:S                                        = B
FROM_HEX            this:S                                        = B
GENERATE_ARRAY      start:I end:I step?:I                         = A
GENERATE_DATE_ARRAY start:D end:D step?:.                         = A
GENERATE_TIMESTAMP_ARRAY start:P end:P step:.                     = A
GENERATE_UUID                                                     = S
GREATEST            this:SBIFNODMPC expressions*:SBIFNODMPC          = *
IEEE_DIVIDE         expressions*:IFN                              = F
IF                  this:O true:* false:*                         = *
IFNULL              this:* expressions:*                          = *
INITCAP             this:S expression?:S                          = S
INSTR               this:S substr:S position?:I occurrence?:I     = I
IS_INF              this:IFN                                      = O
IS_NAN              this:IFN                                      = O
JSON_EXTRACT        this:SJ expression?:.                         = this
JSON_EXTRACT_ARRAY  this:S expression?:.                          = L
JSON_EXTRACT_SCALAR this:SJ expression?:.                         = S
JSON_QUERY          this:SJ expression?:.                         = this
JSON_QUERY_ARRAY    this:S expression?:.                          = L
JSON_VALUE          this:SJ expression?:.                         = S
JSON_VALUE_ARRAY    this:SJ expression?:.                         = L
LAG                 this:* offset?:I default?:*                   = this
LAST_DAY            this:DM unit?:.                               = D
LAST_VALUE          this:*                                        = this
LEAD                this:* offset?:I default?:*                   = this
LEAST               this:SBIFNODMPC expressions*:SBIFNODMPC          = *
LEFT                this:S expression:I                           = S
LENGTH              this:SB                                       = I
LN                  this:IFN                                      = #
LOG                 this:IFN expression?:IFN                      = #
LOG10               this:IFN expression:IFN                       = #
LOGICAL_AND         this:O                                        = O
LOGICAL_OR          this:O                                        = O
LOWER               this:S                                        = S
LPAD                this:S expression:I fill_pattern?:S           = S
LTRIM               this:S expression?:S                          = S
MAX                 this:SBIFNODMPC                               = this
MD5                 this:SB                                       = B
MIN                 this:SBIFNODMPC                               = this
MOD                 this:IN expression:IN                         = #
NORMALIZE           this:S form?:.                                = S
NORMALIZE_AND_CASEFOLD this:S form?:.                             = S
NTH_VALUE           this:* offset:I                               = this
NTILE               this:I                                        = I
NULLIF              this:* expression:*                           = this
OCTET_LENGTH        this:SB                                       = I
PARSE_DATE          format:S this:S                               = D
PARSE_DATETIME      format:S this:S                               = M
PARSE_JSON          this:S                                        = J
PARSE_TIME          format:S this:S                               = C
PARSE_TIMESTAMP     format:S this:S zone?:S                       = P
PERCENTILE_CONT     this:IFN expression:IFN                       = *
PERCENTILE_DISC     this:SIFNDMP expression:IFN                   = this
PERCENT_RANK                                                      = F
POW                 this:IFN expression:IFN                       = #
POWER               this:IFN expression:IFN                       = #
RAND                                                              = F
RANK                                                              = I
REGEXP_CONTAINS     this:S expression:S                           = O
REGEXP_EXTRACT      this:S expression:S position?:I occurrence?:I = S
REGEXP_EXTRACT_ALL  this:S expression:S                           = L
REGEXP_INSTR        this:S expression:S                           = I
REGEXP_REPLACE      this:S expression:S replacement:S             = S
REGEXP_SUBSTR       this:S expression:S position?:I occurrence?:I = S
REPEAT              this:S times:I                                = S
REPLACE             this:S expression:S replacement:S             = S
REVERSE             this:S                                        = S
RIGHT               this:S expression:I                           = S
ROUND               this:IFN decimals?:I                          = #
ROW_NUMBER                                                        = I
RPAD                this:S expression:I fill_pattern?:S           = S
RTRIM               this:S expression?:S                          = S
SAFE_ADD            this:IFN expression:IFN                       = #
SAFE_CONVERT_BYTES_TO_STRING this:B                               = S
SAFE_DIVIDE         this:IFN expression:IFN                       = #
SAFE_MULTIPLY       this:IFN expression:IFN                       = #
SAFE_NEGATE         this:IFN                                      = #
SAFE_SUBTRACT       this:IFN expression:IFN                       = #
SHA1                this:SB                                       = B
SHA256              this:SB                                       = B
SHA512              this:SB                                       = B
SIGN                this:IFN                                      = #
SIN                 this:IFN                                      = F
SINH                this:IFN                                      = F
SOUNDEX             this:S                                        = S
SPLIT               this:S expression?:S                          = L
SQRT                this:IFN                                      = #
STARTS_WITH         this:S expression:S                           = O
STDDEV              this:IFN                                      = F
STDDEV_POP          this:IFN                                      = F
STDDEV_SAMP         this:IFN                                      = F
STRING              this:DMPC zone?:S                             = S
STRING_AGG          this:S separator?:S                           = S
STRPOS              this:S substr:S                               = I
STRUCT              expressions*:*                                = R
SUBSTR              this:S start:I length?:I                      = S
SUBSTRING           this:S start:I length?:I                      = S
SUM                 this:IFN                                      = #
TAN                 this:IFN                                      = F
TANH                this:IFN                                      = F
TIME                this?:MPC zone?:S hour?:I min?:I sec?:I       = C
TIMESTAMP           this:SDMP zone?:S                             = P
TIMESTAMP_ADD       this:P expression:I unit:.                    = P
TIMESTAMP_DIFF      this:P expression:P unit:.                    = I
TIMESTAMP_MICROS    this:I                                        = P
TIMESTAMP_MILLIS    this:I                                        = P
TIMESTAMP_SECONDS   this:I                                        = P
TIMESTAMP_SUB       this:P expression:I unit:.                    = P
TIMESTAMP_TRUNC     this:P unit:. zone?:S                         = P
TIME_ADD            this:C expression:I unit:.                    = C
TIME_DIFF           this:C expression:C unit:.                    = I
TIME_SUB            this:C expression:I unit:.                    = C
TO_BASE64           this:B                                        = S
TO_CODE_POINTS      this:SB                                       = H
TO_HEX              this:B                                        = S
TO_HEX(MD5)         this:SB                                       = S
TO_JSON_STRING      this:SBIFNODMPCJAR                            = S
TRANSLATE           this:S from_:S to:S                           = S
TRIM                this:S expression?:S                          = S
TRUNC               this:IFN decimals?:I                          = #
UNICODE             this:S                                        = I
UNIX_DATE           this:D                                        = I
UNIX_MICROS         this:P                                        = I
UNIX_MILLIS         this:P                                        = I
UNIX_SECONDS        this:P                                        = I
UPPER               this:S                                        = S
VARIANCE            this:IFN                                      = F
VAR_POP             this:IFN                                      = F
VAR_SAMP            this:IFN                                      = F
"""
"""A function a line: its arguments by the names that sqlglot gives them, each with the letters of its types,
and the type of the result. ``?`` is an optional argument, ``*`` a list; ``this`` as the result is the type of
the first argument."""


TIME_UNITS: Final = frozenset(("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"))
_DATES: Final = frozenset(("DAY", "WEEK", "ISOWEEK", "MONTH", "QUARTER", "YEAR", "ISOYEAR"))
_ADDED: Final = _DATES - {"ISOWEEK", "ISOYEAR"}
UNITS: Final = {
    "DATE_ADD": TIME_UNITS | _ADDED,
    "DATE_DIFF": TIME_UNITS | _DATES,
    "DATE_SUB": TIME_UNITS | _ADDED,
    "DATE_TRUNC": TIME_UNITS | _DATES,
    "DATETIME_ADD": TIME_UNITS | _ADDED,
    "DATETIME_DIFF": TIME_UNITS | _DATES,
    "DATETIME_SUB": TIME_UNITS | _ADDED,
    "DATETIME_TRUNC": TIME_UNITS | _DATES,
    "LAST_DAY": _DATES - {"DAY", "ISOYEAR"},
    "TIME_ADD": TIME_UNITS,
    "TIME_DIFF": TIME_UNITS,
    "TIME_SUB": TIME_UNITS,
    "TIMESTAMP_ADD": TIME_UNITS | {"DAY"},
    "TIMESTAMP_DIFF": TIME_UNITS | {"DAY"},
    "TIMESTAMP_SUB": TIME_UNITS | {"DAY"},
    "TIMESTAMP_TRUNC": TIME_UNITS | _DATES,
}
"""The units of functions on dates and times. ``WEEK`` may have a day after it, except in a sum; a DATE
has none of the units of times."""
EXTRACTED: Final = {
    **dict.fromkeys((*_DATES, "DAYOFWEEK", "DAYOFYEAR"), "DMP"),
    **dict.fromkeys(TIME_UNITS, "MPC"),
    "DATE": "MP",
    "DATETIME": "P",
    "TIME": "MP",
}
"""The parts that EXTRACT has, with the letters of the types that have them."""


class Argument(msgspec.Struct, frozen=True):
    """An argument of a function."""

    types: str
    """The letters of its types."""
    is_optional: bool = False
    is_list: bool = False


class Signature(msgspec.Struct, frozen=True):
    """The arguments of a function, by the names that sqlglot gives them, and the type of its result."""

    arguments: dict[str, Argument]
    result: str
    """The letter of a type, ``*`` or ``#`` when it depends on arguments, ``this`` for that of the first."""

    @property
    def most(self) -> int | None:
        """The largest number of arguments in a text; None when any number is possible.

        In ``DATE_ADD(x, INTERVAL 1 DAY)`` sqlglot has a number and a unit for the second argument.
        """
        if any(each.is_list for each in self.arguments.values()):
            return None
        has_interval = {"expression", "unit"} <= set(self.arguments)
        return len(self.arguments) - (has_interval and self.arguments["expression"].types == "I")


def _read_signature(line: str) -> tuple[str, Signature]:
    left, _, result = line.rpartition("=")
    name, *parts = left.split()
    arguments = {}
    for part in parts:
        key, _, types = part.partition(":")
        bare = key.rstrip("?*")
        arguments[bare] = Argument(types, key.endswith("?"), key.endswith("*"))
    return name, Signature(arguments, result.strip())


FUNCTIONS: Final = dict(map(_read_signature, _TABLE.strip().splitlines()))
"""The signatures by the names of functions in BigQuery's SQL."""
