"""What people write by hand: FastAPI and psycopg over one PostgreSQL, for `just bench requests`.

POST /query {"sql": …, "store": bool, "guard": bool} runs the statement in a read-only transaction and answers with
columns, rows and their number. With "guard" it does what Mindhost does before that: it looks at the key of the request,
and it parses the statement, lets one SELECT over known tables pass, and sends what it printed from the tree. With "store"
it writes the question and the answer to two tables of the same database, as a service with a history does. Its connection
string is in PEER_DATABASE, the key in PEER_KEY.
"""

import hashlib
import hmac
import json
import os
import uuid
from contextlib import asynccontextmanager

import sqlglot
from fastapi import FastAPI, Header, HTTPException
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel
from sqlglot import exp

TABLES = """
CREATE SCHEMA IF NOT EXISTS peer;
CREATE TABLE IF NOT EXISTS peer.responses (id uuid PRIMARY KEY, sql text NOT NULL, created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS peer.messages (id uuid PRIMARY KEY, response uuid REFERENCES peer.responses, content text NOT NULL);
"""

pool = AsyncConnectionPool(os.environ["PEER_DATABASE"], min_size=4, max_size=8, open=False)


@asynccontextmanager
async def life(_: FastAPI):
    await pool.open()
    yield
    await pool.close()


app = FastAPI(lifespan=life)


KEY = hashlib.sha256(os.environ["PEER_KEY"].encode()).digest()
ALLOWED = {"facts"}


class Question(BaseModel):
    sql: str
    store: bool = False
    guard: bool = True


def guarded(sql: str) -> str:
    try:
        statements = sqlglot.parse(sql, read="postgres")
    except sqlglot.ParseError as error:
        raise HTTPException(400, str(error)) from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise HTTPException(400, "only one SELECT")
    for table in statements[0].find_all(exp.Table):
        if table.name not in ALLOWED:
            raise HTTPException(400, f"unknown table {table.name}")
    return statements[0].sql(dialect="postgres")


@app.get("/ready")
async def ready():
    async with pool.connection() as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(1)")
        await connection.execute(TABLES)
    return {"ready": True}


@app.post("/query")
async def query(question: Question, authorization: str = Header("")):
    sql = question.sql
    if question.guard:
        key = authorization.removeprefix("Bearer ").encode()
        if not hmac.compare_digest(hashlib.sha256(key).digest(), KEY):
            raise HTTPException(401, "unknown key")
        sql = guarded(sql)
    elif not sql.lstrip().lower().startswith(("select", "with")):
        raise HTTPException(400, "only SELECT")
    async with pool.connection() as connection:
        async with connection.transaction():
            await connection.execute("SET TRANSACTION READ ONLY")
            cursor = await connection.execute(f"SELECT * FROM ({sql}) AS page LIMIT 10000")
            columns = [column.name for column in cursor.description]
            rows = await cursor.fetchall()
        answer = {"id": str(uuid.uuid4()), "columns": columns, "rows": rows, "total": len(rows)}
        if question.store:
            async with connection.transaction():
                await connection.execute(
                    "INSERT INTO peer.responses (id, sql) VALUES (%s, %s)", (answer["id"], question.sql)
                )
                await connection.execute(
                    "INSERT INTO peer.messages VALUES (%s, %s, %s)",
                    (uuid.uuid4(), answer["id"], json.dumps(answer, default=str)),
                )
    return answer
