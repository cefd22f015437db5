"""The action Database and the post action DatabaseQuery, which execute a statement in a database."""

from __future__ import annotations

from localcdap.api import (
    Action,
    ActionContext,
    PostAction,
    PostActionConfig,
    PostActionContext,
    StageConfigurer,
    field,
    plugin,
)

from . import additions
from .jdbc import DatabaseConfig, JdbcConfig, execute_statement


class StatementConfig(JdbcConfig):
    """The property of plugins that execute a statement."""

    query: str = field("SQL statement; its result rows are dropped.", macro=True, syntax="sql")


class DatabaseActionBase(Action):
    """The base of actions that execute a statement."""

    config: StatementConfig

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def run(self, context: ActionContext) -> None:
        execute_statement(context, self.config, self.config.query)


@plugin(
    name="Database",
    description="Executes an SQL statement in a database, with a JDBC driver that you supply.",
)
class DatabaseAction(DatabaseActionBase):
    class Config(StatementConfig, DatabaseConfig, additions=additions.CONNECTION):
        """Any database."""


class PostStatementConfig(StatementConfig, PostActionConfig):
    """The properties of post actions that execute a statement."""


class DatabasePostActionBase(PostAction):
    """The base of post actions that execute a statement."""

    config: PostStatementConfig

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def run(self, context: PostActionContext) -> None:
        execute_statement(context, self.config, self.config.query)


@plugin(
    name="DatabaseQuery",
    description="Executes an SQL statement in a database when the run has ended.",
)
class DatabaseQuery(DatabasePostActionBase):
    class Config(PostStatementConfig, DatabaseConfig, additions=additions.CONNECTION):
        """Any database."""
