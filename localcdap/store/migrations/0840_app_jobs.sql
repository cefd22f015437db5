-- The jobs of system applications. Their logs are in run_logs, under the id of the job.
CREATE SEQUENCE app_job_places;
CREATE TABLE app_jobs (
    id VARCHAR PRIMARY KEY,
    place BIGINT NOT NULL,           -- in the queue
    application VARCHAR NOT NULL,
    namespace VARCHAR NOT NULL,
    ended BOOLEAN NOT NULL,
    -- the process: its number and the second at which it started; null for a job that waits
    pid BIGINT,
    pid_created DOUBLE,
    -- as JSON: localcdap.apps.jobs.records.StoredJob
    record VARCHAR NOT NULL
);

INSERT INTO topics VALUES ('system', 'jobs', 1, epoch_ms(now()), 7 * 86400, 100000);
