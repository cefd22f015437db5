-- The first alerts that the stages of a run have emitted.
CREATE TABLE run_alerts (
    run VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    payload VARCHAR NOT NULL  -- JSON: an object of texts
);
