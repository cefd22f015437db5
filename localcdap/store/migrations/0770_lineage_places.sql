-- Where the datasets of each application lie, as it is now: datasets with the same place hold the same data.
CREATE TABLE lineage_places (
    application_namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    namespace VARCHAR NOT NULL,           -- of the dataset
    dataset VARCHAR NOT NULL,
    place VARCHAR NOT NULL                -- a table of the instance, or a name of OpenLineage
);
