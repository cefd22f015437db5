"""Statements that databases carry out before or after the records are handled."""

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

from .jdbc import DatabaseConfig, JdbcConfig, execute_statement


class StatementConfig(JdbcConfig):
    query: str = field(
        "The SQL statement; rows that it gives are dropped.", macro=True, syntax="sql"
    )


class DatabaseActionBase(Action):
    config: StatementConfig

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def run(self, context: ActionContext) -> None:
        execute_statement(context, self.config, self.config.query)


@plugin(
    type="action",
    name="Database",
    description="Has a database carry out an SQL statement, through a JDBC driver of yours.",
)
class DatabaseAction(DatabaseActionBase):
    class Config(StatementConfig, DatabaseConfig):
        """Any database."""


@plugin(
    type="postaction",
    name="DatabaseQuery",
    description="Has a database carry out an SQL statement when the run has ended.",
)
class DatabaseQuery(PostAction):
    class Config(StatementConfig, DatabaseConfig, PostActionConfig):
        """Any database."""

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def run(self, context: PostActionContext) -> None:
        execute_statement(context, self.config, self.config.query)
