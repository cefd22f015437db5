-- Schedules of deployed pipelines (CDAP 6 ProgramScheduleStore and JobQueueStore).
CREATE TABLE schedules (
    namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    status VARCHAR NOT NULL,          -- SCHEDULED or SUSPENDED
    updated BIGINT NOT NULL,          -- milliseconds since 1970, as all times
    username VARCHAR,                 -- as whom its runs act; null for localcdap itself
    document VARCHAR NOT NULL,        -- JSON: localcdap.schedules.model.Schedule
    PRIMARY KEY (namespace, application, name)
);

-- The cron expressions in the triggers of schedules.
CREATE TABLE schedule_times (
    namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    cron VARCHAR NOT NULL,
    zone VARCHAR,                     -- null for that of the machine
    clock VARCHAR NOT NULL,           -- the zone that the next time was computed with
    next BIGINT,                      -- null while the schedule is suspended, or never due again
    last BIGINT                       -- the last time at which it was due
);

-- What other events in triggers are found by.
CREATE TABLE schedule_triggers (
    trigger_key VARCHAR NOT NULL,
    namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL
);

CREATE SEQUENCE schedule_job_generations;
CREATE TABLE schedule_jobs (
    generation BIGINT PRIMARY KEY,
    namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    state VARCHAR NOT NULL,           -- PENDING_TRIGGER, PENDING_CONSTRAINT or PENDING_LAUNCH
    record VARCHAR NOT NULL           -- JSON: localcdap.schedules.jobs.Job
);

-- What became of what triggered schedules: runs that were started, and all that was not.
CREATE SEQUENCE schedule_event_numbers;
CREATE TABLE schedule_events (
    number BIGINT NOT NULL,
    namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    time BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    run VARCHAR
);

-- New partitions of datasets, which partition triggers wait for.
INSERT INTO topics VALUES ('system', 'partitions', 1, epoch_ms(now()), 7 * 86400, 100000);
