-- The tables that system applications made; each is the DuckDB table app_<name>.
CREATE TABLE structured_tables (
    name VARCHAR PRIMARY KEY,
    specification VARCHAR NOT NULL  -- StructuredTableSpecification as JSON
);
