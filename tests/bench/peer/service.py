"""What people write by hand: FastAPI and psycopg over one PostgreSQL, for `just bench requests`.

POST /query {"sql": …, "store": bool} runs the statement in a read-only transaction, counts its rows, and answers with
columns and rows. With "store" it writes the question and the answer to two tables of the same database, as a service with
a history does. Its connection string is in PEER_DATABASE.
"""

import json
import os
import uuid
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

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


class Question(BaseModel):
    sql: str
    store: bool = False


@app.get("/ready")
async def ready():
    async with pool.connection() as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(1)")
        await connection.execute(TABLES)
    return {"ready": True}


@app.post("/query")
async def query(question: Question):
    if not question.sql.lstrip().lower().startswith(("select", "with")):
        raise HTTPException(400, "only SELECT")
    async with pool.connection() as connection:
        async with connection.transaction():
            await connection.execute("SET TRANSACTION READ ONLY")
            cursor = await connection.execute(f"SELECT * FROM ({question.sql}) AS page LIMIT 10000")
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
