"""Makes TPC-H: a CSV file for each table, and DuckDB's answers to the 22 queries.

    make.py SCALE FOLDER

The folder gets TABLE.csv with a line of names, and answers.json: {"QUERY": {"sql": ..., "rows": [[...]]}}.
"""

import datetime
import decimal
import json
import pathlib
import sys

import duckdb
import duckdb_extension_tpch


def cell(value):
    """A value as text that a test compares."""
    if isinstance(value, (decimal.Decimal, datetime.date)):
        return str(value)
    return value


def main():
    scale, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    database = duckdb.connect()
    wheel = pathlib.Path(duckdb_extension_tpch.__file__).parent
    (extension,) = wheel.rglob("tpch.duckdb_extension")
    database.execute(f"LOAD '{extension}'")
    database.execute(f"CALL dbgen(sf = {scale})")
    for (table,) in database.execute("SHOW TABLES").fetchall():
        database.execute(f"COPY {table} TO '{folder / table}.csv' (HEADER)")
    answers = {}
    for number, sql in database.execute("SELECT query_nr, query FROM tpch_queries()").fetchall():
        rows = database.execute(sql).fetchall()
        answers[number] = {"sql": sql, "rows": [[cell(value) for value in row] for row in rows]}
    (folder / "answers.json").write_text(json.dumps(answers))


main()
