"""What people write by hand: FastAPI and psycopg over one PostgreSQL, for `just bench requests`.

POST /query {"sql": …, "store": bool, "guard": bool} runs the statement in a read-only transaction and answers with
columns, rows and their number. With "guard" it does what Mindhost does before that: it looks at the key of the request,
and it parses the statement, lets one SELECT over known tables pass, and sends what it printed from the tree. With "store"
it writes the conversation, the response and the message to tables of the same database, as a service with a history does.

POST /responses does that for the same body as ours, checked by its types, and with the same answer.

The connection string is in PEER_DATABASE, the key in PEER_KEY.
"""

import hashlib
import hmac
import json
import os
import time
import uuid
from contextlib import asynccontextmanager
from typing import Any, Literal

import sqlglot
from fastapi import FastAPI, Header, HTTPException
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel, Field
from sqlglot import exp

TABLES = """
CREATE SCHEMA IF NOT EXISTS peer;
CREATE TABLE IF NOT EXISTS peer.conversations (id uuid PRIMARY KEY, model text NOT NULL, created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS peer.responses (
    id uuid PRIMARY KEY, conversation uuid REFERENCES peer.conversations, status text NOT NULL,
    created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS peer.messages (
    id uuid PRIMARY KEY, conversation uuid REFERENCES peer.conversations, response uuid REFERENCES peer.responses,
    role text NOT NULL, content text NOT NULL, sql text, created_at timestamptz DEFAULT now());
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


class SqlQuery(BaseModel):
    type: Literal["sql_query"]
    query: str
    max_inline_rows: int = Field(10_000, ge=1, le=10_000)


class Question(BaseModel):
    model: str
    tools: list[SqlQuery] = Field(min_length=1, max_length=1)
    store: bool = True
    metadata: dict[str, str] = {}


class ColumnType(BaseModel):
    name: str
    type: str


class QueryResult(BaseModel):
    type: Literal["query_result"] = "query_result"
    id: uuid.UUID
    status: str = "success"
    query: str
    executed_query: str
    column_names: list[str]
    column_types: list[ColumnType]
    data: list[tuple[Any, ...]]
    total: int
    has_more: bool


class InputDetails(BaseModel):
    cached_tokens: int = 0


class OutputDetails(BaseModel):
    reasoning_tokens: int = 0


class Usage(BaseModel):
    input_tokens: int = 0
    input_tokens_details: InputDetails = InputDetails()
    output_tokens: int = 0
    output_tokens_details: OutputDetails = OutputDetails()
    total_tokens: int = 0


class TextFormat(BaseModel):
    type: str = "text"


class Text(BaseModel):
    format: TextFormat = TextFormat()


class Reasoning(BaseModel):
    effort: str | None = None
    summary: str | None = None


class Conversation(BaseModel):
    id: uuid.UUID


class Response(BaseModel):
    id: uuid.UUID
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None
    status: str = "completed"
    error: None = None
    incomplete_details: None = None
    model: str
    output: list[QueryResult]
    conversation: Conversation | None = None
    previous_response_id: uuid.UUID | None = None
    instructions: str | None = None
    metadata: dict[str, str]
    usage: Usage = Usage()
    background: bool = False
    store: bool
    max_output_tokens: int | None = None
    parallel_tool_calls: bool = True
    temperature: float | None = None
    top_p: float | None = None
    tool_choice: str = "auto"
    tools: list[SqlQuery] = []
    text: Text = Text()
    truncation: str = "disabled"
    reasoning: Reasoning = Reasoning()
    user: str | None = None


class Statement(BaseModel):
    sql: str
    store: bool = False
    guard: bool = True


def check_key(authorization: str):
    key = authorization.removeprefix("Bearer ").encode()
    if not hmac.compare_digest(hashlib.sha256(key).digest(), KEY):
        raise HTTPException(401, "unknown key")


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


async def store(connection, conversation, response, message, model: str, text: str, sql: str):
    async with connection.transaction():
        await connection.execute(
            "INSERT INTO peer.conversations (id, model) VALUES (%s, %s)", (conversation, model)
        )
        await connection.execute(
            "INSERT INTO peer.responses (id, conversation, status) VALUES (%s, %s, 'completed')",
            (response, conversation),
        )
        await connection.execute(
            "INSERT INTO peer.messages (id, conversation, response, role, content, sql) VALUES (%s, %s, %s, 'assistant', %s, %s)",
            (message, conversation, response, text, sql),
        )


@app.post("/query")
async def query(statement: Statement, authorization: str = Header("")):
    sql = statement.sql
    if statement.guard:
        check_key(authorization)
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
        if statement.store:
            text = json.dumps(answer, default=str)
            await store(connection, uuid.uuid4(), answer["id"], uuid.uuid4(), "", text, statement.sql)
    return answer


@app.post("/responses")
async def respond(question: Question, authorization: str = Header("")) -> Response:
    check_key(authorization)
    created, tool = int(time.time()), question.tools[0]
    sql = guarded(tool.query)
    async with pool.connection() as connection:
        async with connection.transaction():
            await connection.execute("SET TRANSACTION READ ONLY")
            cursor = await connection.execute(f"SELECT * FROM ({sql}) AS page LIMIT {tool.max_inline_rows}")
            types = [ColumnType(name=column.name, type=column.type_display) for column in cursor.description]
            rows = await cursor.fetchall()
            total = len(rows)
            if total == tool.max_inline_rows:
                counted = await connection.execute(f"SELECT count(*) FROM ({sql}) AS whole")
                (total,) = await counted.fetchone()
        result = QueryResult(
            id=uuid.uuid4(),
            query=tool.query,
            executed_query=sql,
            column_names=[column.name for column in types],
            column_types=types,
            data=rows,
            total=total,
            has_more=total > len(rows),
        )
        response = Response(
            id=uuid.uuid4(),
            created_at=created,
            completed_at=int(time.time()),
            model=question.model,
            output=[result],
            metadata=question.metadata,
            store=question.store,
        )
        if question.store:
            response.conversation = Conversation(id=uuid.uuid4())
            text = f"The query gave {total} rows."
            await store(
                connection, response.conversation.id, response.id, result.id, question.model, text, tool.query
            )
    return response
