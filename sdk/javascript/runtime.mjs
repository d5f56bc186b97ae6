// The runtime of componentize-qjs, made such that the same plugin always becomes the same component.
//
// componentize-qjs runs a plugin once and keeps the memory. The clock and the seeds of hash maps would be in it. So the
// runtime gets a switch in front of these imports: until the memory is kept, they are constant, and real from then on.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const MAGIC = Buffer.from("\0asm\x01\0\0\0", "latin1");
const [CUSTOM, IMPORT, FUNCTION, GLOBAL, CODE] = [0, 2, 3, 6, 10];
const I32 = 0x7f;
/** What the runtime calls last of all before its memory is kept. */
const DONE = "wasi_snapshot_preview1 reset_adapter_state";

/** The constants, each as the code that stands for a call. The two with results in memory take the address. */
const CONSTANT = {
  // Two words of 64 bits.
  "wasi:random/insecure-seed insecure-seed": [
    ...[0x20, 0, 0x42, 1, 0x37, 3, 0], // local.get 0, i64.const 1, i64.store
    ...[0x20, 0, 0x42, 2, 0x37, 3, 8], // local.get 0, i64.const 2, i64.store offset=8
  ],
  // The seconds and nanoseconds of 1970.
  "wasi:clocks/wall-clock now": [
    ...[0x20, 0, 0x42, 0, 0x37, 3, 0], // local.get 0, i64.const 0, i64.store
    ...[0x20, 0, 0x41, 0, 0x36, 2, 8], // local.get 0, i32.const 0, i32.store offset=8
  ],
  "wasi:clocks/monotonic-clock now": [0x42, 0], // i64.const 0
};

/** The runtime with the switch, or nothing if this version of componentize-qjs has none that is known here. */
export function runtime(small) {
  const addon = Object.keys(createRequire(import.meta.url).cache).find((name) => name.endsWith(".node"));
  // Those of the same kind differ in what was traded: the larger is the faster one.
  const found = addon ? modules(readFileSync(addon)).filter(isRuntime) : [];
  found.sort((one, other) => one.length - other.length);
  const switched = found.length === 2 ? withSwitch(found[small ? 0 : 1]) : undefined;
  return switched && WebAssembly.validate(switched) ? switched : undefined;
}

/** The modules of WebAssembly that a file holds. */
function modules(file) {
  const found = [];
  for (let at = file.indexOf(MAGIC); at >= 0; at = file.indexOf(MAGIC, at + 1)) {
    const end = endOf(file, at);
    const module = file.subarray(at, end);
    if (end > at + MAGIC.length && WebAssembly.validate(module)) found.push(module);
  }
  return found;
}

/** Where a module ends: at the next one, or where no section begins. */
function endOf(file, start) {
  let at = start + MAGIC.length;
  while (at < file.length && !file.subarray(at, at + MAGIC.length).equals(MAGIC)) {
    const bytes = new Bytes(file, at);
    const kind = bytes.byte();
    const size = bytes.number();
    const next = bytes.at + size;
    if (kind > 13 || size === 0 || next > file.length) break;
    if (kind === CUSTOM && bytes.number() > size) break;
    at = next;
  }
  return at;
}

/** A runtime for components without async. */
function isRuntime(module) {
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(module));
  const names = new Set(imports.map(({ module, name }) => nameOf(module, name)));
  const needed = [DONE, ...Object.keys(CONSTANT)];
  return needed.every((name) => names.has(name)) && !imports.some(({ module }) => module === "$root");
}

/** `wasi:clocks/wall-clock now`, without the version. */
function nameOf(module, name) {
  return `${module.replace(/@.*/, "")} ${name}`;
}

function withSwitch(module) {
  const sections = sectionsOf(module);
  const section = (kind) => sections.find((one) => one.kind === kind);
  const { functions, globals } = importsOf(section(IMPORT).body);
  const own = new Bytes(section(FUNCTION).body).number();
  const flag = globals + new Bytes(section(GLOBAL).body).number();

  const added = [];
  const moved = new Map();
  for (const [index, { name, type }] of functions.entries()) {
    const body = name === DONE ? switching(index, flag) : CONSTANT[name] && switched(name, index, flag);
    if (!body) continue;
    moved.set(index, functions.length + own + added.length);
    added.push({ type, body });
  }
  section(GLOBAL).body = appended(section(GLOBAL).body, [[I32, 1, 0x41, 0, 0x0b]]);
  section(FUNCTION).body = appended(section(FUNCTION).body, added.map(({ type }) => number(type)));
  section(CODE).body = appended(calling(section(CODE).body, moved), added.map(({ body }) => sized([0, ...body, 0x0b])));
  return Buffer.concat([MAGIC, ...sections.flatMap(({ kind, body }) => [Buffer.from([kind]), sized(body)])]);
}

/** `if flag then the import else the constant` */
function switched(name, index, flag) {
  const toMemory = CONSTANT[name][0] === 0x20;
  const call = [...(toMemory ? [0x20, 0] : []), 0x10, ...number(index)];
  const result = toMemory ? 0x40 : 0x7e;
  return [0x23, ...number(flag), 0x04, result, ...call, 0x05, ...CONSTANT[name], 0x0b];
}

/** `flag = 1`, and the import. */
function switching(index, flag) {
  return [0x41, 1, 0x24, ...number(flag), 0x10, ...number(index)];
}

function sectionsOf(module) {
  const sections = [];
  for (const bytes = new Bytes(module, MAGIC.length); bytes.at < module.length; ) {
    const kind = bytes.byte();
    sections.push({ kind, body: bytes.take(bytes.number()) });
  }
  return sections;
}

/** The imported functions, and how many globals are imported. */
function importsOf(body) {
  const bytes = new Bytes(body);
  const functions = [];
  let globals = 0;
  for (let left = bytes.number(); left > 0; left -= 1) {
    const name = nameOf(bytes.text(), bytes.text());
    const kind = bytes.byte();
    if (kind === 0) functions.push({ name, type: bytes.number() });
    // Of a table the type, then its limits; of a memory the limits; of a global the type and whether it changes.
    if (kind === 1) bytes.byte();
    if (kind === 1 || kind === 2) for (let many = bytes.byte() & 1 ? 2 : 1; many > 0; many -= 1) bytes.number();
    if (kind === 3) {
      bytes.take(2);
      globals += 1;
    }
    if (kind === 4) bytes.take(1) && bytes.number();
  }
  return { functions, globals };
}

/** The code of all functions, with calls that go elsewhere. */
function calling(body, moved) {
  const bytes = new Bytes(body);
  const count = bytes.number();
  const bodies = [];
  while (bytes.at < body.length) bodies.push(sized(callingIn(bytes.take(bytes.number()), moved)));
  return Buffer.concat([Buffer.from(number(count)), ...bodies]);
}

function callingIn(code, moved) {
  const bytes = new Bytes(code);
  for (let left = bytes.number(); left > 0; left -= 1) bytes.number() + bytes.byte();
  const parts = [];
  let kept = 0;
  while (bytes.at < code.length) {
    const start = bytes.at;
    const callee = instruction(bytes);
    if (!moved.has(callee)) continue;
    parts.push(code.subarray(kept, start), Buffer.from([code[start], ...number(moved.get(callee))]));
    kept = bytes.at;
  }
  return Buffer.concat([...parts, code.subarray(kept)]);
}

/** Steps over an instruction. Gives the function that it calls, if it calls one. */
function instruction(bytes) {
  const code = bytes.byte();
  if (code === 0x10 || code === 0x12) return bytes.number();
  if (code === 0xfc) prefixed(bytes);
  else if (code === 0x0e) for (let left = bytes.number() + 1; left > 0; left -= 1) bytes.number();
  else if (code === 0x1c) bytes.take(bytes.number());
  else if (code === 0x43) bytes.take(4);
  else if (code === 0x44) bytes.take(8);
  else if (code >= 0xfb && code <= 0xfe) throw new Error(`unknown instruction ${code}`);
  else for (let left = IMMEDIATES[code] ?? 0; left > 0; left -= 1) bytes.number();
  return undefined;
}

/** How many numbers follow an instruction. */
const IMMEDIATES = (() => {
  const counts = [];
  const set = (from, to, count) => counts.fill(count, from, to + 1);
  counts.length = 256;
  // Blocks have a type, branches a depth.
  set(0x02, 0x04, 1);
  set(0x07, 0x09, 1);
  set(0x0c, 0x0d, 1);
  // Indirect calls have a type and a table; variables and tables an index.
  set(0x11, 0x11, 2);
  set(0x13, 0x13, 2);
  set(0x18, 0x18, 1);
  set(0x20, 0x26, 1);
  // Loads and stores have an alignment and an offset; the size of memory has a memory, constants a value.
  set(0x28, 0x3e, 2);
  set(0x3f, 0x42, 1);
  set(0xd0, 0xd0, 1);
  set(0xd2, 0xd2, 1);
  return counts;
})();

/** Conversions that saturate have nothing; copies of memory or tables have two numbers or one. */
function prefixed(bytes) {
  const code = bytes.number();
  const count = code < 8 ? 0 : [8, 10, 12, 14].includes(code) ? 2 : 1;
  for (let left = count; left > 0; left -= 1) bytes.number();
}

/** A vector with more elements. */
function appended(body, elements) {
  const bytes = new Bytes(body);
  const count = bytes.number() + elements.length;
  return Buffer.concat([Buffer.from(number(count)), body.subarray(bytes.at), ...elements.map((one) => Buffer.from(one))]);
}

function sized(body) {
  return Buffer.concat([Buffer.from(number(body.length)), Buffer.from(body)]);
}

/** A number as WebAssembly writes it: seven bits a byte, the lowest first. */
function number(value) {
  const bytes = [];
  for (let left = value; ; left >>>= 7) {
    if (left < 0x80) return [...bytes, left];
    bytes.push((left & 0x7f) | 0x80);
  }
}

/** A place in bytes that moves on with what is read. */
class Bytes {
  constructor(all, at = 0) {
    this.all = all;
    this.at = at;
  }

  byte() {
    return this.all[this.at++];
  }

  /** Right up to 32 bits. Longer ones are only stepped over. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value >>> 0;
    }
  }

  take(count) {
    this.at += count;
    return this.all.subarray(this.at - count, this.at);
  }

  text() {
    return this.take(this.number()).toString();
  }
}
