"""The action StateRestore."""

from __future__ import annotations

from typing import Final

from localcdap.api import (
    Action,
    ActionContext,
    LocalcdapError,
    PluginConfig,
    Schema,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.app.transactions import TransactionContext

_ARGUMENT: Final = "state"


@plugin(
    name="StateRestore",
    description="Reads the state that an earlier run has stored, as the argument ${state} of later stages.",
)
class StateRestore(Action):
    """Properties are those of CDAP's plugin (state-restore-action, ``StateRestore.java``,
    ``StateRestoreConfig.java``).

    Without a state and a default value, the argument is the empty text; the original sets null, at which the
    first macro ``${state}`` fails.
    """

    class Config(PluginConfig, macros=True):
        table: str = field(
            "The key-value table with the states, such as that of a KVTable sink.",
            name="trackingTable",
        )
        key: str = field("The key of the state.")
        default: str | None = field(
            "The state when the table has none for the key.", default=None, name="defaultValue"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any input: the properties are required, and that is all."""

    def run(self, context: ActionContext) -> None:
        config = self.config
        try:
            found = context.transactions.run(self._read)
        except LocalcdapError as error:
            raise context.fail(
                f"the state cannot be read from table '{config.table}': {error.message}",
                error.corrective_action,
            ) from None
        state = config.default or "" if found is None else found
        context.set_argument(_ARGUMENT, state)
        context.logger.info("State: %s", state)

    def _read(self, tx: TransactionContext) -> str | None:
        """Return the state; the keys and values of the table are bytes or texts."""
        table = tx.dataset(self.config.table)
        schema = table.schema
        is_text = schema is not None and next(iter(schema)).schema.non_nullable == Schema.STRING
        found = table.read(self.config.key if is_text else self.config.key.encode())
        return found.decode("utf-8", "replace") if isinstance(found, bytes) else found
