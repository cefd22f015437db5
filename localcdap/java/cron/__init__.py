"""Cron expressions of Quartz, with which CDAP says when schedules are due."""

from localcdap.java.cron.expression import CronExpression, parse_cron

__all__ = ["CronExpression", "parse_cron"]
