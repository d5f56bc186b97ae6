// The plugin of a development build: its code is put into the finished component (see dev.mjs).

/** The room for code: a mark, four bytes for its length, then bytes that are not zero, so that they stay together. */
export const ROOM = 1 << 20;
export const FILL = 0x55;
const TEXT = "mindhost: the code of a plugin, from here on;";
export const MARK = Uint8Array.from([...TEXT].map((letter) => letter.charCodeAt(0)).concat([1, 2, 3, 4, 5, 6, 7, 8]));

const room = typeof process === "undefined" ? new Uint8Array(ROOM).fill(FILL) : null;
room?.set(MARK);

let loaded = null;

/** The exports of the code, which gets the modules of the host by their names. */
function load(modules) {
  if (loaded !== null) return loaded;
  const view = new DataView(room.buffer);
  const start = MARK.length + 4;
  const length = view.getUint32(MARK.length, true);
  // While the component is made.
  if (length > ROOM) return null;
  let code = "";
  for (let at = start; at < start + length; at += 8192) {
    code += String.fromCharCode.apply(null, room.subarray(at, Math.min(at + 8192, start + length)));
  }
  const module = { exports: {} };
  (0, eval)(`(function(require,module,exports){${code}\n})`)((name) => modules[name.replace(/^.*?:/, "")], module, module.exports);
  loaded = module.exports;
  return loaded;
}

/** An exported interface whose members are looked for in the code when they are used. */
export function late(modules, name) {
  return new Proxy(
    {},
    { get: (_, member) => load(modules)?.[name][member] ?? class {}, has: () => true },
  );
}
