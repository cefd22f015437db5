"""Properties of plugins of the Hub for records with the fields of ``WIDE`` in ``test_shown_is_run``."""

import json

from localcdap.api.schema import Schema

DATES = {
    "sourceFields": "body",
    "targetFields": "body",
    "sourceFormat": "yyyy",
    "targetFormat": "yyyy",
    "schema": str(Schema.record("text", [("body", Schema.STRING)])),
}
"""Of DateTransform, for records with one text."""
_ROUTES = {"routingField": "price", "portSpecification": "a:number_between(1|9)"}
_MASKED = {
    "fields": "name",
    "filters": "NATIONAL_ID",
    "transform": "MASKING",
    "transformProperties": {"maskingChar": "#"},
}
HUB_PROPERTIES = {
    ("splittertransform", "RoutingSwitch"): _ROUTES,
    ("splittertransform", "Router"): _ROUTES,
    ("sparkcompute", "DataCacher"): {"storageLevel": "MEMORY_AND_DISK"},
    ("transform", "CreateRecord"): {
        "fieldMapping": '{"key": ["id"], "more": {"name": ["name"], "inner": {"at": ["at"]}}}',
        "includeNonMappedFields": "on",
    },
    ("splittertransform", "SensitiveRecordFilter"): {"entire-record": "true"},
    ("transform", "SensitiveRecordRedaction"): {
        "fieldsToTransform": json.dumps([json.dumps(_MASKED)])
    },
    ("batchaggregator", "TopN"): {"field": "big", "size": "1"},
    ("sparkcompute", "HierarchyToRelational"): {
        "parentField": "id",
        "childField": "big",
        "pathField": "name",
        "pathAliasField": "path",
    },
    ("sparkcompute", "WindowAggregation"): {
        "partitionFields": "flag",
        "partitionOrder": "id:Ascending",
        "aggregates": "r:rank(,,true)\nbefore:lag(amount,1,true)\nsum:accumulate(ratio,,true)",
    },
}
