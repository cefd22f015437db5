"""The names of the services for structured tables among the services of the host."""

from __future__ import annotations

from typing import Final

TRANSACTIONS: Final = "transactions"
"""The name of ``TransactionService``."""
ADMIN: Final = "structured-tables"
"""The name of ``TableAdmin``."""
