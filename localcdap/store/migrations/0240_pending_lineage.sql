-- The field lineage of the phases of active runs: it counts when the run commits.
CREATE TABLE pending_lineage (
    run VARCHAR NOT NULL,
    stages VARCHAR NOT NULL,  -- JSON
    connections VARCHAR NOT NULL  -- JSON
);
