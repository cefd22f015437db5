"""The Wrangler transform: a recipe of directives on every record.

The field lineage of the stage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    Record,
    SparkContext,
    StageConfigurer,
    Transform,
    plugin,
    plugin_method,
)
from localcdap.api.methods import MethodContext
from localcdap.api.stage import SampleContext
from localcdap.plugin_lib.wrangler.files.tasks import FileProgress
from localcdap.plugin_lib.wrangler.recipe.builder import (
    WHOLE_RECORD,
    find_row_schema,
    list_precondition,
    load_recipe,
)
from localcdap.plugin_lib.wrangler.recipe.lineage import RecipeLineage
from localcdap.plugin_lib.wrangler.recipe.propagation import to_columns
from localcdap.plugin_lib.wrangler.recipe.registry import DirectiveInfo
from localcdap.plugin_lib.wrangler.workspaces.execution import WorkspaceRows
from localcdap.workspace_views import (
    CandidateList,
    ClusterView,
    MatchList,
    SampleRecords,
    WorkspaceView,
)

from .configuration import FAIL, ConfigurationCheck, WranglerConfig
from .execution import Execution
from .methods import (
    DIRECTIVE,
    LOADED_BY_PRAGMA,
    ApplicationRequest,
    ClusterRequest,
    ExampleRequest,
    ExecutionRequest,
    MatchRequest,
    ProgramRequest,
    RecipeAnswer,
    RecipeRequest,
    RecipeSampleRequest,
    RecordsRequest,
    SampleAnswer,
    WorkspaceRequest,
    apply_to_file,
    check_recipe,
    execute_recipe,
    export_recipe,
    find_directives,
    find_value_clusters,
    list_directives,
    match_workspaces,
    read_records,
    sample_recipe,
    transform_sample,
    view_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_SQL_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'")
_SQL_NAME = re.compile(r"`([^`]+)`|([A-Za-z_]\w*)")


def record_recipe(config: WranglerConfig, lineage: LineageRecorder) -> None:
    """Record the lineage of a recipe, or of the SQL precondition that stands in its place."""
    stage = lineage.stage
    if config.is_sql:
        lineage.influence(
            EdgeKind.FILTER, _list_sql_columns(config.precondition_sql or "", lineage)
        )
        return
    row_schema = find_row_schema(config.input_field, stage.input_schema)
    if row_schema is None or stage.output_schema is None or config.contains_macro("field"):
        lineage.derive(lineage.outputs, lineage.input_fields, "Transform")
        return
    is_record = config.input_field == WHOLE_RECORD
    followed = RecipeLineage(
        lineage,
        to_columns(row_schema, stage.find_table),
        {name: lineage.input_fields if is_record else [name] for name in row_schema.field_names},
        drops_failing=config.on_error not in (None, FAIL),
    )
    followed.follow(list_precondition(config.precondition))
    text = config.text_with_macros("directives") or config.directives
    followed.follow(load_recipe(text, config.udd, stage.find_plugin).steps)
    followed.finish(stage.output_schema)


def _list_sql_columns(sql: str, lineage: LineageRecorder) -> list[str]:
    """Return the input fields whose names are in an SQL expression, outside of its texts."""
    found = _SQL_NAME.findall(_SQL_TEXT.sub("", sql))
    names = {(quoted or plain).lower() for quoted, plain in found}
    return [name for name in lineage.input_fields if name.lower() in names]


@plugin(name="Wrangler", description="Cleans and reshapes records with a recipe of directives.")
class Wrangler(Transform):
    """The recipe is compiled: directives become Spark expressions where Spark has equivalent ones, and the
    rest runs in batches. ``localcdap run --explain`` shows where each directive runs.
    """

    Config = WranglerConfig
    config: WranglerConfig

    def configure(self, stage: StageConfigurer) -> None:
        ConfigurationCheck(self.config, stage).check()

    def configure_connected(self, stage: StageConfigurer) -> None:
        ConfigurationCheck(self.config, stage).check_tables()

    def record_lineage(self, lineage: LineageRecorder) -> None:
        record_recipe(self.config, lineage)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return Execution(self.config, context).run(df)

    def transform_sample(
        self, records: Sequence[Record], emit: Emitter, context: SampleContext
    ) -> None:
        transform_sample(self.config, records, emit, context)

    @plugin_method(
        "directives",
        "The directives that recipes can use, with usage and categories.",
        all_of=[DIRECTIVE],
    )
    def list_directives(self, context: MethodContext) -> list[DirectiveInfo]:
        return list_directives(context)

    @plugin_method(
        "check",
        "Reads a recipe, and lists its problems with their positions.",
        uses={"recipe": LOADED_BY_PRAGMA},
    )
    def check_recipe(self, request: RecipeRequest, context: MethodContext) -> RecipeAnswer:
        return check_recipe(self.config, request, context)

    @plugin_method(
        "propose-schema", "Runs the recipe on sampled records, and proposes the output schema."
    )
    def propose_schema(self, request: RecipeSampleRequest, context: MethodContext) -> SampleAnswer:
        return sample_recipe(self.config, request, context)

    @plugin_method(
        "execute",
        "Runs a recipe on the sample of a workspace, and returns the rows and what they hold.",
        all_of=[DIRECTIVE],
    )
    def execute_recipe(self, request: ExecutionRequest, context: MethodContext) -> WorkspaceRows:
        return execute_recipe(request, context)

    @plugin_method(
        "apply",
        "Applies the recipe to a file without Spark, in steps that the calls of one session continue.",
        all_of=[DIRECTIVE],
    )
    def apply_to_file(self, request: ApplicationRequest, context: MethodContext) -> FileProgress:
        return apply_to_file(self.config, request, context)

    @plugin_method(
        "export",
        "Returns the recipe as a program of Spark: SQL, or a script of PySpark.",
        all_of=[DIRECTIVE],
    )
    def export_recipe(self, request: ProgramRequest, context: MethodContext) -> str:
        return export_recipe(self.config, request, context)

    @plugin_method(
        "workspace",
        "Runs what has changed of the recipe on a sample that its session keeps, and returns rows.",
        all_of=[DIRECTIVE],
    )
    def view_rows(self, request: WorkspaceRequest, context: MethodContext) -> WorkspaceView:
        return view_rows(self.config, request, context)

    @plugin_method(
        "cluster",
        "Finds values that are probably meant to be the same, in a sample that its session keeps.",
        all_of=[DIRECTIVE],
    )
    def find_value_clusters(self, request: ClusterRequest, context: MethodContext) -> ClusterView:
        return find_value_clusters(self.config, request, context)

    @plugin_method(
        "by-example",
        "Finds directives that make wanted texts of given ones, in a sample that its session keeps.",
        all_of=[DIRECTIVE],
    )
    def find_directives(self, request: ExampleRequest, context: MethodContext) -> CandidateList:
        return find_directives(self.config, request, context)

    @plugin_method(
        "records",
        "Returns the first records of a sample that its session keeps, and the rows made of them.",
        all_of=[DIRECTIVE],
    )
    def read_records(self, request: RecordsRequest, context: MethodContext) -> SampleRecords:
        return read_records(self.config, request, context)

    @plugin_method(
        "match",
        "Finds the columns of two samples that its session keeps whose values are equal.",
        all_of=[DIRECTIVE],
    )
    def match_workspaces(self, request: MatchRequest, context: MethodContext) -> MatchList:
        return match_workspaces(self.config, request, context)
