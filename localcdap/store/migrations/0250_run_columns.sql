-- what lists, dashboards and reports ask of many runs, so that they need not decode each record
ALTER TABLE runs ADD COLUMN status VARCHAR;
-- milliseconds since 1970 at which the first record could be read, and of the end
ALTER TABLE runs ADD COLUMN begun BIGINT;
ALTER TABLE runs ADD COLUMN finish BIGINT;
ALTER TABLE runs ADD COLUMN username VARCHAR;
ALTER TABLE runs ADD COLUMN start_method VARCHAR;
ALTER TABLE runs ADD COLUMN application_version VARCHAR;
-- the artifact of the application, as JSON
ALTER TABLE runs ADD COLUMN artifact VARCHAR;
ALTER TABLE runs ADD COLUMN records_read BIGINT;
ALTER TABLE runs ADD COLUMN records_written BIGINT;
ALTER TABLE runs ADD COLUMN failed_stage VARCHAR;
ALTER TABLE runs ADD COLUMN error VARCHAR;
-- the reason of a failure in a word, and its category; see localcdap.runs.statistics.classification
ALTER TABLE runs ADD COLUMN reason VARCHAR;
ALTER TABLE runs ADD COLUMN category VARCHAR;
-- milliseconds that the code of each stage took: {"stage": 12}
ALTER TABLE runs ADD COLUMN stage_times VARCHAR;

UPDATE runs SET
    status = json_extract_string(record, '$.status'),
    begun = CAST(json_extract_string(record, '$.start') AS BIGINT),
    application_version = json_extract_string(record, '$.applicationVersion'),
    artifact = nullif(json_extract(record, '$.artifact')::VARCHAR, 'null'),
    finish = CAST(json_extract_string(record, '$.end') AS BIGINT),
    username = json_extract_string(record, '$.user'),
    start_method = coalesce(json_extract_string(record, '$.startMethod'), 'MANUAL'),
    failed_stage = json_extract_string(record, '$.error.stage'),
    error = json_extract_string(record, '$.error.message'),
    records_read = (
        SELECT sum(CAST(json_extract_string(each.value, '$.out') AS BIGINT))
        FROM json_each(record, '$.stages') AS each
        WHERE coalesce(CAST(json_extract_string(each.value, '$.in') AS BIGINT), 0) = 0
    );
