CREATE TABLE runs (
    run VARCHAR PRIMARY KEY,
    namespace VARCHAR NOT NULL,
    pipeline VARCHAR NOT NULL,
    starting BIGINT NOT NULL,
    -- the run process: its number and the second at which it started
    pid BIGINT NOT NULL,
    pid_created DOUBLE NOT NULL,
    -- the run as JSON: see localcdap.runs.model.Run
    record VARCHAR NOT NULL,
    ended BOOLEAN NOT NULL,
    -- whether the rows that the run wrote into tables are there
    tables_loaded BOOLEAN NOT NULL
);

CREATE TABLE run_logs (
    run VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    time BIGINT NOT NULL,
    level VARCHAR NOT NULL,
    stage VARCHAR,
    text VARCHAR NOT NULL
);
