// The SDK for JavaScript in plain Node. The variable SDK says where it is.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

const sdk = (file) => import(`file://${process.env.SDK}/${file}`);
const { Decimal, PluginError, control, files, http, json, log, values } = await sdk("index.js");
const { open, replay, standIn } = await sdk("testing.js");
const { jsonValues } = await sdk("json-values.js");
const { Answer } = await sdk("rows.js");
const { lines } = await sdk("text.js");

const items = (...pages) => {
  const told = [...pages];
  return standIn({ http: () => told.shift() });
};

test("server-sent events come as their data", () => {
  const events = (body, limit) => {
    items({ body });
    return [...http.get("http://x/").events(limit)];
  };
  assert.deepEqual(events('data: {"a":1}\n\ndata: [DONE]\n\n'), ['{"a":1}', "[DONE]"]);
  assert.deepEqual(events(": open\r\n\r\nevent: x\r\ndata:1\r\nid: 7\r\n\r\n"), ["1"]);
  assert.deepEqual(events("\ufeffdata: a\ndata\ndata:  b\n\ndata:\n\n"), ["a\n\n b"]);
  assert.deepEqual(events("database: 1\n\ndata: no last line"), ["no last line"]);
  assert.throws(() => events("data: abc\ndata: def\n\n", 6), { kind: "too-large" });
});

test("JSON values come one by one, however the body is cut", () => {
  const bodies = [
    '{"a":"}\\\\\\""}\r\n\n[1,{"b":[]}]\n2',
    '{"a":"}\\\\\\""}{"x":[3]}4 "five, [6]"',
    '[{"a":"}\\\\\\""},\n{"x":[3]}\n,7,"e\u0301" ]',
  ];
  const values = [
    [{ a: '}\\"' }, 1, { b: [] }, 2],
    [{ a: '}\\"' }, { x: [3] }, 4, "five, [6]"],
    [{ a: '}\\"' }, { x: [3] }, 7, "e\u0301"],
  ];
  for (const [index, body] of bodies.entries()) {
    const bytes = Buffer.from(body);
    for (let at = 0; at <= bytes.length; at++) {
      const found = [...jsonValues([bytes.subarray(0, at), bytes.subarray(at)], { limit: 99 })];
      assert.deepEqual(found.map(([, value]) => JSON.parse(Buffer.from(value))), values[index], `${index} cut at ${at}`);
    }
    items({ body });
    assert.deepEqual([...http.get("http://x/").jsonStream()], values[index]);
  }
  const failed = (body, kind, options) => {
    items({ body });
    assert.throws(() => [...http.get("http://x/").jsonStream(options)], { kind }, body);
  };
  failed('{"a": 1', "connection-lost");
  failed('[{"a": 1},', "connection-lost");
  failed("{a: 1}", "upstream");
  failed(`"${"x".repeat(9)}`, "too-large", { limit: 8 });
  failed(`"${"x".repeat(9)}" 1`, "too-large", { limit: 8 });
});

test("an array at the top is opened, unless lines are asked for", () => {
  const read = (body, options) => {
    items({ body });
    return [...http.get("http://x/").jsonStream(options)];
  };
  assert.deepEqual(read("[[1,2],[3,4]]"), [[1, 2], [3, 4]]);
  assert.deepEqual(read("[[1,2],[3,4]]", { lines: true }), [[[1, 2], [3, 4]]]);
  assert.deepEqual(read("[1,2]\n[3]\r\n[]\n7", { lines: true }), [[1, 2], [3], [], 7]);
  assert.deepEqual(read("[] [1][ ]\n[[]]"), [1, []]);
});

test("what is not JSON is an error with its byte, after the values before it", () => {
  const cases = [
    ["[1,]", "at byte 4: expected a value", 1],
    ["[1 2]", "at byte 4: expected `,` or `]`", 1],
    ['["a" "b"]', "at byte 6: expected `,` or `]`", 1],
    ["[,1]", "at byte 2: expected a value or `]`", 0],
    ["1, 2", "at byte 2: expected a value", 1],
    ["{}\n]", "at byte 4: expected a value", 1],
    ["[1] 2 tru", "the value at byte 7 cannot be read", 2],
    ["[1, {]}]", "the value at byte 5 cannot be read", 1],
    ["<html>", "the value at byte 1 cannot be read", 0],
    ["[1,]", "the value at byte 1 cannot be read", 0, { lines: true }],
  ];
  for (const [body, message, count, options] of cases) {
    items({ body });
    const found = [];
    const read = () => {
      for (const value of http.get("http://x/").jsonStream(options)) found.push(value);
    };
    assert.throws(read, (error) => error.kind === "upstream" && error.message.endsWith(message), body);
    assert.equal(found.length, count, body);
  }
});

test("numbers beyond 2^53 keep their digits", () => {
  const text = `{"id": 9007199254740993, "small": 12, "sum": 0.1234567890123456789, "third": 0.30000000000000004,
    "huge": 1e400, "text": "9007199254740993 \\" 1e300", "list": [-12345678901234567890, 1.50, 1E5], "0": 1e300}`;
  const parsed = json.parse(text);
  assert.equal(parsed.id, 9007199254740993n);
  assert.equal(parsed.small, 12);
  assert.equal(String(parsed.sum), "0.1234567890123456789");
  assert.ok(parsed.sum instanceof Decimal);
  assert.equal(parsed.third, 0.30000000000000004);
  assert.equal(String(parsed.huge), "1e400");
  assert.equal(parsed.text, '9007199254740993 " 1e300');
  assert.deepEqual(parsed.list, [-12345678901234567890n, 1.5, 100000]);
  assert.equal(String(parsed[0]), "1e300");
  assert.equal(json.stringify({ a: [1n, new Decimal("1.50"), undefined], b: undefined, c: "x" }), '{"a":[1,1.50,null],"c":"x"}');
  for (const wrong of ["[01234567890123456789]", "[1.2.3456789012345678]", "[1e999999999]", "[-]", "{", "1234567890123456789 0"]) {
    assert.throws(() => json.parse(wrong), SyntaxError, wrong);
  }
});

test("JSON reads as JSON.parse does where numbers are small", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  const value = (depth) => {
    const kind = random(depth > 3 ? 5 : 7);
    if (kind === 5) return Array.from({ length: random(4) }, () => value(depth + 1));
    if (kind === 6) return Object.fromEntries(Array.from({ length: random(4) }, () => [`k"${random(9)}`, value(depth + 1)]));
    return [null, true, random(1e6) / 1000, -random(1e9), `"\\ ${random(1e9)}e5 \u{1f600}`][kind];
  };
  for (let turn = 0; turn < 500; turn++) {
    const text = JSON.stringify(value(0));
    assert.deepEqual(json.parse(text), JSON.parse(text));
    assert.equal(json.stringify(JSON.parse(text)), text);
  }
});

test("dates and decimals go both ways", () => {
  assert.equal(values.isoDate(values.daysOf("2024-02-29")), "2024-02-29");
  const micros = values.microsOf("2024-02-29T13:45:00.000001+01:00");
  assert.equal(values.isoTimestampUtc(micros), "2024-02-29T12:45:00.000001Z");
  assert.equal(values.isoTimestamp(-1), "1969-12-31T23:59:59.999999");
  assert.equal(values.isoTimestampUtc(json.parse("1709210700000001000") / 1_000n), "2024-02-29T12:45:00.000001Z");
  assert.equal(values.isoTime(49_500_500_000), "13:45:00.5");
  assert.equal(values.minorOf("-12.5", 2), -1250n);
  for (const [written, minor] of [["1e3", 100_000n], ["1.25E1", 1250n], ["1e-2", 1n], ["-0e9999", 0n], ["12.500", 1250n]]) {
    assert.equal(values.minorOf(written, 2), minor);
  }
  // What `json.parse` gives for a number with an exponent.
  assert.equal(values.minorOf(json.parse("123456789012345678e-1"), 2), 1234567890123456780n);
  assert.equal(values.minorOf(1e21, 0), 10n ** 21n);
  for (const none of ["1e-20", 1e-7]) assert.throws(() => values.minorOf(none, 2), /more than 2 digits/);
  for (const none of ["e3", "1e", "", "."]) assert.throws(() => values.minorOf(none, 2), /is no decimal/);
  assert.equal(values.decimalOf(-5n, 2), "-0.05");
  assert.equal(values.decimalOf(7, 0), "7");
  assert.throws(() => values.minorOf("0.001", 2), RangeError);
  for (const none of ["yesterday", "2024-02-30T00:00:00", "99"]) assert.throws(() => values.microsOf(none), RangeError);
  for (const none of ["2024-02-30", "05/12/2024", "2024-02-29T00:00:00"]) assert.throws(() => values.daysOf(none), RangeError);
});

test("a busy server is asked again when it says", () => {
  const dates = { "retry-after": "Wed, 21 Oct 2026 07:28:07 GMT", date: "Wed, 21 Oct 2026 07:28:00 GMT" };
  const host = items({ status: 429, headers: { "retry-after": "2" } }, { status: 503, headers: dates }, { body: "here" });
  assert.equal(http.get("http://a.test/", { retries: 2 }).text(), "here");
  assert.deepEqual(host.slept, [2_000, 7_000]);
});

test("without a time to come back at the waits grow", () => {
  const host = items({ status: 503 }, { status: 503 }, { status: 503 }, {});
  http.get("http://a.test/", { retries: 3 });
  for (const [index, longest] of [500, 1_000, 2_000].entries()) {
    assert.ok(host.slept[index] >= longest / 2 && host.slept[index] <= longest, `${host.slept}`);
  }
});

test("a server that stays busy is the error rate-limited", () => {
  items({ status: 429 }, { status: 429, headers: { "retry-after": "3" } });
  const busy = { kind: "rate-limited", retryAfterMs: 3_000, code: "429" };
  assert.throws(() => http.get("http://a.test/", { retries: 1 }), busy);
  const host = items({ status: 429, headers: { "retry-after": "600" } });
  assert.throws(() => http.get("http://a.test/", { retries: 9 }), { kind: "rate-limited", retryAfterMs: 600_000 });
  assert.deepEqual(host.slept, [], "longer than the call may take");
  items({ status: 429 });
  assert.equal(http.get("http://a.test/").status, 429, "without retries a status is no error");
});

test("pages follow links, cursors and bodies", () => {
  const next = (url) => ({ headers: { link: `<x>; rel="prev", <${url}>; rel="next"` }, body: "[1]" });
  let host = items(next("/b?page=2"), next("?page=3"), next("c"), { body: "[4]" });
  assert.equal([...http.pages("http://a.test/b?page=1")].length, 4);
  assert.deepEqual(host.requests.map(({ url }) => url.slice(13)), ["/b?page=1", "/b?page=2", "/b?page=3", "/c"]);

  host = items({ body: '{"cursor": "x y"}' }, { body: '{"cursor": null}' });
  const step = ({ cursor }) => cursor && http.withQuery("http://a.test/q?a=1&cursor=0", { cursor });
  assert.equal([...http.pages("http://a.test/q?a=1", { next: step })].length, 2);
  assert.equal(host.requests[1].url, "http://a.test/q?a=1&cursor=x%20y");

  host = items({ body: '{"after": 1}' }, { body: "{}" });
  const after = ({ after }) => after && { body: `{"after": ${after}}` };
  assert.equal([...http.pages("http://a.test/graphql", { method: "POST", body: "{}", next: after })].length, 2);
  assert.deepEqual(host.requests.map(({ body }) => body), ["{}", '{"after": 1}']);
});

test("pages in a circle and refused pages are errors", () => {
  const urls = ["b", "c", "d", "b"].map((url) => ({ headers: { link: `<${url}>; rel=next` }, body: "[]" }));
  let count = 0;
  standIn({ http: ({ url }) => (count++, { "/": urls[0], "/b": urls[1], "/c": urls[2], "/d": urls[3] })[new URL(url).pathname] });
  assert.throws(() => [...http.pages("http://a.test/")], { kind: "upstream", message: /circle/ });
  assert.ok(count < 12, `${count} requests`);
  items({ status: 401 });
  assert.throws(() => [...http.pages("http://a.test/")], { kind: "auth", code: "401" });
});

test("pages whose bodies are bytes go in a circle only when the bytes come again", () => {
  const ask = (...bodies) => {
    const host = standIn({ http: () => ({ body: "[]" }) });
    const next = () => bodies.length > 0 && { body: bodies.shift() };
    const pages = [...http.pages("http://a.test/", { method: "POST", body: new Uint8Array([48]), next })];
    assert.equal(pages.length, host.requests.length);
    return pages.length;
  };
  const bytes = (...all) => new Uint8Array(all);
  assert.equal(ask(bytes(49), bytes(50), "50", bytes(51)), 5);
  assert.throws(() => ask(bytes(49), bytes(49), bytes(49)), { kind: "upstream", message: /circle/ });
});

test("parameters of a URL may have the names of an object's own methods", () => {
  const url = "http://a.test/?toString=1&constructor=2&page=3";
  assert.equal(http.withQuery(url, { page: 4 }), "http://a.test/?toString=1&constructor=2&page=4");
  assert.equal(http.withQuery(url, { toString: null, page: null }), "http://a.test/?constructor=2");
});

test("a line that is too long is the error too-large", () => {
  const pieces = ["ab\ncd", "ef"].map((text) => Buffer.from(text));
  assert.deepEqual([...lines(pieces, 4)], ["ab", "cdef"]);
  assert.throws(() => [...lines(pieces, 3)], { name: "PluginError", kind: "too-large" });
});

test("a wait ends with the call", () => {
  const host = standIn({ timeLimitMs: 1_000 });
  control.sleep(400);
  assert.equal(control.remainingMs(), 600);
  assert.throws(() => control.sleep(700), { kind: "timeout" });
  host.cancelled = true;
  assert.throws(() => control.sleep(1), { kind: "cancelled" });
  assert.throws(() => control.check(), { kind: "cancelled" });
});

test("faults are logged with their trace, refusals only with what caused them", () => {
  class Broken {
    check = () => ({ product: "none", version: "0" });
    tables = () => ["t"];
    describe = () => ({ columns: [{ name: "a", type: "text" }] });
    filterSupport = () => "exact";
    *scan(table, { filters }) {
      if (filters.length > 0) throw new PluginError("denied", "no", { cause: new Error("why") });
      missing.value();
    }
  }
  const host = standIn();
  assert.throws(() => open(Broken).scan("t"), ReferenceError);
  assert.match(host.logged[0][1], /^ReferenceError: missing/);
  assert.match(host.logged[1][1], /^ {4}at .*helpers\.test\.mjs:\d+:\d+/);
  host.logged.length = 0;
  const filters = [{ column: "a", op: "is-null", values: [] }];
  assert.throws(() => open(Broken).scan("t", { filters }), { kind: "denied" });
  assert.ok(host.logged.some(([level, line]) => level === "error" && line === "Error: why"), JSON.stringify(host.logged));
  host.logged.length = 0;
  assert.throws(() => files.readText("/nowhere/at/all"), { kind: "not-found" });
  assert.deepEqual(host.logged, []);
});

test("values go through the checks of the host", () => {
  const columns = ["int64", "decimal", "timestamp", "date", "time", "json", "any"].map((type) => ({ name: type, type }));
  const rows = [[5, new Decimal("1.50"), "2024-02-29 13:45:00.000001", "2024-02-29", "13:45", { a: 1n }, "x"]];
  class Source {
    check = () => ({ product: "none", version: "0" });
    tables = () => ["t"];
    describe = () => ({ columns });
    scan = () => rows;
  }
  standIn();
  assert.deepEqual(Object.values(open(Source).scan("t")[0]), [
    5, "1.50", "2024-02-29T13:45:00.000001", "2024-02-29", "13:45:00", '{"a":1}', "x",
  ]);
  rows[0][0] = "9007199254740993";
  assert.throws(() => open(Source).scan("t"), { kind: "internal", message: /int64 is beyond 2\^53/ });
  rows[0][0] = 1.5;
  assert.throws(() => open(Source).scan("t"), /no whole number/);
});

/** What a connector gives to the host for one value. */
function cell(type, value) {
  const answer = new Answer({ columns: [{ name: "c", type }], rows: [[value]] });
  return answer.next(1, 1 << 20).val[0][0];
}

test("no value is bent until its column holds it", () => {
  const given = [
    ["boolean", true, true], ["boolean", 0, false], ["boolean", 1n, true],
    ["float64", "1.5", 1.5], ["float64", 2n, 2], ["float64", new Decimal("0.1"), 0.1], ["float64", "-infinity", -Infinity],
    ["int64", " 7 ", 7], ["int64", new Decimal("7.0"), 7], ["uint64", 7n, 7],
    ["text", 5, "5"], ["text", "", ""], ["text", new Decimal("1.50"), "1.50"],
  ];
  for (const [type, value, expected] of given) assert.deepEqual(cell(type, value), { tag: type, val: expected }, `${type} ${value}`);
  const refused = [
    ["boolean", "false"], ["boolean", "0"], ["boolean", "f"], ["boolean", 2], ["boolean", {}],
    ["float64", ""], ["float64", " "], ["float64", "abc"], ["float64", "0x10"], ["float64", true], ["float64", []],
    ["int64", ""], ["int64", " "], ["int64", "0x10"], ["int64", 1.5], ["int64", []], ["int64", new Decimal("1.5")],
    ["text", { a: 1 }], ["text", [1]], ["text", new Date(0)], ["text", new Uint8Array(1)],
    ["date", new Date(NaN)], ["date", {}],
  ];
  for (const [type, value] of refused) {
    assert.throws(() => cell(type, value), { kind: "internal", message: /a value of c is no / }, `${type} ${String(value)}`);
  }
  // A number of JavaScript would have changed the last digit on its way.
  assert.deepEqual(cell("int64", new Decimal("9007199254740993.0")), { tag: "other", val: "9007199254740993" });
});

test("a text that is no date in ISO 8601 form travels as it is", () => {
  const micros = 1_709_210_700_000_000;
  const given = [
    ["date", "2024-02-29", 19_782], ["date", "2024-02-29 13:45:00", 19_782], ["date", "0001-01-01", -719_162],
    ["timestamp", "2024-02-29T12:45", micros], ["timestamp", "2024-02-29 12:45:00.5", micros + 500_000],
    ["timestamp", "2024-02-29", micros - 45_900_000_000], ["timestamp-utc", "2024-02-29T13:45:00+01:00", micros],
    ["timestamp-utc", "2024-02-29 13:45:00.000001+01", micros + 1], ["timestamp-utc", "2024-02-29t08:15:00 -0430", micros],
    ["timestamp-utc", new Date(micros / 1000), micros], ["time", "13:45", 49_500_000_000],
  ];
  for (const [type, value, expected] of given) assert.deepEqual(cell(type, value), { tag: type, val: expected }, `${type} ${value}`);
  const others = [
    ["date", "05/12/2024"], ["date", "2024-02-30"], ["date", "5"], ["date", "2024-02"], ["date", ""],
    ["timestamp", "99"], ["timestamp", "2023-02-29T00:00:00.000001"], ["timestamp", "2024-02-29 25:00:00"],
    ["timestamp", "Thu, 29 Feb 2024 12:45:00 GMT"], ["timestamp-utc", "2024-02-30T00:00:00Z"],
    ["time", "13:75:00"], ["time", "24:00:00"], ["time", "13:45:00+02:00"],
  ];
  for (const [type, value] of others) assert.deepEqual(cell(type, value), { tag: "other", val: value }, `${type} ${value}`);
});

test("a row has a value for each column", () => {
  const columns = [{ name: "a", type: "int64" }, { name: "b", type: "int64" }];
  const read = (row) => new Answer({ columns, rows: [row] }).next(1, 1 << 20).val[0].map(({ tag }) => tag);
  assert.deepEqual(read([1, 2]), ["int64", "int64"]);
  for (const row of [[1], [1, 2, 3], []]) {
    assert.throws(() => read(row), { kind: "internal", message: `a row has ${row.length} values for 2 columns` });
  }
  for (const [row, given] of [[null, "null"], [undefined, "undefined"], ['{"a":1}', "string"], [5, "number"]]) {
    assert.throws(() => read(row), { kind: "internal", message: `a row is ${given}, and neither an array nor an object` });
  }
  assert.deepEqual(read({ b: 1 }), ["null", "int64"], "a source of objects leaves out what it does not have");
});

test("a class without a method that the host calls is not opened", () => {
  class Nothing {}
  class Base {
    check() {}
    tables() {}
  }
  class Short extends Base {
    query() {}
  }
  class Whole extends Short {
    describeTables = () => [];
  }
  assert.throws(() => open(Nothing), /Nothing has none of the methods query, scan, complete/);
  assert.throws(() => open(Short), /neither describe nor describeTables/);
  assert.throws(() => open(class Vendor { *complete() {} }), /Vendor has no method check/);
  open(Whole);
});

test("log lines are lines", () => {
  const host = standIn();
  log.warn("one\ntwo");
  assert.deepEqual(host.logged, [["warn", "one"], ["warn", "two"]]);
});

test("tests of one run record into one file", async () => {
  // The recorder waits for its answers, so the server is another process.
  const code = `require("node:http").createServer((request, response) => response.end("at " + request.url))
    .listen(0, "127.0.0.1", function () { console.log(this.address().port); })`;
  const server = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const folder = mkdtempSync(join(tmpdir(), "mindhost-fixtures-"));
  const file = join(folder, "fixtures.json");
  try {
    const [port] = await once(server.stdout, "data");
    const servers = { "http://a.test": `http://127.0.0.1:${String(port).trim()}` };
    process.env.RECORD_HTTP = "1";
    for (const path of ["/one", "/two"]) {
      replay(file, { servers });
      assert.equal(http.get(`http://a.test${path}`).text(), `at ${path}`);
    }
    delete process.env.RECORD_HTTP;
    for (const path of ["/two", "/one"]) {
      replay(file);
      assert.equal(http.get(`http://a.test${path}`).text(), `at ${path}`);
    }
    assert.throws(() => http.post("http://a.test/one", "{ more }"), /no answer for POST .*\{ more \}.*RECORD_HTTP=1/);
  } finally {
    delete process.env.RECORD_HTTP;
    server.kill();
    rmSync(folder, { recursive: true });
  }
});

test("pages end where next says false", () => {
  items({ body: "[1]" }, { body: "[2]" });
  const all = [...http.pages("http://a.test/1", { next: (page) => page[0] < 2 && "http://a.test/2" })];
  assert.deepEqual(all, [[1], [2]]);
});
