"""Properties of plugins of the Hub for records with the fields of ``WIDE`` in ``test_shown_is_run``."""

_ROUTES = {"routingField": "price", "portSpecification": "a:number_between(1|9)"}
HUB_PROPERTIES = {
    ("splittertransform", "RoutingSwitch"): _ROUTES,
    ("splittertransform", "Router"): _ROUTES,
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
