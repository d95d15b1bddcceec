"""The dispatcher: keys, schemas, operators and their tables, thread-local state, libraries."""
