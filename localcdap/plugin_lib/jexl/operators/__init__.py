"""The operators of JEXL 3 in its strict form, which the original uses (``JexlArithmetic``).

Null as an operand of arithmetic or logic is an error, in comparisons it is not. Java's Integer, Long and
BigInteger are Python's int, Double and Float are float, BigDecimal is Decimal. Whole numbers never overflow:
they grow, as the original's do. Every function raises :class:`EvaluationError` only.
"""
