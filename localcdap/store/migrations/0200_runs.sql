CREATE TABLE runs (
    run VARCHAR PRIMARY KEY,
    namespace VARCHAR NOT NULL,
    pipeline VARCHAR NOT NULL,
    starting BIGINT NOT NULL,
    -- pid and creation time of the run process; null until it is known
    pid BIGINT,
    pid_created DOUBLE,
    -- the run as JSON: see localcdap.runs.model.Run
    record VARCHAR NOT NULL,
    ended BOOLEAN NOT NULL
);

CREATE TABLE run_logs (
    run VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    time BIGINT NOT NULL,
    level VARCHAR NOT NULL,
    stage VARCHAR,
    text VARCHAR NOT NULL
);
